import { parseBody, type ApiRequest } from '../request/api-request.ts';
import { applyObject } from '../apply/apply-object.ts';
import { isTrue } from './list-query.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import { presentObject } from '../wire/object-text.ts';
import { decodeBody } from '../wire/decode-body.ts';
import { prepareReplacement, readObject, storeUpdate } from '../objects/update-object.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge-patch.ts';
import type { ApiState, Target, WriteOptions } from '../state.ts';
import { badRequest, StatusError } from '../status-error.ts';

function unsupported(): StatusError {
  return new StatusError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', { details: {} });
}

function patched(state: ApiState, target: Target, current: JsonObject, request: ApiRequest): Json {
  const patch = parseBody(request);
  switch (request.contentType) {
    case 'application/json-patch+json':
      return applyJsonPatch(current, patch);
    case 'application/merge-patch+json':
      if (!isObject(patch)) throw badRequest('a merge patch must be an object');
      return applyMergePatch(current, patch);
    case 'application/strategic-merge-patch+json':
      if (target.resource.definedBy !== null) throw unsupported();
      if (!isObject(patch)) throw badRequest('a strategic merge patch must be an object');
      return applyStrategicMergePatch(current, patch, state.schemas.ofResource(target.resource));
    default:
      throw unsupported();
  }
}

/** A patched object; an apply may have created it. */
export interface Patched {
  readonly object: JsonObject;
  readonly isNew: boolean;
}

/** Applies a JSON, merge or strategic merge patch and answers the object as stored. */
export function patchObject(
  state: ApiState,
  target: Target & { readonly subresource: string },
  request: ApiRequest,
  options: WriteOptions,
): Patched {
  if (request.contentType === 'application/apply-patch+yaml') {
    const force = isTrue(request.query, 'force');
    return applyObject(state, target, { body: parseBody(request), force }, options);
  }
  const current = presentObject(readObject(state, target), target.resource);
  const body = patched(state, target, current, request);
  const next = prepareReplacement(state, target, { current, next: decodeBody(state, target, body, options) });
  return { object: storeUpdate(state, target, { current, next }, options), isNew: false };
}
