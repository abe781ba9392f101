import { fatal, type Finding } from '../../audit/seen/finding.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import type { Node } from '../../../kubernetes/manifest.ts';
import type { Cluster, Pod } from '../../model/cluster.ts';
import type { DisruptionInput } from '../../model/disruption-input.ts';
import type { Plan } from '../../model/plan.ts';
import type { Instant } from '../../quantity/units.ts';
import { leaveChecks, type CountedNode, type Going } from './leave-checks.ts';

/** What is about to be removed, and where provisioning has places for its pods. */
export interface Removal {
  readonly nodes: ReadonlyArray<Going>;
  /** For the cluster without these nodes and all others that leave; its own audit has let it through. */
  readonly plan: Plan;
}

/**
 * Checks the last look before nodes are deleted, without knowing how it was made: may each of them still go, together,
 * and has each of their pods a place on a node that is in use and stays? `given` has them without their marks. Empty
 * when nothing is wrong.
 */
export function auditRemoval({ nodes, plan }: Removal, given: DisruptionInput, now: Instant): ReadonlyArray<Finding> {
  const { cluster } = given.provisioning;
  const going = new Set(nodes.map(({ name }) => name));
  const targets = new Map(
    plan.nominations.flatMap(({ target, pods }) => pods.map(({ uid }) => [uid, target] as const)),
  );
  const inUse = new Set(
    cluster.nodes.flatMap((node) => (isInUse(node) && !going.has(node.metadata.name) ? [node.metadata.name] : [])),
  );
  const homeless = cluster.pods.flatMap((pod) => {
    if (pod.nodeName === null || !going.has(pod.nodeName) || !needsPlace(pod, cluster)) return [];
    const about = { kind: 'node', name: pod.nodeName } as const;
    const target = targets.get(pod.uid);
    if (target === undefined) return [fatal('pod-lost', `pod ${pod.name} has no place`, about)];
    if (target.kind === 'node' && inUse.has(target.name)) return [];
    return [fatal('target', `pod ${pod.name} is to go to ${target.name}, which is not in use`, about)];
  });
  return [...leaveChecks(given, now)(nodes, cluster.nodes.map(counted)), ...homeless];
}

function counted({ metadata }: Node): CountedNode {
  return {
    name: metadata.name,
    nodePool: metadata.labels?.[labelKey.nodePool] ?? null,
    claim: null,
    pods: new Map(),
  };
}

function needsPlace({ deleting, shape }: Pod, { shapes }: Cluster): boolean {
  const kind = shapes[shape]?.owner?.kind;
  return !deleting && kind !== 'DaemonSet' && kind !== 'Node';
}

/** Pods can run there now, and it is not about to go. */
function isInUse({ metadata, spec }: Node): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  if (spec?.taints?.some(({ key }) => key === 'karpenter.sh/disrupted') === true) return false;
  return metadata.labels?.[labelKey.nodePool] === undefined || metadata.labels[labelKey.initialized] === 'true';
}
