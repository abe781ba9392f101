import { copyJson, isObject, type Json, type JsonObject } from '../json.ts';

/** Applies an RFC 7386 merge patch; the answer is new where it differs and shares the rest. */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return copyJson(patch);
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyMergePatch(result[key], value);
  }
  return result;
}
