import { harmlessJson, isHarmless } from '../../shared/contract/harmless.ts';
import type { DisruptionDocument } from './disruption-format.ts';
import type { LaunchDocument } from './launch-format.ts';
import type { Manifest } from './converted-manifest.ts';
import type { PlanDocument } from './plan-format.ts';

/** What can be printed so. */
type Documented =
  | PlanDocument
  | DisruptionDocument
  | LaunchDocument
  | Manifest
  | { readonly apiVersion: string; readonly kind: 'List'; readonly items: ReadonlyArray<Manifest> };

/** The public form as JSON. What a terminal would obey or hide is escaped. */
export function renderJson(document: Documented): string {
  return `${harmlessJson(JSON.stringify(document, null, 2))}\n`;
}

/** The same as YAML: texts that hold such characters are in double quotes, where escapes are those of JSON. */
export async function renderYaml(document: Documented): Promise<string> {
  const { Document, visit } = await import('../yaml.ts');
  const yaml = new Document(document, { aliasDuplicateObjects: false });
  visit(yaml, {
    Scalar: (_, node) => {
      if (typeof node.value === 'string' && !isHarmless(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  return harmlessJson(yaml.toString({ lineWidth: 0 }));
}
