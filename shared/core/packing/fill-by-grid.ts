import { at } from './at.ts';
import type { Knapsack } from './relax-knapsack.ts';
import { greatestCommonDivisor } from './tighten.ts';
import type { Work } from './work.ts';

/** More cells than this take longer than what they prove is worth: each is looked at once per item. */
const MAX_CELLS = 1_500_000;

/** A filling on the grid, and what no filling exceeds. The filling may break a limit per item; `atMost` holds all the same. */
export interface GridFilling {
  readonly atMost: number;
  readonly counts: Int32Array;
}

/**
 * Bounds a knapsack by trying every amount of its two scarcest resources, in steps of what all requests are multiples of.
 * It leaves limits per item and other resources out, which only makes it higher. Null when there are too many steps.
 */
export function fillByGrid(knapsack: Knapsack, multipliers: Float64Array, work: Work): GridFilling | null {
  const [first = 0, second = first] = scarcest(knapsack, multipliers);
  const taken = takenItems(knapsack);
  const a = axisOf(knapsack, taken, first);
  const b = first === second ? { steps: 0, sizes: a.sizes.map(() => 0) } : axisOf(knapsack, taken, second);
  const rowLength = b.steps + 1;
  const cells = (a.steps + 1) * rowLength;
  const steps = cells * taken.length;
  if (cells > MAX_CELLS || taken.length === 0 || steps > work.left) return null;
  work.left -= steps;
  const values = taken.map((item) => at(knapsack.values, item));
  const best = new Float64Array(cells);
  const choice = new Uint8Array(cells);
  const offsets = taken.map((_, index) => at(a.sizes, index) * rowLength + at(b.sizes, index));
  // An item that takes nothing of either resource would be taken without end: what its limit allows is counted apart.
  let gifts = 0;
  const counts = new Int32Array(knapsack.items);
  taken.forEach((item, index) => {
    if (offsets[index] !== 0) return;
    gifts += at(values, index) * at(knapsack.limits, item);
    counts[item] = at(knapsack.limits, item);
  });
  for (let index = 0; index < taken.length; index++) {
    if (offsets[index] !== 0) raise({ best, choice, rowLength, a, b }, index, at(values, index));
  }
  let cell = cells - 1;
  const most = at(best, cell) + gifts;
  // Every step takes one pod: as many as the smallest of them fits.
  while (at(choice, cell) !== 0) {
    const index = at(choice, cell) - 1;
    const item = at(taken, index);
    counts[item] = at(counts, item) + 1;
    cell -= at(offsets, index);
  }
  return { atMost: most * (1 + 1e-12), counts };
}

interface Axis {
  readonly steps: number;
  readonly sizes: ReadonlyArray<number>;
}

interface Grid {
  readonly best: Float64Array;
  readonly choice: Uint8Array;
  readonly rowLength: number;
  readonly a: Axis;
  readonly b: Axis;
}

/** One more item that may be taken any number of times. */
function raise({ best, choice, rowLength, a, b }: Grid, index: number, value: number): void {
  const [down, right] = [at(a.sizes, index), at(b.sizes, index)];
  const offset = down * rowLength + right;
  for (let row = down; row <= a.steps; row++) {
    const from = row * rowLength;
    for (let cell = from + right; cell < from + rowLength; cell++) {
      const sum = (best[cell - offset] ?? 0) + value;
      if (sum > (best[cell] ?? 0)) {
        best[cell] = sum;
        choice[cell] = index + 1;
      }
    }
  }
}

function takenItems({ items, limits, values }: Knapsack): Array<number> {
  const taken: Array<number> = [];
  for (let item = 0; item < items; item++) if (at(limits, item) > 0 && at(values, item) > 0) taken.push(item);
  // A cell remembers its choice in a byte.
  return taken.length > 255 ? [] : taken;
}

function axisOf({ width, requests, free }: Knapsack, taken: ReadonlyArray<number>, resource: number): Axis {
  let step = 0;
  for (const item of taken) step = greatestCommonDivisor(step, at(requests, item * width + resource));
  if (step === 0) return { steps: 0, sizes: taken.map(() => 0) };
  return {
    steps: Math.floor(Math.max(0, at(free, resource)) / step),
    sizes: taken.map((item) => at(requests, item * width + resource) / step),
  };
}

/** The two resources that the multipliers value most. */
function scarcest({ width, free }: Knapsack, multipliers: Float64Array): ReadonlyArray<number> {
  return Array.from({ length: width }, (_, k) => k)
    .toSorted((x, y) => at(multipliers, y) * at(free, y) - at(multipliers, x) * at(free, x) || x - y)
    .slice(0, 2);
}
