import { at } from './at.ts';
import { relaxedValue, relaxKnapsack, type Knapsack } from './relax-knapsack.ts';
import type { Work } from './work.ts';

/** The most valuable filling found, and what none can exceed: a step more, when the search came to its end. */
export interface Filling {
  readonly value: number;
  readonly counts: Int32Array;
  readonly atMost: number;
}

/** How hard to look. */
export interface FillSearch {
  /** A filling worth no more than this is of no interest. */
  readonly above: number;
  /** Improvements smaller than this are not looked for: 1 where all values are whole. */
  readonly step: number;
  /** Nodes of the search tree. */
  readonly maxNodes: number;
}

/** Even without any work left, so much is looked at. */
const LEAST_NODES = 50;
/** Steps of work that one search node counts for, beside its relaxation. */
const WORK_PER_ITEM = 8;

/**
 * The most valuable filling of the knapsack, by depth-first search over the items in order of value per multiplier, each
 * from most to none. Branches are cut by the relaxation and by the best value per single resource. Values have to be
 * whole numbers below 2^53 for `atMost` to be exact; else it is a rounding error off.
 */
export function fillBest(knapsack: Knapsack, search: FillSearch, work: Work): Filling {
  const multipliers = relaxKnapsack(knapsack);
  const root = relaxedValue(knapsack, multipliers);
  const { width } = knapsack;
  work.left -= knapsack.items * WORK_PER_ITEM * (width + 1);
  if (root <= search.above) return { value: 0, counts: new Int32Array(knapsack.items), atMost: root };
  const tree = treeOf(knapsack, multipliers);
  const affordable = Math.max(LEAST_NODES, work.left / (width + 2));
  const found = descend(tree, { ...search, maxNodes: Math.min(search.maxNodes, affordable) });
  work.left -= tree.nodes * (width + 2);
  const counts = new Int32Array(knapsack.items);
  tree.order.forEach((item, depth) => (counts[item] = at(tree.best, depth)));
  const closed = Math.max(found, search.above) + search.step;
  return { value: found, counts, atMost: Math.min(root, Math.max(closed, tree.open)) };
}

interface Tree {
  readonly width: number;
  readonly depth: number;
  /** Depth → item. */
  readonly order: Int32Array;
  readonly values: Float64Array;
  readonly limits: Float64Array;
  /** Depth × resource. */
  readonly requests: Float64Array;
  readonly multipliers: Float64Array;
  /** Depth: what items from there on can gain over the multipliers. */
  readonly gains: Float64Array;
  /** Depth × resource: the best value per unit among items from there on. */
  readonly ratios: Float64Array;
  /** Depth × resource: what is free before the item is decided. */
  readonly free: Float64Array;
  readonly worth: Float64Array;
  readonly counts: Int32Array;
  readonly best: Int32Array;
  nodes: number;
  /** When the search ends early: what the branches not looked at cannot exceed. */
  open: number;
}

function treeOf({ width, items, requests, values, limits, free }: Knapsack, multipliers: Float64Array): Tree {
  const scored: Array<{ readonly item: number; readonly score: number }> = [];
  for (let item = 0; item < items; item++) {
    if (at(limits, item) === 0 || at(values, item) <= 0) continue;
    let cost = 0;
    for (let k = 0; k < width; k++) cost += at(multipliers, k) * at(requests, item * width + k);
    scored.push({ item, score: cost > 0 ? at(values, item) / cost : Infinity });
  }
  scored.sort((a, b) => (a.score === b.score ? a.item - b.item : b.score - a.score));
  const depth = scored.length;
  const order = Int32Array.from(scored, ({ item }) => item);
  const tree: Tree = {
    width,
    depth,
    order,
    values: Float64Array.from(order, (item) => at(values, item)),
    limits: Float64Array.from(order, (item) => at(limits, item)),
    requests: new Float64Array(depth * width),
    multipliers,
    gains: new Float64Array(depth + 1),
    ratios: new Float64Array((depth + 1) * width),
    free: new Float64Array((depth + 1) * width),
    worth: new Float64Array(depth + 1),
    counts: new Int32Array(depth),
    best: new Int32Array(depth),
    nodes: 0,
    open: 0,
  };
  tree.free.set(free);
  for (let d = depth - 1; d >= 0; d--) summarize(tree, requests.subarray(at(order, d) * width), d);
  return tree;
}

function summarize(
  { width, requests, values, limits, multipliers, gains, ratios }: Tree,
  own: Float64Array,
  d: number,
): void {
  let gain = at(values, d);
  for (let k = 0; k < width; k++) {
    const request = at(own, k);
    requests[d * width + k] = request;
    gain -= at(multipliers, k) * request;
    const ratio = request > 0 ? at(values, d) / request : Infinity;
    ratios[d * width + k] = Math.max(ratio, at(ratios, (d + 1) * width + k));
  }
  gains[d] = at(gains, d + 1) + Math.max(0, gain) * at(limits, d);
}

/** The best value found. */
function descend(tree: Tree, { above, step, maxNodes }: FillSearch): number {
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
      tree.best.set(counts.subarray(0, d + 1));
      tree.best.fill(0, d + 1);
    }
    while (d >= 0 && !fewer(tree, d, best + step)) d--;
    if (d < 0) return found;
  }
}

/** One pod less of the item at this depth, if a branch with fewer can be worth `least`; else false. */
function fewer(tree: Tree, d: number, least: number): boolean {
  const count = at(tree.counts, d);
  if (count === 0) return false;
  tree.counts[d] = count - 1;
  return siblingBound(tree, d) >= least;
}

/** What no filling with at most the current count at this depth exceeds, by the multipliers. */
function siblingBound({ width, free, multipliers, worth, gains, requests, values, counts }: Tree, d: number): number {
  const count = at(counts, d);
  let bound = at(worth, d) + at(gains, d + 1) + count * at(values, d);
  let unit = at(values, d);
  for (let k = 0; k < width; k++) {
    const price = at(multipliers, k);
    const request = at(requests, d * width + k);
    bound += price * (at(free, d * width + k) - count * request);
    unit -= price * request;
  }
  // Fewer of an item that costs more than it is worth gains up to the room it had taken.
  if (unit < 0) bound -= unit * count;
  return bound * ROUNDING;
}

const ROUNDING = 1 + 1e-12;

/** Takes the current count of the item at `d`: fills in what is free and worth below it; answers the worth. */
function apply({ width, free, worth, requests, values, counts }: Tree, d: number): number {
  const count = at(counts, d);
  for (let k = 0; k < width; k++) {
    free[(d + 1) * width + k] = at(free, d * width + k) - count * at(requests, d * width + k);
  }
  const total = at(worth, d) + count * at(values, d);
  worth[d + 1] = total;
  return total;
}

/** What no filling below depth `d` exceeds, given what is taken above it. */
function boundAt({ width, free, multipliers, worth, gains, ratios }: Tree, d: number): number {
  let relaxed = at(gains, d);
  let single = Infinity;
  for (let k = 0; k < width; k++) {
    const room = at(free, d * width + k);
    relaxed += at(multipliers, k) * room;
    const ratio = at(ratios, d * width + k);
    if (ratio !== Infinity) single = Math.min(single, ratio * room);
  }
  return (at(worth, d) + Math.min(relaxed, single)) * ROUNDING;
}

/** Bounds every branch that an aborted search has left: at each depth above, the siblings still to come. */
function openBound(tree: Tree, deepest: number): number {
  let bound = 0;
  for (let d = 0; d <= deepest; d++) bound = Math.max(bound, siblingBound(tree, d));
  return bound;
}

function mostAt({ width, free, limits, requests }: Tree, d: number): number {
  let most = at(limits, d);
  for (let k = 0; k < width; k++) {
    const request = at(requests, d * width + k);
    if (request > 0) most = Math.min(most, Math.floor(at(free, d * width + k) / request));
  }
  return Math.max(0, most);
}
