import type { PodAffinityTerm, WeightedPodAffinityTerm } from '../../../../shared/kubernetes/manifest.ts';
import type { StringMap } from '../../client/objects.ts';
import { matchesSelector } from '../../matching.ts';
import type { NodeInfo, PodInfo } from '../cluster-state.ts';

/** Labels of each namespace by name, for namespace selectors. */
export type NamespaceLabels = ReadonlyMap<string, StringMap>;

/** How many relevant pods are in each topology domain, counted before nodes are judged for one pod. */
export interface AffinityCounts {
  /** Pods that match all of the pod's affinity terms, by domain. */
  readonly wanted: ReadonlyMap<string, number>;
  /** Pods that match one of the pod's anti-affinity terms, by domain. */
  readonly unwanted: ReadonlyMap<string, number>;
  /** Pods whose own anti-affinity refuses this pod, by domain. */
  readonly refusing: ReadonlyMap<string, number>;
  readonly matchesItself: boolean;
}

type Reason =
  | "node(s) didn't match pod affinity rules"
  | "node(s) didn't match pod anti-affinity rules"
  | "node(s) didn't satisfy existing pods anti-affinity rules";

const domain = (key: string, value: string): string => `${key}=${value}`;

/** True when `other` is one of the pods that a term of `owner` speaks of. */
export function termSelects(
  term: PodAffinityTerm,
  owner: PodInfo,
  other: PodInfo,
  namespaces: NamespaceLabels,
): boolean {
  const listed = term.namespaces ?? [];
  const selector = term.namespaceSelector;
  const inNamespace =
    listed.length === 0 && selector === undefined
      ? other.namespace === owner.namespace
      : listed.includes(other.namespace) ||
        (selector !== undefined && matchesSelector(selector, namespaces.get(other.namespace) ?? {}));
  return inNamespace && matchesSelector(term.labelSelector, other.pod.metadata.labels);
}

/** Counts what the required terms of the pod and of the pods already placed speak of. */
export function countAffinity(pod: PodInfo, nodes: Iterable<NodeInfo>, namespaces: NamespaceLabels): AffinityCounts {
  const wanted = new Map<string, number>();
  const unwanted = new Map<string, number>();
  const refusing = new Map<string, number>();
  const all = (other: PodInfo): boolean =>
    pod.affinity.length > 0 && pod.affinity.every((term) => termSelects(term, pod, other, namespaces));
  forEachRelevant(pod, nodes, (other, labels) => {
    const refuses = other.antiAffinity.filter((term) => termSelects(term, other, pod, namespaces));
    const refused = pod.antiAffinity.filter((term) => termSelects(term, pod, other, namespaces));
    for (const { topologyKey } of refuses) increase(refusing, topologyKey, labels);
    for (const { topologyKey } of refused) increase(unwanted, topologyKey, labels);
    for (const { topologyKey } of all(other) ? pod.affinity : []) increase(wanted, topologyKey, labels);
  });
  return { wanted, unwanted, refusing, matchesItself: all(pod) };
}

/** Goes through the pods that terms may concern: all when the pod has terms itself, else those beside one that has. */
function forEachRelevant(
  pod: PodInfo,
  nodes: Iterable<NodeInfo>,
  visit: (other: PodInfo, labels: StringMap) => void,
): void {
  for (const { node, pods, withTerms } of nodes) {
    if (node === null || (withTerms === 0 && !pod.hasTerms)) continue;
    const labels = node.metadata.labels ?? {};
    for (const other of pods.values()) visit(other, labels);
  }
}

/** Why the node is out of the question for the pod's affinity, or null when it is not. */
export function affinityReason(pod: PodInfo, { node }: NodeInfo, counts: AffinityCounts): Reason | null {
  const labels = node?.metadata.labels ?? {};
  const inDomain = (found: ReadonlyMap<string, number>, key: string): boolean => {
    const value = labels[key];
    return value !== undefined && (found.get(domain(key, value)) ?? 0) > 0;
  };
  const near = pod.affinity.every(({ topologyKey }) => inDomain(counts.wanted, topologyKey));
  // The first pod of a group that wants to be with itself may go anywhere that has the domains.
  const first =
    counts.wanted.size === 0 &&
    counts.matchesItself &&
    pod.affinity.every(({ topologyKey }) => labels[topologyKey] !== undefined);
  if (!near && !first) return "node(s) didn't match pod affinity rules";
  if (pod.antiAffinity.some(({ topologyKey }) => inDomain(counts.unwanted, topologyKey))) {
    return "node(s) didn't match pod anti-affinity rules";
  }
  for (const [key, value] of Object.entries(labels)) {
    if (counts.refusing.has(domain(key, value))) return "node(s) didn't satisfy existing pods anti-affinity rules";
  }
  return null;
}

/**
 * Adds up, by node name, what preferred terms make of each node: the pod's own, those of pods already placed towards
 * it, and their required affinity with weight 1, as the default profile has it.
 */
export function scoreAffinity(
  pod: PodInfo,
  candidates: ReadonlyArray<NodeInfo>,
  nodes: Iterable<NodeInfo>,
  namespaces: NamespaceLabels,
): ReadonlyMap<string, number> {
  const byDomain = new Map<string, number>();
  const own = preferences(pod);
  forEachRelevant(pod, nodes, (other, labels) => {
    for (const { weight, podAffinityTerm: term } of own) {
      if (termSelects(term, pod, other, namespaces)) increase(byDomain, term.topologyKey, labels, weight);
    }
    const required = other.affinity.map((podAffinityTerm) => ({ weight: 1, podAffinityTerm }));
    for (const { weight, podAffinityTerm: term } of [...preferences(other), ...required]) {
      if (termSelects(term, other, pod, namespaces)) increase(byDomain, term.topologyKey, labels, weight);
    }
  });
  const scores = new Map<string, number>();
  if (byDomain.size === 0) return scores;
  for (const { name, node } of candidates) {
    let score = 0;
    for (const [key, value] of Object.entries(node?.metadata.labels ?? {}))
      score += byDomain.get(domain(key, value)) ?? 0;
    scores.set(name, score);
  }
  return scores;
}

function preferences({ pod }: PodInfo): ReadonlyArray<WeightedPodAffinityTerm> {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  const against = podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return [
    ...(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []),
    ...against.map(({ weight, podAffinityTerm }) => ({ weight: -weight, podAffinityTerm })),
  ];
}

function increase(counts: Map<string, number>, key: string, labels: StringMap, by = 1): void {
  const value = labels[key];
  if (value === undefined) return;
  counts.set(domain(key, value), (counts.get(domain(key, value)) ?? 0) + by);
}
