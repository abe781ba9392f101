// As a whole, as in encode.ts.
import zlib from 'node:zlib';
import { SNAPSHOT_FORMAT, type SnapshotHeader } from './encode.ts';
import { flag, isRecord, list, needed, number, object, record, text, type Field } from './reduced/field.ts';
import { podFlag } from './pod-table.ts';
import { listName, objectResources, objectTables, type ObjectResource, type ReducedObject } from './reduced/reduced.ts';
import type { PodOwner } from './reduced/reduced-owner.ts';
import type { PodFacts, ReducedShape } from './reduced/reduced-pod.ts';
import { ownerReference, podSpec, type ReducedPodSpec } from './reduced/reduced-spec.ts';

/** A pod of a snapshot: what is its own, and its shape. */
export interface SnapshotPod extends PodFacts {
  /** Index into the snapshot's `shapes`. */
  readonly shape: number;
}

type ObjectLists = {
  readonly [R in ObjectResource as (typeof listName)[R]]: ReadonlyArray<ReducedObject<R>>;
};

/** A cluster as it was at one moment: what the core calls a Cluster, and where it comes from. */
export interface Snapshot extends SnapshotHeader, ObjectLists {
  readonly cluster: string;
  /** Up to where each resource had been seen, by the resource's plural. */
  readonly resourceVersions: Readonly<Record<string, string>>;
  readonly shapes: ReadonlyArray<ReducedShape>;
  readonly pods: ReadonlyArray<SnapshotPod>;
  /** Controllers of pods that want at least one. */
  readonly owners: ReadonlyArray<PodOwner>;
}

/** Largest snapshot we unpack, in bytes: ten times what 150,000 pods on 5,000 nodes take. More is not a snapshot. */
const LARGEST_BYTES = 512 * 1024 * 1024;

/** Reads what `encode` wrote. Throws TypeError naming what is wrong with it, for any bytes whatever. */
export function parseSnapshot(bytes: Uint8Array): Snapshot {
  const raw = unpack(bytes);
  if (!isRecord(raw)) throw wrong('the whole', 'is not an object');
  if (raw['format'] !== SNAPSHOT_FORMAT) {
    throw wrong('format', `is ${JSON.stringify(raw['format'])}, this version reads ${SNAPSHOT_FORMAT}`);
  }
  const specs = readAll(raw, 'specs', podSpec);
  const shapes = readAll(raw, 'shapes', shape(specs));
  const lists = objectResources.map((resource) => {
    const field: Field<unknown> = objectTables[resource];
    return [listName[resource], readAll(raw, listName[resource], field)];
  });
  return {
    cluster: readOne(raw, 'cluster', text),
    version: readOne(raw, 'version', text),
    takenAtMs: readOne(raw, 'takenAtMs', number),
    source: readOne(raw, 'source', source),
    resourceVersions: readOne(raw, 'resourceVersions', record(text)),
    shapes,
    pods: readPods(readOne(raw, 'pods', podColumns), shapes.length),
    owners: readAll(raw, 'owners', owner),
    ...(Object.fromEntries(lists) as ObjectLists),
  };
}

function wrong(field: string, what: string): TypeError {
  return new TypeError(`not a snapshot: ${field} ${what}`);
}

function unpack(bytes: Uint8Array): unknown {
  try {
    // Gzip is read too, for snapshots made where Node.js has no zstd.
    const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
    const unpacked = (isGzip ? zlib.gunzipSync : zlib.zstdDecompressSync)(bytes, { maxOutputLength: LARGEST_BYTES });
    return JSON.parse(unpacked.toString('utf8'));
  } catch (error) {
    throw wrong('the whole', `cannot be unpacked: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function readOne<T>(raw: Readonly<Record<string, unknown>>, name: string, field: Field<T>): T {
  const read = field.read(raw[name]);
  if (read === undefined) throw wrong(name, raw[name] === undefined ? 'is missing' : 'is malformed');
  return read;
}

/** Lists that a relay of an earlier version does not send: during an update there are none of these to us. */
const laterLists: ReadonlySet<string> = new Set([
  listName.resourceslices,
  listName.deviceclasses,
  listName.resourceclaims,
  listName.resourceclaimtemplates,
  listName.capacitybuffers,
  listName.podtemplates,
  listName.deployments,
  listName.replicasettemplates,
  listName.statefulsettemplates,
]);

function readAll<T>(raw: Readonly<Record<string, unknown>>, name: string, field: Field<T>): ReadonlyArray<T> {
  const entries = raw[name] ?? (laterLists.has(name) ? [] : undefined);
  if (!Array.isArray(entries)) throw wrong(name, 'is not a list');
  return entries.map((entry, index) => {
    const read = field.read(entry);
    if (read === undefined) throw wrong(`${name}[${index}]`, 'is malformed');
    return read;
  });
}

const source: Field<'relay' | 'sweep'> = {
  read: (value) => (value === 'relay' || value === 'sweep' ? value : undefined),
};

const owner: Field<PodOwner> = object({
  uid: needed(text),
  kind: needed<PodOwner['kind']>({
    read: (value) => (value === 'ReplicaSet' || value === 'StatefulSet' || value === 'Job' ? value : undefined),
  }),
  namespace: needed(text),
  name: needed(text),
  desired: needed(number),
  oneByOne: needed(flag),
});

const labels = record(text);

/** A shape is a tuple; the spec that it names by number is shared with the other shapes that name it. */
function shape(specs: ReadonlyArray<ReducedPodSpec>): Field<ReducedShape> {
  return {
    read(value) {
      if (!Array.isArray(value)) return undefined;
      const entries: ReadonlyArray<unknown> = value;
      const spec = typeof entries[4] === 'number' ? specs[entries[4]] : undefined;
      const read = {
        namespace: text.read(entries[0]),
        labels: labels.read(entries[1]),
        annotations: labels.read(entries[2]),
        owner: entries[3] === null ? null : ownerReference.read(entries[3]),
      };
      const { namespace, labels: own, annotations, owner: by } = read;
      if (namespace === undefined || own === undefined || annotations === undefined) return undefined;
      return by === undefined || spec === undefined
        ? undefined
        : { namespace, labels: own, annotations, owner: by, spec };
    },
  };
}

function pair<T>(second: Field<T>): Field<readonly [number, T]> {
  return {
    read(value) {
      if (!Array.isArray(value)) return undefined;
      const row = number.read(value[0]);
      const read = second.read(value[1]);
      return row === undefined || read === undefined ? undefined : [row, read];
    },
  };
}

const podColumns = object({
  names: needed(list(text)),
  uids: needed(text),
  otherUids: needed(list(pair(text))),
  shapes: needed(list(number)),
  flags: needed(list(number)),
  createdAtMs: needed(list(number)),
  nodeNames: needed(list(text)),
  nodes: needed(list(number)),
  startDelaysMs: needed(list(number)),
  nominatedNodes: needed(list(pair(text))),
  deletionAtMs: needed(list(pair(number))),
});
type Columns = NonNullable<ReturnType<(typeof podColumns)['read']>>;

function readPods(columns: Columns, shapeCount: number): ReadonlyArray<SnapshotPod> {
  const uids = uidTexts(columns.uids);
  const otherUids = new Map(columns.otherUids);
  const nominated = new Map(columns.nominatedNodes);
  const deletion = new Map(columns.deletionAtMs);
  return columns.names.map((name, row) => {
    const podShape = columns.shapes[row];
    const flags = columns.flags[row];
    const createdAtMs = columns.createdAtMs[row];
    const node = columns.nodes[row];
    const delay = columns.startDelaysMs[row];
    if (podShape === undefined || flags === undefined || createdAtMs === undefined || delay === undefined) {
      throw wrong(`pods[${row}]`, 'is missing from a column');
    }
    if (!Number.isInteger(podShape) || podShape < 0 || podShape >= shapeCount) {
      throw wrong(`pods[${row}].shape`, `is ${podShape}, of ${shapeCount} shapes`);
    }
    const nodeName = node === -1 ? null : columns.nodeNames[node ?? -1];
    if (nodeName === undefined)
      throw wrong(`pods[${row}].node`, `is ${String(node)}, of ${columns.nodeNames.length} names`);
    return {
      name,
      uid: otherUids.get(row) ?? uids.slice(row * UID_LENGTH, (row + 1) * UID_LENGTH),
      shape: podShape,
      createdAtMs,
      nodeName,
      nominatedNodeName: nominated.get(row) ?? null,
      unschedulable: (flags & podFlag.unschedulable) !== 0,
      gated: (flags & podFlag.gated) !== 0,
      deleting: (flags & podFlag.deleting) !== 0,
      running: (flags & podFlag.running) !== 0,
      ready: (flags & podFlag.ready) !== 0,
      startedAtMs: delay < 0 ? null : createdAtMs + delay,
      deletionAtMs: deletion.get(row) ?? null,
    };
  });
}

const UID_BYTES = 16;
const UID_LENGTH = 36;
const DASH = 0x2d;

/** All uids as one text, UID_LENGTH characters each: slices of one text are made sooner than texts of five pieces. */
function uidTexts(base64: string): string {
  const bytes = Buffer.from(base64, 'base64');
  const hex = Buffer.from(bytes.toString('hex'), 'latin1');
  const count = Math.floor(bytes.length / UID_BYTES);
  const dashed = Buffer.alloc(count * UID_LENGTH);
  for (let row = 0, to = 0; row < count; row++) {
    for (let byte = 0; byte < UID_BYTES; byte++) {
      if (byte >= 4 && byte <= 10 && byte % 2 === 0) dashed[to++] = DASH;
      dashed[to++] = hex[2 * (row * UID_BYTES + byte)] ?? 0;
      dashed[to++] = hex[2 * (row * UID_BYTES + byte) + 1] ?? 0;
    }
  }
  return dashed.toString('latin1');
}
