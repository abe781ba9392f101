import type { Rng } from '../../base/rng.ts';

/** A version 4 GUID drawn from the seed, so that a run can be repeated to the letter. */
export function drawGuid(rng: Rng): string {
  const hex = (digits: number): string => Array.from({ length: digits }, () => rng.below(16).toString(16)).join('');
  return `${hex(8)}-${hex(4)}-4${hex(3)}-${(8 + rng.below(4)).toString(16)}${hex(3)}-${hex(12)}`;
}
