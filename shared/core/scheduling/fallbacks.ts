import type { PlannedOffering } from '../plan/plan.ts';

/** Launch tries at most this many other offerings before the pods are planned again: later ones are far dearer. */
const MAX_FALLBACKS = 20;

/** Places kept for another capacity type: when spot is short, it is often short in every size at once. */
const OTHER_CAPACITY_TYPE = 5;

/** Most refusals are for the quota of a whole family, so no family may fill the list while others hold the pods too. */
const PER_FAMILY = 8;

/** What to launch instead, cheapest first; `others` come in that order. */
export function chooseFallbacks<Offering extends PlannedOffering>(
  chosen: Offering,
  others: ReadonlyArray<Offering>,
): ReadonlyArray<Offering> {
  const alike: Array<Offering> = [];
  const unlike: Array<Offering> = [];
  for (const other of others) (other.capacityType === chosen.capacityType ? alike : unlike).push(other);
  const kept = Math.min(OTHER_CAPACITY_TYPE, unlike.length);
  const first = diverse(alike, MAX_FALLBACKS - kept);
  const picked = new Set([...first, ...diverse(unlike, MAX_FALLBACKS - first.length)]);
  return others.filter((offering) => picked.has(offering));
}

function diverse<Offering extends PlannedOffering>(
  offerings: ReadonlyArray<Offering>,
  count: number,
): ReadonlyArray<Offering> {
  const perFamily = new Map<string, number>();
  const families = new Map<string, string>();
  const early: Array<Offering> = [];
  const late: Array<Offering> = [];
  for (const offering of offerings) {
    // What comes after the last place that it could fill changes nothing.
    if (early.length === count) break;
    const { instanceType } = offering;
    const family = families.get(instanceType) ?? /^[A-Za-z]+_[A-Za-z]+/.exec(instanceType)?.[0] ?? instanceType;
    families.set(instanceType, family);
    const seen = perFamily.get(family) ?? 0;
    perFamily.set(family, seen + 1);
    (seen < PER_FAMILY ? early : late).push(offering);
  }
  return [...early, ...late].slice(0, count);
}
