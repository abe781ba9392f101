import type { PackingProblem } from './problem.ts';
import type { Work } from './work.ts';

/** A packing problem laid out for the hot loops: vectors end to end, one array per kind of number. */
export interface FlatProblem {
  readonly width: number;
  readonly items: number;
  readonly bins: number;
  /** Item × resource. */
  readonly requests: Float64Array;
  readonly perNode: Float64Array;
  /** Bin × resource. */
  readonly usable: Float64Array;
  readonly prices: Float64Array;
  /** Bin × item. */
  readonly admits: Uint8Array;
}

export function flatten({ width, items, bins }: PackingProblem): FlatProblem {
  const requests = new Float64Array(items.length * width);
  items.forEach((item, index) => requests.set(item.requests, index * width));
  const usable = new Float64Array(bins.length * width);
  const admits = new Uint8Array(bins.length * items.length);
  bins.forEach((bin, index) => {
    usable.set(bin.usable, index * width);
    admits.set(bin.admits, index * items.length);
  });
  return {
    width,
    items: items.length,
    bins: bins.length,
    requests,
    perNode: Float64Array.from(items, ({ perNode }) => perNode),
    usable,
    prices: Float64Array.from(bins, ({ price }) => price),
    admits,
  };
}

/**
 * How an item is picked while a node fills: by worth per share of what is left, or by how well it matches what is left.
 */
export type FillRule = 'worth' | 'shape';

/** Working memory of one fill, reused: what is free on the node, and the pods on it per item. */
export interface FillBuffers {
  readonly free: Float64Array;
  readonly counts: Int32Array;
  /** Every look at an item's resource is an operation. */
  readonly work: Work;
}

/**
 * Fills an empty node of `bin` with what is left, into `buffers.counts`; returns what it is worth. Adds half of what
 * still fits of the best item at a time, so the time grows with the logarithm of pods per node.
 */
export function fillNode(
  flat: FlatProblem,
  { bin, rule }: { readonly bin: number; readonly rule: FillRule },
  { left, worth }: { readonly left: Float64Array; readonly worth: Float64Array },
  { free, counts, work }: FillBuffers,
): number {
  const { width, items, usable } = flat;
  for (let at = 0; at < width; at++) free[at] = usable[bin * width + at] ?? 0;
  counts.fill(0);
  let total = 0;
  // Each round adds at least one pod of some item or ends the fill; a node holds at most what the resource `pods`
  // allows.
  for (;;) {
    work.left -= 2 * items * width;
    let best = -1;
    let bestScore = -1;
    let bestRoom = 0;
    for (let item = 0; item < items; item++) {
      const room = roomFor(flat, { bin, item }, left, { free, counts, work });
      if (room === 0) continue;
      const score = scoreOf(flat, { bin, item }, free, rule === 'worth' ? (worth[item] ?? 0) : -1);
      if (score <= bestScore) continue;
      best = item;
      bestScore = score;
      bestRoom = room;
    }
    if (best === -1) return total;
    const added = Math.ceil(bestRoom / 2);
    counts[best] = (counts[best] ?? 0) + added;
    total += added * (worth[best] ?? 0);
    for (let at = 0; at < width; at++) free[at] = (free[at] ?? 0) - added * (flat.requests[best * width + at] ?? 0);
  }
}

function roomFor(
  { width, items, requests, perNode, admits }: FlatProblem,
  { bin, item }: { readonly bin: number; readonly item: number },
  left: Float64Array,
  { free, counts }: FillBuffers,
): number {
  if (admits[bin * items + item] !== 1) return 0;
  let room = Math.min(left[item] ?? 0, perNode[item] ?? 0) - (counts[item] ?? 0);
  for (let at = 0; at < width && room > 0; at++) {
    const request = requests[item * width + at] ?? 0;
    if (request > 0) room = Math.min(room, Math.floor((free[at] ?? 0) / request));
  }
  return Math.max(0, room);
}

function scoreOf(
  { width, requests, usable }: FlatProblem,
  { bin, item }: { readonly bin: number; readonly item: number },
  free: Float64Array,
  worth: number,
): number {
  let score = 0;
  for (let at = 0; at < width; at++) {
    const request = requests[item * width + at] ?? 0;
    if (request === 0) continue;
    const capacity = usable[bin * width + at] ?? 1;
    score += worth < 0 ? (request / capacity) * ((free[at] ?? 0) / capacity) : request / (free[at] ?? 1);
  }
  return worth < 0 ? score : worth / Math.max(score, 1e-12);
}
