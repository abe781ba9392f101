import { at, isObject, type Json, type JsonObject, listAt, numberAt, objectAt, textAt } from '../json.ts';
import { type ApiState, storeKey, type Target, timestamp } from '../state.ts';
import { conflict } from '../status-error.ts';
import { readObject } from './update-object.ts';

/** What a delete was asked to do; from the body's DeleteOptions, or from the query. */
export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds: number | null;
  readonly propagationPolicy: 'Background' | 'Foreground' | 'Orphan';
  readonly uid: string;
  readonly resourceVersion: string;
}

/** A deleted object: gone, or terminating because of finalizers or its grace period. */
export interface Deleted {
  readonly object: JsonObject;
  readonly isGone: boolean;
}

function propagationOf(text: string, orphan: Json | undefined): DeleteOptions['propagationPolicy'] {
  if (text === 'Foreground' || text === 'Orphan') return text;
  return text === '' && orphan === true ? 'Orphan' : 'Background';
}

/** Reads DeleteOptions; the body wins over the query. */
export function parseDeleteOptions(body: Json, query: URLSearchParams): DeleteOptions {
  const options = isObject(body) ? body : {};
  const queried = query.get('gracePeriodSeconds');
  const grace = numberAt(options, queried === null ? -1 : Number(queried), 'gracePeriodSeconds');
  const policy = textAt(options, 'propagationPolicy') || (query.get('propagationPolicy') ?? '');
  const orphan = at(options, 'orphanDependents') ?? query.get('orphanDependents') === 'true';
  return {
    dryRun: listAt(options, 'dryRun').includes('All') || query.getAll('dryRun').includes('All'),
    gracePeriodSeconds: grace < 0 ? null : grace,
    propagationPolicy: propagationOf(policy, orphan),
    uid: textAt(options, 'preconditions', 'uid'),
    resourceVersion: textAt(options, 'preconditions', 'resourceVersion'),
  };
}

function checkPreconditions(object: JsonObject, { resource, name }: Target, options: DeleteOptions): void {
  const of = { name: resource.kind, group: resource.group };
  const uid = textAt(object, 'metadata', 'uid');
  if (options.uid !== '' && options.uid !== uid) {
    const why = `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    throw conflict(of, name, why);
  }
  const version = textAt(object, 'metadata', 'resourceVersion');
  if (options.resourceVersion !== '' && options.resourceVersion !== version) {
    const why = `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${version}). The object might have been modified`;
    throw conflict(of, name, why);
  }
}

/** Seconds that a pod may still run; other kinds have no grace period. */
function graceOf(object: JsonObject, target: Target, options: DeleteOptions): number {
  if (target.resource.storage !== 'pods.') return 0;
  // A pod that runs nowhere or no longer runs has nobody to finish it, as in the API server's pod strategy.
  const phase = textAt(object, 'status', 'phase');
  if (textAt(object, 'spec', 'nodeName') === '' || phase === 'Failed' || phase === 'Succeeded') return 0;
  return options.gracePeriodSeconds ?? numberAt(object, 30, 'spec', 'terminationGracePeriodSeconds');
}

function finalizersAfter(object: JsonObject, options: DeleteOptions): Array<Json> {
  const kept = listAt(object, 'metadata', 'finalizers').filter(
    (name) => name !== 'orphan' && name !== 'foregroundDeletion',
  );
  if (options.propagationPolicy === 'Orphan') return [...kept, 'orphan'];
  return options.propagationPolicy === 'Foreground' ? [...kept, 'foregroundDeletion'] : kept;
}

function terminating(state: ApiState, object: JsonObject, grace: number, finalizers: Array<Json>): JsonObject {
  const metadata = { ...objectAt(object, 'metadata') };
  const since = Math.floor(state.clock.now() / 1000) * 1000;
  const already = textAt(metadata, 'deletionTimestamp');
  const before = already === '' ? Number.POSITIVE_INFINITY : numberAt(metadata, 0, 'deletionGracePeriodSeconds');
  // A second delete may only shorten the grace.
  if (already === '' || grace < before) {
    const base = already === '' ? since : Math.min(since, Date.parse(already) - before * 1000);
    metadata['deletionTimestamp'] = timestamp(base + grace * 1000);
    metadata['deletionGracePeriodSeconds'] = grace;
  }
  if (typeof metadata['generation'] === 'number' && already === '') metadata['generation'] += 1;
  if (finalizers.length > 0) metadata['finalizers'] = finalizers;
  else delete metadata['finalizers'];
  return { ...object, metadata };
}

function isNamespaceInUse(target: Target, object: JsonObject): boolean {
  return target.resource.storage === 'namespaces.' && listAt(object, 'spec', 'finalizers').length > 0;
}

/** Deletes an object, or marks it as terminating. Throws NotFound and Conflict (preconditions). */
export function deleteObject(state: ApiState, target: Target, options: DeleteOptions): Deleted {
  const object = readObject(state, target);
  checkPreconditions(object, target, options);
  const { resource, namespace, name } = target;
  const key = storeKey(resource.namespaced ? namespace : '', name);
  const grace = graceOf(object, target, options);
  const wasTerminating = at(object, 'metadata', 'deletionTimestamp') !== undefined;
  const finalizers = wasTerminating ? listAt(object, 'metadata', 'finalizers') : finalizersAfter(object, options);
  const waits = grace > 0 || finalizers.length > 0 || isNamespaceInUse(target, object);
  if (!waits) {
    const gone = options.dryRun ? undefined : state.store.remove(resource.storage, key);
    return { object: gone?.object ?? object, isGone: true };
  }
  const marked = terminating(state, object, grace, finalizers);
  if (resource.storage === 'namespaces.') marked['status'] = { ...objectAt(marked, 'status'), phase: 'Terminating' };
  const isUnchanged =
    wasTerminating &&
    textAt(marked, 'metadata', 'deletionTimestamp') === textAt(object, 'metadata', 'deletionTimestamp');
  if (options.dryRun || isUnchanged) return { object: isUnchanged ? object : marked, isGone: false };
  return { object: state.store.put(resource.storage, key, marked).object, isGone: false };
}
