import { trackWrite } from '../fields/track-write.ts';
import { at, equalJson, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.ts';
import { rulesOf } from '../kinds/rules-of.ts';
import type { Resource } from '../registry/resources.ts';
import { type ApiState, apiVersionOf, storeKey, type Target, type WriteOptions } from '../state.ts';
import { badRequest, type Cause, conflict, invalid, notFound } from '../status-error.ts';
import { decodeBody, settleNamespace } from '../wire/decode-body.ts';
import { keepServerMetadata, metadataCauses, metadataUpdateCauses } from '../kinds/metadata.ts';
import { presentObject } from '../wire/object-text.ts';

/** The stored object of a target; throws NotFound. */
export function readObject(state: ApiState, { resource, namespace, name }: Target): JsonObject {
  const found = state.store.get(resource.storage, storeKey(resource.namespaced ? namespace : '', name));
  if (found === undefined) throw notFound(resource, name);
  return found.object;
}

function checkPreconditions(next: JsonObject, current: JsonObject, { resource, name }: Target): void {
  const version = textAt(next, 'metadata', 'resourceVersion');
  if (version !== '' && version !== textAt(current, 'metadata', 'resourceVersion')) throw conflict(resource, name);
}

/** Main-resource writes keep the status, status writes keep all but the status. */
function keepOtherHalf(next: JsonObject, current: JsonObject, isStatus: boolean): JsonObject {
  if (!isStatus) {
    const { status: _status, ...rest } = next;
    return current['status'] === undefined ? rest : { ...rest, status: current['status'] };
  }
  const metadata = { ...objectAt(current, 'metadata') };
  for (const key of ['managedFields', 'resourceVersion']) {
    const value = at(next, 'metadata', key);
    if (value !== undefined) metadata[key] = value;
  }
  const { status: _old, ...rest } = current;
  return { ...rest, ...(next['status'] === undefined ? {} : { status: next['status'] }), metadata };
}

/** Everything but the metadata and the status, for the generation. */
function specOf(object: JsonObject): JsonObject {
  const { metadata: _metadata, status: _status, apiVersion: _version, kind: _kind, ...rest } = object;
  return rest;
}

function settleGeneration(next: JsonObject, current: JsonObject, { resource }: Target): void {
  const hasGeneration = resource.definedBy !== null || rulesOf(resource).hasGeneration === true;
  if (!hasGeneration) return;
  const withStatus = resource.definedBy !== null && !resource.subresources.has('status');
  const part = withStatus ? (object: JsonObject) => ({ ...specOf(object), status: object['status'] ?? null }) : specOf;
  if (equalJson(part(next), part(current))) return;
  const metadata = objectAt(next, 'metadata');
  metadata['generation'] = Number(at(current, 'metadata', 'generation') ?? 0) + 1;
}

function causesOf(state: ApiState, { resource }: Target, next: JsonObject, current: JsonObject): ReadonlyArray<Cause> {
  const rules = rulesOf(resource);
  const causes: Array<Cause> = [...metadataUpdateCauses(next, current), ...metadataCauses(next, rules.nameForm)];
  causes.push(...(rules.validate?.(next) ?? []), ...(rules.validateUpdate?.(next, current) ?? []));
  if (resource.definedBy !== null) causes.push(...state.customKinds.validate(resource, next, current));
  return causes;
}

/** True where nothing but the resourceVersion differs: the write then leaves no trace. */
function isSame(next: JsonObject, current: JsonObject): boolean {
  const { resourceVersion: _next, ...nextMetadata } = objectAt(next, 'metadata');
  const { resourceVersion: _current, ...currentMetadata } = objectAt(current, 'metadata');
  return equalJson({ ...next, metadata: nextMetadata }, { ...current, metadata: currentMetadata });
}

function isReleased(object: JsonObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = objectAt(object, 'metadata');
  if (deletionTimestamp === undefined || listAt(object, 'metadata', 'finalizers').length > 0) return false;
  const grace = deletionGracePeriodSeconds;
  const isEmptying = listAt(object, 'spec', 'finalizers').length > 0 && object['kind'] === 'Namespace';
  return !isEmptying && (grace === undefined || grace === 0);
}

/** An update with its current object. */
export interface Replacement {
  readonly current: JsonObject;
  readonly next: JsonObject;
}

function checkName(decoded: JsonObject, { resource, name }: Target): void {
  const given = textAt(decoded, 'metadata', 'name');
  if (given === name) return;
  if (given === '') throw badRequest(`${resource.kind} name must be provided`);
  throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
}

/** What is written of the decoded object: the half that the request is about, with the server's own metadata. */
function writtenPart(decoded: JsonObject, current: JsonObject, resource: Resource, isStatus: boolean): JsonObject {
  const next = { ...decoded };
  keepServerMetadata(next, current);
  const metadata = next['metadata'] ?? {};
  const half = resource.subresources.has('status') ? keepOtherHalf(next, current, isStatus) : next;
  // Status writes of built-ins may change labels and annotations too.
  const keepsMetadata = isStatus && resource.definedBy === null;
  const { apiVersion = '', kind = '' } = current;
  return { ...half, ...(keepsMetadata ? { metadata } : {}), apiVersion, kind };
}

/** Applies the rules of an update to a decoded object; the answer is new. Throws Conflict, Invalid, BadRequest. */
export function prepareReplacement(
  state: ApiState,
  target: Target & { readonly subresource: string },
  { current, next: decoded }: Replacement,
): JsonObject {
  const { resource } = target;
  checkName(decoded, target);
  settleNamespace(decoded, target);
  checkPreconditions(decoded, current, target);
  const isStatus = target.subresource === 'status';
  const next = writtenPart(decoded, current, resource, isStatus);
  const rules = rulesOf(resource);
  if (!isStatus) rules.prepareUpdate?.(next, current);
  rules.applyDefaults?.(next);
  if (resource.definedBy !== null) state.customKinds.applyDefaults(resource, next);
  next['metadata'] = { ...objectAt(next, 'metadata') };
  if (!isStatus) settleGeneration(next, current, target);
  const causes = causesOf(state, target, next, current);
  if (causes.length > 0) throw invalid({ name: resource.kind, group: resource.group }, target.name, causes);
  return next;
}

/** Stores a prepared object; removes it when it was terminating and this write took its last finalizer. */
export function storeUpdate(
  state: ApiState,
  target: Target,
  { current, next }: Replacement,
  options: WriteOptions,
): JsonObject {
  if (isSame(next, current)) return current;
  const tracked = trackWrite(state, target, { next, current }, options);
  return storeTracked(state, target, { current, next: tracked }, options);
}

/** Stores an object whose managedFields are settled; leaves no trace when it equals the current one. */
export function storeTracked(
  state: ApiState,
  target: Target,
  { current, next: tracked }: Replacement,
  options: WriteOptions,
): JsonObject {
  const { resource, namespace, name } = target;
  if (isSame(tracked, current)) return current;
  const metadata = {
    ...objectAt(tracked, 'metadata'),
    resourceVersion: textAt(current, 'metadata', 'resourceVersion'),
  };
  const stored = {
    ...tracked,
    metadata,
    apiVersion: resource.group === 'events.k8s.io' ? 'v1' : apiVersionOf(resource),
  };
  if (options.dryRun) return stored;
  const key = storeKey(resource.namespaced ? namespace : '', name);
  const written = state.store.put(resource.storage, key, stored);
  if (!isReleased(stored)) return written.object;
  state.store.remove(resource.storage, key);
  return written.object;
}

/** Replaces an object (PUT) and answers it as stored. */
export function updateObject(
  state: ApiState,
  target: Target & { readonly subresource: string },
  body: Json,
  options: WriteOptions,
): JsonObject {
  const current = presentObject(readObject(state, target), target.resource);
  const next = prepareReplacement(state, target, { current, next: decodeBody(state, target, body, options) });
  return storeUpdate(state, target, { current, next }, options);
}
