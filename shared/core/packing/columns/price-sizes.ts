import { doubleAt } from '../../quantity/at.ts';
import { fillBest } from '../knapsack/fill-best.ts';
import type { FlatProblem } from '../problem/fill.ts';
import { knapsackOf } from '../knapsack/knapsack-of.ts';
import { patternOf, type Pattern } from './patterns.ts';
import type { Work } from '../problem/work.ts';

/**
 * A filling must promise this much more than its size costs: smaller gains are not worth the search that they take
 * where prices are nearly proportional to sizes. The bound loses as much.
 */
export const TOLERANCE = 1e-4;
const STEP = 1e-6;
const MARGIN = 1 + 2 * STEP;
const DEEP_NODES = 100_000;
/** With so many fillings found, the values are about to change: a proof for the other sizes would be of no use. */
const DEEP_PATTERNS = 2;

/** Fillings worth more than their sizes cost, and what is known of all sizes. */
export interface PricedSizes {
  readonly patterns: ReadonlyArray<Pattern>;
  /** By this the duals have to be lowered so that no size is worth more than it costs. */
  readonly scale: number;
  /** What all gifts together hold at most. */
  readonly given: number;
  /** Sizes that may be worth more than they cost: the search did not come to its end. */
  readonly open: ReadonlyArray<OpenSize>;
}

/** A size and what no filling of it is worth more than. */
export interface OpenSize {
  readonly bin: number;
  readonly atMost: number;
}

/** What the sizes are filled by. */
export interface Pricing {
  /** Pods per item still to be packed. */
  readonly demand: Float64Array;
  /** What a pod of each item is worth; micro-USD per hour. */
  readonly values: Float64Array;
  readonly work: Work;
}

/**
 * The most valuable filling of every size, as far as that is worth more than it costs; `maxNodes` bounds each search.
 */
export function priceSizes(flat: FlatProblem, { demand, values, work }: Pricing, maxNodes: number): PricedSizes {
  const patterns: Array<Pattern> = [];
  const open: Array<OpenSize> = [];
  let scale = 1;
  for (let bin = 0; bin < flat.bins; bin++) {
    const price = doubleAt(flat.prices, bin);
    const knapsack = knapsackOf(flat, bin, values, demand);
    const effort = { above: price * (1 + TOLERANCE), step: price * STEP, maxNodes, isDeep: false };
    const { value, counts, atMost } = fillBest(knapsack, effort, work);
    if (atMost > 0) scale = Math.min(scale, price / atMost);
    if (value > 0) patterns.push(patternOf(flat, bin, counts));
    if (atMost > price * (1 + TOLERANCE) * MARGIN) open.push({ bin, atMost });
  }
  return { patterns, scale, given: 0, open };
}

/** What the search left open, by a longer and deeper one. */
export function priceOpen(
  flat: FlatProblem,
  { demand, values, work }: Pricing,
  { open, given }: PricedSizes,
): PricedSizes {
  const patterns: Array<Pattern> = [];
  let scale = 1 / ((1 + TOLERANCE) * MARGIN);
  for (const { bin, atMost } of open) {
    const price = doubleAt(flat.prices, bin);
    if (patterns.length >= DEEP_PATTERNS) {
      scale = Math.min(scale, price / atMost);
      continue;
    }
    const knapsack = knapsackOf(flat, bin, values, demand);
    const effort = { above: price * (1 + TOLERANCE), step: price * STEP, maxNodes: DEEP_NODES, isDeep: true };
    const { value, counts, atMost: found } = fillBest(knapsack, effort, work);
    if (value > 0) patterns.push(patternOf(flat, bin, counts));
    scale = Math.min(scale, price / Math.min(atMost, found));
  }
  return { patterns, scale, given, open: [] };
}
