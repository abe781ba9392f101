import { writeFileSync } from 'node:fs';
import { Catalog } from './catalog/catalog-format.ts';
import { DisruptionDocument } from './documents/disruption-format.ts';
import { PlanDocument } from './documents/plan-format.ts';

/**
 * The files of `docs/schema`, by name: the public formats as JSON Schema. A unit test compares them with what is there.
 */
export function schemaFiles(): ReadonlyMap<string, object> {
  return new Map([
    ['catalog.schema.json', schemaOf('Nodewright Catalog', Catalog)],
    ['plan.schema.json', schemaOf('Nodewright Plan', PlanDocument)],
    ['disruption.schema.json', schemaOf('Nodewright DisruptionPlan', DisruptionDocument)],
  ]);
}

function schemaOf(title: string, schema: object): object {
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', title, ...plain(schema) };
}

/**
 * Parts that the formats share with our custom resources have keywords of the API server's, and one of our own, whose
 * value is text; that of a field of the name is a schema.
 */
function plain(schema: object): object {
  const content = JSON.stringify(schema, (key, value: unknown) =>
    (key === 'fix' && typeof value === 'string') || key.startsWith('x-kubernetes-') ? undefined : value,
  );
  return JSON.parse(content) as object;
}

/** Writes them: `node cli/write-schemas.ts`. */
if (import.meta.main) {
  const { format } = await import('prettier');
  const folder = new URL('../docs/schema/', import.meta.url);
  for (const [name, schema] of schemaFiles()) {
    const formatted = await format(JSON.stringify(schema), { parser: 'json', printWidth: 120 });
    writeFileSync(new URL(name, folder), formatted);
  }
}
