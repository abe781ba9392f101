import type { ResourceCall } from '../request/resource-call.ts';
import { type ApiReply, jsonReply } from '../request/api-reply.ts';
import { parseBody } from '../request/api-request.ts';
import { toWriteOptions } from '../request/write-options.ts';
import {
  at,
  copyJson,
  ensureObject,
  isObject,
  type Json,
  type JsonObject,
  numberAt,
  objectAt,
  textAt,
} from '../json.ts';
import { presentObject } from '../wire/object-text.ts';
import { prepareReplacement, readObject, storeUpdate } from '../objects/update-object.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import type { ApiState } from '../state.ts';
import { badRequest, conflict, invalid, invalidValue, methodNotAllowed, StatusError } from '../status-error.ts';

interface Paths {
  readonly spec: ReadonlyArray<string>;
  readonly status: ReadonlyArray<string>;
  readonly selector: ReadonlyArray<string>;
}

function segments(path: string): ReadonlyArray<string> {
  return path.split('.').filter((segment) => segment !== '');
}

function pathsOf({ state, route }: ResourceCall): Paths {
  const custom = state.customKinds.scalePaths(route.resource);
  if (custom === null)
    return { spec: ['spec', 'replicas'], status: ['status', 'replicas'], selector: ['spec', 'selector'] };
  return { spec: segments(custom.spec), status: segments(custom.status), selector: segments(custom.selector) };
}

/** A selector in the text form that autoscalers read. */
function selectorText(selector: Json | undefined): string {
  if (typeof selector === 'string') return selector;
  if (!isObject(selector)) return '';
  const labels = isObject(selector['matchLabels'])
    ? selector['matchLabels']
    : selector['matchExpressions']
      ? {}
      : selector;
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${String(value)}`)
    .toSorted()
    .join(',');
}

function toScale(object: JsonObject, paths: Paths): JsonObject {
  const metadata = objectAt(object, 'metadata');
  const kept: JsonObject = {};
  for (const key of ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp']) {
    if (metadata[key] !== undefined) kept[key] = metadata[key];
  }
  const selector = selectorText(paths.selector.length === 0 ? undefined : at(object, ...paths.selector));
  const replicas = numberAt(object, 0, ...paths.spec);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: kept,
    spec: replicas === 0 ? {} : { replicas },
    status: { replicas: numberAt(object, 0, ...paths.status), ...(selector === '' ? {} : { selector }) },
  };
}

function wantedScale(call: ResourceCall, scale: JsonObject): JsonObject {
  const { request } = call;
  const body = parseBody(request);
  if (request.method === 'PUT') return isObject(body) ? body : {};
  if (request.method !== 'PATCH') throw methodNotAllowed();
  const patched =
    request.contentType === 'application/json-patch+json' ? applyJsonPatch(scale, body) : applyMergePatch(scale, body);
  return isObject(patched) ? patched : {};
}

function checkVersion(call: ResourceCall, wanted: JsonObject, current: JsonObject): void {
  const version = textAt(wanted, 'metadata', 'resourceVersion');
  if (version === '' || version === textAt(current, 'metadata', 'resourceVersion')) return;
  throw conflict(call.route.resource, call.route.name);
}

function writeReplicas(state: ApiState, call: ResourceCall, current: JsonObject, replicas: number): JsonObject {
  const next = copyJson(current);
  const path = pathsOf(call).spec;
  const last = path.at(-1);
  if (last === undefined) throw badRequest('the custom resource has no specReplicasPath');
  ensureObject(next, ...path.slice(0, -1))[last] = replicas;
  const target = { ...call.route, subresource: '' };
  const prepared = prepareReplacement(state, target, { current, next });
  return storeUpdate(state, target, { current, next: prepared }, toWriteOptions(call.request));
}

/** Reads or writes the number of replicas through autoscaling/v1 Scale. */
export function answerScale(call: ResourceCall): ApiReply {
  const { state, route, request } = call;
  const current = presentObject(readObject(state, route), route.resource);
  if (state.customKinds.scalePaths(route.resource) !== null && at(current, ...pathsOf(call).spec) === undefined) {
    const why = `the spec replicas field ".${pathsOf(call).spec.join('.')}" does not exist`;
    throw new StatusError(500, 'InternalError', `Internal error occurred: ${why}`, {
      details: { causes: [{ message: why }] },
    });
  }
  const scale = toScale(current, pathsOf(call));
  if (request.method === 'GET') return jsonReply(200, scale);
  const wanted = wantedScale(call, scale);
  checkVersion(call, wanted, current);
  const replicas = numberAt(wanted, 0, 'spec', 'replicas');
  if (replicas < 0) {
    const cause = invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0');
    throw invalid({ name: 'Scale', group: 'autoscaling' }, route.name, [cause]);
  }
  return jsonReply(200, toScale(writeReplicas(state, call, current, replicas), pathsOf(call)));
}
