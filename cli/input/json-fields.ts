import { isRecord } from '../../shared/contract/api/schema/object-meta.ts';
import type { JsonObject } from './objects.ts';

/** The map at a path of field names; empty where there is none. */
export function mapAt(value: unknown, ...path: ReadonlyArray<string>): JsonObject {
  const found = valueAt(value, path);
  return isRecord(found) ? found : {};
}

/** The list at a path; empty where there is none. */
export function listAt(value: unknown, ...path: ReadonlyArray<string>): ReadonlyArray<unknown> {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found : [];
}

/** The text at a path; empty where there is none. */
export function textAt(value: unknown, ...path: ReadonlyArray<string>): string {
  const found = valueAt(value, path);
  return typeof found === 'string' ? found : '';
}

/** The number at a path; `otherwise` where there is none. */
export function numberAt(value: unknown, otherwise: number, ...path: ReadonlyArray<string>): number {
  const found = valueAt(value, path);
  return typeof found === 'number' ? found : otherwise;
}

function valueAt(value: unknown, path: ReadonlyArray<string>): unknown {
  return path.reduce((at: unknown, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), value);
}
