import { coverDemand } from './cover.ts';
import { boundOf, cutOf, weigh, type Cut } from './cuts.ts';
import { fillBest } from './fill-best.ts';
import { flatten, type FlatProblem } from './fill.ts';
import { fluidWorth } from './fluid.ts';
import { emptyPool, generateColumns } from './generate-columns.ts';
import { knapsackOf } from './knapsack-of.ts';
import { undominated, type PackingBin, type PackingProblem } from './problem.ts';
import { tighten } from './tighten.ts';
import { withShare, type Work } from './work.ts';

/** Pods to be held, by new nodes or by capacity that costs nothing. */
export interface GiftedProblem {
  readonly problem: PackingProblem;
  /** What is there already: each once, at no price. */
  readonly gifts: ReadonlyArray<Omit<PackingBin, 'price'>>;
  /** Per item, how many of its pods some plan has on new nodes: what pods are worth is read off these. */
  readonly onNew: Float64Array;
  /** What that plan costs, micro-USD per hour. */
  readonly cost: number;
  readonly isFew: boolean;
}

const ROUNDS = 400;
const NODES_PER_GIFT = 200;

/**
 * What new nodes cost at least, when capacity that is there may be filled in any way: by any worth of pods, what all are
 * worth less the most that the gifts can hold. Two ways to value pods are tried: as in a plan, and as if nothing were there.
 */
export function boundWithGifts({ problem, gifts, onNew, cost, isFew }: GiftedProblem, work: Work): number {
  const tightened = tighten(problem.items, problem.bins, problem.width);
  const bins = undominated(tightened).flatMap((index) => tightened[index] ?? []);
  const flat = flatten({ ...problem, bins });
  const free = flatten({ ...problem, bins: gifts.map((gift) => ({ ...gift, price: 0 })) });
  const demand = Float64Array.from(problem.items, ({ count }) => count);
  const reduced = (cut: Cut): Cut => ({ ...cut, need: Math.max(0, cut.need - heldBy(free, cut.values, demand, work)) });
  const cuts: Array<Cut> = [];
  const guess = fluidWorth(problem.items, bins, problem.width);
  for (const wanted of [onNew, demand]) {
    const { values } = withShare(work, 0.3, (own) =>
      generateColumns(flat, {
        pool: emptyPool(),
        demand: wanted,
        guess,
        maxRounds: ROUNDS,
        thorough: false,
        work: own,
      }),
    );
    const cut = cutOf(flat, { values, demand, prices: flat.prices }, work);
    if (cut !== null) cuts.push(reduced(cut));
  }
  const bound = cuts.reduce((most, cut) => Math.max(most, boundOf(cut, flat)), 0);
  if (!isFew || bound >= cost) return bound;
  for (const values of [...resourcesOf(flat), Float64Array.from(demand, () => 1)]) {
    const cut = cutOf(flat, { values, demand, prices: null }, work);
    if (cut !== null) cuts.push(reduced(cut));
  }
  const canPack = () => ({ kind: 'unknown' }) as const;
  return coverDemand({ flat, demand, cuts, below: cost, floor: bound, canPack, work }).bound;
}

/** No filling of the gifts counts more than this. */
function heldBy(free: FlatProblem, values: Float64Array, demand: Float64Array, work: Work): number {
  let most = 0;
  for (let gift = 0; gift < free.bins; gift++) {
    const search = { above: 0, step: 1, maxNodes: NODES_PER_GIFT };
    most += Math.floor(fillBest(knapsackOf(free, gift, values, demand), search, work).atMost);
  }
  return Math.min(most, weigh(values, demand));
}

function resourcesOf({ width, items, requests }: FlatProblem): ReadonlyArray<Float64Array> {
  return Array.from({ length: width }, (_, k) =>
    Float64Array.from({ length: items }, (_unused, item) => requests[item * width + k] ?? 0),
  );
}
