import { byteAt, doubleAt } from '../../quantity/at.ts';
import { weigh } from './cuts.ts';
import type { FlatProblem } from '../problem/fill.ts';
import { limitOf } from '../knapsack/knapsack-of.ts';
import { costOf, createMaster, optimize, recalculateDuals, reducedCost, type Master } from '../lp/master.ts';
import { resume } from '../lp/resume.ts';
import { addPattern, giftPattern, patternOf, type Pattern, type PatternPool } from './patterns.ts';
import { priceOpen, priceSizes, type PricedSizes } from './price-sizes.ts';
import type { Work } from '../problem/work.ts';

/** The relaxation that may take fractions of filled nodes. */
export interface Relaxation {
  readonly master: Master;
  readonly patterns: ReadonlyArray<Pattern>;
  /** What it costs. */
  readonly cost: number;
  /** What a pod of each item is worth, such that no size is worth more than it costs; the best bound found. */
  readonly values: Float64Array;
  readonly bound: number;
}

export interface Generation {
  /** Ways to fill that are known already; those found are added. */
  readonly pool: PatternPool;
  /** Pods per item still to be packed. */
  readonly demand: Float64Array;
  /** What a pod of each item is worth, roughly; micro-USD per hour. */
  readonly guess: Float64Array;
  /** Capacity that costs nothing, filled as a whole; null for none. */
  readonly gifts: Gifts | null;
  /** A relaxation over the same pool to go on from; null for none. Left as it is. */
  readonly from: Relaxation | null;
  readonly maxRounds: number;
  /** Whether to search long for what quick searches leave open: it gains little but a better bound. */
  readonly thorough: boolean;
  readonly work: Work;
}

/** Capacity that is there already, once. */
export interface Gifts {
  /** The most valuable filling of all of it for these values per pod, each part for itself, and what none exceeds. */
  readonly fill: (values: Float64Array) => { readonly counts: ArrayLike<number>; readonly atMost: number };
  /** Per item: 1 where any part holds a pod of it. */
  readonly holds: Uint8Array;
}

/** The bound is close enough when fractions of nodes could cost so much less. */
const CLOSE = 1.2e-4;
/** Search nodes per size: few at first, more once the duals have settled. */
const FIRST_NODES = 300;
const MOST_NODES = 3_000;
/** With more items than this, rounds add few columns, since each costs the simplex more than it costs to find. */
const MANY_ITEMS = 24;
const COLUMNS_PER_ROUND = 48;
/** Of what it costs: a pattern that would lower the cost by less is not added. */
const LEAST_GAIN = 1e-6;

/**
 * Fills sizes by what pods are worth, and adds those fillings to the relaxation, until none is worth more than its size
 * costs. Pods are valued between the duals and the values that gave the best bound so far, which keeps the duals from
 * swinging; where that finds nothing new, by the duals themselves. Every round bounds the cost from below: values
 * scaled until no size is worth more than it costs.
 */
export function generateColumns(flat: FlatProblem, generation: Generation): Relaxation {
  const { pool, demand, maxRounds, work } = generation;
  addSingles(flat, demand, pool);
  const master = startingMaster(flat, generation);
  let best = boundOfGuess(flat, generation, master);
  let effort: Effort | null = { nodes: FIRST_NODES, smoothing: SMOOTHING };
  for (let round = 0; round < maxRounds && effort !== null; round++) {
    const solved = optimize(master, work);
    const values = blend(best.values, master, effort.smoothing);
    const priced = priceAll(flat, generation, values, effort.nodes);
    best = better(best, demand, values, priced);
    if (!solved || work.left <= 0 || costOf(master) - best.bound <= CLOSE * costOf(master)) break;
    if (addPatterns(pool, master, priced.patterns) > 0) effort = { nodes: effort.nodes, smoothing: SMOOTHING };
    else if (!raiseCeilings(master)) effort = harder(effort, generation.thorough);
    if (effort === null && generation.thorough) {
      const last = priceOpen(flat, { demand, values, work }, priced);
      best = better(best, demand, values, last);
      if (addPatterns(pool, master, last.patterns) > 0) effort = { nodes: MOST_NODES, smoothing: 0 };
    }
  }
  return { master, patterns: pool.patterns, cost: costOf(master), ...best };
}

/** Sizes and gifts filled by these values. */
function priceAll(
  flat: FlatProblem,
  { demand, gifts, work }: Generation,
  values: Float64Array,
  nodes: number,
): PricedSizes {
  const priced = priceSizes(flat, { demand, values, work }, nodes);
  if (gifts === null) return priced;
  const { counts, atMost } = gifts.fill(values);
  return { ...priced, patterns: [giftPattern(flat, counts), ...priced.patterns], given: atMost };
}

/**
 * With more items than this, duals are kept near the guess at first: else the simplex turns in circles around a
 * packing.
 */
const CEILING = 1.25;

/**
 * What a pod left out of the relaxation costs: more than it could with few items, little more than the guess with many.
 */
function priceCeilings(flat: FlatProblem, { pool, demand, guess }: Generation): Float64Array {
  if (flat.items <= MANY_ITEMS) return demand.map((_, item) => dearest(flat, pool, item));
  return demand.map((_, item) => Math.max(1, doubleAt(guess, item) * CEILING));
}

/** Doubles the ceilings that hold duals down; false when there are none. */
function raiseCeilings(master: Master): boolean {
  const { basis, amounts, ownCost, covering } = master;
  let raised = false;
  basis.forEach((variable, row) => {
    if (variable >= 0 || variable < -covering || doubleAt(amounts, row) < 1e-4) return;
    ownCost[-1 - variable] = doubleAt(ownCost, -1 - variable) * 2;
    raised = true;
  });
  if (raised) recalculateDuals(master);
  return raised;
}

/**
 * The guess is a good start only if it comes with its bound: any other would take its place. Beside gifts it says too
 * much of pods that these hold, so that counting the others alone may bound more.
 */
function boundOfGuess(flat: FlatProblem, generation: Generation, master: Master): BoundAndValues {
  const { pool, demand, guess, gifts } = generation;
  const wanted = guess.map((value, item) => (doubleAt(demand, item) > 0 ? value : 0));
  const guesses =
    gifts === null ? [wanted] : [wanted, wanted.map((value, item) => value * (1 - byteAt(gifts.holds, item)))];
  let best: BoundAndValues = { bound: 0, values: wanted };
  for (const values of guesses) {
    const priced = priceAll(flat, generation, values, FIRST_NODES);
    for (const pattern of priced.patterns) if (addPattern(pool, pattern)) master.columns.push(pattern);
    best = better(best, demand, values, priced);
  }
  return best;
}

/** Where there is a relaxation to go on from, its basis; all patterns known are its columns. */
function startingMaster(flat: FlatProblem, generation: Generation): Master {
  const { from, pool, demand, work } = generation;
  const master = (from === null ? null : resume(from.master, demand, work)) ?? masterFor(flat, generation);
  // Every pattern of the pool is a column, in the same order.
  for (const pattern of pool.patterns.slice(master.columns.length)) master.columns.push(pattern);
  return master;
}

/** A row per item, and one by which all gifts are filled at most once. */
function masterFor(flat: FlatProblem, generation: Generation): Master {
  const { demand, gifts } = generation;
  const start = priceCeilings(flat, generation);
  if (gifts === null) return createMaster(demand, demand.length, start);
  return createMaster(Float64Array.of(...demand, 1), demand.length, Float64Array.of(...start, 0));
}

type BoundAndValues = Pick<Relaxation, 'bound' | 'values'>;

interface Effort {
  readonly nodes: number;
  /** The share of the best values so far in those that sizes are filled by. */
  readonly smoothing: number;
}

const SMOOTHING = 0.6;

/** First without smoothing, then with longer searches; null when that was all. */
function harder({ nodes, smoothing }: Effort, thorough: boolean): Effort | null {
  if (smoothing > 0) return { nodes, smoothing: 0 };
  return thorough && nodes < MOST_NODES ? { nodes: MOST_NODES, smoothing: 0 } : null;
}

/** Items without demand are worth nothing: their duals are arbitrary. */
function blend(best: Float64Array, { duals, demand }: Master, smoothing: number): Float64Array {
  return best.map((value, item) => {
    const dual = Math.max(0, doubleAt(duals, item));
    return doubleAt(demand, item) > 0 ? smoothing * value + (1 - smoothing) * dual : 0;
  });
}

function better(
  best: BoundAndValues,
  demand: Float64Array,
  values: Float64Array,
  { scale, given }: Pick<PricedSizes, 'scale' | 'given'>,
): BoundAndValues {
  const bound = scale * (weigh(values, demand) - given);
  return bound > best.bound ? { bound, values: values.map((value) => value * scale) } : best;
}

/** Returns how many were new. */
function addPatterns(pool: PatternPool, master: Master, patterns: ReadonlyArray<Pattern>): number {
  const most = master.covering > MANY_ITEMS ? COLUMNS_PER_ROUND : patterns.length;
  const promising = patterns
    .map((pattern) => ({ pattern, reduced: reducedCost(master, pattern) / Math.max(1, pattern.cost) }))
    .filter(({ reduced }) => reduced < -LEAST_GAIN)
    .toSorted((a, b) => a.reduced - b.reduced || a.pattern.bin - b.pattern.bin)
    .slice(0, most);
  let added = 0;
  for (const { pattern } of promising) {
    if (!addPattern(pool, pattern)) continue;
    master.columns.push(pattern);
    added++;
  }
  return added;
}

/** For every item, the size that holds it at the least price per pod: with them every row can be served. */
function addSingles(flat: FlatProblem, demand: Float64Array, pool: PatternPool): void {
  for (let item = 0; item < flat.items; item++) {
    if (doubleAt(demand, item) === 0) continue;
    let [best, most, least] = [-1, 0, Infinity];
    for (let bin = 0; bin < flat.bins; bin++) {
      const limit = limitOf(flat, bin, item, doubleAt(demand, item));
      const price = doubleAt(flat.prices, bin) / limit;
      if (limit > 0 && price < least) [best, most, least] = [bin, limit, price];
    }
    if (best === -1) continue;
    const counts = new Int32Array(flat.items);
    counts[item] = most;
    addPattern(pool, patternOf(flat, best, counts));
  }
}

/** What a pod of the item costs at most: more than any of the patterns that hold it. */
function dearest({ items }: FlatProblem, { patterns }: PatternPool, item: number): number {
  let most = 1;
  for (const { rows, cost } of patterns) if (rows.includes(item)) most = Math.max(most, cost);
  return most * Math.max(2, items);
}
