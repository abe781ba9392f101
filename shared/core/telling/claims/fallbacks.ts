import type { PlannedOffering } from '../../model/plan.ts';

/** Places kept for another capacity type: when spot is short, it is often short in every size at once. */
const OTHER_CAPACITY_TYPE = 5;

/** Most refusals are for the quota of a whole family, so no family may fill the list while others hold the pods too. */
const PER_FAMILY = 8;

/** What to launch instead, at most `most`, cheapest first; `others` come in that order. */
export function chooseFallbacks<Offering extends PlannedOffering>(
  chosen: Offering,
  others: ReadonlyArray<Offering>,
  most: number,
): ReadonlyArray<Offering> {
  const alike: Array<number> = [];
  const unlike: Array<number> = [];
  for (let place = 0; place < others.length; place++) {
    (others[place]?.capacityType === chosen.capacityType ? alike : unlike).push(place);
  }
  const kept = Math.min(OTHER_CAPACITY_TYPE, unlike.length, most);
  const first = diverse(others, alike, most - kept);
  const picked = [...first, ...diverse(others, unlike, most - first.length)];
  return picked.toSorted((a, b) => a - b).flatMap((place) => others[place] ?? []);
}

/** The first `count` of these places, no family with too many as long as others are there. */
function diverse(
  offerings: ReadonlyArray<PlannedOffering>,
  places: ReadonlyArray<number>,
  count: number,
): ReadonlyArray<number> {
  const perFamily = new Map<string, number>();
  const early: Array<number> = [];
  const late: Array<number> = [];
  let [before, family] = ['', ''];
  // What comes after the last place that it could fill changes nothing.
  for (let index = 0; index < places.length && early.length < count; index++) {
    const place = places[index] ?? 0;
    const { instanceType = '' } = offerings[place] ?? {};
    // Offerings of one size mostly follow each other.
    if (instanceType !== before) family = /^[A-Za-z]+_[A-Za-z]+/.exec(instanceType)?.[0] ?? instanceType;
    before = instanceType;
    const seen = perFamily.get(family) ?? 0;
    if (seen < PER_FAMILY) early.push(place);
    else if (late.length < count) late.push(place);
    perFamily.set(family, seen + 1);
  }
  return [...early, ...late].slice(0, count);
}
