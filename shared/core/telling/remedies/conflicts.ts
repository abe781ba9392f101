import { isNone } from '../../offerings/compile-pool.ts';
import { at } from '../../quantity/at.ts';
import type { Conditions } from './conditions.ts';
import type { Condition } from './condition.ts';

/** Conditions that no offering meets together, while one meets any of them but one. */
export type Conflict = ReadonlyArray<Condition>;

/**
 * Why nothing meets all conditions: the smallest conflict, and of what is left without its conditions the next, until
 * something meets the rest. Each is one condition where one is enough, else two, else as few as can be found by leaving
 * out one after the other. Empty where something meets all, or nothing is there at all.
 */
export function conflictsAmong({ base, all }: Conditions): ReadonlyArray<Conflict> {
  if (isNone(base)) return [];
  const conflicts: Array<Conflict> = [];
  let rest = all;
  // Ends: each turn leaves out a condition of a finite list.
  while (leavesNone(base, rest)) {
    const conflict = smallestOf(base, rest);
    conflicts.push(conflict);
    rest = rest.filter((one) => !conflict.includes(one));
  }
  return conflicts;
}

/** Per type: the offerings of `base` that meet all conditions. */
export function leftBy(base: Int32Array, conditions: ReadonlyArray<Condition>): Int32Array {
  const left = Int32Array.from(base);
  for (const { met } of conditions) {
    for (let type = 0; type < left.length; type++) left[type] = at(left, type) & at(met, type);
  }
  return left;
}

/** As `leftBy` would tell, and as soon as one offering does. */
function leavesNone(base: Int32Array, conditions: ReadonlyArray<Condition>): boolean {
  for (let type = 0; type < base.length; type++) {
    let left = at(base, type);
    for (let index = 0; left !== 0 && index < conditions.length; index++)
      left &= at(conditions[index]?.met ?? base, type);
    if (left !== 0) return false;
  }
  return true;
}

function smallestOf(base: Int32Array, conditions: ReadonlyArray<Condition>): Conflict {
  const isConflict = (some: ReadonlyArray<Condition>): boolean => leavesNone(base, some);
  const alone = conditions.find((one) => isConflict([one]));
  if (alone !== undefined) return [alone];
  for (const [index, one] of conditions.entries()) {
    const other = conditions.slice(0, index).find((before) => isConflict([before, one]));
    if (other !== undefined) return [other, one];
  }
  return conditions.reduce((kept, one) => {
    const without = kept.filter((each) => each !== one);
    return isConflict(without) ? without : kept;
  }, conditions);
}
