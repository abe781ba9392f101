import type { Json, JsonObject } from '../json.ts';
import type { Resource } from '../registry/resources.ts';

const verbsOf: Readonly<Record<string, readonly [method: string, action: string]>> = {
  create: ['post', 'post'],
  delete: ['delete', 'delete'],
  deletecollection: ['delete', 'deletecollection'],
  get: ['get', 'get'],
  list: ['get', 'list'],
  patch: ['patch', 'patch'],
  update: ['put', 'put'],
};

const writeParameters = ['dryRun', 'fieldManager', 'fieldValidation'];

const parametersOf: Readonly<Record<string, ReadonlyArray<string>>> = {
  post: writeParameters,
  put: writeParameters,
  patch: [...writeParameters, 'force'],
  delete: ['dryRun', 'gracePeriodSeconds', 'propagationPolicy'],
  list: ['continue', 'fieldSelector', 'labelSelector', 'limit', 'resourceVersion', 'watch'],
};

interface Gvk {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

function operation(action: string, gvk: Gvk): JsonObject {
  const parameters = (parametersOf[action] ?? []).map((name): Json => ({
    name,
    in: 'query',
    schema: { type: 'string' },
  }));
  const { group, version, kind } = gvk;
  return {
    parameters,
    responses: { 200: { description: '' } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group, version, kind },
  };
}

function operations(verbs: ReadonlyArray<string>, wanted: ReadonlyArray<string>, gvk: Gvk): JsonObject {
  const made: JsonObject = {};
  for (const verb of wanted) {
    const found = verbsOf[verb];
    if (found !== undefined && verbs.includes(verb)) made[found[0]] = operation(found[1], gvk);
  }
  return made;
}

/** The OpenAPI paths of one resource: what kubectl reads to learn of kinds, verbs and query parameters. */
export function pathsOf(resource: Resource): JsonObject {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const base = `${root}${resource.namespaced ? '/namespaces/{namespace}' : ''}/${resource.name}`;
  const paths: JsonObject = {};
  const collection = operations(resource.verbs, ['list', 'create', 'deletecollection'], resource);
  if (Object.keys(collection).length > 0) paths[base] = collection;
  const single = operations(resource.verbs, ['get', 'update', 'patch', 'delete'], resource);
  if (Object.keys(single).length > 0) paths[`${base}/{name}`] = single;
  if (resource.namespaced && resource.verbs.includes('list')) {
    paths[`${root}/${resource.name}`] = operations(resource.verbs, ['list'], resource);
  }
  for (const subresource of resource.subresources.values()) {
    paths[`${base}/{name}/${subresource.name}`] = operations(
      subresource.verbs,
      ['get', 'create', 'update', 'patch'],
      subresource,
    );
  }
  return paths;
}
