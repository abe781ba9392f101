/** A JSON object from the wire, of which nothing is known yet. */
export type JsonObject = { readonly [key: string]: unknown };

/** The value when it is a JSON object, else an empty one: a missing section reads like an empty section. */
export function objectAt(value: unknown, path: string): JsonObject {
  const found = valueAt(value, path);
  return isObject(found) ? found : {};
}

/** The elements at a dotted path, none when there is no array. */
export function listAt(value: unknown, path: string): ReadonlyArray<unknown> {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found : [];
}

/** The text at a dotted path, null when it is missing or not a text. */
export function textAt(value: unknown, path: string): string | null {
  const found = valueAt(value, path);
  return typeof found === 'string' ? found : null;
}

/**
 * The value at a dotted path (`properties.osProfile.computerName`; `''` is the value itself), undefined when missing.
 */
export function valueAt(value: unknown, path: string): unknown {
  if (path === '') return value;
  return path.split('.').reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), value);
}

/** Whether a value is a JSON object (not null, not an array). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A text that is equal exactly for values that say the same, whatever the order of their keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}
