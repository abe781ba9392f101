import { parseBakeTime } from '../../../kubernetes/bake-time.ts';
import { annotation } from '../../names.ts';
import type { Problem } from '../schema/validation-error.ts';

/** What is wrong with what a NodePool says about its canaries. Never throws. */
export function bakeTimeProblems(metadata: {
  readonly annotations?: Readonly<Record<string, string>>;
}): ReadonlyArray<Problem> {
  const time = parseBakeTime(metadata);
  if (time.kind !== 'wrong') return [];
  const path = `metadata.annotations[${annotation.bakeTime}]`;
  const fix = 'write a duration of up to 168h, such as 30m or 4h, or remove it to replace nodes without a canary';
  return [{ path, message: time.why, fix, layer: 'runtime' }];
}
