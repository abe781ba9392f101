import { isObject, type JsonObject } from '../json.ts';

/** One version of one object. `object` is shared by all readers: copy before changing. */
export interface Stored {
  /** `namespace/name`, or `/name` for cluster-scoped objects. */
  readonly key: string;
  readonly revision: number;
  readonly object: JsonObject;
}

/**
 * One change. `previous` is null for a creation; for a deletion `current` is the last state at the deletion's revision.
 */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  readonly current: Stored;
  readonly previous: Stored | null;
}

/** A consistent listing, in order of key, and the revision it shows. */
export interface Listing {
  readonly revision: number;
  readonly items: ReadonlyArray<Stored>;
}

/** Objects of all resources with one global revision counter, as etcd has it, and a bounded history per resource. */
export interface Store {
  revision(): number;
  get(storage: string, key: string): Stored | undefined;
  list(storage: string): Listing;
  /** The state at an older revision, or null when history does not reach back so far. */
  listAt(storage: string, revision: number): Listing | null;
  /** Writes a new version; the answer carries its resourceVersion. */
  put(storage: string, key: string, object: JsonObject): Stored;
  remove(storage: string, key: string): Stored | undefined;
  /** Changes after `revision`, oldest first, or null when history does not reach back so far. */
  changesSince(storage: string, revision: number): ReadonlyArray<Change> | null;
  /** Calls `listener` after every change of `storage`, or of all storages for '*'. The answer ends it. */
  subscribe(storage: string, listener: (change: Change, storage: string) => void): () => void;
  /** Forgets the history: older revisions answer null from now on, as after a compaction. */
  compact(): void;
  storages(): ReadonlyArray<string>;
}

interface Collection {
  readonly objects: Map<string, Stored>;
  /** Cached listing in order of key; null after a creation or deletion. */
  sorted: Array<Stored> | null;
  changes: Array<Change>;
  /** Revisions up to this one are no longer in `changes`. */
  compacted: number;
}

/** The store starts here, so that no client mistakes the first revision for "0: any". */
const FIRST_REVISION = 100;

/** Changes are dropped in blocks of a quarter of the limit, so that dropping costs little per change. */
function trim(collection: Collection, limit: number): void {
  if (collection.changes.length <= limit) return;
  const dropped = collection.changes.splice(0, Math.ceil(limit / 4));
  collection.compacted = dropped.at(-1)?.revision ?? collection.compacted;
}

function compareKeys(a: Stored, b: Stored): number {
  if (a.key === b.key) return 0;
  return a.key < b.key ? -1 : 1;
}

function sortedItems(collection: Collection): ReadonlyArray<Stored> {
  collection.sorted ??= [...collection.objects.values()].toSorted(compareKeys);
  return collection.sorted;
}

function withRevision(object: JsonObject, revision: number): JsonObject {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {};
  return { ...object, metadata: { ...metadata, resourceVersion: String(revision) } };
}

/** The items at an older revision: the changes since are undone, newest first. */
function itemsAt(collection: Collection, wanted: number): ReadonlyArray<Stored> {
  const objects = new Map(collection.objects);
  for (let index = collection.changes.length - 1; index >= 0; index--) {
    const change = collection.changes[index];
    if (change === undefined || change.revision <= wanted) break;
    if (change.previous === null) objects.delete(change.current.key);
    else objects.set(change.current.key, change.previous);
  }
  return [...objects.values()].toSorted(compareKeys);
}

/** Index of the first change after a revision; the history is in order, so by halving. */
function firstAfter(changes: ReadonlyArray<Change>, since: number): number {
  let low = 0;
  let high = changes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((changes[middle]?.revision ?? 0) <= since) low = middle + 1;
    else high = middle;
  }
  return low;
}

type Listeners = Map<string, Set<(change: Change, storage: string) => void>>;

interface Told {
  readonly change: Change;
  readonly storage: string;
}

/**
 * Tells listeners of changes in order: one that writes makes its change wait until all have heard of the one before.
 */
function createTeller(listeners: Listeners): (told: Told) => void {
  const pending: Array<Told> = [];
  let isTelling = false;
  const tellOne = ({ change, storage }: Told): void => {
    for (const name of [storage, '*']) for (const listener of listeners.get(name) ?? []) listener(change, storage);
  };
  return (told) => {
    pending.push(told);
    if (isTelling) return;
    isTelling = true;
    try {
      for (let next = pending.shift(); next !== undefined; next = pending.shift()) tellOne(next);
    } finally {
      isTelling = false;
    }
  };
}

/** An empty store that remembers the last `historyLimit` changes of every resource. */
export function createStore(historyLimit: number): Store {
  const collections = new Map<string, Collection>();
  const listeners: Listeners = new Map();
  const tell = createTeller(listeners);
  let revision = FIRST_REVISION;
  let forgotten = FIRST_REVISION - 1;

  const collectionOf = (storage: string): Collection => {
    const found = collections.get(storage);
    if (found !== undefined) return found;
    const made: Collection = { objects: new Map(), sorted: null, changes: [], compacted: forgotten };
    collections.set(storage, made);
    return made;
  };
  const record = (storage: string, collection: Collection, change: Change): void => {
    collection.changes.push(change);
    trim(collection, historyLimit);
    tell({ change, storage });
  };

  return {
    revision: () => revision,
    get: (storage, key) => collections.get(storage)?.objects.get(key),
    list: (storage) => ({ revision, items: sortedItems(collectionOf(storage)) }),
    listAt(storage, wanted) {
      const collection = collectionOf(storage);
      if (wanted < collection.compacted) return null;
      return { revision: wanted, items: itemsAt(collection, wanted) };
    },
    put(storage, key, object) {
      const collection = collectionOf(storage);
      const previous = collection.objects.get(key) ?? null;
      revision += 1;
      const current: Stored = { key, revision, object: withRevision(object, revision) };
      collection.objects.set(key, current);
      collection.sorted = null;
      record(storage, collection, { type: previous === null ? 'ADDED' : 'MODIFIED', revision, current, previous });
      return current;
    },
    remove(storage, key) {
      const collection = collectionOf(storage);
      const previous = collection.objects.get(key);
      if (previous === undefined) return undefined;
      revision += 1;
      const current: Stored = { key, revision, object: withRevision(previous.object, revision) };
      collection.objects.delete(key);
      collection.sorted = null;
      record(storage, collection, { type: 'DELETED', revision, current, previous });
      return current;
    },
    changesSince(storage, since) {
      const collection = collectionOf(storage);
      if (since < collection.compacted) return null;
      return collection.changes.slice(firstAfter(collection.changes, since));
    },
    subscribe(storage, listener) {
      const set = listeners.get(storage) ?? new Set();
      listeners.set(storage, set.add(listener));
      return () => {
        set.delete(listener);
      };
    },
    compact() {
      forgotten = revision;
      for (const collection of collections.values()) {
        collection.changes = [];
        collection.compacted = revision;
      }
    },
    storages: () => [...collections.keys()],
  };
}
