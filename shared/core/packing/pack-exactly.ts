import type { FlatProblem } from './fill.ts';
import type { PackedNode } from './problem.ts';
import { greatestCommonDivisor, reachableSums } from './tighten.ts';
import type { Work } from './work.ts';

/** States of the search remembered and looked at, at most. */
const MAX_STATES = 20_000;
/** With more pods than this the search would not end. */
export const MAX_PODS = 130;

interface Search {
  readonly flat: FlatProblem;
  /** Per pod: its item, largest first, pods of an item together. */
  readonly pods: ReadonlyArray<number>;
  /** Per node: its size. */
  readonly bins: ReadonlyArray<number>;
  /** Node × resource. */
  readonly free: Float64Array;
  /** Node × item. */
  readonly counts: Int32Array;
  /** Pod × resource: what it and the pods after it request together. */
  readonly rest: Float64Array;
  /** Pod × resource: the sums that it and the pods after it can make; null where there are too many. */
  readonly sums: ReadonlyArray<ReadonlyArray<Sums | null>>;
  readonly seen: Set<string>;
  states: number;
}

/** Per step of the grid, the largest step at or below it that is a sum. */
interface Sums {
  readonly grid: number;
  readonly reached: Int32Array;
}

/**
 * Can exactly these nodes hold all pods? Tries every way, pod by pod, largest first; nodes with the same room left count
 * as one. Null when that takes too long.
 */
export function packExactly(
  flat: FlatProblem,
  bins: ReadonlyArray<number>,
  demand: Float64Array,
  work: Work,
): ReadonlyArray<PackedNode> | 'impossible' | null {
  const pods = podsOf(flat, bins, demand);
  if (pods.length > MAX_PODS) return null;
  const { width, items } = flat;
  const free = new Float64Array(bins.length * width);
  bins.forEach((bin, node) => free.set(flat.usable.subarray(bin * width, (bin + 1) * width), node * width));
  const rest = new Float64Array((pods.length + 1) * width);
  for (let index = pods.length - 1; index >= 0; index--) {
    for (let k = 0; k < width; k++) {
      rest[index * width + k] = at(rest, (index + 1) * width + k) + at(flat.requests, at(pods, index) * width + k);
    }
  }
  const search = {
    flat,
    pods,
    bins,
    free,
    counts: new Int32Array(bins.length * items),
    rest,
    sums: sumsOf(flat, pods, bins),
    seen: new Set<string>(),
    states: 0,
  };
  const outcome = place(search, 0, 0);
  work.left -= search.states * bins.length * width * 60;
  if (outcome === null) return null;
  if (!outcome) return 'impossible';
  return bins
    .map((bin, node) => ({ bin, counts: search.counts.slice(node * items, (node + 1) * items), times: 1 }))
    .filter(({ counts }) => counts.some((count) => count > 0));
}

function podsOf(flat: FlatProblem, bins: ReadonlyArray<number>, demand: Float64Array): ReadonlyArray<number> {
  const { width, items, requests, usable } = flat;
  const most = new Float64Array(width);
  for (const bin of bins) for (let k = 0; k < width; k++) most[k] = Math.max(at(most, k), at(usable, bin * width + k));
  const size = (item: number): number => {
    let share = 0;
    for (let k = 0; k < width; k++) share = Math.max(share, at(requests, item * width + k) / Math.max(1, at(most, k)));
    return share;
  };
  return Array.from({ length: items }, (_, item) => item)
    .toSorted((a, b) => size(b) - size(a) || a - b)
    .flatMap((item) => Array.from({ length: Math.min(at(demand, item), MAX_PODS + 1) }, () => item));
}

/** Places the pod and all after it; null when it takes too long. Pods of one item go to nodes in ascending order. */
function place(search: Search, index: number, from: number): boolean | null {
  const { pods, bins } = search;
  const item = pods[index];
  if (item === undefined) return true;
  if (!hasRoomForRest(search, index)) return false;
  search.states++;
  if (search.states > MAX_STATES) return null;
  const id = stateOf(search, index, from);
  if (search.seen.has(id)) return false;
  const isSame = pods[index + 1] === item;
  for (let node = from; node < bins.length; node++) {
    if (!fits(search, node, item) || isTwin(search, node, { from, item })) continue;
    move(search, node, item, 1);
    const outcome = place(search, index + 1, isSame ? node : 0);
    if (outcome !== false) return outcome;
    move(search, node, item, -1);
  }
  search.seen.add(id);
  return false;
}

/** Room that the pods still to come cannot fill exactly does not count. */
function hasRoomForRest({ flat: { width }, bins, free, rest, sums }: Search, index: number): boolean {
  for (let k = 0; k < width; k++) {
    const needed = at(rest, index * width + k);
    const sum = sums[index]?.[k] ?? null;
    let room = 0;
    for (let node = 0; node < bins.length && room < needed; node++) {
      const own = at(free, node * width + k);
      room += sum === null ? own : at(sum.reached, Math.floor(own / sum.grid)) * sum.grid;
    }
    if (room < needed) return false;
  }
  return true;
}

/** A table per kind of pods still to come; pods of one item share theirs. */
function sumsOf(
  { width, requests, usable, perNode }: FlatProblem,
  pods: ReadonlyArray<number>,
  bins: ReadonlyArray<number>,
): ReadonlyArray<ReadonlyArray<Sums | null>> {
  const counts = new Map<number, number>();
  const tables: Array<ReadonlyArray<Sums | null>> = [];
  for (const item of pods.toReversed()) {
    counts.set(item, (counts.get(item) ?? 0) + 1);
    const kinds = [...counts].map(([kind, count]) => ({ kind, count, perNode: at(perNode, kind) }));
    const table = Array.from({ length: width }, (_, k): Sums | null => {
      const sizes = kinds.map(({ kind }) => at(requests, kind * width + k));
      const grid = sizes.reduce(greatestCommonDivisor, 0);
      const largest = bins.reduce((most, bin) => Math.max(most, at(usable, bin * width + k)), 0);
      if (grid === 0 || largest / grid > MAX_CELLS) return null;
      const reached = reachableSums(kinds, sizes, grid, largest);
      return reached === null ? null : { grid, reached };
    });
    tables.push(table);
  }
  return tables.toReversed();
}

const MAX_CELLS = 4_000;

function fits({ flat, bins, free, counts }: Search, node: number, item: number): boolean {
  const { width, items, requests, admits, perNode } = flat;
  if (admits[at(bins, node) * items + item] !== 1) return false;
  if (at(counts, node * items + item) >= at(perNode, item)) return false;
  for (let k = 0; k < width; k++) if (at(free, node * width + k) < at(requests, item * width + k)) return false;
  return true;
}

/** Is there an earlier node of the same size with the same room and as many of this item? Then that one was tried. */
function isTwin(
  { flat, bins, free, counts }: Search,
  node: number,
  { from, item }: { readonly from: number; readonly item: number },
): boolean {
  const { width, items } = flat;
  for (let other = from; other < node; other++) {
    if (bins[other] !== bins[node] || at(counts, other * items + item) !== at(counts, node * items + item)) continue;
    let same = true;
    for (let k = 0; k < width; k++) same &&= at(free, other * width + k) === at(free, node * width + k);
    if (same) return true;
  }
  return false;
}

function move({ flat, free, counts }: Search, node: number, item: number, sign: 1 | -1): void {
  const { width, items, requests } = flat;
  for (let k = 0; k < width; k++) {
    free[node * width + k] = at(free, node * width + k) - sign * at(requests, item * width + k);
  }
  counts[node * items + item] = at(counts, node * items + item) + sign;
}

/** What matters for the pods still to come: where identical ones may go, and what each node has left. */
function stateOf({ flat, bins, free, counts, pods }: Search, index: number, from: number): string {
  const { width, items, perNode } = flat;
  const limited = [...new Set(pods.slice(index))].filter((item) => at(perNode, item) !== Infinity);
  const rooms = bins.map((bin, node) => {
    const held = limited.map((item) => at(counts, node * items + item));
    return `${node < from ? '-' : ''}${bin}:${free.subarray(node * width, (node + 1) * width).join(',')}/${held.join(',')}`;
  });
  return `${index} ${rooms.toSorted().join(' ')}`;
}

function at(numbers: ArrayLike<number>, index: number): number {
  return numbers[index] ?? 0;
}
