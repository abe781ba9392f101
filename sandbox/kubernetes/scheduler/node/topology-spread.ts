import type { LabelSelector, TopologySpreadConstraint } from '../../../../shared/kubernetes/manifest.ts';
import type { Node } from '../../client/objects.ts';
import { matchesNodeAffinity, matchesSelector, untolerated } from '../../matching.ts';
import type { NodeInfo, PodInfo } from '../cluster-state.ts';

/** One constraint with the pods that count for it, by value of its topology key. */
export interface SpreadCount {
  readonly constraint: TopologySpreadConstraint;
  readonly byValue: ReadonlyMap<string, number>;
  /** The fewest in any domain; 0 while there are fewer domains than `minDomains`. */
  readonly fewest: number;
  /** 1 when the pod counts itself. */
  readonly self: number;
}

/** The scheduler's own constraints for pods that bring none: spread a controller's pods over hosts and zones. */
const defaultConstraints: ReadonlyArray<TopologySpreadConstraint> = [
  { maxSkew: 3, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' },
  { maxSkew: 5, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
];

/** Counts the pods that matter for the constraints that forbid. */
export function countHardSpread(pod: PodInfo, nodes: Iterable<NodeInfo>): ReadonlyArray<SpreadCount> {
  const constraints = (pod.pod.spec.topologySpreadConstraints ?? []).filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule',
  );
  return constraints.length === 0 ? [] : countSpread(pod, constraints, [...nodes]);
}

/** Why the node is out of the question for the pod's spread, or null when it is not. */
export function spreadReason({ node }: NodeInfo, counts: ReadonlyArray<SpreadCount>): string | null {
  for (const { constraint, byValue, fewest, self } of counts) {
    const value = node?.metadata.labels?.[constraint.topologyKey];
    if (value === undefined) return "node(s) didn't match pod topology spread constraints (missing required label)";
    if ((byValue.get(value) ?? 0) + self - fewest > constraint.maxSkew) {
      return "node(s) didn't match pod topology spread constraints";
    }
  }
  return null;
}

/**
 * By node name, how crowded a node's domains are with pods like this one: the fewer the better. Empty: no preference.
 */
export function scoreSpread(
  pod: PodInfo,
  candidates: ReadonlyArray<NodeInfo>,
  nodes: Iterable<NodeInfo>,
): ReadonlyMap<string, number> {
  const own = pod.pod.spec.topologySpreadConstraints ?? [];
  const soft = own.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === 'ScheduleAnyway');
  const usesDefaults = own.length === 0 && pod.controllerUid !== '';
  const constraints = usesDefaults ? defaultConstraints : soft;
  const scores = new Map<string, number>();
  if (constraints.length === 0) return scores;
  const present = candidates.filter(({ node }) =>
    constraints.every(({ topologyKey }) => usesDefaults || node?.metadata.labels?.[topologyKey] !== undefined),
  );
  const counts = countSpread(pod, constraints, [...nodes], usesDefaults);
  for (const { name, node } of present) {
    let score = 0;
    for (const { constraint, byValue } of counts) {
      const value = node?.metadata.labels?.[constraint.topologyKey];
      if (value === undefined) continue;
      const weight = Math.log(byValue.size + 2);
      score += (byValue.get(value) ?? 0) * weight + (constraint.maxSkew - 1);
    }
    scores.set(name, Math.round(score));
  }
  return scores;
}

// The two callers differ in one flag.
function countSpread(
  pod: PodInfo,
  constraints: ReadonlyArray<TopologySpreadConstraint>,
  nodes: ReadonlyArray<NodeInfo>,
  byController = false,
): ReadonlyArray<SpreadCount> {
  const domains = nodes.filter(
    ({ node }) =>
      node !== null &&
      (byController || constraints.every(({ topologyKey }) => node.metadata.labels?.[topologyKey] !== undefined)),
  );
  return constraints.map((constraint) => {
    const selector = selectorOf(constraint, pod);
    const byValue = new Map<string, number>();
    for (const info of domains) {
      const { node } = info;
      const value = node?.metadata.labels?.[constraint.topologyKey];
      if (node === null || value === undefined || !isEligible(pod, node, constraint)) continue;
      const count = byController ? (info.byController.get(pod.controllerUid) ?? 0) : countMatching(pod, info, selector);
      byValue.set(value, (byValue.get(value) ?? 0) + count);
    }
    const enough = byValue.size >= (constraint.minDomains ?? 1);
    const fewest = enough && byValue.size > 0 ? Math.min(...byValue.values()) : 0;
    return { constraint, byValue, fewest, self: matchesSelector(selector, pod.pod.metadata.labels) ? 1 : 0 };
  });
}

function countMatching(pod: PodInfo, { pods }: NodeInfo, selector: LabelSelector | undefined): number {
  let count = 0;
  for (const other of pods.values()) {
    if (other.namespace !== pod.namespace || other.pod.metadata.deletionTimestamp !== undefined) continue;
    if (matchesSelector(selector, other.pod.metadata.labels)) count++;
  }
  return count;
}

function isEligible({ pod }: PodInfo, node: Node, constraint: TopologySpreadConstraint): boolean {
  if (constraint.nodeAffinityPolicy !== 'Ignore' && !matchesNodeAffinity(pod, node)) return false;
  if (constraint.nodeTaintsPolicy !== 'Honor') return true;
  return untolerated(pod.spec.tolerations, node.spec?.taints, ['NoSchedule', 'NoExecute']) === undefined;
}

function selectorOf(
  { labelSelector, matchLabelKeys }: TopologySpreadConstraint,
  { pod }: PodInfo,
): LabelSelector | undefined {
  if (labelSelector === undefined || matchLabelKeys === undefined) return labelSelector;
  const matchLabels: Record<string, string> = { ...labelSelector.matchLabels };
  for (const key of matchLabelKeys) {
    const value = pod.metadata.labels?.[key];
    if (value !== undefined) matchLabels[key] = value;
  }
  return { ...labelSelector, matchLabels };
}
