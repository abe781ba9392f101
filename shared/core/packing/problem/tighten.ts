import type { PackingBin, PackingItem } from './problem.ts';

/** Above this many cells × items the exact answer costs more than it saves; the grid alone is used then. */
const MAX_CELLS_AND_ITEMS = 1_500_000;

/**
 * The bins with each resource lowered to the most that any choice of pods can use of it: with 4-core pods, 31 cores are
 * worth 28. No packing is lost, bounds get stronger, and more bins are dominated.
 */
export function tighten(
  items: ReadonlyArray<PackingItem>,
  bins: ReadonlyArray<PackingBin>,
  width: number,
): ReadonlyArray<PackingBin> {
  const tightened = bins.map(({ usable, ...rest }) => ({ ...rest, usable: Float64Array.from(usable) }));
  for (let resource = 0; resource < width; resource++) {
    const sizes = items.map(({ requests }) => requests[resource] ?? 0);
    const grid = sizes.reduce(greatestCommonDivisor, 0);
    const demand = items.reduce((sum, { count }, index) => sum + count * (sizes[index] ?? 0), 0);
    const largest = tightened.reduce((most, { usable }) => Math.max(most, usable[resource] ?? 0), 0);
    const reachable = grid === 0 ? null : reachableSums(items, sizes, grid, Math.min(largest, demand));
    for (const { usable } of tightened) {
      usable[resource] = lower(Math.min(usable[resource] ?? 0, demand), grid, reachable);
    }
  }
  return tightened;
}

function lower(amount: number, grid: number, reachable: Int32Array | null): number {
  if (amount <= 0 || grid === 0) return Math.max(0, amount);
  const cell = Math.floor(amount / grid);
  return (reachable === null ? cell : (reachable[cell] ?? cell)) * grid;
}

/**
 * Per cell of the grid: the largest cell at or below it that pods can fill exactly. Null when there are too many cells.
 */
function reachableSums(
  items: ReadonlyArray<Pick<PackingItem, 'count' | 'perNode'>>,
  sizes: ReadonlyArray<number>,
  grid: number,
  largest: number,
): Int32Array | null {
  const cells = Math.floor(largest / grid) + 1;
  if (cells * items.length > MAX_CELLS_AND_ITEMS) return null;
  const reached = new Uint8Array(cells);
  reached[0] = 1;
  items.forEach(({ count, perNode }, index) => {
    const size = (sizes[index] ?? 0) / grid;
    if (size > 0) addItem(reached, size, Math.min(count, perNode));
  });
  const best = new Int32Array(cells);
  for (let cell = 1; cell < cells; cell++) best[cell] = reached[cell] === 1 ? cell : (best[cell - 1] ?? 0);
  return best;
}

/** Marks, in place, what up to `count` more pods of size `size` reach. */
function addItem(reached: Uint8Array, size: number, count: number): void {
  const used = new Float64Array(reached.length);
  for (let cell = size; cell < reached.length; cell++) {
    if (reached[cell] === 1 || reached[cell - size] !== 1) continue;
    const pods = (used[cell - size] ?? 0) + 1;
    if (pods > count) continue;
    used[cell] = pods;
    reached[cell] = 1;
  }
}

/** Whatever whole nodes at these prices cost is a multiple of this. */
export function unitOf(prices: ArrayLike<number>): number {
  return Math.max(1, Array.from(prices).reduce(greatestCommonDivisor, 0));
}

/** Of two whole numbers; of nothing and a number, that number. */
export function greatestCommonDivisor(a: number, b: number): number {
  let [large, small] = [a, b];
  while (small !== 0) [large, small] = [small, large % small];
  return large;
}
