import { isRecord, text } from './field.ts';
import { encodeSnapshot, type SnapshotHeader } from './encode.ts';
import { createPodTable, type PodState } from './pod-table.ts';
import { objectResources, objectTables, type ObjectResource, type ReducedObject } from './reduced.ts';
import { ownerResources, readOwner, type OwnerResource, type PodOwner } from './reduced-owner.ts';
import { readPod } from './reduced-pod.ts';

/** Everything a snapshot is made of: resources by their plural in the API. */
export type SnapshotResource = 'pods' | OwnerResource | ObjectResource;

/** All resources a snapshot is made of. */
export const snapshotResources: ReadonlyArray<SnapshotResource> = ['pods', ...ownerResources, ...objectResources];

/**
 * What an event changed of what decisions read. `same`: nothing of that. `malformed`: not an object of the resource, so
 * it was left aside. Before is null for what is new, after is null for what is gone.
 */
export type SnapshotChange =
  | { readonly kind: 'same' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'pod'; readonly before: PodState | null; readonly after: PodState | null }
  | { readonly kind: 'owner'; readonly resource: OwnerResource; readonly key: string }
  | ObjectChange;

/** A change of an object kept one by one; the resource tells the type of before and after. */
export type ObjectChange = {
  readonly [R in ObjectResource]: {
    readonly kind: 'object';
    readonly resource: R;
    readonly key: string;
    readonly before: ReducedObject<R> | null;
    readonly after: ReducedObject<R> | null;
  };
}[ObjectResource];

/** Keeps the image of a cluster that snapshots are encoded from, fed with raw objects as list and watch give them. */
export interface SnapshotBuilder {
  /** Adds or replaces an object. A pod that has run its course counts as removed. */
  readonly upsert: (resource: SnapshotResource, raw: unknown) => SnapshotChange;
  /** Removes the object with this key, `namespace/name` or `name`. Removing what is not there is `same`. */
  readonly remove: (resource: SnapshotResource, key: string) => SnapshotChange;
  /** Notes up to where a resource has been seen. */
  readonly setResourceVersion: (resource: SnapshotResource, resourceVersion: string) => void;
  /** Begins a new listing of a resource; one begun before and not finished is forgotten. */
  readonly beginListing: (resource: SnapshotResource) => void;
  /** Removes what the listing did not name: it went away unseen. */
  readonly finishListing: (resource: SnapshotResource) => ReadonlyArray<SnapshotChange>;
  readonly encode: (header: SnapshotHeader) => Uint8Array;
  /** How many objects of a resource are kept. */
  readonly count: (resource: SnapshotResource) => number;
  /** How many shapes the pods have. */
  readonly shapeCount: () => number;
  /** The objects of a resource, in no particular order. Each is made anew from what is kept. */
  readonly objects: <R extends ObjectResource>(resource: R) => Iterable<ReducedObject<R>>;
  readonly object: <R extends ObjectResource>(resource: R, key: string) => ReducedObject<R> | null;
  /** Calls `visit` for every pod, in the order of their keys. */
  readonly forEachPod: (visit: (pod: PodState) => void) => void;
}

/** The key of a raw object: `namespace/name`, or `name` without a namespace; null when it has none. */
export function keyOf(raw: unknown): string | null {
  const metadata = isRecord(raw) ? raw['metadata'] : undefined;
  if (!isRecord(metadata)) return null;
  const name = text.read(metadata['name']);
  const namespace = text.read(metadata['namespace']);
  if (name === undefined || name === '') return null;
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

const same: SnapshotChange = { kind: 'same' };
const malformed: SnapshotChange = { kind: 'malformed' };

function isOwnerResource(resource: SnapshotResource): resource is OwnerResource {
  return (ownerResources as ReadonlyArray<string>).includes(resource);
}

interface Entry {
  readonly json: string;
  sync: number;
}

/** Makes a builder that knows nothing yet. `cluster` is the id that snapshots carry. */
export function createSnapshotBuilder(cluster: string): SnapshotBuilder {
  const pods = createPodTable();
  const entries = new Map<SnapshotResource, Map<string, Entry>>();
  const syncs = new Map<SnapshotResource, number>();
  const resourceVersions = new Map<string, string>();

  const syncOf = (resource: SnapshotResource): number => syncs.get(resource) ?? 0;

  function entriesOf(resource: SnapshotResource): Map<string, Entry> {
    const known = entries.get(resource);
    if (known !== undefined) return known;
    const made = new Map<string, Entry>();
    entries.set(resource, made);
    return made;
  }

  function changeOf(
    resource: OwnerResource | ObjectResource,
    key: string,
    before: string | null,
    after: string | null,
  ) {
    if (isOwnerResource(resource)) return { kind: 'owner', resource, key } as const;
    const read = (json: string | null): unknown => (json === null ? null : JSON.parse(json));
    return { kind: 'object', resource, key, before: read(before), after: read(after) } as ObjectChange;
  }

  function upsertPod(key: string, raw: unknown): SnapshotChange {
    const pod = readPod(raw);
    if (pod === null) return malformed;
    if (pod.kind === 'terminal') return removePod(key);
    const { same: unchanged, before, after } = pods.put(key, pod.shape, pod.facts, syncOf('pods'));
    return unchanged ? same : { kind: 'pod', before, after };
  }

  function removePod(key: string): SnapshotChange {
    const before = pods.remove(key);
    return before === null ? same : { kind: 'pod', before, after: null };
  }

  function upsertEntry(resource: OwnerResource | ObjectResource, key: string, reduced: unknown): SnapshotChange {
    const json = JSON.stringify(reduced);
    const known = entriesOf(resource).get(key);
    entriesOf(resource).set(key, { json, sync: syncOf(resource) });
    return known?.json === json ? same : changeOf(resource, key, known?.json ?? null, json);
  }

  function remove(resource: SnapshotResource, key: string): SnapshotChange {
    if (resource === 'pods') return removePod(key);
    const known = entriesOf(resource).get(key);
    if (known === undefined) return same;
    entriesOf(resource).delete(key);
    return changeOf(resource, key, known.json, null);
  }

  function upsertOwner(resource: OwnerResource, key: string, raw: unknown): SnapshotChange {
    const owner = readOwner(resource, raw);
    if (owner === null) return malformed;
    // Owners that want nothing, such as the replica sets of past revisions, are many and say nothing.
    return owner.desired === 0 ? remove(resource, key) : upsertEntry(resource, key, owner);
  }

  return {
    upsert(resource, raw) {
      const key = keyOf(raw);
      if (key === null) return malformed;
      if (resource === 'pods') return upsertPod(key, raw);
      if (isOwnerResource(resource)) return upsertOwner(resource, key, raw);
      const reduced = objectTables[resource].read(raw);
      return reduced === undefined ? malformed : upsertEntry(resource, key, reduced);
    },
    remove,
    setResourceVersion: (resource, resourceVersion) => void resourceVersions.set(resource, resourceVersion),
    beginListing: (resource) => void syncs.set(resource, syncOf(resource) + 1),
    finishListing(resource) {
      if (resource === 'pods') {
        return pods.removeUnseen(syncOf('pods')).map((before) => ({ kind: 'pod', before, after: null }));
      }
      const unseen = [...entriesOf(resource)].filter(([, { sync }]) => sync !== syncOf(resource));
      return unseen.map(([key]) => remove(resource, key));
    },
    encode: (header) =>
      encodeSnapshot({
        cluster,
        header,
        resourceVersions,
        pods,
        jsonOf: (resource) =>
          [...entriesOf(resource)].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, { json }]) => json),
      }),
    count: (resource) => (resource === 'pods' ? pods.size() : entriesOf(resource).size),
    shapeCount: () => pods.shapes.size(),
    *objects<R extends ObjectResource>(resource: R) {
      for (const { json } of entriesOf(resource).values()) yield JSON.parse(json) as ReducedObject<R>;
    },
    object<R extends ObjectResource>(resource: R, key: string) {
      const known = entriesOf(resource).get(key);
      return known === undefined ? null : (JSON.parse(known.json) as ReducedObject<R>);
    },
    forEachPod(visit) {
      pods.forEach(({ key }) => {
        const state = pods.stateOf(key);
        if (state !== null) visit(state);
      });
    },
  };
}

/** An owner as a snapshot's entry holds it. */
export type SnapshotOwner = PodOwner;
