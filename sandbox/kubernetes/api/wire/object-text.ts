import type { JsonObject } from '../json.ts';
import type { Resource } from '../registry/resources.ts';
import { apiVersionOf } from '../state.ts';
import { toEventsGroup } from './event-conversion.ts';

const restTexts = new WeakMap<JsonObject, string>();
const converted = new WeakMap<JsonObject, JsonObject>();

/** The object as `resource`'s version shows it, without apiVersion and kind being right yet. */
function bodyFor(object: JsonObject, resource: Resource): JsonObject {
  if (resource.group !== 'events.k8s.io') return object;
  const known = converted.get(object);
  if (known !== undefined) return known;
  const made = toEventsGroup(object);
  converted.set(object, made);
  return made;
}

/** The members after kind and apiVersion, with the closing brace; made once per version of an object. */
function restText(object: JsonObject): string {
  const known = restTexts.get(object);
  if (known !== undefined) return known;
  const { kind: _kind, apiVersion: _version, metadata, ...rest } = object;
  const text = JSON.stringify({ metadata, ...rest }).slice(1);
  restTexts.set(object, text);
  return text;
}

/** JSON text of a stored object as `resource`'s version shows it. */
export function objectText(object: JsonObject, resource: Resource): string {
  const head = `{"kind":"${resource.kind}","apiVersion":"${apiVersionOf(resource)}",`;
  return head + restText(bodyFor(object, resource));
}

/** JSON text of a list's item: built-in kinds leave kind and apiVersion out there, as the API server does. */
export function itemText(object: JsonObject, resource: Resource): string {
  return resource.definedBy === null ? `{${restText(bodyFor(object, resource))}` : objectText(object, resource);
}

/** The object as `resource`'s version shows it. */
export function presentObject(object: JsonObject, resource: Resource): JsonObject {
  const { kind: _kind, apiVersion: _version, ...rest } = bodyFor(object, resource);
  return { kind: resource.kind, apiVersion: apiVersionOf(resource), ...rest };
}
