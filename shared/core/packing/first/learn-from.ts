import { at } from '../problem/at.ts';
import type { FlatProblem } from '../problem/fill.ts';
import { addPattern, patternOf, type PatternPool } from '../columns/patterns.ts';
import type { PackingItem } from '../problem/problem.ts';

/** What packing a part of a problem has taught, for parts that are nearly the same: the zones of a spread. */
export interface Learned extends Learner {
  /** What a pod of each item is worth; micro-USD per hour. */
  readonly values: Float64Array;
}

interface Learner {
  readonly flat: FlatProblem;
  readonly items: ReadonlyArray<PackingItem>;
  /** Ways to fill nodes: those of the other part are added. */
  readonly pool: PatternPool;
  /** What a pod of each item is worth as far as it is known without the other part. */
  readonly values: Float64Array;
}

/** Of a part's items, so many must be items of the other too. */
const ALIKE = 0.8;

/**
 * Adds, in place, the fillings of the other part that are possible in this one too; answers what its pods are worth there.
 * Parts that have little in common teach nothing.
 */
export function learnFrom(other: Learned, { flat, items, pool, values }: Learner): Float64Array {
  const placeOf = new Map(items.map((item, index) => [itemId(item), index]));
  const places = other.items.map((item) => placeOf.get(itemId(item)) ?? -1);
  if (places.filter((place) => place >= 0).length < ALIKE * items.length) return values;
  const sizes = new Map(Array.from({ length: flat.bins }, (_, bin) => [sizeId(flat, bin), bin]));
  const binOf = Array.from({ length: other.flat.bins }, (_, bin) => sizes.get(sizeId(other.flat, bin)) ?? -1);
  for (const { bin, rows, amounts } of other.pool.patterns) {
    const counts = new Int32Array(flat.items);
    rows.forEach((row, i) => {
      const place = at(places, row);
      if (place >= 0) counts[place] = Math.min(at(amounts, i), items[place]?.count ?? 0);
    });
    const own = binOf[bin] ?? -1;
    if (own >= 0 && counts.some((count) => count > 0) && holds(flat, own, counts)) {
      addPattern(pool, patternOf(flat, own, counts));
    }
  }
  const worth = Float64Array.from(values);
  places.forEach((place, index) => {
    if (place >= 0 && at(other.values, index) > 0) worth[place] = at(other.values, index);
  });
  return worth;
}

function itemId({ requests, perNode }: PackingItem): string {
  return `${requests.join(' ')} ${perNode}`;
}

function sizeId({ prices, usable, width }: FlatProblem, bin: number): string {
  return `${at(prices, bin)} ${usable.slice(bin * width, (bin + 1) * width).join(' ')}`;
}

function holds(flat: FlatProblem, bin: number, counts: Int32Array): boolean {
  const { width, items, requests, usable, admits, perNode } = flat;
  for (let k = 0; k < width; k++) {
    let load = 0;
    for (let item = 0; item < items; item++) load += at(counts, item) * at(requests, item * width + k);
    if (load > at(usable, bin * width + k)) return false;
  }
  return counts.every((count, item) => count === 0 || (admits[bin * items + item] === 1 && count <= at(perNode, item)));
}
