import { at, type JsonObject, listAt, objectAt, textAt } from '../json.ts';
import { deleteObject } from '../objects/delete-object.ts';
import type { ApiState } from '../state.ts';
import { StatusError } from '../status-error.ts';
import type { Resource } from '../registry/resources.ts';
import type { Stored } from '../store/store.ts';

const storage = 'namespaces.';

function namespacedResources(state: ApiState): ReadonlyArray<Resource> {
  const seen = new Set<string>();
  return state.registry.all().filter((resource) => {
    const isNew = resource.namespaced && resource.verbs.includes('delete') && !seen.has(resource.storage);
    seen.add(resource.storage);
    return isNew;
  });
}

const background = {
  dryRun: false,
  gracePeriodSeconds: null,
  propagationPolicy: 'Background',
  uid: '',
  resourceVersion: '',
} as const;

function remove(state: ApiState, resource: Resource, object: JsonObject): void {
  if (at(object, 'metadata', 'deletionTimestamp') !== undefined) return;
  const [namespace, name] = [textAt(object, 'metadata', 'namespace'), textAt(object, 'metadata', 'name')];
  try {
    deleteObject(state, { resource, namespace, name }, background);
  } catch (error) {
    // Gone already: what was wanted.
    if (!(error instanceof StatusError) || error.code !== 404) throw error;
  }
}

/** Deletes what is left in a namespace; answers whether it is empty now. */
function empty(state: ApiState, namespace: string): boolean {
  let isEmpty = true;
  for (const resource of namespacedResources(state)) {
    const inside = (): ReadonlyArray<Stored> =>
      state.store.list(resource.storage).items.filter(({ key }) => key.startsWith(`${namespace}/`));
    for (const { object } of inside()) remove(state, resource, object);
    if (inside().length > 0) isEmpty = false;
  }
  return isEmpty;
}

function finish(state: ApiState, key: string, namespace: JsonObject): void {
  const left = listAt(namespace, 'spec', 'finalizers').filter((name) => name !== 'kubernetes');
  const spec: JsonObject = { ...objectAt(namespace, 'spec'), finalizers: left };
  if (left.length === 0) delete spec['finalizers'];
  state.store.put(storage, key, { ...namespace, spec });
  if (left.length === 0 && listAt(namespace, 'metadata', 'finalizers').length === 0) state.store.remove(storage, key);
}

/** Empties namespaces that are being deleted, and lets them go when nothing is left in them. */
export function endNamespaces(state: ApiState): () => void {
  let isScheduled = false;
  const sweep = (): void => {
    isScheduled = false;
    for (const { key, object } of state.store.list(storage).items) {
      const isGoing = at(object, 'metadata', 'deletionTimestamp') !== undefined;
      if (
        isGoing &&
        listAt(object, 'spec', 'finalizers').includes('kubernetes') &&
        empty(state, textAt(object, 'metadata', 'name'))
      ) {
        finish(state, key, object);
      }
    }
  };
  return state.store.subscribe('*', (change, changed) => {
    const isGoing = at(change.current.object, 'metadata', 'deletionTimestamp') !== undefined;
    // Only a namespace that goes, or an object that has gone, can move a namespace on.
    const matters = changed === storage ? isGoing : change.type === 'DELETED';
    if (!matters || isScheduled) return;
    isScheduled = true;
    setImmediate(sweep);
  });
}
