import type { PackingBin } from './problem.ts';

/** Search steps after which the question is left open: a few milliseconds; enough for plans of a handful of nodes. */
const MAX_STEPS = 20_000;

/** Far more than the rounding errors of a sum of a few products of doubles. */
const MARGIN = 1 - 1e-9;

interface Search {
  readonly bins: ReadonlyArray<PackingBin>;
  readonly worth: Float64Array;
  best: number;
  steps: number;
}

/**
 * The least cost of whole nodes whose resources together cover the demand, if that is less than `cost`, else `cost`
 * itself, which is then proved to be the least. Every plan covers its demand, so none is cheaper. Null when the search
 * was too long. `worth`: certified prices per resource, by which branches are cut.
 */
export function integerCover(
  bins: ReadonlyArray<PackingBin>,
  demand: Float64Array,
  worth: Float64Array,
  cost: number,
): number | null {
  const dearestFirst = bins.filter(({ price }) => price > 0).toSorted((a, b) => b.price - a.price);
  if (dearestFirst.length < bins.length) return null;
  const search: Search = { bins: dearestFirst, worth, best: cost, steps: 0 };
  return cover(search, 0, demand, 0) ? search.best : null;
}

/** Tries every multiset of bins from `from` on; false when out of steps. Depth is bounded by cost over the least price. */
function cover(search: Search, from: number, demand: Float64Array, cost: number): boolean {
  search.steps++;
  if (search.steps > MAX_STEPS) return false;
  if (demand.every((amount) => amount <= 0)) {
    search.best = Math.min(search.best, cost);
    return true;
  }
  for (let index = from; index < search.bins.length; index++) {
    // Costs are whole, so what is left must be worth a whole unit less than the best known, or nothing is gained.
    if (cost + leftWorth(search, demand) > search.best - 1) return true;
    const bin = search.bins[index];
    if (bin === undefined || cost + bin.price >= search.best) continue;
    const rest = demand.map((amount, at) => amount - (bin.usable[at] ?? 0));
    if (!cover(search, index, rest, cost + bin.price)) return false;
  }
  return true;
}

function leftWorth({ worth }: Search, demand: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < demand.length; at++) sum += Math.max(0, demand[at] ?? 0) * (worth[at] ?? 0);
  return sum * MARGIN;
}
