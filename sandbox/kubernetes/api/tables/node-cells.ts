import { at, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.ts';
import { age } from './cell-text.ts';

const rolePrefix = 'node-role.kubernetes.io/';

function statusOf(node: JsonObject): string {
  const ready = listAt(node, 'status', 'conditions').find((condition) => textAt(condition, 'type') === 'Ready');
  const status = ready === undefined ? 'Unknown' : textAt(ready, 'status') === 'True' ? 'Ready' : 'NotReady';
  return at(node, 'spec', 'unschedulable') === true ? `${status},SchedulingDisabled` : status;
}

function rolesOf(node: JsonObject): string {
  const roles = Object.entries(objectAt(node, 'metadata', 'labels')).flatMap(([key, value]) => {
    if (key.startsWith(rolePrefix) && key.length > rolePrefix.length) return [key.slice(rolePrefix.length)];
    return key === 'kubernetes.io/role' && value !== '' ? [String(value)] : [];
  });
  return roles.length === 0 ? '<none>' : roles.toSorted().join(',');
}

function addressOf(node: JsonObject, type: string): string {
  const found = listAt(node, 'status', 'addresses').find((address) => textAt(address, 'type') === type);
  return textAt(found, 'address') || '<none>';
}

/** The cells of a node. */
export function nodeCells(node: JsonObject, nowMs: number): Array<Json> {
  const info = objectAt(node, 'status', 'nodeInfo');
  return [
    textAt(node, 'metadata', 'name'),
    statusOf(node),
    rolesOf(node),
    age(node, nowMs),
    textAt(info, 'kubeletVersion'),
    addressOf(node, 'InternalIP'),
    addressOf(node, 'ExternalIP'),
    textAt(info, 'osImage') || '<unknown>',
    textAt(info, 'kernelVersion') || '<unknown>',
    textAt(info, 'containerRuntimeVersion') || '<unknown>',
  ];
}
