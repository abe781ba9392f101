import { matchesNodeAffinity, untolerated } from '../../matching.ts';
import { portsConflict } from '../../pod-requests.ts';
import type { NodeInfo, PodInfo } from '../cluster-state.ts';
import { affinityReason, countAffinity, type AffinityCounts, type NamespaceLabels } from './pod-affinity.ts';
import { countHardSpread, spreadReason, type SpreadCount } from './topology-spread.ts';
import type { VolumeNeeds } from './volume-needs.ts';

/** What filters need to know about the whole cluster, gathered once per pod. */
export interface FilterContext {
  readonly affinity: AffinityCounts;
  readonly spread: ReadonlyArray<SpreadCount>;
  readonly volumes: VolumeNeeds;
}

/** A node's answer to a pod: no reasons means yes. `resolvable`: taking pods off the node could change the answer. */
export interface Verdict {
  readonly reasons: ReadonlyArray<string>;
  readonly resolvable: boolean;
}

const yes: Verdict = { reasons: [], resolvable: false };
const no = (reason: string, resolvable: boolean): Verdict => ({ reasons: [reason], resolvable });

/** Gathers what the filters need. */
export function toFilterContext(
  pod: PodInfo,
  nodes: Iterable<NodeInfo>,
  namespaces: NamespaceLabels,
  volumes: VolumeNeeds,
): FilterContext {
  const all = [...nodes];
  return { affinity: countAffinity(pod, all, namespaces), spread: countHardSpread(pod, all), volumes };
}

/** Judges a node in the order of the default profile's filters; the first that says no ends it. */
export function filterNode(pod: PodInfo, info: NodeInfo, context: FilterContext): Verdict {
  const alone = filterAlone(pod, info);
  if (alone.reasons.length > 0) return alone;
  const volume = context.volumes.nodeReason(info);
  if (volume !== null) return no(volume, false);
  const spread = spreadReason(info, context.spread);
  if (spread !== null) return no(spread, !spread.endsWith('(missing required label)'));
  const affinity = affinityReason(pod, info, context.affinity);
  if (affinity !== null) return no(affinity, affinity !== "node(s) didn't match pod affinity rules");
  return yes;
}

/** The filters that look at the node and the pods on it alone. */
export function filterAlone(pod: PodInfo, info: NodeInfo): Verdict {
  const { node } = info;
  if (node === null) return no('node(s) were unschedulable', false);
  const { tolerations } = pod.pod.spec;
  const cordon = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
  if (node.spec?.unschedulable === true && untolerated(tolerations, [cordon], ['NoSchedule']) !== undefined) {
    return no('node(s) were unschedulable', false);
  }
  if (untolerated(tolerations, node.spec?.taints, ['NoSchedule', 'NoExecute']) !== undefined) {
    return no('node(s) had untolerated taint(s)', false);
  }
  if (!matchesNodeAffinity(pod.pod, node)) return no("node(s) didn't match Pod's node affinity/selector", false);
  for (const other of pod.ports.length === 0 ? [] : info.pods.values()) {
    if (other.ports.some((taken) => pod.ports.some((port) => portsConflict(port, taken)))) {
      return no("node(s) didn't have free ports for the requested pod ports", true);
    }
  }
  const reasons = shortages(pod, info);
  return reasons.length === 0 ? yes : { reasons, resolvable: isRoomThere(pod, info) };
}

function shortages(pod: PodInfo, info: NodeInfo): ReadonlyArray<string> {
  const reasons: Array<string> = [];
  for (const [resource, amount] of Object.entries(pod.requests)) {
    if (amount === 0) continue;
    if ((info.requested[resource] ?? 0) + amount <= (info.allocatable[resource] ?? 0)) continue;
    reasons.push(resource === 'pods' ? 'Too many pods' : `Insufficient ${resource}`);
  }
  return reasons;
}

/** True when the empty node would hold the pod. */
function isRoomThere(pod: PodInfo, { allocatable }: NodeInfo): boolean {
  return Object.entries(pod.requests).every(([resource, amount]) => amount <= (allocatable[resource] ?? 0));
}
