import { labelKey, normalizeKey } from '../../../kubernetes/labels.ts';
import type { TopologySpreadConstraint } from '../../../kubernetes/manifest.ts';
import type { FinalNode } from '../../audit/seen/final-state.ts';
import { fatal, type Finding } from '../../audit/seen/finding.ts';
import { selected } from '../../audit/seen/matching.ts';
import type { CrowdOf } from '../../audit/topology/spread-checks.ts';
import type { ExpectedOn } from '../../audit/topology/spread-views.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import type { Cluster, PodShape } from '../../model/cluster.ts';
import type { DisruptionStep } from '../plan/disruption-plan.ts';
import type { DisruptionReason } from '../plan/disruption-reason.ts';

/** What must go is replaced one for one, as in no other removal. */
const ONE_FOR_ONE: ReadonlySet<DisruptionReason> = new Set(['Drifted', 'Expired', 'Unhealthy']);

/**
 * How many pods of some shapes are at most on one host that the step takes away. For as long as that is there it counts
 * as a host without them, so that a spread lets few come to others; when it has gone, as many may be on another as were
 * on it.
 */
export function crowdsOn({ reason, remove }: DisruptionStep, state: ReadonlyMap<string, FinalNode>): CrowdOf {
  if (!ONE_FOR_ONE.has(reason)) return () => 0;
  // As they are before the step: it empties them.
  const hosts = remove.map((name) =>
    [...(state.get(name)?.pods.values() ?? [])].map(({ shape, running }) => ({ shape, running })),
  );
  return (_, sought) =>
    hosts.reduce((most, pods) => {
      const there = pods.filter(({ shape }) => sought.has(shape)).reduce((sum, { running }) => sum + running, 0);
      return Math.max(most, there);
    }, 0);
}

/**
 * Pods that an earlier decision has promised a node and that have not come: as others' moves, they wait until their
 * node has gone. By place in a list of nodes.
 */
export function expectedIn({ cluster, inFlight }: Pick<ProvisioningInput, 'cluster' | 'inFlight'>) {
  const byUid = new Map(cluster.pods.map((pod) => [pod.uid, pod]));
  const promised = new Map<string, ReadonlyArray<PodShape>>();
  for (const { metadata, status } of cluster.nodeClaims) {
    const node = status?.nodeName ?? metadata.name;
    const pods = (inFlight.get(metadata.name)?.pods ?? []).flatMap((uid) => byUid.get(uid) ?? []);
    const coming = pods.filter(({ deleting, nodeName }) => !deleting && nodeName !== node);
    if (coming.length > 0)
      promised.set(
        node,
        coming.flatMap(({ shape }) => cluster.shapes[shape] ?? []),
      );
  }
  return (nodes: ReadonlyArray<FinalNode>): ExpectedOn =>
    (at) =>
      promised.get(nodes[at]?.name ?? '') ?? [];
}

/**
 * The order of events: to each host come as many at once as the spread allows beside hosts without pods, and all others
 * when those that go have gone. These wait without a node until then, together, which budgets of pods must allow: else
 * the last of them could not be evicted, the node never go, and nobody come. `getting`: the nodes that pods of the step
 * come to.
 */
export function checkWaiting(
  getting: ReadonlyArray<FinalNode>,
  { podDisruptionBudgets }: Cluster,
  crowdOf: CrowdOf,
): ReadonlyArray<Finding> {
  if (podDisruptionBudgets.length === 0) return [];
  const waiting = new Map<PodShape, number>();
  for (const node of getting) {
    for (const { shape, spec, planned } of node.pods.values()) {
      if (planned === 0) continue;
      const late = Math.max(0, ...hostSpreads(spec).map((one) => lateOn(node, spec, one)));
      if (crowdOf(shape, new Set([shape])) > 0) waiting.set(spec, (waiting.get(spec) ?? 0) + Math.min(planned, late));
    }
  }
  return podDisruptionBudgets.flatMap(({ metadata, spec, status }) => {
    const own = [...waiting].filter(
      ([shape]) => shape.namespace === (metadata.namespace ?? 'default') && selected(spec?.selector, shape.labels),
    );
    const count = own.reduce((sum, [, pods]) => sum + pods, 0);
    const allowed = status?.disruptionsAllowed ?? 0;
    return count <= allowed
      ? []
      : [fatal('waiting', `${count} pods of PodDisruptionBudget ${metadata.name} would wait, ${allowed} may`)];
  });
}

function hostSpreads({ spec }: PodShape): ReadonlyArray<TopologySpreadConstraint> {
  return (spec.topologySpreadConstraints ?? []).filter(
    ({ topologyKey, whenUnsatisfiable }) =>
      normalizeKey(topologyKey) === labelKey.hostname && whenUnsatisfiable !== 'ScheduleAnyway',
  );
}

/** How many of those that the constraint counts are on the node beyond what it allows beside a host without any. */
function lateOn({ pods }: FinalNode, { namespace }: PodShape, { labelSelector, maxSkew }: TopologySpreadConstraint) {
  let there = 0;
  for (const { spec, running, planned } of pods.values()) {
    if (spec.namespace === namespace && selected(labelSelector, spec.labels)) there += running + planned;
  }
  return there - maxSkew;
}
