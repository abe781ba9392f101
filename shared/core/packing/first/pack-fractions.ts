import { at } from '../../quantity/at.ts';
import { addSize, costInLp, improveLp, nodesInLp, startLp, type FractionalLp, type LpSize } from './fractional-lp.ts';
import type { FlatProblem } from '../problem/fill.ts';
import { knapsackOf, largestShare, limitOf } from '../knapsack/knapsack-of.ts';
import { relaxedValue, relaxKnapsack, type Knapsack } from '../knapsack/relax-knapsack.ts';
import type { Work } from '../problem/work.ts';

/** Pods packed at the least cost where pods and nodes may be cut. */
export interface FractionalPacking {
  /**
   * What a pod of each item costs; micro-USD per hour. No size holds more worth than it costs, but for a small
   * tolerance.
   */
  readonly worth: Float64Array;
  readonly cost: number;
  /** Nodes per size, with fractions. */
  readonly nodes: Float64Array;
  /** Is this size among the cheapest places for the item? */
  readonly suits: (item: number, bin: number) => boolean;
}

/** What is to be packed, on sizes that cost `dearest` at most. */
export interface FractionalDemand {
  /** Pods per item. */
  readonly demand: Float64Array;
  readonly dearest: number;
  readonly work: Work;
}

/** Sizes are added to the program until none is worth so much more than it costs. */
const CLOSE = 1e-4;
const ROUNDS = 40;
const SIZES_PER_ROUND = 3;
const PIVOTS_PER_ITEM = 10;
/** Items that a pivot looks at, about. */
const LOOKED_AT = 60;

/**
 * The cheapest packing with fractions. Each size values resources in its own way there: one price per resource for all
 * sizes says too little where some have much memory and others little. Null where an item fits none of the sizes.
 */
export function packFractions(flat: FlatProblem, wanted: FractionalDemand): FractionalPacking | null {
  const { demand, work } = wanted;
  const homes = cheapestHomes(flat, wanted);
  if (homes.some((bin, item) => bin === -1 && at(demand, item) > 0)) return null;
  const bins = [...new Set(homes)].filter((bin) => bin !== -1);
  const lp = startLp({
    width: flat.width,
    demand,
    sizes: bins.map((bin) => lpSizeOf(flat, bin)),
    home: homes.map((bin) => bins.indexOf(bin)),
  });
  const others = sizesToWatch(flat, wanted);
  let worth: Float64Array = new Float64Array();
  for (let round = 0; round < ROUNDS; round++) {
    const pivots = improveLp(lp, PIVOTS_PER_ITEM * flat.items);
    work.left -= (pivots + 1) * lp.sizes.length * flat.width * (LOOKED_AT + lp.sizes.length * flat.width * 2);
    worth = worthOf(lp, demand);
    const missing = sizesMissing(flat, others, { worth, known: bins, work });
    if (missing.length === 0) break;
    for (const { bin, worthOfFull } of missing) {
      bins.push(bin);
      addSize(lp, lpSizeOf(flat, bin), worthOfFull);
    }
  }
  return read(flat, lp, { bins, worth, demand });
}

function read(
  { bins: all, items }: FlatProblem,
  lp: FractionalLp,
  given: { readonly bins: ReadonlyArray<number>; readonly worth: Float64Array; readonly demand: Float64Array },
): FractionalPacking {
  const { bins, worth, demand } = given;
  const nodes = new Float64Array(all);
  nodesInLp(lp).forEach((amount, size) => (nodes[bins[size] ?? 0] = amount));
  let cost = 0;
  for (let item = 0; item < items; item++) cost += at(worth, item) * at(demand, item);
  const suits = (item: number, bin: number): boolean => {
    const size = bins.indexOf(bin);
    return size !== -1 && costInLp(lp, item, size) <= at(worth, item) * (1 + CLOSE);
  };
  return { worth, cost, nodes, suits };
}

function worthOf(lp: FractionalLp, demand: Float64Array): Float64Array {
  return demand.map((count, item) => {
    if (count === 0) return 0;
    let least = Infinity;
    for (let size = 0; size < lp.sizes.length; size++) least = Math.min(least, costInLp(lp, item, size));
    return least;
  });
}

/** Per item, the size on which its scarcest resource costs least; −1 where it fits none, or has no pods. */
function cheapestHomes(flat: FlatProblem, { demand, dearest }: FractionalDemand): Int32Array {
  const { items, bins, prices } = flat;
  const homes = new Int32Array(items).fill(-1);
  for (let item = 0; item < items; item++) {
    let least = Infinity;
    for (let bin = 0; bin < bins; bin++) {
      if (at(prices, bin) > dearest || limitOf(flat, bin, item, at(demand, item)) === 0) continue;
      const cost = largestShare(flat, bin, item) * at(prices, bin);
      if (cost >= least) continue;
      least = cost;
      homes[item] = bin;
    }
  }
  return homes;
}

function lpSizeOf(flat: FlatProblem, bin: number): LpSize {
  const { width, items, requests, usable, prices } = flat;
  const shares = new Float64Array(items * width);
  for (let item = 0; item < items; item++) {
    const isAdmitted = limitOf(flat, bin, item, 1) > 0;
    for (let k = 0; k < width; k++) {
      const request = at(requests, item * width + k);
      const share = request > 0 ? request / at(usable, bin * width + k) : 0;
      shares[item * width + k] = isAdmitted ? share : Infinity;
    }
  }
  return { price: at(prices, bin), shares };
}

interface MissingSize {
  readonly bin: number;
  /** Per resource, what all of it on a node is worth. */
  readonly worthOfFull: Float64Array;
  readonly ratio: number;
}

/** A size that may be missing, and the multipliers that showed last that it is not. */
interface WatchedSize {
  readonly bin: number;
  readonly knapsack: Knapsack;
  multipliers: Float64Array;
}

function sizesToWatch(flat: FlatProblem, { demand, dearest, work }: FractionalDemand): ReadonlyArray<WatchedSize> {
  const none = new Float64Array(flat.items);
  const bins = [...flat.prices.keys()].filter((bin) => at(flat.prices, bin) <= dearest);
  work.left -= bins.length * flat.items * flat.width * 4;
  return bins.map((bin) => ({
    bin,
    knapsack: knapsackOf(flat, bin, none, demand),
    multipliers: new Float64Array(flat.width),
  }));
}

interface KnownSizes {
  readonly worth: Float64Array;
  readonly known: ReadonlyArray<number>;
  readonly work: Work;
}

/** The sizes worth most per price, of those that are not known and are worth more than they cost. */
function sizesMissing(
  flat: FlatProblem,
  watched: ReadonlyArray<WatchedSize>,
  { worth, known, work }: KnownSizes,
): ReadonlyArray<MissingSize> {
  const missing: Array<MissingSize> = [];
  for (const one of watched) {
    if (known.includes(one.bin)) continue;
    const enough = at(flat.prices, one.bin) * (1 + CLOSE);
    const knapsack = { ...one.knapsack, values: worth };
    work.left -= flat.items * flat.width;
    if (relaxedValue(knapsack, one.multipliers) <= enough) continue;
    one.multipliers = relaxKnapsack(knapsack);
    work.left -= flat.items * flat.width * 10;
    const value = relaxedValue(knapsack, one.multipliers);
    if (value <= enough) continue;
    const worthOfFull = one.multipliers.map((multiplier, k) => multiplier * at(knapsack.free, k));
    missing.push({ bin: one.bin, worthOfFull, ratio: value / at(flat.prices, one.bin) });
  }
  return missing.toSorted((a, b) => b.ratio - a.ratio || a.bin - b.bin).slice(0, SIZES_PER_ROUND);
}
