import type { Cluster, Pod } from '../model/cluster.ts';
import { byCodeUnit } from './label-rule.ts';
import type { InFlightClaim } from './provisioning-input.ts';

/**
 * The pods a plan is for: those that kube-scheduler found no room for, and those that an earlier plan promised a node.
 * Pods of DaemonSets and static pods are never among them. Sorted by uid.
 */
export function pendingPods(cluster: Cluster, inFlight: ReadonlyMap<string, InFlightClaim>): ReadonlyArray<Pod> {
  const promised = new Set([...inFlight.values()].flatMap(({ pods }) => pods));
  return cluster.pods
    .filter((pod) => pod.nodeName === null && !pod.deleting)
    .filter((pod) => pod.unschedulable || pod.nominatedNodeName !== null || promised.has(pod.uid))
    .filter((pod) => isPlaceable(cluster, pod))
    .toSorted((a, b) => byCodeUnit(a.uid, b.uid));
}

/** False for pods that belong to their node: daemons and static pods. */
export function isPlaceable(cluster: Cluster, pod: Pod): boolean {
  const kind = cluster.shapes[pod.shape]?.owner?.kind;
  return cluster.shapes[pod.shape] !== undefined && kind !== 'DaemonSet' && kind !== 'Node';
}
