import { setTimeout as sleep } from 'node:timers/promises';
import { taint } from '../../../shared/contract/names.ts';
import type { Azure } from '../../azure/running-azure.ts';
import type { VmView } from '../../azure/arm/resources.ts';
import type { Connection } from '../../kubernetes/client/connection.ts';
import type { KubernetesObject, Node } from '../../kubernetes/client/objects.ts';
import type { Kubelets } from '../../kubernetes/kubelet/kubelets.ts';
import { counted } from '../view/amounts.ts';

/** Something asked for that cannot be done; the message says why and what can. */
export class RefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RefusedError';
  }
}

/** Azure's shortest notice of maintenance is minutes; a minute is long enough to replace a node here. */
const MAINTENANCE_SECONDS = 60;

/**
 * Lets Azure take a node back: a spot machine after `noticeSeconds`, any other by announced maintenance. `wanted` is a
 * node's name or its end; null picks one, spot first. Answers what was done. Throws RefusedError.
 */
export function evictNode(
  azure: Azure,
  nodes: ReadonlyMap<string, Node>,
  wanted: string | null,
  noticeSeconds: number,
): string {
  const vms = azure.vms().filter(({ computerName }) => isStaying(nodes.get(computerName)));
  const vm = wanted === null ? pickVm(vms) : findVm(vms, wanted);
  if (vm.capacityType === 'spot') {
    azure.evict(vm.name, { noticeSeconds });
    return `Azure will evict spot VM ${vm.computerName} in ${noticeSeconds} s.`;
  }
  azure.schedule(vm.name, 'Redeploy', { noticeSeconds: MAINTENANCE_SECONDS });
  return `${vm.computerName} is not a spot VM, so Azure announces that it will redeploy it in ${MAINTENANCE_SECONDS} s.`;
}

/**
 * Lets the kubelet of a node hang, or go on: a node that says nothing for 50 s is lost. `wanted` is the node's name or
 * its end. Answers what was done. Throws RefusedError.
 */
export async function switchKubelet(
  kubelets: Pick<Kubelets, 'names' | 'freeze' | 'thaw'>,
  wanted: string,
  state: 'freeze' | 'thaw',
): Promise<string> {
  const names = kubelets.names();
  const found = names.filter((name) => name === wanted || name.endsWith(wanted));
  const [name] = found;
  if (name === undefined) {
    throw new RefusedError(`No node is called ${wanted}; the nodes are ${names.join(', ') || 'none'}.`);
  }
  if (found.length > 1) throw new RefusedError(`Several nodes end in ${wanted}; name one of ${found.join(', ')}.`);
  if (state === 'freeze') {
    kubelets.freeze(name);
    return `The kubelet of ${name} is frozen: after 50 s the node counts as lost.`;
  }
  await kubelets.thaw(name);
  return `The kubelet of ${name} runs again.`;
}

function isStaying(node: Node | undefined): boolean {
  return (
    node !== undefined &&
    node.metadata.deletionTimestamp === undefined &&
    node.spec?.taints?.some(({ key }) => key === taint.disrupted.key) !== true
  );
}

function pickVm(vms: ReadonlyArray<VmView>): VmView {
  const [first] = vms.toSorted((a, b) => rank(a) - rank(b) || a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1));
  if (first === undefined) throw new RefusedError('There is no node to evict yet.');
  return first;
}

function rank({ capacityType }: VmView): number {
  return capacityType === 'spot' ? 0 : 1;
}

function findVm(vms: ReadonlyArray<VmView>, wanted: string): VmView {
  const found = vms.filter(({ computerName }) => computerName === wanted || computerName.endsWith(wanted));
  const [first] = found;
  const names = vms.map(({ computerName }) => computerName).join(', ');
  if (first === undefined) throw new RefusedError(`No node is called ${wanted}; the nodes are ${names || 'none'}.`);
  if (found.length > 1) throw new RefusedError(`Several nodes end in ${wanted}; name one of ${names}.`);
  return first;
}

interface Deployment extends KubernetesObject {
  readonly spec: { readonly replicas?: number };
}

/** The Deployment that the examples bring. */
export const EXAMPLE = 'inflate';
/** Writes that collide with a controller's are repeated; a patch of one field collides with nothing for long. */
const WRITES_MAX = 3;
const WRITE_PAUSE_MS = 100;

/**
 * Sets the replicas of a Deployment (`name` or `namespace/name`); null takes the example's, or the only one. `replicas`
 * is the number, or a change to it. Answers what was done. Throws RefusedError.
 */
export async function scaleDeployment(
  connection: Connection,
  name: string | null,
  replicas: number | { readonly by: number },
): Promise<string> {
  const deployment = await findDeployment(connection, name);
  const { namespace = 'default', name: found } = deployment.metadata;
  const before = deployment.spec.replicas ?? 1;
  const after = Math.max(0, typeof replicas === 'number' ? replicas : before + replicas.by);
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${found}`;
  for (let write = 1; ; write++) {
    try {
      await connection.patch(path, 'merge', { spec: { replicas: after } });
      return `${found} is scaled from ${before} to ${counted(after, 'replica')}.`;
    } catch (error) {
      if (write === WRITES_MAX) throw error;
      await sleep(WRITE_PAUSE_MS);
    }
  }
}

async function findDeployment(connection: Connection, name: string | null): Promise<Deployment> {
  const { items } = await connection.get<{ readonly items: ReadonlyArray<Deployment> }>('/apis/apps/v1/deployments');
  const called = (one: Deployment): boolean =>
    one.metadata.name === name || `${one.metadata.namespace ?? 'default'}/${one.metadata.name}` === name;
  const names = items.map(({ metadata }) => metadata.name).join(', ');
  const found =
    name === null ? (items.find(({ metadata }) => metadata.name === EXAMPLE) ?? only(items)) : items.find(called);
  if (found !== undefined) return found;
  if (items.length === 0) throw new RefusedError('There is no Deployment to scale.');
  throw new RefusedError(
    name === null
      ? `Name the Deployment to scale: ${names}.`
      : `No Deployment is called ${name}; the Deployments are ${names}.`,
  );
}

function only<T>(items: ReadonlyArray<T>): T | undefined {
  return items.length === 1 ? items[0] : undefined;
}
