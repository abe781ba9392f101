import { at, doubleAt, intAt } from '../../quantity/at.ts';
import type { FlatProblem } from '../problem/fill.ts';
import { limitOf } from '../knapsack/knapsack-of.ts';
import type { PackedNode } from '../problem/problem.ts';
import type { Work } from '../problem/work.ts';

/** Fillings looked at, at most. */
const MAX_TRIES = 3_000_000;
/** The search is as deep as there are choices of node and item: more are beyond it anyway, and beyond the stack. */
const MAX_DEPTH = 1_500;

interface ExactState {
  readonly flat: FlatProblem;
  /** Per node its size, in the order in which they are filled. */
  readonly bins: ReadonlyArray<number>;
  /** Items, those that take the largest share of a node first. */
  readonly order: ReadonlyArray<number>;
  /** Per item: pods not packed yet. */
  readonly left: Int32Array;
  /** Per node, per item. */
  readonly counts: ReadonlyArray<Int32Array>;
  /** Per resource: what may stay free on the nodes still to be filled, all together. */
  readonly slack: Float64Array;
  /** States from which there is no way. */
  readonly dead: Set<string>;
  readonly work: Work;
  tries: number;
}

/**
 * Can exactly these nodes hold all pods? Fills one node after the other in every way that leaves no more free than all
 * nodes together have over what the pods need. Null when that takes too long.
 */
export function packExactly(
  flat: FlatProblem,
  bins: ReadonlyArray<number>,
  demand: Float64Array,
  work: Work,
): ReadonlyArray<PackedNode> | 'impossible' | null {
  const { width, items, requests, usable } = flat;
  if (items * bins.length > MAX_DEPTH) return null;
  const slack = new Float64Array(width);
  for (let k = 0; k < width; k++) {
    for (const bin of bins) slack[k] = doubleAt(slack, k) + doubleAt(usable, bin * width + k);
    for (let item = 0; item < items; item++)
      slack[k] = doubleAt(slack, k) - doubleAt(demand, item) * doubleAt(requests, item * width + k);
  }
  if (slack.some((room) => room < 0)) return 'impossible';
  const search: ExactState = {
    flat,
    bins,
    order: largestFirst(flat, bins),
    left: Int32Array.from(demand),
    counts: bins.map(() => new Int32Array(items)),
    slack,
    dead: new Set(),
    work,
    tries: Math.min(MAX_TRIES, work.left / (width * 6)),
  };
  const outcome = fillFrom(search, 0);
  if (outcome === null) return null;
  if (!outcome) return 'impossible';
  return bins
    .map((bin, node) => ({ bin, counts: search.counts[node] ?? new Int32Array(items), times: 1 }))
    .filter(({ counts }) => counts.some((count) => count > 0));
}

function largestFirst(
  { width, items, requests, usable }: FlatProblem,
  bins: ReadonlyArray<number>,
): ReadonlyArray<number> {
  const total = new Float64Array(width);
  for (const bin of bins)
    for (let k = 0; k < width; k++) total[k] = doubleAt(total, k) + doubleAt(usable, bin * width + k);
  const share = (item: number): number => {
    let most = 0;
    for (let k = 0; k < width; k++)
      most = Math.max(most, doubleAt(requests, item * width + k) / Math.max(1, doubleAt(total, k)));
    return most;
  };
  return Array.from({ length: items }, (_, item) => item).toSorted((a, b) => share(b) - share(a) || a - b);
}

/** Fills this node and all after it; null when it takes too long. */
function fillFrom(search: ExactState, node: number): boolean | null {
  const { flat, bins, left, counts, dead } = search;
  const bin = bins[node];
  if (!left.some((count) => count > 0)) return true;
  const own = counts[node];
  if (bin === undefined || own === undefined) return false;
  const state = `${node} ${left.join(',')}`;
  if (dead.has(state)) return false;
  search.work.left -= flat.items * 10;
  const free = flat.usable.slice(bin * flat.width, (bin + 1) * flat.width);
  const outcome = choose(search, { node, bin, own, free }, 0);
  if (outcome === false) dead.add(state);
  return outcome;
}

interface Filling {
  readonly node: number;
  readonly bin: number;
  readonly own: Int32Array;
  readonly free: Float64Array;
}

/** Decides how many of the item at this place go on the node, and of those after it; then the next node. */
function choose(search: ExactState, filling: Filling, place: number): boolean | null {
  const { order, left } = search;
  const { node, own } = filling;
  const item = order[place];
  if (item === undefined) return isTwin(search, filling) ? false : nextNode(search, node, filling.free);
  if (!canBeFull(search, filling, place)) return false;
  let outcome: boolean | null = false;
  for (let count = mostOf(search, filling, item); count >= 0 && outcome === false; count--) {
    search.tries--;
    search.work.left -= search.flat.width * 6;
    if (search.tries <= 0) return null;
    take(search, filling, item, count);
    own[item] = count;
    left[item] = intAt(left, item) - count;
    outcome = choose(search, filling, place + 1);
    if (outcome === true) return true;
    take(search, filling, item, -count);
    own[item] = 0;
    left[item] = intAt(left, item) + count;
  }
  return outcome;
}

function nextNode(search: ExactState, node: number, free: Float64Array): boolean | null {
  const { slack } = search;
  if (free.some((room, k) => room > doubleAt(slack, k))) return false;
  free.forEach((room, k) => (slack[k] = doubleAt(slack, k) - room));
  const outcome = fillFrom(search, node + 1);
  free.forEach((room, k) => (slack[k] = doubleAt(slack, k) + room));
  return outcome;
}

function mostOf({ flat, left }: ExactState, { bin, free }: Filling, item: number): number {
  const { width, requests } = flat;
  let most = limitOf(flat, bin, item, intAt(left, item));
  for (let k = 0; k < width; k++) {
    const request = doubleAt(requests, item * width + k);
    if (request > 0) most = Math.min(most, Math.floor(doubleAt(free, k) / request));
  }
  return most;
}

function take({ flat: { width, requests } }: ExactState, { free }: Filling, item: number, count: number): void {
  for (let k = 0; k < width; k++) free[k] = doubleAt(free, k) - count * doubleAt(requests, item * width + k);
}

/** Can the items from this place on still use all of the node but what may stay free? */
function canBeFull({ flat, order, left, slack }: ExactState, { bin, free }: Filling, place: number): boolean {
  const { width, items, requests, admits } = flat;
  for (let k = 0; k < width; k++) {
    let missing = doubleAt(free, k) - doubleAt(slack, k);
    for (let next = place; next < order.length && missing > 0; next++) {
      const item = at(order, next);
      if (admits[bin * items + item] === 1) missing -= intAt(left, item) * doubleAt(requests, item * width + k);
    }
    if (missing > 0) return false;
  }
  return true;
}

/** Nodes of one size are filled in one order only: this one holds no more, item by item, than the one before. */
function isTwin({ bins, counts, order }: ExactState, { node, own }: Filling): boolean {
  const before = counts[node - 1];
  if (before === undefined || bins[node] !== bins[node - 1]) return false;
  for (const item of order) {
    const difference = intAt(own, item) - intAt(before, item);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
