import { isRecord, text } from './reduced/field.ts';
import { encodeSnapshot, type SnapshotHeader } from './encode.ts';
import { PodTable, podFlag, type PodState } from './pod-table.ts';
import {
  bufferResources,
  objectResources,
  objectTables,
  referredResources,
  templatesOf,
  type ObjectResource,
  type ReducedObject,
  type ReferredResource,
} from './reduced/reduced.ts';
import { referredKeys } from './reduced/referred.ts';
import { ownerResources, readOwner, type OwnerResource } from './reduced/reduced-owner.ts';
import { readPod } from './reduced/reduced-pod.ts';

/** Everything a snapshot is made of: resources by their plural in the API, and what is kept beside them. */
export type SnapshotResource = 'pods' | OwnerResource | ObjectResource;

/** What a builder is fed with. */
export type FedResource = Exclude<SnapshotResource, (typeof templatesOf)[keyof typeof templatesOf]>;

/** All resources that a snapshot is made from. `buffers`: CapacityBuffers and what they refer to are part of it. */
export function snapshotResources({ buffers }: { readonly buffers: boolean }): ReadonlyArray<FedResource> {
  return buffers ? fedResources : fedResources.filter((one) => !isOneOf(bufferResources, one));
}

function isOneOf<T extends string>(list: ReadonlyArray<T>, one: string): one is T {
  return (list as ReadonlyArray<string>).includes(one);
}

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

/** A pod as `eachPod` shows it. Pods that are alike have the same `shape`. */
export interface SeenPod {
  readonly namespace: string;
  readonly name: string;
  readonly nodeName: string | null;
  readonly running: boolean;
  readonly ready: boolean;
  /** Owned by a DaemonSet or a Node. */
  readonly placedByOwner: boolean;
  readonly shape: ReturnType<PodTable['shapeOf']>;
}

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
  /** Shows every pod, with what it shares with others like it. */
  readonly eachPod: (visit: (pod: SeenPod) => void) => void;
  /** How many shapes the pods have. */
  readonly shapeCount: () => number;
  /** The objects of a resource, in no particular order. Each is made again from what is kept. */
  readonly objects: <R extends ObjectResource>(resource: R) => Iterable<ReducedObject<R>>;
  readonly object: <R extends ObjectResource>(resource: R, key: string) => ReducedObject<R> | null;
  readonly has: (resource: ObjectResource, key: string) => boolean;
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

const beside: ReadonlyArray<ObjectResource> = Object.values(templatesOf);

const fedResources: ReadonlyArray<FedResource> = [
  'pods',
  ...ownerResources,
  ...objectResources.filter((one) => !isOneOf(beside, one)),
] as ReadonlyArray<FedResource>;

const same: SnapshotChange = { kind: 'same' };
const malformed: SnapshotChange = { kind: 'malformed' };

function isOwnerResource(resource: SnapshotResource): resource is OwnerResource {
  return isOneOf(ownerResources, resource);
}

function isReferred(resource: SnapshotResource): resource is ReferredResource {
  return isOneOf(referredResources, resource);
}

/** Where the templates of an owner are kept; null for owners that no buffer can name. */
function besideOf(resource: SnapshotResource): ReferredResource | null {
  return resource === 'replicasets' || resource === 'statefulsets' ? templatesOf[resource] : null;
}

interface Entry {
  readonly json: string;
  /** The latest listing, when the object was last seen. */
  readonly listing: number;
}

/**
 * Makes a builder that knows nothing yet. `cluster` is the id that snapshots carry; `buffers`: templates of workloads
 * are kept, as CapacityBuffers may refer to them.
 */
export function createSnapshotBuilder(
  cluster: string,
  { buffers }: { readonly buffers: boolean } = { buffers: false },
): SnapshotBuilder {
  return new Builder(cluster, buffers);
}

type EntryResource = OwnerResource | ObjectResource;

class Builder implements SnapshotBuilder {
  readonly #cluster: string;
  readonly #pods = new PodTable();
  readonly #entries = new Map<EntryResource, Map<string, Entry>>();
  /** Which listing of a resource is the latest. */
  readonly #listings = new Map<SnapshotResource, number>();
  readonly #resourceVersions = new Map<string, string>();
  readonly #keepsTemplates: boolean;
  /** By resource, the keys that a CapacityBuffer names; null when it is to be worked out again. */
  #referred: ReadonlyMap<ReferredResource, ReadonlySet<string>> | null = null;

  constructor(cluster: string, keepsTemplates: boolean) {
    this.#cluster = cluster;
    this.#keepsTemplates = keepsTemplates;
  }

  upsert(resource: SnapshotResource, raw: unknown): SnapshotChange {
    const key = keyOf(raw);
    if (key === null) return malformed;
    if (resource === 'pods') return this.#upsertPod(key, raw);
    if (isOwnerResource(resource)) {
      const change = this.#upsertOwner(resource, key, raw);
      return this.#newsOf(change, this.#upsertBeside(resource, key, raw));
    }
    const reduced = objectTables[resource].read(raw);
    return reduced === undefined ? malformed : this.#upsertEntry(resource, key, reduced);
  }

  remove(resource: SnapshotResource, key: string): SnapshotChange {
    if (resource === 'pods') return this.#removePod(key);
    const kept = besideOf(resource);
    const change = this.#removeEntry(resource, key);
    return kept === null ? change : this.#newsOf(change, this.#removeEntry(kept, key));
  }

  #removeEntry(resource: EntryResource, key: string): SnapshotChange {
    const known = this.#entriesOf(resource).get(key);
    if (known === undefined) return same;
    this.#entriesOf(resource).delete(key);
    return this.#changeOf(resource, key, known.json, null);
  }

  /** What an event about an owner changed: of its template, which says more, or else of its number. */
  #newsOf(ofOwner: SnapshotChange, ofTemplate: SnapshotChange): SnapshotChange {
    return ofTemplate.kind === 'same' ? ofOwner : ofTemplate;
  }

  #upsertBeside(resource: OwnerResource, key: string, raw: unknown): SnapshotChange {
    const kept = this.#keepsTemplates ? besideOf(resource) : null;
    if (kept === null) return same;
    const reduced = objectTables[kept].read(raw);
    return reduced === undefined ? this.#removeEntry(kept, key) : this.#upsertEntry(kept, key, reduced);
  }

  setResourceVersion(resource: SnapshotResource, resourceVersion: string): void {
    this.#resourceVersions.set(resource, resourceVersion);
  }

  beginListing(resource: SnapshotResource): void {
    for (const one of [resource, besideOf(resource)]) {
      if (one !== null) this.#listings.set(one, this.#listing(one) + 1);
    }
  }

  finishListing(resource: SnapshotResource): ReadonlyArray<SnapshotChange> {
    const listing = this.#listing(resource);
    if (resource === 'pods') {
      return this.#pods.removeUnseen(listing).map((before) => ({ kind: 'pod', before, after: null }));
    }
    return [resource, besideOf(resource)].flatMap((one) => (one === null ? [] : this.#removeUnseen(one, listing)));
  }

  #removeUnseen(resource: EntryResource, listing: number): ReadonlyArray<SnapshotChange> {
    const unseen = [...this.#entriesOf(resource)].filter(([, entry]) => entry.listing !== listing);
    return unseen.map(([key]) => this.#removeEntry(resource, key));
  }

  encode(header: SnapshotHeader): Uint8Array {
    return encodeSnapshot({
      cluster: this.#cluster,
      header,
      resourceVersions: this.#resourceVersions,
      pods: this.#pods,
      jsonOf: (resource) =>
        [...this.#entriesOf(resource)]
          .filter(([key]) => this.#isPart(resource, key))
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([, { json }]) => json),
    });
  }

  /** Templates are many and long: those that no buffer names are no part of a snapshot. */
  #isPart(resource: EntryResource, key: string): boolean {
    if (!isReferred(resource)) return true;
    this.#referred ??= referredKeys(this.objects('capacitybuffers'));
    return this.#referred.get(resource)?.has(key) === true;
  }

  count(resource: SnapshotResource): number {
    return resource === 'pods' ? this.#pods.size() : this.#entriesOf(resource).size;
  }

  eachPod(visit: (pod: SeenPod) => void): void {
    const shapes = new Map<number, SeenPod['shape']>();
    this.#pods.forEach(({ key, shape: id, nodeName, flags }) => {
      const shape = shapes.get(id) ?? this.#pods.shapeOf(id);
      shapes.set(id, shape);
      visit({
        namespace: shape.namespace,
        name: key.slice(key.indexOf('/') + 1),
        nodeName,
        running: (flags & podFlag.running) !== 0,
        ready: (flags & podFlag.ready) !== 0,
        placedByOwner: (flags & podFlag.placedByOwner) !== 0,
        shape,
      });
    });
  }

  shapeCount(): number {
    return this.#pods.shapes.size();
  }

  *objects<R extends ObjectResource>(resource: R): Iterable<ReducedObject<R>> {
    for (const { json } of this.#entriesOf(resource).values()) yield JSON.parse(json) as ReducedObject<R>;
  }

  object<R extends ObjectResource>(resource: R, key: string): ReducedObject<R> | null {
    const known = this.#entriesOf(resource).get(key);
    return known === undefined ? null : (JSON.parse(known.json) as ReducedObject<R>);
  }

  has(resource: ObjectResource, key: string): boolean {
    return this.#entriesOf(resource).has(key);
  }

  #listing(resource: SnapshotResource): number {
    return this.#listings.get(resource) ?? 0;
  }

  #entriesOf(resource: EntryResource): Map<string, Entry> {
    const known = this.#entries.get(resource);
    if (known !== undefined) return known;
    const made = new Map<string, Entry>();
    this.#entries.set(resource, made);
    return made;
  }

  #upsertPod(key: string, raw: unknown): SnapshotChange {
    const pod = readPod(raw);
    if (pod === null) return malformed;
    if (pod.kind === 'terminal') return this.#removePod(key);
    const { same: unchanged, before, after } = this.#pods.put(key, pod.shape, pod.facts, this.#listing('pods'));
    return unchanged ? same : { kind: 'pod', before, after };
  }

  #removePod(key: string): SnapshotChange {
    const before = this.#pods.remove(key);
    return before === null ? same : { kind: 'pod', before, after: null };
  }

  #upsertOwner(resource: OwnerResource, key: string, raw: unknown): SnapshotChange {
    const owner = readOwner(resource, raw);
    if (owner === null) return malformed;
    // Owners that want nothing, such as the replica sets of past revisions, are many and say nothing.
    return owner.desired === 0 ? this.remove(resource, key) : this.#upsertEntry(resource, key, owner);
  }

  #upsertEntry(resource: EntryResource, key: string, reduced: unknown): SnapshotChange {
    const json = JSON.stringify(reduced);
    const known = this.#entriesOf(resource).get(key);
    this.#entriesOf(resource).set(key, { json, listing: this.#listing(resource) });
    return known?.json === json ? same : this.#changeOf(resource, key, known?.json ?? null, json);
  }

  #changeOf(resource: EntryResource, key: string, before: string | null, after: string | null): SnapshotChange {
    if (resource === 'capacitybuffers') this.#referred = null;
    return this.#isPart(resource, key) ? changeOf(resource, key, before, after) : same;
  }
}

function changeOf(resource: EntryResource, key: string, before: string | null, after: string | null): SnapshotChange {
  if (isOwnerResource(resource)) return { kind: 'owner', resource, key };
  const read = (json: string | null): unknown => (json === null ? null : JSON.parse(json));
  return { kind: 'object', resource, key, before: read(before), after: read(after) } as ObjectChange;
}
