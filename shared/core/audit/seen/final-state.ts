import type { InstanceType } from '../../model/catalog.ts';
import type { Pod, PodShape } from '../../model/cluster.ts';
import type { Node, NodeClaim, Taint } from '../../../kubernetes/manifest.ts';
import { labelKey, normalizeKey } from '../../../kubernetes/labels.ts';
import type { Plan, PlannedClaim } from '../../model/plan.ts';
import type { AuditedInput } from './audited-sizes.ts';
import { amountsOf } from './requested.ts';
import type { PossibleLabels } from './matching.ts';

/** Pods of one shape on one node. */
export interface PodsOnNode {
  readonly shape: number;
  readonly spec: PodShape;
  /** Those there already, without those that are going. */
  running: number;
  /** Those that take resources though they are going. */
  leaving: number;
  /** Those the plan puts there. */
  planned: number;
}

/** A node as it will be once the plan is executed. */
export interface FinalNode {
  readonly name: string;
  readonly labels: PossibleLabels;
  /** Taints that count for new pods. */
  readonly taints: ReadonlyArray<Taint>;
  /** Taints as they are now. */
  readonly presentTaints: ReadonlyArray<Taint>;
  readonly allocatable: ReadonlyMap<string, number>;
  readonly capacity: ReadonlyMap<string, number>;
  readonly nodePool: string | null;
  /** It is being deleted, or marked to be: no pod may be planned onto it. */
  readonly leaving: boolean;
  /** Limits count it: until it is being deleted, as a mark may come off again. */
  readonly counts: boolean;
  readonly claim: PlannedClaim | null;
  /** The place of that claim in the plan; −1 without one. */
  readonly plannedIndex: number;
  readonly pods: Map<number, PodsOnNode>;
}

const STARTING: ReadonlySet<string> = new Set([
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.cloudprovider.kubernetes.io/uninitialized',
  'karpenter.sh/unregistered',
  'nodewright.dev/reserved',
]);

/** All nodes, the claims on their way and the planned ones, with every pod on them. */
export function finalState(plan: Plan, input: AuditedInput): ReadonlyMap<string, FinalNode> {
  const { cluster } = input;
  const state = new Map<string, FinalNode>();
  const byProvider = new Map(cluster.nodeClaims.map((claim) => [claim.status?.providerID ?? '', claim]));
  const byNode = new Map(cluster.nodeClaims.map((claim) => [claim.status?.nodeName ?? claim.metadata.name, claim]));
  const claimOf = ({ metadata, spec }: Node): NodeClaim | undefined =>
    (spec?.providerID === undefined ? undefined : byProvider.get(spec.providerID)) ?? byNode.get(metadata.name);
  const withNode = new Set<NodeClaim | undefined>();
  for (const node of cluster.nodes) {
    const claim = claimOf(node);
    withNode.add(claim);
    state.set(`node/${node.metadata.name}`, existingNode(input, node, claim));
  }
  for (const claim of cluster.nodeClaims) {
    if (!withNode.has(claim)) state.set(`claim/${claim.metadata.name}`, existingNode(input, undefined, claim));
  }
  plan.claims.forEach((claim, index) => state.set(`planned/${index}`, plannedNode(input, claim, index)));
  addPods(plan, input, state);
  return state;
}

function existingNode(input: AuditedInput, node: Node | undefined, claim: NodeClaim | undefined): FinalNode {
  const labels = existingLabels(input, node, claim);
  const managed = claim !== undefined || labels.has(labelKey.nodePool);
  const ready = !managed || labelOf(node, labelKey.initialized) === 'true';
  const presentTaints = existingTaints(node, claim);
  const nodePool = labels.get(labelKey.nodePool)?.[0] ?? null;
  const template = input.cluster.nodePools.find(({ metadata }) => metadata.name === nodePool)?.spec.template.spec;
  const startup = claim?.spec.startupTaints ?? template?.startupTaints ?? [];
  const passes = ({ key, effect }: Taint): boolean =>
    STARTING.has(key) || startup.some((one) => one.key === key && one.effect === effect);
  return {
    name: (node ?? claim)?.metadata.name ?? '',
    labels,
    taints: presentTaints.filter((taint) => (ready ? taint.key !== 'nodewright.dev/reserved' : !passes(taint))),
    presentTaints,
    allocatable: resourcesOf(input, node, claim, { which: 'allocatable', ready }),
    capacity: resourcesOf(input, node, claim, { which: 'capacity', ready }),
    nodePool,
    leaving: isGoing(node, claim),
    counts: !isGoing(node, claim) || isOnlyMarked(node, claim),
    claim: null,
    plannedIndex: -1,
    pods: new Map(),
  };
}

function isGoing(node: Node | undefined, claim: NodeClaim | undefined): boolean {
  const deleted = [node, claim].some((one) => one?.metadata.deletionTimestamp !== undefined);
  const disrupted = node?.spec?.taints?.some(({ key }) => key === 'karpenter.sh/disrupted') ?? false;
  const conditions = claim?.status?.conditions ?? [];
  const givenUp = claim?.metadata.annotations?.['nodewright.dev/given-up'] !== undefined;
  return (
    deleted ||
    disrupted ||
    givenUp ||
    conditions.some((one) => one.type === 'InstanceTerminating' && one.status === 'True')
  );
}

/** Of one that goes: nothing of it is being deleted, and Azure does not evict it. */
function isOnlyMarked(node: Node | undefined, claim: NodeClaim | undefined): boolean {
  if (claim === undefined || claim.metadata.annotations?.['nodewright.dev/interruption'] !== undefined) return false;
  if ([node, claim].some((one) => one?.metadata.deletionTimestamp !== undefined)) return false;
  return claim.status?.conditions?.some((one) => one.type === 'InstanceTerminating' && one.status === 'True') !== true;
}

function labelOf(node: Node | undefined, key: string): string | undefined {
  return node?.metadata.labels?.[key];
}

/** The node's own labels, before registration on top of the claim's. */
function existingLabels(
  input: AuditedInput,
  node: Node | undefined,
  claim: NodeClaim | undefined,
): ReadonlyMap<string, ReadonlyArray<string>> {
  const name = (node ?? claim)?.metadata.name ?? '';
  const labels = new Map<string, ReadonlyArray<string>>([[labelKey.hostname, [name]]]);
  const add = (more: Readonly<Record<string, string>> | undefined): void => {
    for (const [key, value] of Object.entries(more ?? {})) labels.set(normalizeKey(key), [value]);
  };
  if (claim !== undefined && labelOf(node, labelKey.registered) !== 'true') {
    addPromised(input, claim, labels);
    add(claim.metadata.labels);
  }
  add(node?.metadata.labels);
  return labels;
}

function existingTaints(node: Node | undefined, claim: NodeClaim | undefined): ReadonlyArray<Taint> {
  const registered = labelOf(node, labelKey.registered) === 'true';
  const own = [...(node?.spec?.taints ?? []), ...(registered ? [] : (claim?.spec.taints ?? []))];
  const cordon = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
  return node?.spec?.unschedulable === true ? [...own, cordon] : own;
}

/** Labels that a claim's node is certain to get: from its requirements and from what it was planned to be. */
function addPromised(input: AuditedInput, claim: NodeClaim, labels: Map<string, ReadonlyArray<string>>): void {
  const planned = input.inFlight.get(claim.metadata.name);
  const type = planned === undefined ? undefined : typeOf(input, claim);
  for (const [key, values] of Object.entries(type?.labels ?? {})) labels.set(normalizeKey(key), values);
  for (const { key, operator, values = [] } of claim.spec.requirements) {
    if (operator === 'In' && values.length === 1) labels.set(normalizeKey(key), values);
  }
  if (planned !== undefined) {
    labels.set(labelKey.instanceType, [planned.instanceType]);
    labels.set(labelKey.zone, [planned.zone]);
    labels.set(labelKey.capacityType, [planned.capacityType]);
  }
  labels.set(labelKey.registered, ['true']).set(labelKey.initialized, ['true']);
}

function typeOf({ inFlight, sizes }: AuditedInput, { metadata }: NodeClaim): InstanceType | undefined {
  const name = inFlight.get(metadata.name)?.instanceType ?? metadata.labels?.[labelKey.instanceType];
  return name === undefined ? undefined : sizes.typeOf(metadata.labels?.[labelKey.nodePool] ?? '', name);
}

function resourcesOf(
  input: AuditedInput,
  node: Node | undefined,
  claim: NodeClaim | undefined,
  { which, ready }: { readonly which: 'allocatable' | 'capacity'; readonly ready: boolean },
): ReadonlyMap<string, number> {
  const own = amountsOf(node?.status?.[which], 'down');
  if (ready || claim === undefined) return own;
  let promised = amountsOf(claim.status?.[which], 'down');
  const type = typeOf(input, claim);
  if (promised.size === 0 && own.size === 0 && type !== undefined) {
    promised = which === 'capacity' ? amountsOf(type.capacity, 'down') : allocatableOf(type);
  }
  for (const [name, amount] of promised) if ((own.get(name) ?? 0) === 0) own.set(name, amount);
  return own;
}

function allocatableOf(type: {
  readonly capacity: Readonly<Record<string, string | number>>;
  readonly overhead: Readonly<Record<string, string | number>>;
}): Map<string, number> {
  const overhead = amountsOf(type.overhead, 'up');
  const capacity = amountsOf(type.capacity, 'down');
  return new Map([...capacity].map(([name, amount]) => [name, Math.max(0, amount - (overhead.get(name) ?? 0))]));
}

/** The node that a planned claim becomes, without pods. */
export function plannedNode(input: AuditedInput, claim: PlannedClaim, index: number): FinalNode {
  const pool = input.cluster.nodePools.find(({ metadata }) => metadata.name === claim.nodePool);
  const type = input.sizes.typeOf(claim.nodePool, claim.offering.instanceType);
  const name = `planned-${index}`;
  const labels = new Map(pool === undefined ? [] : input.sizes.nodeOf(pool, claim.offering).labels);
  for (const [key, value] of Object.entries(claim.labels)) labels.set(normalizeKey(key), [value]);
  labels.set(labelKey.hostname, [name]);
  const taints = pool?.spec.template.spec.taints ?? [];
  return {
    name,
    labels,
    taints,
    presentTaints: taints,
    allocatable: type === undefined ? new Map() : allocatableOf(type),
    capacity: amountsOf(type?.capacity, 'down'),
    nodePool: claim.nodePool,
    leaving: false,
    counts: true,
    claim,
    plannedIndex: index,
    pods: new Map(),
  };
}

/** Puts each pod where it is and, beside that, where the plan wants it. */
function addPods(plan: Plan, { cluster }: AuditedInput, state: ReadonlyMap<string, FinalNode>): void {
  const goals = new Map<string, FinalNode | undefined>();
  plan.claims.forEach(({ pods }, index) => {
    for (const { uid } of pods) goals.set(uid, state.get(`planned/${index}`));
  });
  for (const { target, pods } of plan.nominations) {
    for (const { uid } of pods) goals.set(uid, state.get(`${target.kind}/${target.name}`));
  }
  const byName = new Map(cluster.nodes.map(({ metadata: { name } }) => [name, state.get(`node/${name}`)]));
  for (const pod of cluster.pods) {
    const spec = cluster.shapes[pod.shape];
    if (spec === undefined) continue;
    const goal = goals.get(pod.uid);
    if (goal !== undefined) podsOn(goal, pod, spec).planned++;
    const node = pod.nodeName === null ? undefined : byName.get(pod.nodeName);
    if (node === undefined) continue;
    const there = podsOn(node, pod, spec);
    if (pod.deleting || goals.has(pod.uid)) there.leaving++;
    else there.running++;
  }
}

function podsOn({ pods }: FinalNode, { shape }: Pod, spec: PodShape): PodsOnNode {
  const known = pods.get(shape);
  if (known !== undefined) return known;
  const first = { shape, spec, running: 0, leaving: 0, planned: 0 };
  pods.set(shape, first);
  return first;
}
