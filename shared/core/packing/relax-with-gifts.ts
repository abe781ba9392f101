import { fillBest } from './fill-best.ts';
import { flatten, type FlatProblem } from './fill.ts';
import { fluidWorth } from './fluid.ts';
import { generateColumns, type Gifts } from './generate-columns.ts';
import { emptyPool, GIFT } from './patterns.ts';
import { knapsackOf } from './knapsack-of.ts';
import { undominated, type PackingBin, type PackingProblem } from './problem.ts';
import { tighten } from './tighten.ts';
import type { Work } from './work.ts';

/** Pods to be held, by new nodes or by capacity that costs nothing. */
export interface GiftedProblem {
  readonly problem: PackingProblem;
  /** What is there already: each once, at no price. */
  readonly gifts: ReadonlyArray<Omit<PackingBin, 'price'>>;
}

/** What a relaxation that may fill a fraction of everything says. */
export interface GiftedRelaxation {
  /** Sizes of new nodes that matter. */
  readonly flat: FlatProblem;
  readonly free: FlatProblem;
  /** Pods per item. */
  readonly demand: Float64Array;
  /** What a pod of each item is worth; micro-USD per hour. */
  readonly values: Float64Array;
  /** How many pods of each item are on gifts. */
  readonly onGifts: Float64Array;
}

const ROUNDS = 200;
const NODES_PER_GIFT = 1_000;

/**
 * What pods are worth where some can be held for nothing: the relaxation over filled nodes, in which the gifts together
 * may be filled once, as a mix of fillings of all of them.
 */
export function relaxWithGifts({ problem, gifts }: GiftedProblem, work: Work): GiftedRelaxation {
  const tightened = tighten(problem.items, problem.bins, problem.width);
  const bins = undominated(tightened).flatMap((index) => tightened[index] ?? []);
  const flat = flatten({ ...problem, bins });
  const free = flatten({ ...problem, bins: gifts.map((gift) => ({ ...gift, price: 0 })) });
  // Items that no new node holds cannot be paid for: they are gifts' alone, and worth nothing here.
  const demand = Float64Array.from(problem.items, ({ count }) => count);
  const wanted = demand.map((count, item) => (bins.some(({ admits }) => admits[item] === 1) ? count : 0));
  const pool = emptyPool();
  const { master, values } = generateColumns(flat, {
    pool,
    demand: wanted,
    guess: fluidWorth(problem.items, bins, problem.width),
    gifts: giftsOf(problem, gifts, wanted, work),
    maxRounds: ROUNDS,
    thorough: true,
    work,
  });
  const onGifts = new Float64Array(flat.items);
  master.basis.forEach((variable, row) => {
    const pattern = pool.patterns[variable];
    if (pattern?.bin !== GIFT) return;
    pattern.rows.forEach((item, i) => {
      const amount = (master.amounts[row] ?? 0) * (pattern.amounts[i] ?? 0);
      if (item < flat.items) onGifts[item] = (onGifts[item] ?? 0) + amount;
    });
  });
  return { flat, free, demand, values, onGifts };
}

/** Gifts that can be filled alike are filled once. */
function giftsOf(problem: PackingProblem, gifts: GiftedProblem['gifts'], demand: Float64Array, work: Work): Gifts {
  const tightened = tighten(
    problem.items,
    gifts.map((gift) => ({ ...gift, price: 0 })),
    problem.width,
  );
  const alike = [...Map.groupBy(tightened, ({ usable, admits }) => `${usable.join(' ')} ${admits.join('')}`).values()];
  const free = flatten({ ...problem, bins: alike.flatMap(([first]) => first ?? []) });
  return {
    fill: (values) => {
      const counts = new Float64Array(free.items);
      let atMost = 0;
      alike.forEach(({ length: times }, gift) => {
        const search = { above: 0, step: 1, maxNodes: NODES_PER_GIFT, isDeep: false };
        const filling = fillBest(knapsackOf(free, gift, values, demand), search, work);
        filling.counts.forEach((count, item) => (counts[item] = (counts[item] ?? 0) + times * count));
        atMost += times * filling.atMost;
      });
      return { counts, atMost };
    },
  };
}
