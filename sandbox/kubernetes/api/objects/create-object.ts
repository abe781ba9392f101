import { type Json, type JsonObject, objectAt, textAt } from '../json.ts';
import { rulesOf } from '../kinds/rules-of.ts';
import { trackApplied, trackWrite } from '../fields/track-write.ts';
import { type ApiState, apiVersionOf, storeKey, type Target, timestamp, type WriteOptions } from '../state.ts';
import { alreadyExists, forbidden, invalid, notFound, StatusError } from '../status-error.ts';
import { decodeBody, settleNamespace } from '../wire/decode-body.ts';
import { generateName, metadataCauses, newUid } from '../kinds/metadata.ts';

function nameOf(object: JsonObject, target: Target): string {
  const name = textAt(object, 'metadata', 'name');
  const prefix = textAt(object, 'metadata', 'generateName');
  if (name === '' && prefix !== '') return generateName(prefix);
  return name || target.name;
}

function checkNamespace(state: ApiState, { resource, namespace }: Target, name: string): void {
  if (!resource.namespaced) return;
  const found = state.store.get('namespaces.', storeKey('', namespace));
  if (found === undefined) throw notFound({ name: 'namespaces', group: '' }, namespace);
  if (textAt(found.object, 'status', 'phase') !== 'Terminating') return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${namespace} is being terminated`,
    field: 'metadata.namespace',
  };
  throw forbidden(resource, name, why, [cause]);
}

function startMetadata(state: ApiState, object: JsonObject, name: string, hasGeneration: boolean): void {
  const {
    selfLink: _self,
    deletionTimestamp: _deleted,
    deletionGracePeriodSeconds: _grace,
    ...given
  } = objectAt(object, 'metadata');
  if (textAt(given, 'resourceVersion') !== '') {
    throw new StatusError(500, '', 'resourceVersion should not be set on objects to be created');
  }
  const metadata: JsonObject = { ...given, name, uid: newUid(), creationTimestamp: timestamp(state.clock.now()) };
  delete metadata['resourceVersion'];
  delete metadata['generation'];
  if (hasGeneration) metadata['generation'] = 1;
  object['metadata'] = metadata;
}

/** A new object as it would be stored; throws Invalid, Forbidden, NotFound (namespace) or BadRequest. */
function prepareNewObject(state: ApiState, target: Target, body: Json, options: WriteOptions): JsonObject {
  const { resource } = target;
  const object = decodeBody(state, target, body, options);
  settleNamespace(object, target);
  const name = nameOf(object, target);
  const rules = rulesOf(resource);
  checkNamespace(state, target, name);
  startMetadata(state, object, name, rules.hasGeneration === true);
  object['apiVersion'] = resource.group === 'events.k8s.io' ? 'v1' : apiVersionOf(resource);
  object['kind'] = resource.kind;
  if (resource.subresources.has('status') && rules.keepsStatusOnCreate !== true) delete object['status'];
  rules.prepareCreate?.(object, state);
  rules.applyDefaults?.(object);
  if (resource.definedBy !== null) state.customKinds.applyDefaults(resource, object);
  const causes = [...metadataCauses(object, rules.nameForm), ...(rules.validate?.(object) ?? [])];
  if (resource.definedBy !== null) causes.push(...state.customKinds.validate(resource, object, null));
  if (causes.length > 0) throw invalid({ name: resource.kind, group: resource.group }, name, causes);
  return object;
}

/** Creates an object and answers it as stored (or as it would be, in a dry run). */
export function createObject(state: ApiState, target: Target, body: Json, options: WriteOptions): JsonObject {
  const object = prepareNewObject(state, target, body, options);
  const { resource, namespace } = target;
  const name = textAt(object, 'metadata', 'name');
  const key = storeKey(resource.namespaced ? namespace : '', name);
  if (state.store.get(resource.storage, key) !== undefined) throw alreadyExists(resource, name);
  const tracked = options.applies
    ? trackApplied(state, target, { next: object, current: null }, { body, options })
    : trackWrite(state, target, { next: object, current: null }, options);
  if (options.dryRun) return tracked;
  return state.store.put(resource.storage, key, tracked).object;
}
