import type { Json, JsonObject } from '../json.ts';

/** The cells of a built-in object, in its columns' order; null for kinds that show only name and age. */
export function cellsOf(_storage: string, _object: JsonObject, _nowMs: number): Array<Json> | null {
  return null;
}
