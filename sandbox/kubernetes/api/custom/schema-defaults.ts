import { copyJson, isObject, type Json, type JsonObject, objectAt } from '../json.ts';

function defaultChild(parent: JsonObject, key: string, schema: Json | undefined): void {
  if (!isObject(schema)) return;
  const value = parent[key];
  const wanted = schema['default'];
  // A null that the schema does not allow is dropped, so that the default takes its place.
  if (value === null && schema['nullable'] !== true && wanted !== undefined) parent[key] = copyJson(wanted);
  else if (value === undefined && wanted !== undefined) parent[key] = copyJson(wanted);
  const settled = parent[key];
  if (Array.isArray(settled)) {
    const copy = [...settled];
    parent[key] = copy.map((item) => defaultItem(item, schema['items']));
  } else if (isObject(settled)) {
    const copy = { ...settled };
    parent[key] = copy;
    applySchemaDefaults(copy, schema);
  }
}

function defaultItem(item: Json, schema: Json | undefined): Json {
  if (!isObject(item) || !isObject(schema)) return item;
  const copy = { ...item };
  applySchemaDefaults(copy, schema);
  return copy;
}

/** Fills in the defaults of a structural schema; changes `object` and copies what it changes below. */
export function applySchemaDefaults(object: JsonObject, schema: JsonObject): void {
  for (const [key, child] of Object.entries(objectAt(schema, 'properties'))) {
    if (key !== 'metadata' || schema['x-kubernetes-embedded-resource'] === undefined) defaultChild(object, key, child);
  }
  const additional = schema['additionalProperties'];
  if (!isObject(additional)) return;
  const named = objectAt(schema, 'properties');
  for (const key of Object.keys(object)) if (!(key in named)) defaultChild(object, key, additional);
}
