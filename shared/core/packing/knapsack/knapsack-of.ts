import { doubleAt } from '../../quantity/at.ts';
import type { FlatProblem } from '../problem/fill.ts';
import type { Knapsack } from './relax-knapsack.ts';

/** The size as a knapsack for pods still to be packed, with `values` per pod. */
export function knapsackOf(flat: FlatProblem, bin: number, values: Float64Array, demand: Float64Array): Knapsack {
  const { width, items, requests, usable } = flat;
  const free = usable.subarray(bin * width, (bin + 1) * width);
  const limits = new Float64Array(items);
  for (let item = 0; item < items; item++) limits[item] = limitOf(flat, bin, item, doubleAt(demand, item));
  return { width, items, requests, values, limits, free };
}

/** At most so many pods of the item fit one node of the size, all else empty. */
export function limitOf(
  { width, items, requests, usable, admits, perNode }: FlatProblem,
  bin: number,
  item: number,
  demand: number,
): number {
  if (admits[bin * items + item] !== 1) return 0;
  let limit = Math.min(demand, doubleAt(perNode, item));
  for (let k = 0; k < width; k++) {
    const request = doubleAt(requests, item * width + k);
    if (request > 0) limit = Math.min(limit, Math.floor(doubleAt(usable, bin * width + k) / request));
  }
  return Math.max(0, limit);
}

/** How much of a node one pod takes of what it takes most of; for items that fit the size. */
export function largestShare({ width, requests, usable }: FlatProblem, bin: number, item: number): number {
  let share = 0;
  for (let k = 0; k < width; k++) {
    const request = doubleAt(requests, item * width + k);
    if (request > 0) share = Math.max(share, request / doubleAt(usable, bin * width + k));
  }
  return share;
}
