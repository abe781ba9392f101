import { byteAt, doubleAt, intAt } from '../../quantity/at.ts';
import type { FlatProblem } from '../problem/fill.ts';
import type { Work } from '../problem/work.ts';

/** Nodes to be filled that are alike. */
export interface NodeLot {
  readonly bin: number;
  readonly count: number;
  /** How much of a node is there, up to 1: the part of one that is not bought yet can be filled too. */
  readonly share: number;
}

/** What is filled in, and by which rules. */
export interface EvenFill {
  /** Pods per item. */
  readonly demand: Float64Array;
  /** May the item be on this size? Asked where the size admits it. */
  readonly suits: (item: number, bin: number) => boolean;
  /** How strongly a resource that is nearly used up on a node keeps pods away that ask for it. */
  readonly steepness: number;
  readonly work: Work;
}

/** Per lot, per node: pods per item. */
export interface EvenFilling {
  readonly counts: ReadonlyArray<ReadonlyArray<Int32Array>>;
  readonly left: Float64Array;
}

interface Node {
  readonly lot: number;
  readonly bin: number;
  readonly free: Float64Array;
  /** Per resource: grows with what is used of it, the faster the less is left. */
  readonly strain: Float64Array;
  readonly counts: Int32Array;
}

/**
 * Fills all nodes side by side: pods that take most come first, each to the node where it adds least to the strain on
 * its resources. So CPU and memory of every node run out together, and what is left over are the smallest pods, of all
 * ratios.
 */
export function fillEvenly(flat: FlatProblem, lots: ReadonlyArray<NodeLot>, fill: EvenFill): EvenFilling {
  const { width, items } = flat;
  const nodes = lots.flatMap(({ bin, count, share }, lot) =>
    Array.from({ length: count }, (): Node => ({
      lot,
      bin,
      free: Float64Array.from({ length: width }, (_, k) => doubleAt(flat.usable, bin * width + k) * share),
      strain: new Float64Array(width).fill(1),
      counts: new Int32Array(items),
    })),
  );
  const left = fill.demand.slice();
  for (const item of largestFirst(flat, lots, fill.demand)) {
    const factors = lots.map(({ bin, share }) => factorsOf(flat, fill, { item, bin, share }));
    const own = nodes.filter(({ lot }) => factors[lot] !== null);
    while (doubleAt(left, item) > 0) {
      fill.work.left -= own.length * width * 2;
      const node = leastStrained(flat, own, factors, item);
      if (node === null) break;
      put(flat, node, item, factors[node.lot] ?? new Float64Array());
      left[item] = doubleAt(left, item) - 1;
    }
  }
  return {
    counts: lots.map((_, lot) => nodes.filter((node) => node.lot === lot).map(({ counts }) => counts)),
    left,
  };
}

/** Items by the share that one pod takes of what it takes most of. */
function largestFirst(
  { width, requests, usable }: FlatProblem,
  lots: ReadonlyArray<NodeLot>,
  demand: Float64Array,
): ReadonlyArray<number> {
  const whole = Float64Array.from({ length: width }, (_, k) =>
    lots.reduce((sum, { bin, count, share }) => sum + count * share * doubleAt(usable, bin * width + k), 0),
  );
  const sizes = demand.map((_, item) => {
    let most = 0;
    for (let k = 0; k < width; k++)
      most = Math.max(most, doubleAt(requests, item * width + k) / Math.max(1, doubleAt(whole, k)));
    return most;
  });
  const waiting = [...demand.keys()].filter((item) => doubleAt(demand, item) > 0);
  return waiting.toSorted((a, b) => doubleAt(sizes, b) - doubleAt(sizes, a) || a - b);
}

/** Per resource, by how much of itself a pod adds to the strain; null where the pod is not to be. */
function factorsOf(
  { width, items, requests, usable, admits }: FlatProblem,
  { suits, steepness }: EvenFill,
  { item, bin, share }: { readonly item: number; readonly bin: number; readonly share: number },
): Float64Array | null {
  if (byteAt(admits, bin * items + item) !== 1 || !suits(item, bin)) return null;
  return Float64Array.from({ length: width }, (_, k) => {
    const request = doubleAt(requests, item * width + k);
    return request === 0
      ? 0
      : Math.expm1(Math.min(1, request / (doubleAt(usable, bin * width + k) * share)) * steepness);
  });
}

function leastStrained(
  { width, requests, perNode }: FlatProblem,
  nodes: ReadonlyArray<Node>,
  factors: ReadonlyArray<Float64Array | null>,
  item: number,
): Node | null {
  let [best, least]: [Node | null, number] = [null, Infinity];
  for (const node of nodes) {
    const { lot, free, strain, counts } = node;
    const own = factors[lot];
    if (own === null || own === undefined || intAt(counts, item) >= doubleAt(perNode, item)) continue;
    let added = 0;
    let fits = true;
    for (let k = 0; k < width && fits; k++) {
      fits = doubleAt(requests, item * width + k) <= doubleAt(free, k);
      added += doubleAt(strain, k) * doubleAt(own, k);
    }
    if (fits && added < least) [best, least] = [node, added];
  }
  return best;
}

function put({ width, requests }: FlatProblem, { free, strain, counts }: Node, item: number, own: Float64Array): void {
  counts[item] = intAt(counts, item) + 1;
  for (let k = 0; k < width; k++) {
    free[k] = doubleAt(free, k) - doubleAt(requests, item * width + k);
    strain[k] = doubleAt(strain, k) * (1 + doubleAt(own, k));
  }
}
