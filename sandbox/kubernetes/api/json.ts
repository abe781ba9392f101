/** Any JSON value. Values that the store has handed out are shared: copy before changing. */
export type Json = null | boolean | number | string | Array<Json> | JsonObject;

/** A JSON object. */
export interface JsonObject {
  [key: string]: Json;
}

/** True for a JSON object: not null, not an array. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at `path`; a number steps into an array. Undefined where a step is missing. */
export function at(value: Json | undefined, ...path: ReadonlyArray<string | number>): Json | undefined {
  let current = value;
  for (const step of path) {
    if (Array.isArray(current)) current = typeof step === 'number' ? current[step] : undefined;
    else if (isObject(current)) current = Object.hasOwn(current, step) ? current[step] : undefined;
    else return undefined;
  }
  return current;
}

/** The object at `path`, or a new empty one that is not attached to `value`. */
export function objectAt(value: Json | undefined, ...path: ReadonlyArray<string | number>): JsonObject {
  const found = at(value, ...path);
  return isObject(found) ? found : {};
}

/** The array at `path`, or a new empty one that is not attached to `value`. */
export function listAt(value: Json | undefined, ...path: ReadonlyArray<string | number>): Array<Json> {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The text at `path`, or ''. */
export function textAt(value: Json | undefined, ...path: ReadonlyArray<string | number>): string {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
}

/** The number at `path`, or `otherwise`. */
export function numberAt(value: Json | undefined, otherwise: number, ...path: ReadonlyArray<string | number>): number {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : otherwise;
}

/** The object at `path` of `value`, made where it is missing; for objects that the caller owns. */
export function ensureObject(value: JsonObject, ...path: ReadonlyArray<string>): JsonObject {
  let current = value;
  for (const step of path) {
    const next = current[step];
    if (isObject(next)) current = next;
    else {
      const made: JsonObject = {};
      current[step] = made;
      current = made;
    }
  }
  return current;
}

/** A deep copy that shares nothing with `value`. */
export function copyJson<Value extends Json>(value: Value): Value;
export function copyJson(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => copyJson(item));
  if (!isObject(value)) return value;
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) copy[key] = copyJson(value[key] ?? null);
  return copy;
}

/** Deep equality; the order of keys does not count. */
export function equalJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => equalJson(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equalJson(a[key], b[key]))
  );
}

/** JSON text with the keys of every object in order, so that equal values give equal text. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).toSorted();
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`).join(',')}}`;
}
