import type { ResourceCall } from '../request/resource-call.ts';
import { type ApiReply, jsonReply } from '../request/api-reply.ts';
import { parseBody } from '../request/api-request.ts';
import { at, type Json, type JsonObject, listAt, numberAt, objectAt, textAt } from '../json.ts';
import { deleteObject, parseDeleteOptions } from '../objects/delete-object.ts';
import { readObject } from '../objects/update-object.ts';
import { toLabelMatcher } from '../selectors/label-selector.ts';
import { type ApiState, storeKey, timestamp } from '../state.ts';
import { methodNotAllowed, StatusError } from '../status-error.ts';
import type { Stored } from '../store/store.ts';

const budgets = 'poddisruptionbudgets.policy';
const refusal = "Cannot evict pod as it would violate the pod's disruption budget.";

/** Disrupted pods that a budget remembers at most, as in the API server. */
const MAX_DISRUPTED_PODS = 2000;

function refused(message: string, retryAfterSeconds: number): StatusError {
  const causes: Array<Json> = [{ reason: 'DisruptionBudget', message }];
  const details: JsonObject = { causes, ...(retryAfterSeconds > 0 ? { retryAfterSeconds } : {}) };
  const headers: Record<string, string> = retryAfterSeconds > 0 ? { 'Retry-After': String(retryAfterSeconds) } : {};
  return new StatusError(429, 'TooManyRequests', refusal, { details, headers });
}

function budgetsOf(state: ApiState, pod: JsonObject): ReadonlyArray<Stored> {
  const namespace = textAt(pod, 'metadata', 'namespace');
  const labels = objectAt(pod, 'metadata', 'labels');
  return state.store
    .list(budgets)
    .items.filter(
      ({ object, key }) => key.startsWith(`${namespace}/`) && toLabelMatcher(at(object, 'spec', 'selector'))(labels),
    );
}

/** Pods that do not run, or go already, count in no budget. */
function needsNoBudget(pod: JsonObject): boolean {
  const phase = textAt(pod, 'status', 'phase');
  return ['Succeeded', 'Failed', 'Pending'].includes(phase) || textAt(pod, 'metadata', 'deletionTimestamp') !== '';
}

function isReady(pod: JsonObject): boolean {
  return listAt(pod, 'status', 'conditions').some(
    (condition) => textAt(condition, 'type') === 'Ready' && textAt(condition, 'status') === 'True',
  );
}

/** A pod that is not ready may go when the budget's policy or its health allows. */
function mayGoUnready(pod: JsonObject, budget: JsonObject): boolean {
  if (isReady(pod)) return false;
  if (textAt(budget, 'spec', 'unhealthyPodEvictionPolicy') === 'AlwaysAllow') return true;
  const desired = numberAt(budget, 0, 'status', 'desiredHealthy');
  return desired > 0 && numberAt(budget, 0, 'status', 'currentHealthy') >= desired;
}

function spendBudget(state: ApiState, { key, object }: Stored, podName: string): void {
  const name = textAt(object, 'metadata', 'name');
  if (numberAt(object, 0, 'status', 'observedGeneration') < numberAt(object, 0, 'metadata', 'generation')) {
    throw refused(`The disruption budget ${name} is still being processed by the server.`, 10);
  }
  const allowed = numberAt(object, 0, 'status', 'disruptionsAllowed');
  const disrupted = objectAt(object, 'status', 'disruptedPods');
  if (Object.keys(disrupted).length > MAX_DISRUPTED_PODS) {
    throw refused('DisruptedPods map too big - too many evictions not confirmed by PDB controller', 0);
  }
  if (allowed <= 0) {
    const [wanted, has] = [
      numberAt(object, 0, 'status', 'desiredHealthy'),
      numberAt(object, 0, 'status', 'currentHealthy'),
    ];
    throw refused(`The disruption budget ${name} needs ${wanted} healthy pods and has ${has} currently`, 0);
  }
  const status = {
    ...objectAt(object, 'status'),
    disruptionsAllowed: allowed - 1,
    disruptedPods: { ...disrupted, [podName]: timestamp(state.clock.now()) },
  };
  state.store.put(budgets, key, { ...object, status });
}

/** Evicts a pod: within its disruption budget, then a plain delete. 429 with the DisruptionBudget cause otherwise. */
export function answerEviction({ state, route, request }: ResourceCall): ApiReply {
  if (request.method !== 'POST') throw methodNotAllowed();
  const body = parseBody(request);
  const pod = readObject(state, { ...route, name: route.name });
  const options = parseDeleteOptions(objectAt(body, 'deleteOptions'), request.query);
  const found = needsNoBudget(pod) ? [] : budgetsOf(state, pod);
  if (found.length > 1) {
    const why = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
    throw new StatusError(500, 'InternalError', `Internal error occurred: ${why}`, {
      details: { causes: [{ message: why }] },
    });
  }
  const [budget] = found;
  if (budget !== undefined && !mayGoUnready(pod, budget.object) && !options.dryRun) {
    spendBudget(state, budget, route.name);
  }
  if (state.store.get(route.resource.storage, storeKey(route.namespace, route.name)) !== undefined) {
    deleteObject(state, route, options);
  }
  return jsonReply(201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
}
