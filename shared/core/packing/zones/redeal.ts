import { at } from '../../quantity/at.ts';
import { letLoose, settle, type Redealt, type SpreadItems } from '../problem/loose-pods.ts';
import { pack } from '../pack.ts';
import type { PackingItem, PackingProblem } from '../problem/problem.ts';
import { withShare, type Work } from '../problem/work.ts';

/** More packings would take the work that one needs to come to its end. */
const TURNS = 2;

/** What all pods are packed anew from. */
export interface Beginning {
  readonly start: Redealt;
  /** No packing costs less, however pods are dealt: one that costs this is not improved on; micro-USD per hour. */
  readonly enough: number;
}

/**
 * Packs all pods anew, with one pod of each spread free to come to any domain that keeps it even: where odd pods are matters
 * most where pods are few. Each turn frees pods of other domains; the cheapest packing is kept.
 */
export function redeal(
  problem: PackingProblem,
  spreads: ReadonlyArray<SpreadItems>,
  { start, enough }: Beginning,
  work: Work,
): Redealt {
  let best = start;
  // A first packing that leaves pods is no measure for others.
  if (start.packing.left.some((count) => count > 0)) return best;
  for (let turn = 0; turn < TURNS && work.left > 0 && best.packing.cost > enough; turn++) {
    const current = spreads.map((spread, index) => dealtAs(spread, best.dealt[index] ?? spread.dealt));
    const freed = letLoose({ ...problem, items: itemsAs(problem.items, spreads, current) }, current, turn);
    if (freed.loose.length === 0) return best;
    const packing = withShare(work, 1 / (TURNS - turn), (own) => pack(freed.problem, own));
    if (packing.cost >= best.packing.cost || packing.left.some((count) => count > 0)) continue;
    best = settle(problem, current, freed, packing);
  }
  return best;
}

/** The items with as many pods as are dealt to them now. */
function itemsAs(
  items: ReadonlyArray<PackingItem>,
  before: ReadonlyArray<SpreadItems>,
  now: ReadonlyArray<SpreadItems>,
): ReadonlyArray<PackingItem> {
  const counts = items.map(({ count }) => count);
  now.forEach(({ items: own, dealt }, spread) => {
    own.forEach((item, domain) => {
      if (item >= 0) counts[item] = at(counts, item) + at(dealt, domain) - at(before[spread]?.dealt ?? [], domain);
    });
  });
  return items.map((item, index) => ({ ...item, count: at(counts, index) }));
}

function dealtAs(spread: SpreadItems, dealt: ReadonlyArray<number>): SpreadItems {
  const counts = spread.counts.map((count, domain) => count + at(dealt, domain) - at(spread.dealt, domain));
  return { ...spread, dealt, counts };
}
