import { at, isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.ts';
import { compileRules } from '../custom/cel-rules.ts';
import { type Cause, invalidValue, required } from '../status-error.ts';
import type { KindRules } from './kind-rules.ts';
import { fillIn, ownObject } from './pod-spec.ts';

function versionCauses(version: Json, index: number): ReadonlyArray<Cause> {
  const field = `spec.versions[${index}].schema.openAPIV3Schema`;
  const schema = at(version, 'schema', 'openAPIV3Schema');
  if (!isObject(schema)) return [required(field, 'schemas are required')];
  try {
    compileRules(schema);
    return [];
  } catch (error) {
    // A rule that this server's CEL cannot read: told at once, not when the first object comes.
    const why = error instanceof Error ? error.message : String(error);
    return [invalidValue(`${field}.x-kubernetes-validations`, textAt(schema, 'type'), `compilation failed: ${why}`)];
  }
}

function validate(definition: JsonObject): ReadonlyArray<Cause> {
  const spec = objectAt(definition, 'spec');
  const causes: Array<Cause> = [];
  const expected = `${textAt(spec, 'names', 'plural')}.${textAt(spec, 'group')}`;
  const name = textAt(definition, 'metadata', 'name');
  if (name !== expected) causes.push(invalidValue('metadata.name', name, 'must be spec.names.plural+"."+spec.group'));
  for (const [field, value] of [
    ['spec.group', textAt(spec, 'group')],
    ['spec.scope', textAt(spec, 'scope')],
    ['spec.names.plural', textAt(spec, 'names', 'plural')],
    ['spec.names.kind', textAt(spec, 'names', 'kind')],
  ] as const) {
    if (value === '') causes.push(required(field));
  }
  const versions = listAt(spec, 'versions');
  if (versions.filter((version) => at(version, 'storage') === true).length !== 1) {
    const detail = 'must have exactly one version marked as storage version';
    causes.push(invalidValue('spec.versions', versions, detail));
  }
  causes.push(...versions.flatMap(versionCauses));
  return causes;
}

/** CustomResourceDefinitions: names and versions; the conditions come from the establishing loop. */
export const definitionRules: KindRules = {
  hasGeneration: true,
  prepareCreate(definition) {
    const stored = listAt(definition, 'spec', 'versions').filter((version) => at(version, 'storage') === true);
    definition['status'] = {
      conditions: null,
      acceptedNames: { plural: '', kind: '' },
      storedVersions: stored.map((version) => textAt(version, 'name')),
    };
  },
  applyDefaults(definition) {
    const spec = ownObject(definition, 'spec');
    fillIn(spec, 'conversion', { strategy: 'None' });
    const names = ownObject(spec, 'names');
    const kind = textAt(names, 'kind');
    fillIn(names, 'singular', kind.toLowerCase());
    fillIn(names, 'listKind', `${kind}List`);
  },
  validate,
};
