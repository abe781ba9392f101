import { at, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.ts';
import { type ApiState, timestamp } from '../state.ts';
import type { Change } from '../store/store.ts';

const storage = 'customresourcedefinitions.apiextensions.k8s.io';

function condition(type: string, reason: string, message: string, now: number): Json {
  return { type, status: 'True', lastTransitionTime: timestamp(now), reason, message };
}

function isEstablished(definition: JsonObject): boolean {
  return listAt(definition, 'status', 'conditions').some((found) => textAt(found, 'type') === 'Established');
}

function established(definition: JsonObject, now: number): JsonObject {
  const names = { ...objectAt(definition, 'spec', 'names') };
  const stored = new Set(listAt(definition, 'status', 'storedVersions').map(String));
  for (const version of listAt(definition, 'spec', 'versions')) {
    if (at(version, 'storage') === true) stored.add(textAt(version, 'name'));
  }
  const conditions = isEstablished(definition)
    ? listAt(definition, 'status', 'conditions')
    : [
        condition('NamesAccepted', 'NoConflicts', 'no conflicts found', now),
        condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted', now),
      ];
  return { ...definition, status: { conditions, acceptedNames: names, storedVersions: [...stored] } };
}

function removeInstances(state: ApiState, definition: JsonObject): void {
  const instances = `${textAt(definition, 'spec', 'names', 'plural')}.${textAt(definition, 'spec', 'group')}`;
  for (const { key } of state.store.list(instances).items) state.store.remove(instances, key);
}

/** Serves custom resources as their definitions come, change and go, and reports it in their status. */
export function establishDefinitions(state: ApiState): () => void {
  const follow = (change: Change): void => {
    const { object, key } = change.current;
    const name = textAt(object, 'metadata', 'name');
    if (change.type === 'DELETED') {
      state.customKinds.withdraw(name);
      removeInstances(state, object);
      return;
    }
    const before = at(change.previous?.object, 'metadata', 'generation');
    if (before === at(object, 'metadata', 'generation') && isEstablished(object)) return;
    state.customKinds.define(object);
    const latest = state.store.get(storage, key)?.object;
    if (latest !== undefined) state.store.put(storage, key, established(latest, state.clock.now()));
  };
  return state.store.subscribe(storage, follow);
}
