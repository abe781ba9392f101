import { at, equalJson, isObject, type Json, type JsonObject, listAt, numberAt, objectAt, textAt } from '../json.ts';
import type { Registry, Resource, Subresource } from '../registry/resources.ts';
import type { DefinedSchema, Schemas } from '../schema/schemas.ts';
import type { Cause } from '../status-error.ts';
import { defaultPrinterColumns, type PrinterColumn } from '../tables/custom-cells.ts';
import { applySchemaDefaults } from './schema-defaults.ts';
import { compileRules, type RuleSet } from './cel-rules.ts';
import { validateBySchema } from './validate-schema.ts';

/** What the server knows of custom resources beside their schemas' shape. */
export interface CustomKinds {
  /** Serves what a CustomResourceDefinition says, from now on. */
  define(definition: JsonObject): void;
  withdraw(name: string): void;
  applyDefaults(resource: Resource, object: JsonObject): void;
  /** Checks an object; `old` is null for a creation. */
  validate(resource: Resource, object: JsonObject, old: JsonObject | null): ReadonlyArray<Cause>;
  printerColumns(resource: Resource): ReadonlyArray<PrinterColumn>;
  selectableFields(resource: Resource): ReadonlyArray<string>;
  /** Paths of the scale subresource, or null. */
  scalePaths(resource: Resource): ScalePaths | null;
}

/** Where a custom resource keeps its replicas. */
export interface ScalePaths {
  readonly spec: string;
  readonly status: string;
  readonly selector: string;
}

interface CustomVersion {
  readonly schema: JsonObject;
  readonly rules: RuleSet;
  readonly columns: ReadonlyArray<PrinterColumn>;
  readonly selectable: ReadonlyArray<string>;
  readonly scale: ScalePaths | null;
}

/** Errors after which the rules are not run, for they could stumble over what is wrong. */
const blocking = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

const notChecked: Cause = {
  reason: 'FieldValueInvalid',
  field: '<nil>',
  message:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
};

/** The steps of a field path such as `spec.items[2].name`. */
function stepsOf(field: string): ReadonlyArray<string | number> {
  return [...field.matchAll(/[^.[\]]+/g)].map(([step]) => (/^\d+$/.test(step) ? Number(step) : step));
}

/** An update may leave alone what was wrong before: causes about unchanged values are dropped. */
function withoutRatcheted(
  causes: ReadonlyArray<Cause>,
  object: JsonObject,
  old: JsonObject | null,
): ReadonlyArray<Cause> {
  if (old === null) return causes;
  return causes.filter(({ field, reason }) => {
    const steps = stepsOf(field);
    const path = reason === 'FieldValueRequired' ? steps.slice(0, -1) : steps;
    const before = at(old, ...path);
    return before === undefined || !equalJson(before, at(object, ...path));
  });
}

const objectVerbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

function toColumn(column: Json): PrinterColumn {
  return {
    name: textAt(column, 'name'),
    type: textAt(column, 'type'),
    format: textAt(column, 'format'),
    priority: numberAt(column, 0, 'priority'),
    jsonPath: textAt(column, 'jsonPath'),
  };
}

function toScale(version: Json): ScalePaths | null {
  const scale = at(version, 'subresources', 'scale');
  if (!isObject(scale)) return null;
  return {
    spec: textAt(scale, 'specReplicasPath'),
    status: textAt(scale, 'statusReplicasPath'),
    selector: textAt(scale, 'labelSelectorPath'),
  };
}

function toCustomVersion(version: Json): CustomVersion {
  const schema = objectAt(version, 'schema', 'openAPIV3Schema');
  const columns = listAt(version, 'additionalPrinterColumns').map(toColumn);
  return {
    schema,
    rules: compileRules(schema),
    columns: columns.length > 0 ? columns : defaultPrinterColumns,
    selectable: listAt(version, 'selectableFields').map((field) => textAt(field, 'jsonPath').replace(/^\./, '')),
    scale: toScale(version),
  };
}

function toSubresources(version: Json, group: string, kind: string): ReadonlyMap<string, Subresource> {
  const name = textAt(version, 'name');
  const verbs = ['get', 'patch', 'update'];
  const made = new Map<string, Subresource>();
  if (at(version, 'subresources', 'status') !== undefined)
    made.set('status', { name: 'status', group, version: name, kind, verbs });
  if (at(version, 'subresources', 'scale') !== undefined) {
    made.set('scale', { name: 'scale', group: 'autoscaling', version: 'v1', kind: 'Scale', verbs });
  }
  return made;
}

function toResource(definition: JsonObject, version: Json): Resource {
  const group = textAt(definition, 'spec', 'group');
  const names = objectAt(definition, 'spec', 'names');
  const kind = textAt(names, 'kind');
  const plural = textAt(names, 'plural');
  return {
    group,
    version: textAt(version, 'name'),
    name: plural,
    kind,
    listKind: textAt(names, 'listKind') || `${kind}List`,
    singular: textAt(names, 'singular') || kind.toLowerCase(),
    namespaced: textAt(definition, 'spec', 'scope') === 'Namespaced',
    shortNames: listAt(names, 'shortNames').map(String),
    categories: listAt(names, 'categories').map(String),
    verbs: objectVerbs,
    subresources: toSubresources(version, group, kind),
    definedBy: textAt(definition, 'metadata', 'name'),
    storage: `${plural}.${group}`,
  };
}

/** No custom resources yet; `registry` and `schemas` learn of them too. */
export function createCustomKinds(registry: Registry, schemas: Schemas): CustomKinds {
  const versions = new Map<string, CustomVersion>();
  const keyOf = ({ definedBy, version }: Resource): string => `${definedBy}/${version}`;
  const withdraw = (name: string): void => {
    for (const key of versions.keys()) if (key.startsWith(`${name}/`)) versions.delete(key);
    registry.setDefined(name, []);
    schemas.setDefined(name, []);
  };
  return {
    define(definition) {
      const name = textAt(definition, 'metadata', 'name');
      withdraw(name);
      const served = listAt(definition, 'spec', 'versions').filter((version) => at(version, 'served') === true);
      const resources = served.map((version) => toResource(definition, version));
      schemas.setDefined(
        name,
        resources.map((resource, index): DefinedSchema => {
          const schema = objectAt(served[index], 'schema', 'openAPIV3Schema');
          return { group: resource.group, version: resource.version, kind: resource.kind, schema };
        }),
      );
      for (const [index, resource] of resources.entries())
        versions.set(keyOf(resource), toCustomVersion(served[index] ?? null));
      registry.setDefined(name, resources);
    },
    withdraw,
    applyDefaults(resource, object) {
      const version = versions.get(keyOf(resource));
      if (version !== undefined) applySchemaDefaults(object, version.schema);
    },
    validate(resource, object, old) {
      const version = versions.get(keyOf(resource));
      if (version === undefined) return [];
      const causes = withoutRatcheted(validateBySchema(object, version.schema), object, old);
      if (causes.some(({ reason }) => blocking.has(reason))) return [...causes, notChecked];
      return [...causes, ...version.rules.check(object, old)];
    },
    printerColumns: (resource) => versions.get(keyOf(resource))?.columns ?? [],
    selectableFields: (resource) => versions.get(keyOf(resource))?.selectable ?? [],
    scalePaths: (resource) => versions.get(keyOf(resource))?.scale ?? null,
  };
}
