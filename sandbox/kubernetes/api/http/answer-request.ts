import type { Target, WriteOptions } from '../state.ts';
import { methodNotAllowed, pathNotFound } from '../status-error.ts';
import { listObjects } from '../verbs/list-objects.ts';
import { isTrue } from '../verbs/list-query.ts';
import { deleteCollection } from '../verbs/delete-collection.ts';
import { patchObject } from '../verbs/patch-object.ts';
import { showObject } from '../verbs/show-object.ts';
import { answerSubresource } from '../subresources/answer-subresource.ts';
import { answerReview, isReview } from '../subresources/reviews.ts';
import { watchObjects } from '../verbs/watch-objects.ts';
import { createObject } from '../objects/create-object.ts';
import { deleteObject, parseDeleteOptions } from '../objects/delete-object.ts';
import { readObject, updateObject } from '../objects/update-object.ts';
import { notFound } from '../status-error.ts';
import { type ApiReply, jsonReply } from '../request/api-reply.ts';
import { parseBody } from '../request/api-request.ts';
import { toWriteOptions } from '../request/write-options.ts';
import type { ResourceCall } from '../request/resource-call.ts';

function targetOf({ route }: ResourceCall): Target & { readonly subresource: string } {
  const { resource, namespace, name, subresource } = route;
  return { resource, namespace, name, subresource };
}

function getOrList(call: ResourceCall): ApiReply {
  const { state, route, request, watches } = call;
  if (isTrue(request.query, 'watch')) return watchObjects(state, route, request, watches);
  if (route.name === '') return listObjects(state, route, request);
  return showObject(call, 200, readObject(state, targetOf(call)));
}

function create(call: ResourceCall, options: WriteOptions): ApiReply {
  if (call.route.name !== '') throw methodNotAllowed();
  if (call.route.resource.namespaced && call.route.namespace === '') throw methodNotAllowed();
  const made = createObject(call.state, targetOf(call), parseBody(call.request), options);
  return showObject(call, 201, made, options.warnings);
}

function replace(call: ResourceCall, options: WriteOptions): ApiReply {
  if (call.route.name === '') throw methodNotAllowed();
  const stored = updateObject(call.state, targetOf(call), parseBody(call.request), options);
  return showObject(call, 200, stored, options.warnings);
}

function patch(call: ResourceCall, options: WriteOptions): ApiReply {
  if (call.route.name === '') throw methodNotAllowed();
  const { object, isNew } = patchObject(call.state, targetOf(call), call.request, options);
  return showObject(call, isNew ? 201 : 200, object, options.warnings);
}

function remove(call: ResourceCall): ApiReply {
  const { state, route, request } = call;
  const options = parseDeleteOptions(parseBody(request), request.query);
  if (route.name === '') return deleteCollection(call, options);
  const { object, isGone } = deleteObject(state, targetOf(call), options);
  // Pods and a few others answer the object; the rest answers a Status once the object is gone.
  if (!isGone || route.resource.storage === 'pods.') return showObject(call, 200, object);
  const { name, group } = route.resource;
  const uid = (object['metadata'] as { uid?: string }).uid ?? '';
  const details = { name: route.name, ...(group === '' ? {} : { group }), kind: name, uid };
  return jsonReply(200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details });
}

function answerVerb(call: ResourceCall): ApiReply {
  const options = (): WriteOptions => toWriteOptions(call.request);
  switch (call.request.method) {
    case 'GET':
    case 'HEAD':
      return getOrList(call);
    case 'POST':
      return create(call, options());
    case 'PUT':
      return replace(call, options());
    case 'PATCH':
      return patch(call, options());
    case 'DELETE':
      return remove(call);
    default:
      throw methodNotAllowed();
  }
}

/** Answers a request for a resource, an object or a subresource. Throws StatusError for everything that is refused. */
export function answerResource(call: ResourceCall): ApiReply {
  const { resource, subresource, name } = call.route;
  if (isReview(resource)) return answerReview(call);
  if (!resource.verbs.includes('get') && !resource.verbs.includes('list')) {
    if (resource.kind !== 'Binding') throw pathNotFound();
  }
  if (subresource !== '' && name === '') throw notFound(resource, '');
  if (subresource !== '' && subresource !== 'status') return answerSubresource(call);
  return answerVerb(call);
}
