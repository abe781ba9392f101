import { fillBest } from './fill-best.ts';
import { fillByGrid } from './fill-by-grid.ts';
import type { FlatProblem } from './fill.ts';
import { costOf, createMaster, optimize, reducedCost, type Column, type Master } from './master.ts';
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
 * Fills sizes by what the relaxation's duals say pods are worth, and adds those fillings to it, until none is worth more
 * than its size costs. Every round bounds the cost from below: duals scaled until no size is worth more than it costs.
 */
export function generateColumns(
  flat: FlatProblem,
  { pool, demand, maxRounds, thorough, work }: Generation,
): Relaxation {
  addSingles(flat, demand, pool);
  const master = createMaster(
    demand,
    demand.length,
    demand.map((_, item) => dearest(flat, pool, item)),
  );
  for (const pattern of pool.patterns) master.columns.push(pattern);
  let best: Pick<Relaxation, 'bound' | 'values'> = { bound: 0, values: new Float64Array(flat.items) };
  let nodes = FIRST_NODES;
  for (let round = 0; round < maxRounds; round++) {
    const solved = optimize(master, work);
    const priced = priceSizes(flat, { demand, duals: master.duals, nodes, work });
    const bound = priced.scale * worthOf(demand, master.duals);
    if (bound > best.bound) best = { bound, values: valuesOf(master, priced.scale) };
    if (!solved || work.left <= 0 || costOf(master) - best.bound <= CLOSE * costOf(master)) break;
    const added = addPatterns(pool, master, priced.patterns, flat.items > MANY_ITEMS ? COLUMNS_PER_ROUND : Infinity);
    if (added > 0) continue;
    if (!thorough) break;
    if (nodes < MOST_NODES) {
      nodes = MOST_NODES;
      continue;
    }
    const last = priceOpen(flat, { demand, duals: master.duals, open: priced.open, work });
    const proved = last.scale * worthOf(demand, master.duals);
    if (proved > best.bound) best = { bound: proved, values: valuesOf(master, last.scale) };
    if (addPatterns(pool, master, last.patterns, Infinity) === 0) break;
  }
  return { master, patterns: pool.patterns, cost: costOf(master), ...best };
}

/** Items without demand are worth nothing: their duals are arbitrary. */
function valuesOf({ duals, demand }: Master, scale: number): Float64Array {
  return duals.map((dual, item) => (at(demand, item) > 0 ? Math.max(0, dual) * scale : 0));
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
  { demand, duals, nodes, work }: { demand: Float64Array; duals: Float64Array; nodes: number; work: Work },
): Priced {
  const patterns: Array<Pattern> = [];
  const open: Array<Open> = [];
  let scale = 1;
  for (let bin = 0; bin < flat.bins; bin++) {
    const price = at(flat.prices, bin);
    const knapsack = knapsackOf(flat, bin, duals, demand);
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
  { demand, duals, open, work }: { demand: Float64Array; duals: Float64Array; open: ReadonlyArray<Open>; work: Work },
): Omit<Priced, 'open'> {
  const patterns: Array<Pattern> = [];
  let scale = 1 / ((1 + TOLERANCE) * MARGIN);
  for (const { bin, atMost } of open) {
    const price = at(flat.prices, bin);
    const knapsack = knapsackOf(flat, bin, duals, demand);
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

/** The size as a knapsack for pods still to be packed, with `values` per pod. */
export function knapsackOf(flat: FlatProblem, bin: number, values: Float64Array, demand: Float64Array): Knapsack {
  const { width, items, requests, usable } = flat;
  const free = usable.subarray(bin * width, (bin + 1) * width);
  const limits = new Float64Array(items);
  for (let item = 0; item < items; item++) limits[item] = limitOf(flat, bin, item, at(demand, item));
  return { width, items, requests, values, limits, free };
}

function limitOf(
  { width, items, requests, usable, admits, perNode }: FlatProblem,
  bin: number,
  item: number,
  demand: number,
): number {
  if (admits[bin * items + item] !== 1) return 0;
  let limit = Math.min(demand, at(perNode, item));
  for (let k = 0; k < width; k++) {
    const request = at(requests, item * width + k);
    if (request > 0) limit = Math.min(limit, Math.floor(at(usable, bin * width + k) / request));
  }
  return Math.max(0, limit);
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
    .map((pattern) => ({ pattern, reduced: reducedCost(master, pattern) / pattern.cost }))
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

/** Every size full of one item: with them every row can be served. */
function addSingles(flat: FlatProblem, demand: Float64Array, pool: PatternPool): void {
  for (let item = 0; item < flat.items; item++) {
    if (at(demand, item) === 0) continue;
    for (let bin = 0; bin < flat.bins; bin++) {
      const limit = limitOf(flat, bin, item, at(demand, item));
      if (limit === 0) continue;
      const counts = new Int32Array(flat.items);
      counts[item] = limit;
      addPattern(pool, patternOf(flat, bin, counts));
    }
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
