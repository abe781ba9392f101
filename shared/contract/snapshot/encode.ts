// As a whole: Node.js has zstd since 22.15, and before that an import of the function by its name does not load.
import zlib from 'node:zlib';
import { podFlag, specOfShapeText, type PodTable } from './pod-table.ts';
import { listName, objectResources, type ObjectResource } from './reduced/reduced.ts';
import { ownerResources, type OwnerResource } from './reduced/reduced-owner.ts';

/** What a snapshot says of itself. */
export interface SnapshotHeader {
  /** At most 64 characters; newer snapshots of a cluster have other versions. */
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly takenAtMs: number;
  /** Who looked: the relay in the cluster, or a function that listed the API itself. */
  readonly source: 'relay' | 'sweep';
}

/** The version of the format. A parser refuses others; fields it does not know it leaves aside. */
export const SNAPSHOT_FORMAT = 1;

interface Content {
  readonly cluster: string;
  readonly header: SnapshotHeader;
  readonly resourceVersions: ReadonlyMap<string, string>;
  readonly pods: PodTable;
  /** The reduced objects of a resource as JSON texts, in the order of their keys. */
  readonly jsonOf: (resource: OwnerResource | ObjectResource) => ReadonlyArray<string>;
}

/**
 * Writes a snapshot: JSON, compressed with zstd, or with gzip where Node.js has no zstd. Equal content gives equal
 * bytes, whatever the order in which it was learnt: tables are sorted by their text, pods by namespace and name.
 */
export function encodeSnapshot(content: Content): Uint8Array {
  const { header } = content;
  const parts = [
    `"format":${SNAPSHOT_FORMAT}`,
    `"cluster":${JSON.stringify(content.cluster)}`,
    `"version":${JSON.stringify(header.version)}`,
    `"takenAtMs":${header.takenAtMs}`,
    `"source":${JSON.stringify(header.source)}`,
    `"resourceVersions":${JSON.stringify(Object.fromEntries([...content.resourceVersions].toSorted(byKey)))}`,
    ...podParts(content.pods),
    `"owners":[${ownerResources.flatMap(content.jsonOf).join(',')}]`,
    ...objectResources.map((resource) => `"${listName[resource]}":[${content.jsonOf(resource).join(',')}]`),
  ];
  return pack(`{${parts.join(',')}}`);
}

function pack(json: string): Uint8Array {
  const { zstdCompressSync }: Partial<typeof zlib> = zlib;
  if (zstdCompressSync === undefined) return zlib.gzipSync(json, { level: 1 });
  const { ZSTD_c_compressionLevel, ZSTD_c_checksumFlag } = zlib.constants;
  return zstdCompressSync(json, { params: { [ZSTD_c_compressionLevel]: 1, [ZSTD_c_checksumFlag]: 1 } });
}

function byKey([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1;
}

/** Numbers in the order of their texts, as a map from number to place. */
function placesOf(sorted: ReadonlyArray<number>): ReadonlyMap<number, number> {
  return new Map(sorted.map((id, place) => [id, place]));
}

function podParts(pods: PodTable): ReadonlyArray<string> {
  const specs = pods.specs.sorted();
  const specPlaces = placesOf(specs);
  const shapes = pods.shapes
    .sorted()
    .map((id) => {
      const text = pods.shapes.textOf(id);
      const place = specPlaces.get(specOfShapeText(text)) ?? 0;
      return [`${text.slice(0, text.lastIndexOf(','))},${place}]`, id] as const;
    })
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const columns = podColumns(pods, placesOf(shapes.map(([, id]) => id)));
  return [
    `"specs":[${specs.map((id) => pods.specs.textOf(id)).join(',')}]`,
    `"shapes":[${shapes.map(([text]) => text).join(',')}]`,
    `"pods":${JSON.stringify(columns)}`,
  ];
}

/** The pods as columns. Sparse columns hold `[row, value]`. */
export interface PodColumns {
  readonly names: ReadonlyArray<string>;
  /** Sixteen bytes per pod, base64. */
  readonly uids: string;
  readonly otherUids: ReadonlyArray<readonly [number, string]>;
  readonly shapes: ReadonlyArray<number>;
  readonly flags: ReadonlyArray<number>;
  readonly createdAtMs: ReadonlyArray<number>;
  readonly nodeNames: ReadonlyArray<string>;
  /** Place in `nodeNames`, -1 for none. */
  readonly nodes: ReadonlyArray<number>;
  /** Milliseconds from creation to start, -1 for none. */
  readonly startDelaysMs: ReadonlyArray<number>;
  readonly nominatedNodes: ReadonlyArray<readonly [number, string]>;
  readonly deletionAtMs: ReadonlyArray<readonly [number, number]>;
}

const wireFlags = podFlag.unschedulable | podFlag.deleting | podFlag.running | podFlag.ready | podFlag.gated;

function podColumns(pods: PodTable, shapePlaces: ReadonlyMap<number, number>): PodColumns {
  const names: Array<string> = [];
  const uids = Buffer.alloc(pods.size() * 16);
  const otherUids: Array<[number, string]> = [];
  const shapes: Array<number> = [];
  const flags: Array<number> = [];
  const createdAtMs: Array<number> = [];
  const nodes: Array<number> = [];
  const places = new Map<string, number>();
  const startDelaysMs: Array<number> = [];
  const nominatedNodes: Array<[number, string]> = [];
  const deletionAtMs: Array<[number, number]> = [];
  pods.forEach((pod) => {
    const row = names.length;
    names.push(pod.key.slice(pod.key.indexOf('/') + 1));
    const otherUid = pods.copyUid(pod.row, uids, row * 16);
    if (otherUid !== null) otherUids.push([row, otherUid]);
    shapes.push(shapePlaces.get(pod.shape) ?? 0);
    flags.push(pod.flags & wireFlags);
    createdAtMs.push(pod.createdAtMs);
    nodes.push(pod.nodeName === null ? -1 : placeOf(places, pod.nodeName));
    startDelaysMs.push(pod.startedAtMs === null ? -1 : Math.max(0, pod.startedAtMs - pod.createdAtMs));
    if (pod.nominatedNodeName !== null) nominatedNodes.push([row, pod.nominatedNodeName]);
    if (pod.deletionAtMs !== null) deletionAtMs.push([row, pod.deletionAtMs]);
  });
  return {
    names,
    uids: uids.toString('base64'),
    otherUids,
    shapes,
    flags,
    createdAtMs,
    nodeNames: [...places.keys()],
    nodes,
    startDelaysMs,
    nominatedNodes,
    deletionAtMs,
  };
}

/** The place of a name, in the order of first use. */
function placeOf(places: Map<string, number>, name: string): number {
  const known = places.get(name);
  if (known !== undefined) return known;
  places.set(name, places.size);
  return places.size - 1;
}
