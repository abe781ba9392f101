import type { CapacityBuffer, PodTemplateSpec, ScalableWorkload } from '../../../kubernetes/buffer-manifest.ts';
import type { Cluster, Pod, PodShape } from '../../model/cluster.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import type { Plan, PlannedBuffer, PlannedClaim, PodReference } from '../../model/plan.ts';
import { claimNamesOf } from '../devices/device-checks.ts';
import { fatal, type Finding } from '../seen/finding.ts';
import { amountsOf, requestedBy } from '../seen/requested.ts';

/** A plan as if its buffers' pods were pods like all others, and the input that has them. */
export interface UnfoldedPlan {
  readonly plan: Plan;
  readonly cluster: Cluster;
  /** Indexes of the shapes that only buffers' pods have. */
  readonly spare: ReadonlySet<number>;
  readonly findings: ReadonlyArray<Finding>;
}

/**
 * Reads for the audit alone what room CapacityBuffers ask for, and checks that the plan tells of each pod that stands
 * for it exactly once, and never as of a real one.
 */
export function unfoldBuffers(plan: Plan, { cluster, policy }: ProvisioningInput): UnfoldedPlan {
  const shapes = [...cluster.shapes];
  const pods = [...cluster.pods];
  const spare = new Set<number>();
  const findings: Array<Finding> = [];
  const untold = new Map(plan.buffers.map((told) => [told.buffer, told]));
  const buffers = policy.gates.capacityBuffer ? cluster.capacityBuffers : [];
  for (const buffer of buffers) {
    const template = templateOf(cluster, buffer);
    const wanted =
      template === null || claimNamesOf(template.template.spec).length > 0 ? 0 : podsWanted(buffer, template);
    if (template === null || wanted === 0) continue;
    const shape = shapes.push(roomFor(buffer, template.template)) - 1;
    spare.add(shape);
    const own = Array.from({ length: wanted }, (_, index) => stand(buffer, shape, index + 1));
    pods.push(...own);
    findings.push(...checkTold(titleOf(buffer), own, untold.get(titleOf(buffer))));
    untold.delete(titleOf(buffer));
  }
  for (const name of untold.keys()) findings.push(fatal('buffers', `there is no buffer ${name} to be filled`));
  const real = [...plan.claims, ...plan.nominations]
    .flatMap((place) => place.pods)
    .concat(plan.left.map(({ pod }) => pod));
  const mixed = real.filter(({ uid }) => uid.startsWith('capacity-buffer/'));
  for (const { name } of mixed) findings.push(fatal('buffers', `${name} is told among real pods`));
  return { plan: merged(plan), cluster: { ...cluster, shapes, pods }, spare, findings };
}

function titleOf({ metadata }: CapacityBuffer): string {
  return `${metadata.namespace ?? 'default'}/${metadata.name}`;
}

interface Template {
  readonly template: PodTemplateSpec;
  /** Replicas of the workload that it is of; 0 for one by itself. */
  readonly replicas: number;
}

function templateOf(cluster: Cluster, buffer: CapacityBuffer): Template | null {
  const { metadata, spec } = buffer;
  const known = spec.provisioningStrategy ?? 'buffer.x-k8s.io/active-capacity';
  if (metadata.deletionTimestamp !== undefined || known !== 'buffer.x-k8s.io/active-capacity') return null;
  const isIt = (one: Pick<ScalableWorkload, 'metadata'>, name: string): boolean =>
    `${one.metadata.namespace ?? 'default'}/${one.metadata.name}` === `${metadata.namespace ?? 'default'}/${name}`;
  const { podTemplateRef, scalableRef } = spec;
  if (podTemplateRef !== undefined) {
    const found = cluster.podTemplates.find((one) => isIt(one, podTemplateRef.name));
    return found === undefined ? null : { template: found.template, replicas: 0 };
  }
  if (scalableRef === undefined || !['', 'apps'].includes(scalableRef.apiGroup ?? '')) return null;
  const all = [
    ...cluster.deployments.map((one) => ['Deployment', one] as const),
    ...cluster.replicaSets.map((one) => ['ReplicaSet', one] as const),
    ...cluster.statefulSets.map((one) => ['StatefulSet', one] as const),
  ];
  const found = all.find(([kind, one]) => kind === scalableRef.kind && isIt(one, scalableRef.name))?.[1];
  return found === undefined ? null : { template: found.spec.template, replicas: found.spec.replicas ?? 1 };
}

/** More is not held: the buffer is then not filled at all. */
const MOST = 10_000;

function podsWanted({ spec }: CapacityBuffer, { template, replicas }: Template): number {
  const sized = spec.replicas !== undefined || (spec.percentage !== undefined && replicas > 0);
  let wanted = Math.max(spec.replicas ?? 0, Math.ceil((replicas * (spec.percentage ?? 0)) / 100));
  let bound = Infinity;
  const each = requestedBy(template.spec);
  for (const [name, limit] of amountsOf(spec.limits, 'down')) {
    const request = each.get(name) ?? 0;
    if (name !== 'pods' && request > 0) bound = Math.min(bound, Math.floor(limit / request));
  }
  if (!sized && bound !== Infinity) wanted = bound;
  const held = Math.min(wanted, bound);
  return held > MOST ? 0 : held;
}

function roomFor(buffer: CapacityBuffer, { metadata, spec }: PodTemplateSpec): PodShape {
  const own = { ...spec, volumes: [], priority: -2_147_483_648 };
  const namespace = buffer.metadata.namespace ?? 'default';
  return { namespace, labels: metadata?.labels ?? {}, annotations: {}, owner: null, spec: own };
}

function stand(buffer: CapacityBuffer, shape: number, number: number): Pod {
  return {
    name: `capacity-buffer-${buffer.metadata.name}-${number}`,
    uid: `capacity-buffer/${titleOf(buffer)}/${number}`,
    shape,
    createdAtMs: 0,
    startedAtMs: null,
    nodeName: null,
    nominatedNodeName: null,
    unschedulable: true,
    deleting: false,
    running: false,
    ready: false,
  };
}

function checkTold(name: string, wanted: ReadonlyArray<Pod>, told: PlannedBuffer | undefined): ReadonlyArray<Finding> {
  if (told === undefined) return [fatal('buffers', `buffer ${name} is not told of`)];
  const references = tellingOf(told);
  const uids = new Set(references.map(({ uid }) => uid));
  const missing = wanted.filter(({ uid }) => !uids.has(uid));
  const more = references.length - wanted.length;
  return [
    ...missing.map((pod) => fatal('buffers', `${pod.name} of buffer ${name} is not told of`)),
    ...(more > 0 ? [fatal('buffers', `buffer ${name} has ${more} pods more than it asks for`)] : []),
  ];
}

function tellingOf({ nominations, claims, left }: PlannedBuffer): ReadonlyArray<PodReference> {
  return [...nominations, ...claims].flatMap(({ pods }) => pods).concat(left.map(({ pod }) => pod));
}

function merged(plan: Plan): Plan {
  // Stryker disable next-line ConditionalExpression: of none there is nothing to merge
  if (plan.buffers.length === 0) return plan;
  const onClaims = Map.groupBy(
    plan.buffers.flatMap(({ claims }) => claims),
    ({ claim }) => claim,
  );
  return {
    ...plan,
    claims: plan.claims.map((claim, index) =>
      withPods(
        claim,
        (onClaims.get(index) ?? []).flatMap(({ pods }) => pods),
      ),
    ),
    nominations: [...plan.nominations, ...plan.buffers.flatMap((buffer) => buffer.nominations)],
    left: [...plan.left, ...plan.buffers.flatMap(({ left }) => left)],
    buffers: [],
  };
}

/** Field by field: why nothing cheaper was chosen is worked out when it is read, and takes its time. */
function withPods(claim: PlannedClaim, more: ReadonlyArray<PodReference>): PlannedClaim {
  const { nodePool, offering, fallbacks, runnerUp, requirements, labels, annotations } = claim;
  const { taints, startupTaints, requests, pods } = claim;
  const place = { nodePool, offering, fallbacks, runnerUp, cheaper: [], requirements, labels, annotations };
  return { ...place, taints, startupTaints, requests, pods: [...pods, ...more] };
}
