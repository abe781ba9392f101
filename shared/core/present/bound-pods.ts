import type { Pod } from '../model/cluster.ts';

/** How many pods of each shape are on each node: of nearly all pods that run, nothing else matters. */
export interface PodCounts {
  /** By the node's name: its place in `from`. */
  readonly nodes: ReadonlyMap<string, number>;
  /** By place of a node: where its entries in `shapes` and `counts` begin. One more says where the last node's end. */
  readonly from: Int32Array;
  /** Index into `Cluster.shapes`. */
  readonly shapes: Int32Array;
  readonly counts: Int32Array;
}

/** Counts pods per node and shape; those on no node are left out. */
export function countBound(pods: ReadonlyArray<Pod>): PodCounts {
  const nodes = new Map<string, number>();
  const shapes = 1 + pods.reduce((most, { shape }) => Math.max(most, shape), 0);
  // Node and shape as one number, so that sorting brings together what is alike.
  const keys = new Float64Array(pods.length);
  let bound = 0;
  for (const { nodeName, shape } of pods) {
    if (nodeName === null) continue;
    let node = nodes.get(nodeName);
    if (node === undefined) nodes.set(nodeName, (node = nodes.size));
    keys[bound++] = node * shapes + shape;
  }
  return countAlike(nodes, shapes, keys.subarray(0, bound).toSorted());
}

function countAlike(nodes: ReadonlyMap<string, number>, shapes: number, keys: Float64Array): PodCounts {
  const counted: PodCounts = {
    nodes,
    from: new Int32Array(nodes.size + 1),
    shapes: new Int32Array(keys.length),
    counts: new Int32Array(keys.length),
  };
  let entries = 0;
  let last = -1;
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] ?? 0;
    const node = Math.floor(key / shapes);
    if (key !== last) counted.shapes[entries++] = key - node * shapes;
    counted.counts[entries - 1] = (counted.counts[entries - 1] ?? 0) + 1;
    counted.from[node + 1] = entries;
    last = key;
  }
  return { ...counted, shapes: counted.shapes.slice(0, entries), counts: counted.counts.slice(0, entries) };
}

/** Calls `visit` with each shape on the node and how many pods of it are there. */
export function eachShapeOn(
  { nodes, from, shapes, counts }: PodCounts,
  name: string,
  visit: (shape: number, count: number) => void,
): void {
  const node = nodes.get(name);
  if (node === undefined) return;
  for (let entry = from[node] ?? 0; entry < (from[node + 1] ?? 0); entry++) {
    visit(shapes[entry] ?? 0, counts[entry] ?? 0);
  }
}
