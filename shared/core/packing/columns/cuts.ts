import { fillBest, type Filling } from '../knapsack/fill-best.ts';
import type { FlatProblem } from '../problem/fill.ts';
import { TOLERANCE } from './price-sizes.ts';
import { knapsackOf } from '../knapsack/knapsack-of.ts';
import type { Work } from '../problem/work.ts';

/**
 * What every set of nodes that holds all pods must fulfil: of some measure of pods, the sizes' most together at least
 * what all pods have. All whole numbers below 2^53, so checking one is exact.
 */
export interface Cut {
  /** Per item, what a pod counts. */
  readonly values: Float64Array;
  readonly need: number;
  /** Per size, the most that one node can hold. */
  readonly perBin: Float64Array;
}

/** Sums of values stay below this, so that sums of their products stay exact. */
const LARGEST_SUM = 2 ** 40;
/** All pods together worth less than this are worth nothing; a scale for them would not be a number. */
const WORTHLESS = 1e-9;
/** Search nodes per size: a short look, and a long and deep one where that did not come to its end. */
const QUICK_NODES = 3_000;
const DEEP_NODES = 10_000;

/**
 * The cut that measures pods by these values, rounded down to whole numbers on a scale that keeps what matters; null
 * for none. Where the values are duals, that is micro-USD per pod, `prices` says that a size is known well enough once
 * it is known not to hold more than it costs.
 */
export function cutOf(flat: FlatProblem, given: Measure, work: Work): Cut | null {
  const { values, demand, prices } = given;
  const sum = weigh(values, demand);
  if (!(sum > WORTHLESS) || !Number.isFinite(sum)) return null;
  const isWhole =
    prices === null && sum < LARGEST_SUM && values.every((value) => Number.isInteger(value) && value >= 0);
  const scale = isWhole ? 1 : LARGEST_SUM / sum;
  const whole = isWhole ? values : values.map((value) => Math.floor(Math.max(0, value) * scale));
  const perBin = new Float64Array(flat.bins);
  for (let bin = 0; bin < flat.bins; bin++) {
    const enough = prices === null ? 0 : Math.floor((prices[bin] ?? 0) * (1 + TOLERANCE) * scale);
    perBin[bin] = mostIn(flat, bin, { values: whole, demand, enough }, work);
  }
  return { values: whole, need: weigh(whole, demand), perBin };
}

export interface Measure {
  readonly values: Float64Array;
  /** Pods per item. */
  readonly demand: Float64Array;
  readonly prices: Float64Array | null;
}

/** What pods are measured by besides their worth: each resource, and their number. */
export function measuresOf({ width, items, requests }: FlatProblem): ReadonlyArray<Float64Array> {
  const resources = Array.from({ length: width }, (_, k) =>
    Float64Array.from({ length: items }, (_unused, item) => requests[item * width + k] ?? 0),
  );
  return [...resources, new Float64Array(items).fill(1)];
}

/** What all pods cost at least, by this cut alone: each unit of it costs at least what it costs on the best size. */
export function boundOf({ need, perBin }: Cut, { prices }: FlatProblem): number {
  let bound: bigint | null = null;
  perBin.forEach((most, bin) => {
    if (most <= 0) return;
    const [numerator, denominator] = [BigInt(need) * BigInt(prices[bin] ?? 0), BigInt(most)];
    const own = (numerator + denominator - 1n) / denominator;
    if (bound === null || own < bound) bound = own;
  });
  return bound === null ? 0 : Number(bound);
}

interface Measuring {
  readonly values: Float64Array;
  readonly demand: Float64Array;
  /** Amounts up to this need not be told apart. */
  readonly enough: number;
}

/** The most that pods on one node of the size can count together; proved, and if need be above the truth. */
function mostIn(flat: FlatProblem, bin: number, { values, demand, enough }: Measuring, work: Work): number {
  const knapsack = knapsackOf(flat, bin, values, demand);
  const quick = fillBest(knapsack, { above: enough, step: 1, maxNodes: QUICK_NODES, isDeep: false }, work);
  const least = Math.max(enough, quick.value);
  if (quick.isEnded || work.left <= 0) return mostBy(quick, least);
  const deep = fillBest(knapsack, { above: least, step: 1, maxNodes: DEEP_NODES, isDeep: true }, work);
  return Math.min(Math.floor(quick.atMost), mostBy(deep, Math.max(least, deep.value)));
}

function mostBy({ atMost, isEnded }: Filling, least: number): number {
  return isEnded ? Math.min(least, Math.floor(atMost)) : Math.floor(atMost);
}

export function weigh(values: Float64Array, counts: ArrayLike<number>): number {
  let sum = 0;
  for (let item = 0; item < values.length; item++) sum += Math.max(0, values[item] ?? 0) * (counts[item] ?? 0);
  return sum;
}
