import { doubleAt, intAt } from '../../quantity/at.ts';
import { greatestCommonDivisor } from '../problem/tighten.ts';

/** Cells of a table at most: a finer grid is made coarser, which only makes the bound higher. */
const MAX_CELLS = 2_000;

/**
 * What items from some depth on are worth at most with so much free of one resource, all others priced at multipliers.
 * Whole pods and their limits count along that resource, which the multipliers alone know nothing of.
 */
export interface SuffixTable {
  readonly resource: number;
  /** What one cell stands for, in the unit of the resource. */
  readonly grid: number;
  readonly cells: number;
  /** Depth × cell, one depth more than items. */
  readonly worth: Float64Array;
}

/** Items in the order of a search. */
export interface OrderedItems {
  readonly width: number;
  readonly depth: number;
  readonly values: Float64Array;
  readonly limits: Float64Array;
  /** Depth × resource. */
  readonly requests: Float64Array;
  readonly multipliers: Float64Array;
}

/** Operations that a table takes: a few looks per cell and item. */
export function tableWork({ depth }: OrderedItems, free: Float64Array, resource: number): number {
  return 4 * depth * Math.min(MAX_CELLS, doubleAt(free, resource));
}

export function suffixTable(items: OrderedItems, free: Float64Array, resource: number): SuffixTable {
  const { width, depth, values, limits, requests, multipliers } = items;
  const grid = gridOf(items, doubleAt(free, resource), resource);
  const cells = Math.floor(Math.max(0, doubleAt(free, resource)) / grid);
  const row = cells + 1;
  const worth = new Float64Array((depth + 1) * row);
  const queue = new Int32Array(row);
  for (let d = depth - 1; d >= 0; d--) {
    let gain = doubleAt(values, d);
    for (let k = 0; k < width; k++) {
      if (k !== resource) gain -= doubleAt(multipliers, k) * doubleAt(requests, d * width + k);
    }
    const size = Math.floor(doubleAt(requests, d * width + resource) / grid);
    const next = worth.subarray((d + 1) * row, (d + 2) * row);
    const own = worth.subarray(d * row, (d + 1) * row);
    if (gain <= 0) own.set(next);
    else if (size === 0) next.forEach((one, cell) => (own[cell] = one + gain * doubleAt(limits, d)));
    else if (doubleAt(limits, d) * size >= cells) addWithoutEnd(own, next, { gain, size });
    else addUpTo(own, next, { gain, size, limit: doubleAt(limits, d) }, queue);
  }
  return { resource, grid, cells, worth };
}

/** What items from `depth` on add at most, with this much of the table's resource free. */
export function worthFrom({ grid, cells, worth }: SuffixTable, depth: number, room: number): number {
  return doubleAt(worth, depth * (cells + 1) + Math.floor(room / grid));
}

function gridOf({ width, depth, requests }: OrderedItems, free: number, resource: number): number {
  let grid = 0;
  for (let d = 0; d < depth; d++) grid = greatestCommonDivisor(grid, doubleAt(requests, d * width + resource));
  return Math.max(1, grid, Math.ceil(free / MAX_CELLS));
}

interface TableItem {
  readonly gain: number;
  readonly size: number;
}

function addWithoutEnd(own: Float64Array, next: Float64Array, { gain, size }: TableItem): void {
  for (let cell = 0; cell < own.length; cell++) {
    const taken = cell >= size ? doubleAt(own, cell - size) + gain : 0;
    own[cell] = Math.max(doubleAt(next, cell), taken);
  }
}

/**
 * Along each run of cells that are `size` apart, the best of the last `limit` + 1, by a queue of those still in reach.
 */
function addUpTo(
  own: Float64Array,
  next: Float64Array,
  { gain, size, limit }: TableItem & { readonly limit: number },
  queue: Int32Array,
): void {
  for (let start = 0; start < size && start < own.length; start++) {
    let [head, tail] = [0, 0];
    for (let taken = 0, cell = start; cell < own.length; taken++, cell += size) {
      const base = doubleAt(next, cell) - taken * gain;
      while (
        tail > head &&
        doubleAt(next, start + intAt(queue, tail - 1) * size) - intAt(queue, tail - 1) * gain <= base
      )
        tail--;
      queue[tail++] = taken;
      if (intAt(queue, head) < taken - limit) head++;
      const from = intAt(queue, head);
      own[cell] = doubleAt(next, start + from * size) + (taken - from) * gain;
    }
  }
}
