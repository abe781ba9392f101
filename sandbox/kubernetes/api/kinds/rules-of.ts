import type { Resource } from '../registry/resources.ts';
import type { KindRules } from './kind-rules.ts';

const customRules: KindRules = { hasGeneration: true };
const plainRules: KindRules = {};

const rules: Readonly<Record<string, KindRules>> = {};

/** The rules of a resource's kind. */
export function rulesOf(resource: Resource): KindRules {
  if (resource.definedBy !== null) return customRules;
  return rules[resource.storage] ?? plainRules;
}
