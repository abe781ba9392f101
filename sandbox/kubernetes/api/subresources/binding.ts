import type { ResourceCall } from '../request/resource-call.ts';
import { type ApiReply, jsonReply } from '../request/api-reply.ts';
import { parseBody } from '../request/api-request.ts';
import { type Json, type JsonObject, listAt, objectAt, textAt } from '../json.ts';
import { addTo, topologyLabels } from '../kinds/topology-labels.ts';
import { readObject } from '../objects/update-object.ts';
import { storeKey, timestamp } from '../state.ts';
import { conflict, invalid, methodNotAllowed, required } from '../status-error.ts';

function checkPod(pod: JsonObject, name: string, uid: string): void {
  const of = { name: 'pods/binding', group: '' };
  const actual = textAt(pod, 'metadata', 'uid');
  if (uid !== '' && uid !== actual) {
    throw conflict(of, name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${actual}`);
  }
  if (textAt(pod, 'metadata', 'deletionTimestamp') !== '') {
    throw conflict(of, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  }
  const node = textAt(pod, 'spec', 'nodeName');
  if (node !== '') throw conflict(of, name, `pod ${name} is already assigned to node ${JSON.stringify(node)}`);
  if (listAt(pod, 'spec', 'schedulingGates').length > 0) {
    throw conflict(of, name, `pod ${name} has non-empty .spec.schedulingGates`);
  }
}

/**
 * Binds a pod to a node: spec.nodeName, the PodScheduled condition, the binding's labels and those of the node's place.
 */
export function answerBinding({ state, route, request }: ResourceCall): ApiReply {
  if (request.method !== 'POST') throw methodNotAllowed();
  const body = parseBody(request);
  const node = textAt(body, 'target', 'name');
  if (node === '') throw invalid({ name: 'Binding', group: '' }, route.name, [required('target.name')]);
  const pod = readObject(state, route);
  checkPod(pod, route.name, textAt(body, 'metadata', 'uid'));
  const scheduled: Json = {
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: timestamp(state.clock.now()),
  };
  const others = listAt(pod, 'status', 'conditions').filter(
    (condition) => textAt(condition, 'type') !== 'PodScheduled',
  );
  const metadata = { ...objectAt(pod, 'metadata') };
  addTo(metadata, 'annotations', objectAt(body, 'metadata', 'annotations'));
  addTo(metadata, 'labels', { ...objectAt(body, 'metadata', 'labels'), ...topologyLabels(state, node) });
  const bound: JsonObject = {
    ...pod,
    metadata,
    spec: { ...objectAt(pod, 'spec'), nodeName: node },
    status: { ...objectAt(pod, 'status'), conditions: [...others, scheduled] },
  };
  if (!request.query.getAll('dryRun').includes('All')) {
    state.store.put(route.resource.storage, storeKey(route.namespace, route.name), bound);
  }
  return jsonReply(201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
}
