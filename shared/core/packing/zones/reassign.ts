import { at } from '../../quantity/at.ts';
import { letLoose, settle, type AssignedPacking, type SpreadItems } from '../problem/loose-pods.ts';
import { pack } from '../pack.ts';
import type { PackingItem, PackingProblem } from '../problem/problem.ts';
import { withShare, type Work } from '../problem/work.ts';

/** More packings would take the work that one needs to come to its end. */
const TURNS = 2;

/** What all pods are packed again from. */
export interface FirstAssignment {
  readonly start: AssignedPacking;
  /** No packing costs less, however pods are assigned: one that costs this is not improved on; micro-USD per hour. */
  readonly enough: number;
}

/**
 * Packs all pods again, with one pod of each spread free to come to any domain that keeps it even: where odd pods are
 * matters most where pods are few. Each turn frees pods of other domains; the cheapest packing is kept.
 */
export function reassign(
  problem: PackingProblem,
  spreads: ReadonlyArray<SpreadItems>,
  { start, enough }: FirstAssignment,
  work: Work,
): AssignedPacking {
  let best = start;
  // A first packing that leaves pods is no measure for others.
  if (start.packing.left.some((count) => count > 0)) return best;
  for (let turn = 0; turn < TURNS && work.left > 0 && best.packing.cost > enough; turn++) {
    const current = spreads.map((spread, index) => assignedAs(spread, best.assigned[index] ?? spread.assigned));
    const loosened = letLoose({ ...problem, items: itemsAs(problem.items, spreads, current) }, current, turn);
    if (loosened.loose.length === 0) return best;
    const packing = withShare(work, 1 / (TURNS - turn), (own) => pack(loosened.problem, own));
    if (packing.cost >= best.packing.cost || packing.left.some((count) => count > 0)) continue;
    best = settle(problem, current, loosened, packing);
  }
  return best;
}

/** The items with as many pods as are assigned to them now. */
function itemsAs(
  items: ReadonlyArray<PackingItem>,
  before: ReadonlyArray<SpreadItems>,
  now: ReadonlyArray<SpreadItems>,
): ReadonlyArray<PackingItem> {
  const counts = items.map(({ count }) => count);
  now.forEach(({ items: own, assigned }, spread) => {
    own.forEach((item, domain) => {
      if (item >= 0)
        counts[item] = at(counts, item) + at(assigned, domain) - at(before[spread]?.assigned ?? [], domain);
    });
  });
  return items.map((item, index) => ({ ...item, count: at(counts, index) }));
}

function assignedAs(spread: SpreadItems, assigned: ReadonlyArray<number>): SpreadItems {
  const counts = spread.counts.map((count, domain) => count + at(assigned, domain) - at(spread.assigned, domain));
  return { ...spread, assigned, counts };
}
