import { construct } from './construct.ts';
import { flatten, type FlatProblem } from './fill.ts';
import { resourcePrices } from './fluid.ts';
import { undominated, type Packing, type PackingProblem } from './problem.ts';
import { tighten } from './tighten.ts';

/** How far a round moves what an item is worth towards what its nodes cost. */
const STEP = 0.3;
/** Of the cheapest bin's price: less than this no item is worth. */
const LEAST_WORTH = 0.001;
/** Rounds without a better packing after which value correction stops: later ones hardly ever find one. */
const PATIENCE = 40;

/**
 * A cheap packing: a construction guided by the fluid prices, repeated with values corrected by what each item's nodes
 * came to cost, for as long as the budget of fills lasts. The best one found; deterministic. Column generation, which
 * gets the last percents, will stand beside this behind the same face.
 */
export function pack(problem: PackingProblem, fills: number): Packing {
  const tightened = tighten(problem.items, problem.bins, problem.width);
  const kept = undominated(tightened);
  const bins = kept.map((index) => tightened[index]).filter((bin) => bin !== undefined);
  const flat = flatten({ ...problem, bins });
  const prices = resourcePrices(problem.items, bins, problem.width);
  // What takes only resources that are plentiful is worth nothing in the fluid sense, and must be packed all the same.
  const least = LEAST_WORTH * bins.reduce((low, { price }) => Math.min(low, Math.max(1, price)), Infinity);
  const fluid = Float64Array.from(problem.items, ({ requests }) => Math.max(least, worthOf(requests, prices)));
  const promise = bins.map(({ usable, price }) => worthOf(usable, prices) / Math.max(1, price));
  const budget = { fills };
  let worth: Float64Array = fluid;
  let best = construct(flat, problem.items, { worth, promise, budget });
  for (let round = 0, idle = 0; budget.fills > 0 && idle < PATIENCE; round++) {
    worth = corrected(flat, { worth, fluid }, best, 1 + (round % 3));
    const next = construct(flat, problem.items, { worth, promise: promise.map(() => Infinity), budget });
    const better = isBetter(next, best);
    idle = better ? 0 : idle + 1;
    if (better) best = next;
    else worth = corrected(flat, { worth, fluid }, next, 1 + (round % 3));
  }
  return { ...best, nodes: best.nodes.map((node) => ({ ...node, bin: kept[node.bin] ?? 0 })) };
}

function isBetter(a: Packing, b: Packing): boolean {
  const [leftA, leftB] = [total(a.left), total(b.left)];
  return leftA === leftB ? a.cost < b.cost : leftA < leftB;
}

function total(counts: Int32Array): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Items on nodes that cost more than they hold are worth more, so that the next construction takes them first. */
function corrected(
  flat: FlatProblem,
  { worth, fluid }: { readonly worth: Float64Array; readonly fluid: Float64Array },
  { nodes }: Packing,
  power: number,
): Float64Array {
  const weighted = new Float64Array(flat.items);
  const pods = new Float64Array(flat.items);
  for (const { bin, counts, times } of nodes) {
    let held = 0;
    counts.forEach((count, item) => (held += count * (fluid[item] ?? 0)));
    const ratio = ((flat.prices[bin] ?? 0) / Math.max(held, 1e-9)) ** power;
    counts.forEach((count, item) => {
      weighted[item] = (weighted[item] ?? 0) + count * times * ratio;
      pods[item] = (pods[item] ?? 0) + count * times;
    });
  }
  return worth.map((old, item) => {
    const mean = (pods[item] ?? 0) > 0 ? (weighted[item] ?? 0) / (pods[item] ?? 1) : 1;
    return old * (1 - STEP) + STEP * (fluid[item] ?? 0) * mean;
  });
}

function worthOf(amounts: Float64Array, prices: Float64Array): number {
  let worth = 0;
  amounts.forEach((amount, at) => (worth += amount * (prices[at] ?? 0)));
  return worth;
}
