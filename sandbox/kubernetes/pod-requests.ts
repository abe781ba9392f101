import type { Container, ContainerPort, Pod } from './client/objects.ts';
import { addAmounts, maxAmounts, toAmounts, type Amounts } from './quantity.ts';

/**
 * What a pod takes of its node, as the scheduler and the kubelet count it: the containers and sidecars together, or the
 * largest step of initialization with the sidecars before it, whichever is more; a pod-level request in place of that
 * where it is given; overhead on top; and one pod.
 */
export function podRequests(pod: Pod): Amounts {
  const { spec } = pod;
  let running: Amounts = {};
  for (const container of spec.containers) running = addAmounts(running, requestsOf(container));
  let sidecars: Amounts = {};
  let initializing: Amounts = {};
  for (const container of spec.initContainers ?? []) {
    const own = addAmounts(requestsOf(container), sidecars);
    if (container.restartPolicy === 'Always') sidecars = own;
    initializing = maxAmounts(initializing, own);
  }
  const containers = maxAmounts(addAmounts(running, sidecars), initializing);
  const total = { ...containers, ...toAmounts(spec.resources?.requests) };
  return { ...addAmounts(total, toAmounts(spec.overhead)), pods: 1 };
}

/** Requests of one container; a limit without a request is its request (as the API server's defaulting has it). */
function requestsOf({ resources }: Container): Amounts {
  return { ...toAmounts(resources?.limits), ...toAmounts(resources?.requests) };
}

/** A host port that a pod holds on its node. */
export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** The host ports of a pod's containers and sidecars. */
export function hostPorts({ spec }: Pod): ReadonlyArray<HostPort> {
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const ports: Array<HostPort> = [];
  for (const container of [...spec.containers, ...sidecars]) {
    for (const port of container.ports ?? []) if ((port.hostPort ?? 0) > 0) ports.push(toHostPort(port));
  }
  return ports;
}

function toHostPort({ hostIP, protocol, hostPort }: ContainerPort): HostPort {
  return {
    ip: hostIP === undefined || hostIP === '' ? '0.0.0.0' : hostIP,
    protocol: protocol ?? 'TCP',
    port: hostPort ?? 0,
  };
}

/** True when both cannot be held on one node: same protocol and port on overlapping addresses. */
export function portsConflict(a: HostPort, b: HostPort): boolean {
  const sameAddress = a.ip === b.ip || a.ip === '0.0.0.0' || b.ip === '0.0.0.0';
  return sameAddress && a.protocol === b.protocol && a.port === b.port;
}
