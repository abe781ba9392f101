import { at } from '../../quantity/at.ts';
import { fillBest, type Filling } from '../knapsack/fill-best.ts';
import { flatten, type FlatProblem } from '../problem/fill.ts';
import { fluidWorth } from '../lp/fluid.ts';
import { generateColumns, type Gifts } from '../columns/generate-columns.ts';
import { emptyPool, GIFT } from '../columns/patterns.ts';
import { knapsackOf } from '../knapsack/knapsack-of.ts';
import { holdsOne, undominated, type PackingBin, type PackingProblem } from '../problem/problem.ts';
import { tighten } from '../problem/tighten.ts';
import type { Work } from '../problem/work.ts';

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
  readonly kinds: ReadonlyArray<GiftKind>;
  /** Pods per item. */
  readonly demand: Float64Array;
  /** What a pod of each item is worth; micro-USD per hour. */
  readonly values: Float64Array;
  /** How many pods of each item are on gifts. */
  readonly onGifts: Float64Array;
}

/** Gifts that can be filled alike. */
export interface GiftKind {
  /** How many there are. */
  readonly times: number;
  /** The items that fit: hardly any where little is free. */
  readonly members: Int32Array;
  /** One of these gifts as the only size, with the members as the only items. */
  readonly flat: FlatProblem;
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
  const kinds = kindsOf(problem, gifts);
  const { master, values } = generateColumns(flat, {
    pool,
    demand: wanted,
    guess: fluidWorth(problem.items, bins, problem.width),
    gifts: giftsOf(kinds, wanted, work),
    maxRounds: ROUNDS,
    from: null,
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
  return { flat, free, kinds, demand, values, onGifts };
}

function kindsOf(problem: PackingProblem, gifts: GiftedProblem['gifts']): ReadonlyArray<GiftKind> {
  const tightened = tighten(
    problem.items,
    gifts.map((gift) => ({ ...gift, price: 0 })),
    problem.width,
  );
  const lowered = tightened.map((gift) => lowerToFew(problem, gift));
  const alike = Map.groupBy(lowered, ({ usable, admits }) => `${usable.join(' ')} ${admits.join('')}`);
  return [...alike.values()].flatMap((own) => {
    const [gift] = own;
    return gift === undefined ? [] : [kindOf(problem, gift, own.length)];
  });
}

/**
 * The gift with what as many pods as fit can use at most of each resource: where one pod fits, it does not matter how
 * much more than the largest is free.
 */
function lowerToFew({ width, items }: PackingProblem, gift: PackingBin): PackingBin {
  const admits = new Uint8Array(items.length);
  items.forEach((item, index) => (admits[index] = Number(holdsOne(gift, item, index))));
  let pods = Infinity;
  const largest = new Float64Array(width);
  for (let k = 0; k < width; k++) {
    let least = Infinity;
    for (let index = 0; index < items.length; index++) {
      const request = admits[index] === 1 ? at(items[index]?.requests ?? NOTHING, k) : 0;
      if (admits[index] === 1) least = Math.min(least, request);
      largest[k] = Math.max(at(largest, k), request);
    }
    if (least > 0) pods = Math.min(pods, Math.floor(at(gift.usable, k) / least));
  }
  const usable = gift.usable.map((amount, k) => (largest[k] === 0 ? 0 : Math.min(amount, pods * at(largest, k))));
  return { ...gift, usable, admits };
}

const NOTHING = new Float64Array();

function kindOf({ width, items }: PackingProblem, gift: PackingBin, times: number): GiftKind {
  const members = items.flatMap((item, index) => (holdsOne(gift, item, index) ? [index] : []));
  const own = members.flatMap((index) => items[index] ?? []);
  const bin = { ...gift, admits: new Uint8Array(own.length).fill(1) };
  return { times, members: Int32Array.from(members), flat: flatten({ width, items: own, bins: [bin] }) };
}

/** The most valuable filling of a gift of the kind: pods per member. */
export function fillKind(
  { members, flat }: GiftKind,
  { values, demand }: { readonly values: Float64Array; readonly demand: Float64Array },
  work: Work,
): Filling {
  const own = (numbers: Float64Array): Float64Array => {
    const picked = new Float64Array(members.length);
    for (let member = 0; member < members.length; member++) picked[member] = at(numbers, at(members, member));
    return picked;
  };
  const effort = { above: 0, step: 1, maxNodes: NODES_PER_GIFT, isDeep: false };
  return fillBest(knapsackOf(flat, 0, own(values), own(demand)), effort, work);
}

function giftsOf(kinds: ReadonlyArray<GiftKind>, demand: Float64Array, work: Work): Gifts {
  const holds = new Uint8Array(demand.length);
  for (const { members } of kinds) for (const item of members) holds[item] = 1;
  return {
    holds,
    fill: (values) => {
      const counts = new Float64Array(demand.length);
      let atMost = 0;
      for (const kind of kinds) {
        const filling = fillKind(kind, { values, demand }, work);
        filling.counts.forEach((count, member) => {
          const item = at(kind.members, member);
          counts[item] = at(counts, item) + kind.times * count;
        });
        atMost += kind.times * filling.atMost;
      }
      return { counts, atMost };
    },
  };
}
