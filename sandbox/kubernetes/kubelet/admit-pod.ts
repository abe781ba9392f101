import type { Pod } from '../client/objects.ts';
import { hostPorts, podRequests, portsConflict } from '../pod-requests.ts';
import type { Admitted, Machine } from './machine.ts';

/** What a kubelet says to a pod that was bound to its node. */
export type Admission =
  | { readonly kind: 'admitted'; readonly holds: Admitted }
  | { readonly kind: 'rejected'; readonly reason: string; readonly message: string };

/**
 * Judges a pod as the kubelet's predicate handler does, which binding does not: room for every requested resource
 * beside what the machine has admitted, and host ports that are free.
 */
export function admitPod(pod: Pod, machine: Machine): Admission {
  const holds: Admitted = { requests: podRequests(pod), ports: hostPorts(pod) };
  for (const [resource, requested] of Object.entries(holds.requests)) {
    const capacity = machine.allocatable[resource] ?? 0;
    const used = usedOf(machine, resource);
    if (requested === 0 || used + requested <= capacity) continue;
    const message = `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;
    return { kind: 'rejected', reason: `OutOf${resource}`, message };
  }
  for (const other of machine.admitted.values()) {
    if (holds.ports.some((port) => other.ports.some((taken) => portsConflict(port, taken)))) {
      return { kind: 'rejected', reason: 'NodePorts', message: 'Predicate NodePorts failed' };
    }
  }
  return { kind: 'admitted', holds };
}

function usedOf(machine: Machine, resource: string): number {
  let used = 0;
  for (const { requests } of machine.admitted.values()) used += requests[resource] ?? 0;
  return used;
}
