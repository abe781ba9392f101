import type { Cluster, Pod, PodShape } from '../model/cluster.ts';
import type { PodSpec } from '../../kubernetes/manifest.ts';
import type { Instant } from '../quantity/units.ts';
import { parseDuration } from '../../kubernetes/text/duration.ts';
import { labelKey } from '../../kubernetes/labels.ts';
import { isLeaving, machinesOf } from './existing-capacity.ts';
import { ABSENT, byCodeUnit, overlaps, PRESENT } from '../rules/label-rule.ts';
import { requiredAlternatives } from '../rules/pod-rules.ts';
import type { InFlightClaim } from '../model/provisioning-input.ts';
import { compileSelector, selects } from '../rules/selector.ts';

/**
 * The pods a plan is for: those that kube-scheduler found no room for, those that an earlier plan promised a node, and
 * those on nodes that are going, as far as they may be moved. Pods of DaemonSets and static pods are never among them,
 * nor those that ask for a node of no NodePool: as in Karpenter they are somebody else's. Sorted by uid.
 */
export function pendingPods(
  cluster: Cluster,
  inFlight: ReadonlyMap<string, InFlightClaim>,
  now: Instant,
): ReadonlyArray<Pod> {
  const waits = waitsIn(inFlight);
  const leaving = new Set(
    machinesOf(cluster).flatMap((machine) => (isLeaving(machine) ? [machine.node?.metadata.name ?? ''] : [])),
  );
  const ours = cluster.shapes.map(({ spec }) => !asksForNoPool(spec));
  return cluster.pods
    .filter((pod) =>
      pod.nodeName === null ? waits(pod) : leaving.has(pod.nodeName) && isReschedulable(cluster, pod, now),
    )
    .filter((pod) => ours[pod.shape] === true && isPlaceable(cluster, pod))
    .toSorted((a, b) => byCodeUnit(a.uid, b.uid));
}

/** The pods without a node that a plan would be for, did they not ask for a node of no NodePool. */
export function ignoredPods(cluster: Cluster, inFlight: ReadonlyMap<string, InFlightClaim>): ReadonlyArray<Pod> {
  const waits = waitsIn(inFlight);
  const ignored = cluster.shapes.map(({ spec }) => asksForNoPool(spec));
  if (!ignored.includes(true)) return [];
  return cluster.pods.filter(
    (pod) => pod.nodeName === null && ignored[pod.shape] === true && waits(pod) && isPlaceable(cluster, pod),
  );
}

function waitsIn(inFlight: ReadonlyMap<string, InFlightClaim>): (pod: Pod) => boolean {
  const promised = new Set([...inFlight.values()].flatMap(({ pods }) => pods));
  return (pod) => !pod.deleting && (pod.unschedulable || pod.nominatedNodeName !== null || promised.has(pod.uid));
}

function asksForNoPool(spec: PodSpec): boolean {
  const rules = requiredAlternatives(spec).map((one) => one.get(labelKey.nodePool));
  return (
    rules.length > 0 && rules.every((rule) => rule !== undefined && overlaps(rule, ABSENT) && !overlaps(rule, PRESENT))
  );
}

/** False for pods that belong to their node: daemons and static pods. */
export function isPlaceable(cluster: Cluster, pod: Pod): boolean {
  const shape = cluster.shapes[pod.shape];
  return shape !== undefined && shape.owner?.kind !== 'DaemonSet' && shape.owner?.kind !== 'Node';
}

/**
 * Will a pod on a node that goes need another place? A pod of a StatefulSet will even while it is being deleted; one
 * that must not be disrupted, or whose budgets never allow its eviction, stays where it is for now.
 */
export function isReschedulable(cluster: Cluster, pod: Pod, now: Instant): boolean {
  const shape = cluster.shapes[pod.shape];
  if (shape === undefined || !isPlaceable(cluster, pod)) return false;
  if (pod.deleting && shape.owner?.kind !== 'StatefulSet') return false;
  return !isUnevictable(cluster, pod, now);
}

/** Does something keep the pod from every eviction: its own annotation, or a budget that allows no eviction? */
export function isUnevictable(cluster: Cluster, pod: Pod, now: Instant): boolean {
  const shape = cluster.shapes[pod.shape];
  return shape !== undefined && (isProtected(shape, pod, now) || isBlocked(cluster, shape, pod.ready));
}

/** What keeps a pod or a node from being disrupted, while its value says so. */
export const DO_NOT_DISRUPT = 'karpenter.sh/do-not-disrupt';

/**
 * `true` protects for ever, a Go duration from the pod's start, as in Karpenter: one that has not started has all of it
 * before it.
 */
export function isProtected({ annotations }: PodShape, pod: Pod, now: Instant): boolean {
  const text = annotations[DO_NOT_DISRUPT];
  if (text === undefined) return false;
  if (text === 'true') return true;
  const lengthMs = parseDuration(text);
  if (lengthMs === null || lengthMs <= 0) return false;
  return pod.startedAtMs === null || now < pod.startedAtMs + lengthMs;
}

/** Does a budget forbid every eviction, or do two budgets cover the pod, which the eviction API refuses? */
function isBlocked({ podDisruptionBudgets }: Cluster, { namespace, labels }: PodShape, ready: boolean): boolean {
  const covering = podDisruptionBudgets.filter(
    ({ metadata, spec }) => metadata.namespace === namespace && selects(compileSelector(spec?.selector), labels),
  );
  return (
    covering.length > 1 ||
    covering.some(
      ({ spec }) =>
        (ready || spec?.unhealthyPodEvictionPolicy !== 'AlwaysAllow') &&
        (['0', '0%'].includes(String(spec?.maxUnavailable)) || spec?.minAvailable === '100%'),
    )
  );
}
