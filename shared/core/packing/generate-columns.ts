import { fillBest } from './fill-best.ts';
import { knapsackOf, limitOf } from './knapsack-of.ts';
import { fillByGrid } from './fill-by-grid.ts';
import type { FlatProblem } from './fill.ts';
import { costOf, createMaster, optimize, recalculateDuals, reducedCost, type Column, type Master } from './master.ts';
import type { Packing } from './problem.ts';
import { relaxKnapsack, type Knapsack } from './relax-knapsack.ts';
import type { Work } from './work.ts';

/** One way to fill one size. */
export interface Pattern extends Column {
  readonly bin: number;
}

/** The relaxation that may take fractions of filled nodes. */
export interface Relaxation {
  readonly master: Master;
  readonly patterns: ReadonlyArray<Pattern>;
  /** What it costs; at most what any packing costs, when `isComplete`. */
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
  readonly maxRounds: number;
  /** Whether to search long for what quick searches leave open: it gains little but a better bound. */
  readonly thorough: boolean;
  readonly work: Work;
}

export interface PatternPool {
  readonly patterns: Array<Pattern>;
  readonly known: Set<string>;
}

/**
 * A filling must promise this much more than its size costs: smaller gains are not worth the search that they take where
 * prices are nearly proportional to sizes. The bound loses as much.
 */
export const TOLERANCE = 1e-4;
const STEP = 1e-6;
const MARGIN = 1 + 2 * STEP;
/** The bound is close enough when fractions of nodes could cost so much less. */
const CLOSE = 1.2e-4;
/** Search nodes per size: few at first, more once the duals have settled. */
const FIRST_NODES = 300;
const MOST_NODES = 3_000;
const DEEP_NODES = 100_000;
/** With more items than this, rounds add few columns, since each costs the simplex more than it costs to find. */
const MANY_ITEMS = 24;
const COLUMNS_PER_ROUND = 12;

export function emptyPool(): PatternPool {
  return { patterns: [], known: new Set() };
}

/**
 * Fills sizes by what pods are worth, and adds those fillings to the relaxation, until none is worth more than its size
 * costs. Pods are valued between the duals and the values that gave the best bound so far, which keeps the duals from
 * swinging; where that finds nothing new, by the duals themselves. Every round bounds the cost from below: values scaled
 * until no size is worth more than it costs.
 */
export function generateColumns(flat: FlatProblem, generation: Generation): Relaxation {
  const { pool, demand, maxRounds, thorough, work } = generation;
  addSingles(flat, demand, pool);
  const start = priceCeilings(flat, generation);
  const master = createMaster(demand, demand.length, start);
  for (const pattern of pool.patterns) master.columns.push(pattern);
  const most = flat.items > MANY_ITEMS ? COLUMNS_PER_ROUND : Infinity;
  let best = boundOfGuess(flat, generation, master);
  let effort: Effort = { nodes: FIRST_NODES, smoothing: SMOOTHING };
  for (let round = 0; round < maxRounds; round++) {
    const solved = optimize(master, work);
    const values = blend(best.values, master, effort.smoothing);
    const priced = priceSizes(flat, { demand, values, nodes: effort.nodes, work });
    best = better(best, demand, values, priced.scale);
    if (!solved || work.left <= 0 || costOf(master) - best.bound <= CLOSE * costOf(master)) break;
    if (addPatterns(pool, master, priced.patterns, most) > 0) {
      effort = { nodes: effort.nodes, smoothing: SMOOTHING };
      continue;
    }
    if (raiseCeilings(master)) continue;
    const next = harder(effort, thorough);
    if (next !== null) {
      effort = next;
      continue;
    }
    if (!thorough) break;
    const last = priceOpen(flat, { demand, values, open: priced.open, work });
    best = better(best, demand, values, last.scale);
    if (addPatterns(pool, master, last.patterns, Infinity) === 0) break;
  }
  return { master, patterns: pool.patterns, cost: costOf(master), ...best };
}

/** With more items than this, duals are kept near the guess at first: else the simplex turns in circles around a packing. */
const CEILING = 1.25;

/** What a pod left out of the relaxation costs: more than it could with few items, little more than the guess with many. */
function priceCeilings(flat: FlatProblem, { pool, demand, guess }: Generation): Float64Array {
  if (flat.items <= MANY_ITEMS) return demand.map((_, item) => dearest(flat, pool, item));
  return demand.map((_, item) => Math.max(1, at(guess, item) * CEILING));
}

/** Doubles the ceilings that hold duals down; false when there are none. */
function raiseCeilings(master: Master): boolean {
  const { basis, amounts, ownCost, rows } = master;
  let raised = false;
  basis.forEach((variable, row) => {
    if (variable >= 0 || variable < -rows || at(amounts, row) < 1e-4) return;
    ownCost[-1 - variable] = at(ownCost, -1 - variable) * 2;
    raised = true;
  });
  if (raised) recalculateDuals(master);
  return raised;
}

/** The guess is a good start only if it comes with its bound: any other would take its place. */
function boundOfGuess(flat: FlatProblem, { pool, demand, guess, work }: Generation, master: Master): Valued {
  const values = guess.map((value, item) => (at(demand, item) > 0 ? value : 0));
  const { scale, patterns } = priceSizes(flat, { demand, values, nodes: FIRST_NODES, work });
  for (const pattern of patterns) if (addPattern(pool, pattern)) master.columns.push(pattern);
  return better({ bound: 0, values }, demand, values, scale);
}

type Valued = Pick<Relaxation, 'bound' | 'values'>;

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
    const dual = Math.max(0, at(duals, item));
    return at(demand, item) > 0 ? smoothing * value + (1 - smoothing) * dual : 0;
  });
}

function better(best: Valued, demand: Float64Array, values: Float64Array, scale: number): Valued {
  const bound = scale * worthOf(demand, values);
  return bound > best.bound ? { bound, values: values.map((value) => value * scale) } : best;
}

interface Priced {
  readonly patterns: ReadonlyArray<Pattern>;
  /** By this the duals have to be lowered so that no size is worth more than it costs. */
  readonly scale: number;
  /** Sizes that may be worth more than they cost: the search did not come to its end. */
  readonly open: ReadonlyArray<Open>;
}

interface Open {
  readonly bin: number;
  readonly atMost: number;
}

function priceSizes(
  flat: FlatProblem,
  { demand, values, nodes, work }: { demand: Float64Array; values: Float64Array; nodes: number; work: Work },
): Priced {
  const patterns: Array<Pattern> = [];
  const open: Array<Open> = [];
  let scale = 1;
  for (let bin = 0; bin < flat.bins; bin++) {
    const price = at(flat.prices, bin);
    const knapsack = knapsackOf(flat, bin, values, demand);
    const search = { above: price * (1 + TOLERANCE), step: price * STEP, maxNodes: nodes };
    const { value, counts, atMost } = fillBest(knapsack, search, work);
    if (atMost > 0) scale = Math.min(scale, price / atMost);
    if (value > 0) patterns.push(patternOf(flat, bin, counts));
    else if (atMost > price * (1 + TOLERANCE) * MARGIN) open.push({ bin, atMost });
  }
  return { patterns, scale, open };
}

/** What the search left open: by grid, and where that proves nothing, by a longer search. */
function priceOpen(
  flat: FlatProblem,
  { demand, values, open, work }: { demand: Float64Array; values: Float64Array; open: ReadonlyArray<Open>; work: Work },
): Omit<Priced, 'open'> {
  const patterns: Array<Pattern> = [];
  let scale = 1 / ((1 + TOLERANCE) * MARGIN);
  for (const { bin, atMost } of open) {
    const price = at(flat.prices, bin);
    const knapsack = knapsackOf(flat, bin, values, demand);
    const filling = fillByGrid(knapsack, relaxKnapsack(knapsack), work);
    let bound = Math.min(atMost, filling?.atMost ?? Infinity);
    if (bound > price * (1 + TOLERANCE) * MARGIN) {
      const search = { above: price * (1 + TOLERANCE), step: price * STEP, maxNodes: DEEP_NODES };
      const deep = fillBest(knapsack, search, work);
      bound = Math.min(bound, deep.atMost);
      if (deep.value > 0) patterns.push(patternOf(flat, bin, deep.counts));
      else if (filling !== null && isWithin(knapsack, filling.counts))
        patterns.push(patternOf(flat, bin, filling.counts));
    }
    scale = Math.min(scale, price / bound);
  }
  return { patterns, scale };
}

function isWithin({ width, items, requests, free, limits }: Knapsack, counts: Int32Array): boolean {
  if (counts.some((count, item) => count > at(limits, item))) return false;
  for (let k = 0; k < width; k++) {
    let load = 0;
    for (let item = 0; item < items; item++) load += at(counts, item) * at(requests, item * width + k);
    if (load > at(free, k)) return false;
  }
  return true;
}

export function patternOf({ prices }: FlatProblem, bin: number, counts: Int32Array): Pattern {
  const rows: Array<number> = [];
  const amounts: Array<number> = [];
  counts.forEach((count, item) => {
    if (count === 0) return;
    rows.push(item);
    amounts.push(count);
  });
  return { bin, cost: at(prices, bin), rows: Int32Array.from(rows), amounts: Float64Array.from(amounts) };
}

/** Answers how many were new. */
function addPatterns(pool: PatternPool, master: Master, patterns: ReadonlyArray<Pattern>, most: number): number {
  const promising = patterns
    .map((pattern) => ({ pattern, reduced: reducedCost(master, pattern) / Math.max(1, pattern.cost) }))
    .filter(({ reduced }) => reduced < -STEP)
    .toSorted((a, b) => a.reduced - b.reduced || a.pattern.bin - b.pattern.bin)
    .slice(0, most === Infinity ? patterns.length : most);
  let added = 0;
  for (const { pattern } of promising) {
    if (!addPattern(pool, pattern)) continue;
    master.columns.push(pattern);
    added++;
  }
  return added;
}

export function addPattern({ patterns, known }: PatternPool, pattern: Pattern): boolean {
  const id = `${pattern.bin} ${pattern.rows.join(',')} ${pattern.amounts.join(',')}`;
  if (known.has(id)) return false;
  known.add(id);
  patterns.push(pattern);
  return true;
}

/** The fillings of a packing, which is a good start for the relaxation. */
export function addPacking(flat: FlatProblem, pool: PatternPool, { nodes }: Packing): void {
  for (const { bin, counts } of nodes) addPattern(pool, patternOf(flat, bin, counts));
}

/** For every item, the size that holds it at the least price per pod: with them every row can be served. */
function addSingles(flat: FlatProblem, demand: Float64Array, pool: PatternPool): void {
  for (let item = 0; item < flat.items; item++) {
    if (at(demand, item) === 0) continue;
    let [best, most, least] = [-1, 0, Infinity];
    for (let bin = 0; bin < flat.bins; bin++) {
      const limit = limitOf(flat, bin, item, at(demand, item));
      const price = at(flat.prices, bin) / limit;
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

function worthOf(demand: Float64Array, duals: Float64Array): number {
  let sum = 0;
  for (let item = 0; item < demand.length; item++) sum += at(demand, item) * Math.max(0, at(duals, item));
  return sum;
}

function at(numbers: ArrayLike<number>, index: number): number {
  return numbers[index] ?? 0;
}
