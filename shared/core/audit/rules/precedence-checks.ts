import type { Cluster, PodShape } from '../../model/cluster.ts';
import type { PodAffinityRules } from '../../../kubernetes/manifest.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import type { Plan } from '../../model/plan.ts';
import type { FinalNode } from '../seen/final-state.ts';
import { fatal, type Finding } from '../seen/finding.ts';
import type { AuditedDaemon, NodeCheck } from './node-checks.ts';

/**
 * No buffer has the room that a pod could have had: a pod that is left would fit on no node with room of buffers, had
 * they none there. Pods with rules about other pods are not judged, nor nodes of pools with minValues, or with a label
 * left open that a daemon asks for, which planning reserves for whatever the label becomes: there, room for one is not
 * room for another.
 */
export function checkPrecedence(
  plan: Plan,
  { cluster }: ProvisioningInput,
  {
    nodes,
    spare,
    daemons,
    check,
  }: {
    readonly nodes: ReadonlyArray<FinalNode>;
    readonly spare: ReadonlySet<number>;
    readonly daemons: ReadonlyArray<AuditedDaemon>;
    readonly check: NodeCheck;
  },
): ReadonlyArray<Finding> {
  // Stryker disable next-line ConditionalExpression: without room of buffers no node is held below
  if (spare.size === 0) return [];
  const left = new Set(plan.left.map(({ pod }) => pod.uid));
  const shapes = new Set(cluster.pods.flatMap(({ uid, shape }) => (left.has(uid) && !spare.has(shape) ? [shape] : [])));
  const choosy = new Set(
    cluster.nodePools.flatMap(({ metadata, spec }) =>
      spec.template.spec.requirements.some(({ minValues }) => minValues !== undefined) ? [metadata.name] : [],
    ),
  );
  const held = nodes.filter((node) => {
    const isChoosy = node.claim !== null && (choosy.has(node.claim.nodePool) || mayLoseDaemons(node, cluster, daemons));
    return !isChoosy && [...node.pods.values()].some(({ shape, planned }) => spare.has(shape) && planned > 0);
  });
  // Where pods may be kept away by others, none is free.
  if (cluster.shapes.some(({ spec }) => looks(spec.affinity?.podAntiAffinity))) return [];
  const cleared = held.map((node) => without(node, spare));
  return [...shapes].flatMap((index) => {
    const shape = cluster.shapes[index];
    if (shape === undefined || !isFree(shape)) return [];
    const taken = cleared.find((node) => check(withOne(node, index, shape)).length === 0);
    const text = `a buffer has room on ${taken?.name ?? ''} that a pod of ${shape.namespace} is left without`;
    return taken === undefined ? [] : [fatal('buffer-precedence', text)];
  });
}

/** Does a daemon ask for a label that the node has because pods chose it? */
function mayLoseDaemons({ claim }: FinalNode, cluster: Cluster, daemons: ReadonlyArray<AuditedDaemon>): boolean {
  const pool = cluster.nodePools.find(({ metadata }) => metadata.name === claim?.nodePool);
  const open = new Set(
    (pool?.spec.template.spec.requirements ?? []).map(({ key }) => key).filter((key) => key in (claim?.labels ?? {})),
  );
  return daemons.some(({ spec: { nodeSelector = {}, affinity } }) => {
    const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
    const asked = required.flatMap(({ matchExpressions = [] }) => matchExpressions.map(({ key }) => key));
    return [...Object.keys(nodeSelector), ...asked].some((key) => open.has(key));
  });
}

/** Has the shape no rule about other pods, and does it claim no devices? */
function isFree({ spec }: PodShape): boolean {
  const { affinity, topologySpreadConstraints = [], resourceClaims = [] } = spec;
  if (looks(affinity?.podAffinity) || looks(affinity?.podAntiAffinity)) return false;
  return topologySpreadConstraints.length + resourceClaims.length === 0;
}

function looks(rules: PodAffinityRules | undefined): boolean {
  return (rules?.requiredDuringSchedulingIgnoredDuringExecution ?? []).length > 0;
}

/** The node without any room of buffers. */
function without(node: FinalNode, spare: ReadonlySet<number>): FinalNode {
  return { ...node, pods: new Map([...node.pods].filter(([shape]) => !spare.has(shape))) };
}

/** The node with one pod of the shape more. */
function withOne(node: FinalNode, index: number, spec: PodShape): FinalNode {
  const there = node.pods.get(index) ?? { shape: index, spec, running: 0, leaving: 0, planned: 0 };
  return { ...node, pods: new Map(node.pods).set(index, { ...there, planned: there.planned + 1 }) };
}
