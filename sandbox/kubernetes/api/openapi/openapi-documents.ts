import { isObject, type Json, type JsonObject, objectAt } from '../json.ts';
import type { Resource } from '../registry/resources.ts';
import type { ApiState } from '../state.ts';
import { pathsOf } from './openapi-paths.ts';

const info = { title: 'Kubernetes', version: 'v1.36.3' };
const refPrefix = '#/components/schemas/';
const metaPrefix = 'io.k8s.apimachinery.pkg.apis.meta.v1.';

/** The name of a custom resource's schema: its group reversed, its version and kind. */
function customName(group: string, version: string, kind: string): string {
  return `${group.split('.').toReversed().join('.')}.${version}.${kind}`;
}

function collectReferences(value: Json, found: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) collectReferences(item, found);
  if (!isObject(value)) return;
  for (const [key, child] of Object.entries(value)) {
    if (key === '$ref' && typeof child === 'string') found.add(child.slice(refPrefix.length));
    else collectReferences(child, found);
  }
}

/** The schemas of custom resources under their OpenAPI names, each with its list. */
function customDefinitions(state: ApiState): JsonObject {
  const made: JsonObject = {};
  for (const { group, version, kind, schema } of state.schemas.defined()) {
    const name = customName(group, version, kind);
    const objectFields = { apiVersion: { type: 'string' }, kind: { type: 'string' } };
    const metadata = { allOf: [{ $ref: `${refPrefix}${metaPrefix}ObjectMeta` }] };
    made[name] = {
      ...schema,
      properties: { ...objectFields, ...objectAt(schema, 'properties'), metadata },
      'x-kubernetes-group-version-kind': [{ group, kind, version }],
    };
    made[`${name}List`] = {
      type: 'object',
      required: ['items'],
      properties: {
        ...objectFields,
        items: { type: 'array', items: { $ref: `${refPrefix}${name}` } },
        metadata: { allOf: [{ $ref: `${refPrefix}${metaPrefix}ListMeta` }] },
      },
      'x-kubernetes-group-version-kind': [{ group, kind: `${kind}List`, version }],
    };
  }
  return made;
}

function isOfGroup(schema: Json, resources: ReadonlyArray<Resource>): boolean {
  const kinds = isObject(schema) ? schema['x-kubernetes-group-version-kind'] : undefined;
  if (!Array.isArray(kinds) || kinds.length !== 1) return false;
  const [gvk] = kinds;
  return resources.some(
    ({ group, version, kind, listKind }) =>
      isObject(gvk ?? null) &&
      objectAt(kinds, 0)['group'] === group &&
      objectAt(kinds, 0)['version'] === version &&
      [kind, listKind].includes(String(objectAt(kinds, 0)['kind'])),
  );
}

/** All definitions, built-in and custom, in the form of OpenAPI v3. */
function allDefinitions(state: ApiState): JsonObject {
  return { ...state.schemas.definitions(), ...customDefinitions(state) };
}

/** The OpenAPI v3 document of one group and version: its paths and the schemas they need. */
export function documentV3(state: ApiState, resources: ReadonlyArray<Resource>): JsonObject {
  const definitions = allDefinitions(state);
  const wanted = new Set<string>([`${metaPrefix}DeleteOptions`, `${metaPrefix}Status`]);
  for (const [name, schema] of Object.entries(definitions)) if (isOfGroup(schema, resources)) wanted.add(name);
  // Grows while it is walked, until every reference is followed.
  for (const name of wanted) collectReferences(definitions[name] ?? null, wanted);
  const schemas = Object.fromEntries([...wanted].toSorted().map((name) => [name, definitions[name] ?? {}]));
  const paths = Object.assign({}, ...resources.map(pathsOf)) as JsonObject;
  return { openapi: '3.0.0', info, paths, components: { schemas } };
}

const onlyV3 = new Set(['nullable', 'oneOf', 'anyOf', 'not', 'allOf', 'x-kubernetes-validations']);

/** A schema in the older form: references unwrapped, what Swagger 2 does not know left out. */
function toV2(value: Json, isPropertyMap = false): Json {
  if (Array.isArray(value)) return value.map((item) => toV2(item));
  if (!isObject(value)) return value;
  const wrapped = Array.isArray(value['allOf']) ? value['allOf'][0] : undefined;
  if (!isPropertyMap && isObject(wrapped) && typeof wrapped['$ref'] === 'string') {
    return { $ref: wrapped['$ref'].replace(refPrefix, '#/definitions/') };
  }
  const made: JsonObject = {};
  for (const [key, child] of Object.entries(value)) {
    if (!isPropertyMap && onlyV3.has(key)) continue;
    if (key === '$ref' && typeof child === 'string') made[key] = child.replace(refPrefix, '#/definitions/');
    else made[key] = toV2(child, key === 'properties' && !isPropertyMap);
  }
  return made;
}

/** The Swagger 2 document of all that is served. */
export function documentV2(state: ApiState): JsonObject {
  const definitions = toV2(allDefinitions(state), true) as JsonObject;
  definitions['io.k8s.apimachinery.pkg.util.intstr.IntOrString'] = { type: 'string', format: 'int-or-string' };
  definitions['io.k8s.apimachinery.pkg.api.resource.Quantity'] = { type: 'string' };
  const paths = Object.assign({}, ...state.registry.all().map(pathsOf)) as JsonObject;
  return { swagger: '2.0', info, paths, definitions };
}
