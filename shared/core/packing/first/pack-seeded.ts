import { doubleAt, intAt } from '../../quantity/at.ts';
import { fillBest } from '../knapsack/fill-best.ts';
import { knapsackOf } from '../knapsack/knapsack-of.ts';
import { relaxedValue, relaxKnapsack } from '../knapsack/relax-knapsack.ts';
import type { FlatProblem } from '../problem/fill.ts';
import type { PackedNode, Packing } from '../problem/problem.ts';
import type { Work } from '../problem/work.ts';
import { buyInTurn, cheapestHolding, timesWithin } from './construct.ts';

/** What is packed, and by which values. */
export interface Seeding {
  /** Pods per item. */
  readonly demand: Float64Array;
  /** What a pod of each item is worth, in micro-USD per hour. */
  readonly worth: Float64Array;
  readonly work: Work;
}

/**
 * Search nodes for a size: with a tenth of them nodes are left with holes, and fractions of what is packed cost a
 * percent more. Of many pods half as many, as more packings gain more than better ones there.
 */
const SEARCH_NODES = 4_000;
const SEARCH_NODES_OF_MANY = 2_000;
/** More pods than this are many. */
export const MANY_PODS = 300;
/** Operations that a look at a size counts for, per item and resource, beside its search. */
const WORK_PER_ITEM = 20;
/** Of a size's price: a filling that is worth so little more is not looked for. */
const STEP = 1e-3;

/**
 * Buys node after node, each for one pod of the item that is worth most of what is left and for what goes best with it,
 * in the size that is worth most per price then. So the pods that are hard to place have their pick of the others. Null
 * where work ends before all are packed, or one of them fits no bin.
 */
export function packSeeded(flat: FlatProblem, { demand, worth, work }: Seeding): Packing | null {
  const left = demand.slice();
  const maxNodes = podsOf(demand) > MANY_PODS ? SEARCH_NODES_OF_MANY : SEARCH_NODES;
  const run: Run = { flat, worth, work, left, maxNodes, reach: new Float64Array(flat.bins).fill(Infinity) };
  const seeds = [...demand.keys()].toSorted((a, b) => doubleAt(worth, b) - doubleAt(worth, a) || a - b);
  let turn = 0;
  const packing = buyInTurn(flat, left, () => {
    while (doubleAt(left, seeds[turn] ?? 0) === 0) turn++;
    return work.left > 0 ? bestAround(run, seeds[turn] ?? 0) : null;
  });
  return packing.left.some((count) => count > 0) ? null : packing;
}

/** How many pods there are. */
export function podsOf(demand: Float64Array): number {
  return demand.reduce((sum, count) => sum + count, 0);
}

interface Run {
  readonly flat: FlatProblem;
  readonly worth: Float64Array;
  readonly work: Work;
  readonly left: Float64Array;
  readonly maxNodes: number;
  /** Per bin: no filling with what was left when it was last looked at is worth more per price. Less is left since. */
  readonly reach: Float64Array;
}

interface Filled {
  readonly bin: number;
  readonly counts: Int32Array;
  readonly ratio: number;
}

/**
 * The node with one pod of the item that is worth most per price, as often as there are pods for it; null when no bin
 * holds one.
 */
function bestAround(run: Run, seed: number): PackedNode | null {
  const { flat, left, reach } = run;
  const open = [...reach.keys()].filter((bin) => flat.admits[bin * flat.items + seed] === 1);
  let best: Filled | null = null;
  while (open.length > 0) {
    const place = open.reduce(
      (most, bin, index) => (doubleAt(reach, bin) > doubleAt(reach, open[most] ?? 0) ? index : most),
      0,
    );
    const [bin = 0] = open.splice(place, 1);
    if (best !== null && doubleAt(reach, bin) <= best.ratio) break;
    best = fillAround(run, seed, bin, best) ?? best;
  }
  if (best === null) return null;
  const cheapest = cheapestHolding(flat, best.counts);
  return { bin: cheapest === -1 ? best.bin : cheapest, counts: best.counts, times: timesWithin(best.counts, left) };
}

/**
 * The size filled around one pod of the item; null when it cannot hold that, or is worth no more per price than `best`.
 */
function fillAround(
  { flat, worth, work, left, maxNodes, reach }: Run,
  seed: number,
  bin: number,
  best: Filled | null,
): Filled | null {
  const price = Math.max(1, doubleAt(flat.prices, bin));
  const knapsack = knapsackOf(flat, bin, worth, left);
  if (doubleAt(knapsack.limits, seed) === 0) return null;
  const multipliers = relaxKnapsack(knapsack);
  reach[bin] = Math.min(doubleAt(reach, bin), relaxedValue(knapsack, multipliers) / price);
  work.left -= WORK_PER_ITEM * flat.items * (flat.width + 1);
  if (best !== null && doubleAt(reach, bin) <= best.ratio) return null;
  const own = doubleAt(worth, seed);
  const limits = knapsack.limits.slice();
  limits[seed] = doubleAt(limits, seed) - 1;
  const free = knapsack.free.map((amount, k) => amount - doubleAt(flat.requests, seed * flat.width + k));
  const above = best === null ? 0 : Math.max(0, best.ratio * price - own);
  const effort = { above, step: price * STEP, maxNodes, isDeep: false, multipliers };
  const { value, counts } = fillBest({ ...knapsack, limits, free }, effort, work);
  const ratio = (value + own) / price;
  if (best !== null && ratio <= best.ratio) return null;
  counts[seed] = intAt(counts, seed) + 1;
  return { bin, counts, ratio };
}
