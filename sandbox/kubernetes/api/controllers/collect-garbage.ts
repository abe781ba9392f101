import { at, type Json, type JsonObject, listAt, textAt } from '../json.ts';
import { deleteObject, type DeleteOptions } from '../objects/delete-object.ts';
import type { Resource } from '../registry/resources.ts';
import type { ApiState } from '../state.ts';
import { StatusError } from '../status-error.ts';
import type { Change, Stored } from '../store/store.ts';

const background: DeleteOptions = {
  dryRun: false,
  gracePeriodSeconds: null,
  propagationPolicy: 'Background',
  uid: '',
  resourceVersion: '',
};

interface Dependent {
  readonly storage: string;
  readonly key: string;
}

/** Who names whom as owner, kept from the changes of all objects. */
interface OwnerIndex {
  /** Objects by their own uid. */
  readonly alive: Map<string, Dependent>;
  /** Objects by the uids of their owners. */
  readonly dependents: Map<string, Map<string, Dependent>>;
}

function ownerUids(object: JsonObject): ReadonlyArray<string> {
  return listAt(object, 'metadata', 'ownerReferences').map((owner) => textAt(owner, 'uid'));
}

function forget(index: OwnerIndex, object: JsonObject, uid: string): void {
  for (const owner of ownerUids(object)) {
    const dependents = index.dependents.get(owner);
    dependents?.delete(uid);
    if (dependents?.size === 0) index.dependents.delete(owner);
  }
}

function remember(index: OwnerIndex, storage: string, { key, object }: Stored): void {
  const uid = textAt(object, 'metadata', 'uid');
  index.alive.set(uid, { storage, key });
  for (const owner of ownerUids(object)) {
    const dependents = index.dependents.get(owner) ?? new Map<string, Dependent>();
    index.dependents.set(owner, dependents.set(uid, { storage, key }));
  }
}

function resourceOf(state: ApiState, storage: string): Resource | undefined {
  return state.registry.all().find((resource) => resource.storage === storage);
}

function remove(state: ApiState, { storage, key }: Dependent, options: DeleteOptions): void {
  const resource = resourceOf(state, storage);
  const [namespace = '', name = ''] = key.split('/');
  if (resource === undefined) return;
  try {
    deleteObject(state, { resource, namespace, name }, options);
  } catch (error) {
    // Gone already: what was wanted.
    if (!(error instanceof StatusError) || error.code !== 404) throw error;
  }
}

function write(state: ApiState, { storage, key }: Dependent, object: JsonObject): void {
  state.store.put(storage, key, object);
  const metadata = object['metadata'];
  const isFree = at(metadata, 'deletionTimestamp') !== undefined && listAt(metadata, 'finalizers').length === 0;
  const grace = at(metadata, 'deletionGracePeriodSeconds');
  if (isFree && (grace === undefined || grace === 0)) state.store.remove(storage, key);
}

function withMetadata(object: JsonObject, changes: JsonObject, without: string): JsonObject {
  const metadata: JsonObject = { ...(object['metadata'] as JsonObject), ...changes };
  delete metadata[without];
  return { ...object, metadata };
}

/** The object without one finalizer. */
function withoutFinalizer(object: JsonObject, name: string): JsonObject {
  const left = listAt(object, 'metadata', 'finalizers').filter((finalizer) => finalizer !== name);
  return left.length === 0 ? withMetadata(object, {}, 'finalizers') : withMetadata(object, { finalizers: left }, '');
}

/** Takes a gone owner out of a dependent; deletes the dependent when no owner is left alive. */
function release(state: ApiState, index: OwnerIndex, dependent: Dependent, goneUid: string): void {
  const stored = state.store.get(dependent.storage, dependent.key);
  if (stored === undefined) return;
  const owners = listAt(stored.object, 'metadata', 'ownerReferences');
  const alive = owners.filter((owner) => textAt(owner, 'uid') !== goneUid && index.alive.has(textAt(owner, 'uid')));
  if (alive.length === 0) remove(state, dependent, background);
  else write(state, dependent, withMetadata(stored.object, { ownerReferences: alive }, ''));
}

function orphan(state: ApiState, dependent: Dependent, ownerUid: string): void {
  const stored = state.store.get(dependent.storage, dependent.key);
  if (stored === undefined) return;
  const left = listAt(stored.object, 'metadata', 'ownerReferences').filter(
    (owner) => textAt(owner, 'uid') !== ownerUid,
  );
  const next =
    left.length === 0
      ? withMetadata(stored.object, {}, 'ownerReferences')
      : withMetadata(stored.object, { ownerReferences: left }, '');
  write(state, dependent, next);
}

function isBlocking(state: ApiState, { storage, key }: Dependent, ownerUid: string): boolean {
  const object = state.store.get(storage, key)?.object;
  return listAt(object, 'metadata', 'ownerReferences').some(
    (owner: Json) => textAt(owner, 'uid') === ownerUid && at(owner, 'blockOwnerDeletion') === true,
  );
}

/** Moves a terminating object on: orphans its dependents, or deletes them first and waits. */
function advance(state: ApiState, index: OwnerIndex, self: Dependent, object: JsonObject): void {
  const uid = textAt(object, 'metadata', 'uid');
  const finalizers = listAt(object, 'metadata', 'finalizers');
  const dependents = [...(index.dependents.get(uid)?.values() ?? [])];
  if (finalizers.includes('orphan')) {
    for (const dependent of dependents) orphan(state, dependent, uid);
    write(state, self, withoutFinalizer(object, 'orphan'));
    return;
  }
  if (!finalizers.includes('foregroundDeletion')) return;
  for (const dependent of dependents) {
    const stored = state.store.get(dependent.storage, dependent.key);
    const isGoing = at(stored?.object, 'metadata', 'deletionTimestamp') !== undefined;
    if (!isGoing) remove(state, dependent, { ...background, propagationPolicy: 'Foreground' });
  }
  const left = [...(index.dependents.get(uid)?.values() ?? [])].some((dependent) => isBlocking(state, dependent, uid));
  const current = state.store.get(self.storage, self.key)?.object;
  if (!left && current !== undefined) write(state, self, withoutFinalizer(current, 'foregroundDeletion'));
}

/** Deletes dependents of owners that are gone, in the background, foreground or not at all, as deletes asked for. */
export function collectGarbage(state: ApiState): () => void {
  const index: OwnerIndex = { alive: new Map(), dependents: new Map() };
  let queue: Array<() => void> = [];
  let isScheduled = false;
  // Run after the write that caused it has been answered, as the real collector's loop does.
  const later = (task: () => void): void => {
    queue.push(task);
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      const tasks = queue;
      queue = [];
      for (const run of tasks) run();
    });
  };
  const wake = (owner: string): void => {
    const self = index.alive.get(owner);
    const object = self === undefined ? undefined : state.store.get(self.storage, self.key)?.object;
    if (self !== undefined && object !== undefined && at(object, 'metadata', 'deletionTimestamp') !== undefined) {
      advance(state, index, self, object);
    }
  };
  return state.store.subscribe('*', (change: Change, storage: string) => {
    const { current, previous } = change;
    const uid = textAt(current.object, 'metadata', 'uid');
    if (previous !== null) forget(index, previous.object, uid);
    if (change.type === 'DELETED') {
      index.alive.delete(uid);
      const dependents = [...(index.dependents.get(uid)?.values() ?? [])];
      if (dependents.length > 0)
        later(() =>
          dependents.forEach((dependent) => {
            release(state, index, dependent, uid);
          }),
        );
      for (const owner of ownerUids(current.object))
        later(() => {
          wake(owner);
        });
      return;
    }
    remember(index, storage, current);
    if (at(current.object, 'metadata', 'deletionTimestamp') !== undefined) {
      later(() => {
        wake(uid);
      });
    } else if (change.type === 'ADDED') {
      const owners = ownerUids(current.object);
      const isLost = owners.length > 0 && owners.every((owner) => !index.alive.has(owner));
      if (isLost)
        later(() => {
          release(state, index, { storage, key: current.key }, '');
        });
    }
  });
}
