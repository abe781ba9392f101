import { at, doubleAt } from '../../quantity/at.ts';
import { knapsackOf } from '../knapsack/knapsack-of.ts';
import { relaxedValue, relaxKnapsack } from '../knapsack/relax-knapsack.ts';
import { fillNode, type FillBuffers, type FillRule, type FlatProblem } from '../problem/fill.ts';
import type { PackedNode, Packing, PackingItem } from '../problem/problem.ts';
import type { Work } from '../problem/work.ts';

/** A bin that could be so little better than the best found is not tried: this is a first packing. */
const SLACK = 0.002;
const RULES: ReadonlyArray<FillRule> = ['worth', 'shape'];

/** What a construction is guided by, and the work it takes from. It is always finished. */
export interface Guidance {
  /** What a pod of each item is worth, in micro-USD per hour. */
  readonly worth: Float64Array;
  readonly work: Work;
}

interface Construction {
  readonly flat: FlatProblem;
  readonly guidance: Guidance;
  readonly left: Float64Array;
  readonly buffers: FillBuffers;
}

/** Buys the node with the most worth per price, as often as it fits, until no pod is left. */
export function construct(flat: FlatProblem, items: ReadonlyArray<PackingItem>, guidance: Guidance): Packing {
  const left = Float64Array.from(items, ({ count }) => count);
  const buffers = { free: new Float64Array(flat.width), counts: new Int32Array(flat.items), work: guidance.work };
  const construction: Construction = { flat, guidance, left, buffers };
  return buyInTurn(flat, left, () => bestNode(construction));
}

/**
 * Buys what `next` names until no pod is left, or it names none; takes the pods out of `left` in place. Along the way
 * it remembers the cheapest point at which one more node could have held all the rest, and ends there if that was best.
 */
export function buyInTurn(flat: FlatProblem, left: Float64Array, next: () => PackedNode | null): Packing {
  const nodes: Array<PackedNode> = [];
  let cost = 0;
  let ending: Pick<Packing, 'nodes' | 'cost'> | null = null;
  // Each round takes at least one pod, and usually the last of an item: twice the items and a margin is never reached.
  for (let round = 0; round < MAX_ROUNDS && left.some((count) => count > 0); round++) {
    const last = cheapestHolding(flat, left);
    if (last !== -1 && (ending === null || cost + doubleAt(flat.prices, last) < ending.cost)) {
      const rest = { bin: last, counts: Int32Array.from(left), times: 1 };
      ending = { cost: cost + doubleAt(flat.prices, last), nodes: [...nodes, rest] };
    }
    const node = next();
    if (node === null) break;
    nodes.push(node);
    cost += doubleAt(flat.prices, node.bin) * node.times;
    node.counts.forEach((count, item) => (left[item] = doubleAt(left, item) - count * node.times));
  }
  const stranded = Int32Array.from(left);
  if (ending !== null && (ending.cost < cost || stranded.some((count) => count > 0))) {
    return { ...ending, left: new Int32Array(flat.items) };
  }
  return { nodes, cost, left: stranded };
}

const MAX_ROUNDS = 100_000;

function bestNode(construction: Construction): PackedNode | null {
  const { flat, guidance, left, buffers } = construction;
  let best: { readonly bin: number; readonly counts: Int32Array; readonly ratio: number } | null = null;
  for (const { bin, most } of candidates(construction)) {
    if (best !== null && most <= best.ratio * (1 + SLACK)) break;
    for (const rule of RULES) {
      const worth = fillNode(flat, { bin, rule }, { left, worth: guidance.worth }, buffers);
      const ratio = worth / Math.max(1, doubleAt(flat.prices, bin));
      if (worth > 0 && (best === null || ratio > best.ratio)) best = { bin, counts: buffers.counts.slice(), ratio };
    }
  }
  if (best === null) return null;
  const { counts } = best;
  const bin = cheapestHolding(flat, counts);
  return { bin: bin === -1 ? best.bin : bin, counts, times: timesWithin(counts, left) };
}

interface Candidate {
  readonly bin: number;
  /** No filling is worth more per price. */
  readonly most: number;
}

/** Bins by the most worth per price that they could hold of what is left, best first. */
function candidates({ flat, guidance, left }: Construction): ReadonlyArray<Candidate> {
  const { bins, items, width } = flat;
  guidance.work.left -= bins * items * width * 10;
  return Array.from({ length: bins }, (_, bin): Candidate => {
    const knapsack = knapsackOf(flat, bin, guidance.worth, left);
    const most = relaxedValue(knapsack, relaxKnapsack(knapsack)) / Math.max(1, doubleAt(flat.prices, bin));
    return { bin, most };
  }).toSorted((a, b) => b.most - a.most || a.bin - b.bin);
}

/** How often a node with these pods can be filled with what is left; at least once. */
export function timesWithin(counts: Int32Array, left: Float64Array): number {
  let times = Infinity;
  counts.forEach((count, item) => {
    if (count > 0) times = Math.min(times, Math.floor(doubleAt(left, item) / count));
  });
  return Number.isFinite(times) ? Math.max(1, times) : 1;
}

/** The cheapest bin that holds these pods on one node, or −1. */
export function cheapestHolding(flat: FlatProblem, counts: ArrayLike<number>): number {
  const { width, items, bins, requests, perNode, usable, prices, admits } = flat;
  const load = new Float64Array(width);
  for (let item = 0; item < items; item++) {
    const count = at(counts, item);
    if (count > doubleAt(perNode, item)) return -1;
    for (let resource = 0; resource < width; resource++) {
      load[resource] = doubleAt(load, resource) + count * doubleAt(requests, item * width + resource);
    }
  }
  let best = -1;
  for (let bin = 0; bin < bins; bin++) {
    if (best !== -1 && doubleAt(prices, bin) >= doubleAt(prices, best)) continue;
    if (!load.every((amount, resource) => amount <= doubleAt(usable, bin * width + resource))) continue;
    if (admitsAll(counts, admits, bin * items, items)) best = bin;
  }
  return best;
}

function admitsAll(counts: ArrayLike<number>, admits: Uint8Array, offset: number, items: number): boolean {
  for (let item = 0; item < items; item++) if (at(counts, item) > 0 && admits[offset + item] !== 1) return false;
  return true;
}
