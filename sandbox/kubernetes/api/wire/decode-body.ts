import { at, isObject, type Json, type JsonObject, objectAt, textAt } from '../json.ts';
import { decodeObjectBySchema } from '../schema/decode.ts';
import { type ApiState, apiVersionOf, type Target, type WriteOptions } from '../state.ts';
import { badRequest, StatusError } from '../status-error.ts';
import { fromEventsGroup } from './event-conversion.ts';

function isClientError(error: unknown): error is StatusError {
  return error instanceof StatusError && error.code === 400;
}

function checkKind(body: JsonObject, { resource }: Target): void {
  const version = apiVersionOf(resource);
  const given = textAt(body, 'apiVersion') || version;
  const kind = textAt(body, 'kind') || resource.kind;
  if (given === version && kind === resource.kind) return;
  const givenVersion = given.slice(given.lastIndexOf('/') + 1);
  const why =
    given === version
      ? `unexpected kind ${JSON.stringify(kind)}`
      : `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(given)}`;
  throw badRequest(
    `${kind} in version ${JSON.stringify(givenVersion)} cannot be handled as a ${resource.kind}: ${why}`,
  );
}

function reportUnknown(fields: ReadonlyArray<string>, target: Target, options: WriteOptions): void {
  if (fields.length === 0 || options.fieldValidation === 'Ignore') return;
  const texts = fields.map((field) => `unknown field ${JSON.stringify(field)}`);
  if (options.fieldValidation === 'Warn') {
    options.warnings.push(...texts);
    return;
  }
  const { kind, version } = target.resource;
  const why = `strict decoding error: ${texts.join(', ')}`;
  throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`);
}

/**
 * Reads a request's object by its schema: unknown fields are dropped, and refused or warned of as asked; the answer is
 * the caller's own. Throws BadRequest for another kind or version, and for values of a wrong type in built-ins.
 */
export function decodeBody(state: ApiState, target: Target, body: Json, options: WriteOptions): JsonObject {
  if (!isObject(body)) throw badRequest('the body must be a JSON or YAML object');
  checkKind(body, target);
  const { resource } = target;
  const node = state.schemas.ofResource(resource);
  if (node === null) return { ...body };
  try {
    const { object, unknownFields } = decodeObjectBySchema(body, node, resource.definedBy === null);
    reportUnknown(unknownFields, target, options);
    if (!isObject(object['metadata'])) object['metadata'] = { ...objectAt(body, 'metadata') };
    return resource.group === 'events.k8s.io' ? fromEventsGroup(object) : object;
  } catch (error) {
    if (!isClientError(error) || error.message.includes('cannot be handled')) throw error;
    const { kind, version } = resource;
    throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${error.message}`);
  }
}

/** The namespace of the object must be the request's; fills it in. */
export function settleNamespace(object: JsonObject, target: Target): void {
  const metadata = { ...objectAt(object, 'metadata') };
  const given = at(metadata, 'namespace');
  if (!target.resource.namespaced) delete metadata['namespace'];
  else if (given !== undefined && given !== '' && given !== target.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  } else metadata['namespace'] = target.namespace;
  object['metadata'] = metadata;
}
