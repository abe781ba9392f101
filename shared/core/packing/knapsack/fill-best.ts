import { doubleAt, intAt } from '../../quantity/at.ts';
import { relaxedValue, relaxKnapsack, type Knapsack } from './relax-knapsack.ts';
import { suffixTable, tableWork, worthFrom, type SuffixTable } from './suffix-tables.ts';
import type { Work } from '../problem/work.ts';

/** The most valuable filling found, and what none can exceed. */
export interface Filling {
  readonly value: number;
  readonly counts: Int32Array;
  readonly atMost: number;
  /** The search came to its end: no filling is worth a step more than this one and than what is of interest. */
  readonly isEnded: boolean;
}

/** How hard to look. */
export interface FillEffort {
  /** A filling worth no more than this is of no interest. */
  readonly above: number;
  /** Improvements smaller than this are not looked for: 1 where all values are whole. */
  readonly step: number;
  /** Nodes of the search tree. */
  readonly maxNodes: number;
  /** Whether to make tables of what whole pods can fill first: worth it where a search without does not end. */
  readonly isDeep: boolean;
  /** What a unit of each resource is worth in a knapsack that is nearly the same; absent: that is found out. */
  readonly multipliers?: Float64Array;
}

/** Even without any work left, so much is looked at. */
const LEAST_NODES = 50;
/** Operations that one search node counts for, beside its relaxation. */
const WORK_PER_ITEM = 8;

/**
 * The most valuable filling of the knapsack, by depth-first search over the items in order of value per multiplier,
 * each from most to none. Branches are cut by the relaxation and by the best value per single resource. Values have to
 * be whole numbers below 2^53 for `atMost` to be exact; else it is a rounding error off.
 */
export function fillBest(knapsack: Knapsack, effort: FillEffort, work: Work): Filling {
  const multipliers = effort.multipliers ?? relaxKnapsack(knapsack);
  const root = relaxedValue(knapsack, multipliers);
  const { width } = knapsack;
  work.left -= knapsack.items * WORK_PER_ITEM * (width + 1);
  if (root <= effort.above) return { value: 0, counts: new Int32Array(knapsack.items), atMost: root, isEnded: true };
  const tree = treeOf(knapsack, multipliers);
  if (effort.isDeep) addTables(tree, knapsack, work);
  const bound = Math.min(root, boundAt(tree, 0));
  if (bound <= effort.above) return { value: 0, counts: new Int32Array(knapsack.items), atMost: bound, isEnded: true };
  const nodeWork = (width + 2) * (1 + tree.tables.length);
  const affordable = Math.max(LEAST_NODES, work.left / nodeWork);
  const found = descend(tree, { ...effort, maxNodes: Math.min(effort.maxNodes, affordable) });
  work.left -= tree.nodes * nodeWork;
  const counts = new Int32Array(knapsack.items);
  for (let d = 0; d < tree.depth; d++) counts[intAt(tree.order, d)] = intAt(tree.best, d);
  const closed = Math.max(found, effort.above) + effort.step;
  const atMost = Math.min(bound, Math.max(closed, tree.open));
  return { value: found, counts, atMost, isEnded: tree.open === 0 };
}

/** Arrays are as long as the longest search so far needed; what is past `depth` is of that one. */
interface Tree {
  readonly width: number;
  /** How many items there is room for. */
  readonly items: number;
  depth: number;
  /** Depth → item. */
  readonly order: Int32Array;
  /** Item → value per multiplier. */
  readonly scores: Float64Array;
  readonly values: Float64Array;
  readonly limits: Float64Array;
  /** Depth × resource. */
  readonly requests: Float64Array;
  multipliers: Float64Array;
  /** Depth: what items from there on can gain over the multipliers. */
  readonly gains: Float64Array;
  /** Depth × resource: the best value per unit among items from there on. */
  readonly ratios: Float64Array;
  /** Depth × resource: what is free before the item is decided. */
  readonly free: Float64Array;
  readonly worth: Float64Array;
  readonly counts: Int32Array;
  readonly best: Int32Array;
  /** For a deep search. */
  tables: Array<SuffixTable>;
  nodes: number;
  /** When the search ends early: what the branches not looked at cannot exceed; else 0. */
  open: number;
}

/** Working memory, kept from one search to the next: most searches are shorter than it takes to allocate that. */
let memory = emptyTree(0, 0);

function emptyTree(items: number, width: number): Tree {
  return {
    width,
    items,
    depth: 0,
    order: new Int32Array(items),
    scores: new Float64Array(items),
    values: new Float64Array(items),
    limits: new Float64Array(items),
    requests: new Float64Array(items * width),
    multipliers: new Float64Array(),
    gains: new Float64Array(items + 1),
    ratios: new Float64Array((items + 1) * width),
    free: new Float64Array((items + 1) * width),
    worth: new Float64Array(items + 1),
    counts: new Int32Array(items),
    best: new Int32Array(items),
    tables: [],
    nodes: 0,
    open: 0,
  };
}

function treeOf(knapsack: Knapsack, multipliers: Float64Array): Tree {
  const { width, items, requests, values, limits, free } = knapsack;
  if (memory.width !== width || memory.items < items) memory = emptyTree(items, width);
  const tree = memory;
  Object.assign(tree, { multipliers, tables: [], nodes: 0, open: 0 });
  orderByScore(tree, knapsack);
  const { depth } = tree;
  tree.gains[depth] = 0;
  tree.worth[0] = 0;
  for (let k = 0; k < width; k++) {
    tree.free[k] = doubleAt(free, k);
    tree.ratios[depth * width + k] = 0;
  }
  for (let d = depth - 1; d >= 0; d--) {
    const item = intAt(tree.order, d);
    tree.values[d] = doubleAt(values, item);
    tree.limits[d] = doubleAt(limits, item);
    tree.best[d] = 0;
    summarize(tree, { requests, from: item * width }, d);
  }
  return tree;
}

/** The items that can be taken and are worth something, those of the most value per multiplier first. */
function orderByScore(tree: Tree, { width, items, requests, values, limits }: Knapsack): void {
  const { scores, order, multipliers } = tree;
  tree.depth = 0;
  for (let item = 0; item < items; item++) {
    if (doubleAt(limits, item) === 0 || doubleAt(values, item) <= 0) continue;
    let cost = 0;
    for (let k = 0; k < width; k++) cost += doubleAt(multipliers, k) * doubleAt(requests, item * width + k);
    scores[item] = cost > 0 ? doubleAt(values, item) / cost : Infinity;
    order[tree.depth++] = item;
  }
  for (const gap of GAPS) {
    for (let from = gap; from < tree.depth; from++) {
      const item = intAt(order, from);
      let to = from;
      for (; to >= gap && isBefore(scores, item, intAt(order, to - gap)); to -= gap) order[to] = intAt(order, to - gap);
      order[to] = item;
    }
  }
}

/** Of Shell's sort, as Ciura found them: in place, and quick for as many items as there are. */
const GAPS = [1750, 701, 301, 132, 57, 23, 10, 4, 1];

function isBefore(scores: Float64Array, item: number, other: number): boolean {
  const [own, others] = [doubleAt(scores, item), doubleAt(scores, other)];
  return own === others ? item < other : own > others;
}

/** For each of the two resources that the multipliers value most. */
function addTables(tree: Tree, { width, free }: Knapsack, work: Work): void {
  const worth = (k: number): number => doubleAt(tree.multipliers, k) * doubleAt(free, k);
  const scarcest = Array.from({ length: width }, (_, k) => k).toSorted((a, b) => worth(b) - worth(a) || a - b);
  for (const resource of scarcest.slice(0, 2)) {
    const operations = tableWork(tree, free, resource);
    if (operations > work.left) return;
    work.left -= operations;
    tree.tables.push(suffixTable(tree, free, resource));
  }
}

function summarize(
  { width, requests, values, limits, multipliers, gains, ratios }: Tree,
  own: { readonly requests: Float64Array; readonly from: number },
  d: number,
): void {
  let gain = doubleAt(values, d);
  for (let k = 0; k < width; k++) {
    const request = doubleAt(own.requests, own.from + k);
    requests[d * width + k] = request;
    gain -= doubleAt(multipliers, k) * request;
    const ratio = request > 0 ? doubleAt(values, d) / request : Infinity;
    ratios[d * width + k] = Math.max(ratio, doubleAt(ratios, (d + 1) * width + k));
  }
  gains[d] = doubleAt(gains, d + 1) + Math.max(0, gain) * doubleAt(limits, d);
}

/** The best value found. */
function descend(tree: Tree, { above, step, maxNodes }: FillEffort): number {
  const { depth, counts } = tree;
  let best = above;
  let found = 0;
  let d = 0;
  if (depth === 0) return 0;
  counts[0] = mostAt(tree, 0);
  for (;;) {
    tree.nodes++;
    if (tree.nodes > maxNodes) {
      tree.open = openBound(tree, d);
      return found;
    }
    const total = apply(tree, d);
    if (d + 1 < depth && boundAt(tree, d + 1) >= best + step) {
      d++;
      counts[d] = mostAt(tree, d);
      continue;
    }
    if (total >= best + step) {
      best = total;
      found = total;
      for (let e = 0; e < depth; e++) tree.best[e] = e <= d ? intAt(counts, e) : 0;
    }
    while (d >= 0 && !fewer(tree, d, best + step)) d--;
    if (d < 0) return found;
  }
}

/** One pod less of the item at this depth, if a branch with fewer can be worth `least`; else false. */
function fewer(tree: Tree, d: number, least: number): boolean {
  const count = intAt(tree.counts, d);
  if (count === 0) return false;
  tree.counts[d] = count - 1;
  return siblingBound(tree, d) >= least;
}

/** What no filling with at most the current count at this depth exceeds, by the multipliers. */
function siblingBound({ width, free, multipliers, worth, gains, requests, values, counts }: Tree, d: number): number {
  const count = intAt(counts, d);
  let bound = doubleAt(worth, d) + doubleAt(gains, d + 1) + count * doubleAt(values, d);
  let unit = doubleAt(values, d);
  for (let k = 0; k < width; k++) {
    const price = doubleAt(multipliers, k);
    const request = doubleAt(requests, d * width + k);
    bound += price * (doubleAt(free, d * width + k) - count * request);
    unit -= price * request;
  }
  // Fewer of an item that costs more than it is worth gains up to the room it had taken.
  if (unit < 0) bound -= unit * count;
  return bound * ROUNDING;
}

const ROUNDING = 1 + 1e-12;

/** Takes the current count of the item at `d`: fills in what is free and worth below it; returns the worth. */
function apply({ width, free, worth, requests, values, counts }: Tree, d: number): number {
  const count = intAt(counts, d);
  for (let k = 0; k < width; k++) {
    free[(d + 1) * width + k] = doubleAt(free, d * width + k) - count * doubleAt(requests, d * width + k);
  }
  const total = doubleAt(worth, d) + count * doubleAt(values, d);
  worth[d + 1] = total;
  return total;
}

/** What no filling below depth `d` exceeds, given what is taken above it. */
function boundAt(tree: Tree, d: number): number {
  const { width, free, multipliers, worth, gains, ratios, tables } = tree;
  let relaxed = doubleAt(gains, d);
  let single = Infinity;
  for (let k = 0; k < width; k++) {
    const room = doubleAt(free, d * width + k);
    relaxed += doubleAt(multipliers, k) * room;
    const ratio = doubleAt(ratios, d * width + k);
    if (ratio !== Infinity) single = Math.min(single, ratio * room);
  }
  let least = Math.min(relaxed, single);
  for (const table of tables) least = Math.min(least, boundByTable(tree, table, d));
  return (doubleAt(worth, d) + least) * ROUNDING;
}

function boundByTable({ width, free, multipliers }: Tree, table: SuffixTable, d: number): number {
  const { resource } = table;
  let bound = worthFrom(table, d, doubleAt(free, d * width + resource));
  for (let k = 0; k < width; k++) if (k !== resource) bound += doubleAt(multipliers, k) * doubleAt(free, d * width + k);
  return bound;
}

/** Bounds every branch that an aborted search has left: at each depth above, the siblings still to come. */
function openBound(tree: Tree, deepest: number): number {
  let bound = 0;
  for (let d = 0; d <= deepest; d++) bound = Math.max(bound, siblingBound(tree, d));
  return bound;
}

function mostAt({ width, free, limits, requests }: Tree, d: number): number {
  let most = doubleAt(limits, d);
  for (let k = 0; k < width; k++) {
    const request = doubleAt(requests, d * width + k);
    if (request > 0) most = Math.min(most, Math.floor(doubleAt(free, d * width + k) / request));
  }
  return Math.max(0, most);
}
