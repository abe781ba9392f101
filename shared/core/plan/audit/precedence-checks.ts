import type { Cluster, PodShape } from '../../model/cluster.ts';
import type { PodAffinityRules } from '../../model/manifest.ts';
import type { ProvisioningInput } from '../../scheduling/provisioning-input.ts';
import type { Plan } from '../plan.ts';
import type { FinalNode } from './final-state.ts';
import { fatal, type Finding } from './finding.ts';
import { checkNode, type AuditedDaemon } from './node-checks.ts';

/**
 * No buffer has the room that a pod could have had: a pod that is left would fit on no node with room of buffers, had they
 * none there. Pods with rules about other pods are not judged, nor nodes of pools with minValues: there, room for one is
 * not room for another.
 */
export function checkPrecedence(
  plan: Plan,
  { cluster }: ProvisioningInput,
  {
    nodes,
    spare,
    daemons,
  }: {
    readonly nodes: ReadonlyArray<FinalNode>;
    readonly spare: ReadonlySet<number>;
    readonly daemons: ReadonlyArray<AuditedDaemon>;
  },
): ReadonlyArray<Finding> {
  if (spare.size === 0) return [];
  const left = new Set(plan.left.map(({ pod }) => pod.uid));
  const shapes = new Set(cluster.pods.flatMap(({ uid, shape }) => (left.has(uid) && !spare.has(shape) ? [shape] : [])));
  const choosy = new Set(
    cluster.nodePools.flatMap(({ metadata, spec }) =>
      spec.template.spec.requirements.some(({ minValues }) => minValues !== undefined) ? [metadata.name] : [],
    ),
  );
  const held = nodes.filter((node) => {
    const isChoosy = node.claim !== null && choosy.has(node.claim.nodePool);
    return !isChoosy && [...node.pods.values()].some(({ shape, planned }) => spare.has(shape) && planned > 0);
  });
  return [...shapes].flatMap((index) => {
    const shape = cluster.shapes[index];
    if (shape === undefined || !isFree(cluster, shape)) return [];
    const taken = held.find((node) => checkNode(instead(node, index, shape, spare), cluster, daemons).length === 0);
    const text = `a buffer has room on ${taken?.name ?? ''} that a pod of ${shape.namespace} is left without`;
    return taken === undefined ? [] : [fatal('buffer-precedence', text)];
  });
}

/** Does no rule about other pods concern pods of the shape, and do they claim no devices? */
function isFree({ shapes }: Cluster, { spec }: PodShape): boolean {
  const { affinity, topologySpreadConstraints = [], resourceClaims = [] } = spec;
  const looks = (rules: PodAffinityRules | undefined): boolean =>
    (rules?.requiredDuringSchedulingIgnoredDuringExecution ?? []).length > 0;
  const isAvoided = shapes.some((other) => looks(other.spec.affinity?.podAntiAffinity));
  if (isAvoided || looks(affinity?.podAffinity) || looks(affinity?.podAntiAffinity)) return false;
  return topologySpreadConstraints.length + resourceClaims.length === 0;
}

/** The node with one pod of the shape in the place of all room of buffers. */
function instead(node: FinalNode, index: number, spec: PodShape, spare: ReadonlySet<number>): FinalNode {
  const pods = new Map([...node.pods].filter(([shape]) => !spare.has(shape)));
  const there = pods.get(index) ?? { shape: index, spec, running: 0, leaving: 0, planned: 0 };
  return { ...node, pods: new Map(pods).set(index, { ...there, planned: there.planned + 1 }) };
}
