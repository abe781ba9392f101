import type { Cluster, Pod, PodShape } from '../../model/cluster.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import type { Node, NodeClaim, NodePool } from '../../../kubernetes/manifest.ts';
import type { FinalNode } from '../../audit/seen/final-state.ts';
import { fatal, type Finding } from '../../audit/seen/finding.ts';
import { blockingTaint, selected } from '../../audit/seen/matching.ts';
import type { Instant } from '../../quantity/units.ts';
import { parseDuration } from '../../../kubernetes/duration.ts';
import { parseTimestamp } from '../candidates/utc-time.ts';
import type { DisruptionInput } from '../../model/disruption-input.ts';
import type { DisruptionReason, DisruptionStep } from '../plan/disruption-plan.ts';
import { mostAtOnce } from './most-at-once.ts';

/** Judges whether the nodes of a step may go, before it is carried out in the state. */
export type LeaveCheck = (step: DisruptionStep, state: ReadonlyMap<string, FinalNode>) => ReadonlyArray<Finding>;

interface NodeFacts {
  readonly node: Node;
  readonly claim: NodeClaim | undefined;
  readonly pool: NodePool | undefined;
  readonly pods: ReadonlyArray<Pod>;
}

/** Written for the audit alone, from Karpenter's rules. */
export function leaveChecks({ provisioning: { cluster }, policy }: DisruptionInput, now: Instant): LeaveCheck {
  const pods = Map.groupBy(cluster.pods, ({ nodeName }) => nodeName ?? '');
  const claims = new Map(cluster.nodeClaims.map((claim) => [claim.status?.nodeName ?? '', claim]));
  const byProvider = new Map(cluster.nodeClaims.map((claim) => [claim.status?.providerID ?? '', claim]));
  const known = new Map(
    cluster.nodes.map((node): [string, NodeFacts] => {
      const { name, labels = {} } = node.metadata;
      const claim = byProvider.get(node.spec?.providerID ?? ' ') ?? claims.get(name);
      const pool = cluster.nodePools.find(({ metadata }) => metadata.name === labels[labelKey.nodePool]);
      return [name, { node, claim, pool, pods: pods.get(name) ?? [] }];
    }),
  );
  const waits = canaryCheck(policy, cluster);
  const whyNot = (name: string, reason: DisruptionReason): string | null => {
    const one = known.get(name);
    if (one === undefined) return 'is not there';
    if (waits(one, reason)) return 'waits for a canary';
    if (GRACEFUL.has(reason) && policy.brakes.has(poolNameOf(one))) return 'is of a pool that is held back';
    return problemOf(one, reason, { cluster, now });
  };
  return (step, state) => [
    ...step.remove.flatMap((name) => {
      const problem = whyNot(name, step.reason);
      return problem === null ? [] : [fatal('blocked', `${name} ${problem}`)];
    }),
    ...checkBudgets(step, state, { known, now }),
  ];
}

function poolNameOf({ pool }: NodeFacts): string {
  return pool?.metadata.name ?? '';
}

/** Must the node wait for others of its pool to try a new image or Kubernetes version? One may go where a canary is wanted. */
function canaryCheck(
  { rollouts }: DisruptionInput['policy'],
  cluster: Cluster,
): (one: NodeFacts, reason: DisruptionReason) => boolean {
  const canaries = new Map<string, NodeFacts>();
  return (one, reason) => {
    const rollout = rollouts.get(poolNameOf(one));
    if (rollout === undefined || !isBehind(one, reason, cluster)) return false;
    const canary = canaries.get(poolNameOf(one)) ?? one;
    canaries.set(poolNameOf(one), canary);
    return rollout.kind !== 'canary' || canary !== one;
  };
}

/** Does something of a new image or Kubernetes version come in its place? */
function isBehind({ claim, pool, pods }: NodeFacts, reason: DisruptionReason, { shapes }: Cluster): boolean {
  const why = claim?.status?.conditions?.find(({ type }) => type === 'Drifted')?.reason ?? '';
  if (reason !== 'Drifted' || !['ImageDrift', 'K8sVersionDrift'].includes(why)) return false;
  const owners = pods.filter(({ deleting }) => !deleting).map(({ shape }) => shapes[shape]?.owner?.kind ?? '');
  return pool?.spec.replicas !== undefined || owners.some((kind) => kind !== 'DaemonSet' && kind !== 'Node');
}

interface Context {
  readonly cluster: Cluster;
  readonly now: Instant;
}

const GRACEFUL: ReadonlySet<DisruptionReason> = new Set(['Empty', 'Underutilized', 'Drifted']);

const FORCED: ReadonlySet<DisruptionReason> = new Set(['Expired', 'Unhealthy']);

function problemOf({ node, claim, pool, pods }: NodeFacts, reason: DisruptionReason, context: Context): string | null {
  if (claim === undefined || pool === undefined) return 'is of no NodePool';
  if (node.metadata.labels?.[labelKey.initialized] !== 'true') return 'is not initialized';
  if ([node, claim].some(({ metadata }) => metadata.deletionTimestamp !== undefined)) return 'is going already';
  if (FORCED.has(reason)) return null;
  const marks = [node, claim].map(({ metadata }) => metadata.annotations?.['karpenter.sh/do-not-disrupt']);
  if (marks.includes('true')) return 'must not be disrupted';
  const isLate = reason === 'Drifted' && claim.spec.terminationGracePeriod !== undefined;
  const held = isLate ? null : pods.map((pod) => heldBy(pod, context)).find((one) => one !== null);
  return held ?? problemOfReason({ node, claim, pool, pods }, reason, context);
}

function problemOfReason(one: NodeFacts, reason: DisruptionReason, context: Context): string | null {
  if (reason === 'Drifted') return says(one, 'Drifted') ? null : 'has not drifted';
  const isStatic = one.pool?.spec.replicas !== undefined;
  if (reason === 'StaticSurplus') return isStatic ? null : 'is of no static pool';
  if (isStatic) return 'is of a static pool';
  return isQuiet(one, context.now) ? problemOfPolicy(one, reason, context) : 'is not consolidatable';
}

function says({ claim }: NodeFacts, type: string): boolean {
  const conditions = claim?.status?.conditions ?? [];
  return conditions.some((one) => one.type === type && one.status === 'True');
}

function isQuiet(one: NodeFacts, now: Instant): boolean {
  const quietMs = parseDuration(one.pool?.spec.disruption?.consolidateAfter ?? '0s');
  const lastMs = parseTimestamp(one.claim?.status?.lastPodEventTime);
  return says(one, 'Consolidatable') && quietMs !== null && (lastMs === null || lastMs + quietMs <= now);
}

function problemOfPolicy({ pool, pods }: NodeFacts, reason: DisruptionReason, { cluster }: Context): string | null {
  const isEmpty = !pods.some((pod) => !pod.deleting && counts(cluster.shapes[pod.shape]));
  if (reason === 'Empty') return isEmpty ? null : 'is not empty';
  return pool?.spec.disruption?.consolidationPolicy === 'WhenEmpty' ? 'is of a pool WhenEmpty' : null;
}

/** Does the pod need another place, and does its eviction count as something? */
function counts(shape: PodShape | undefined): boolean {
  if (shape === undefined || shape.owner?.kind === 'DaemonSet' || shape.owner?.kind === 'Node') return false;
  const stated = Number(shape.annotations['controller.kubernetes.io/pod-deletion-cost'] ?? 0);
  return 1 + (Number.isFinite(stated) ? stated : 0) / 134_217_728 + (shape.spec.priority ?? 0) / 33_554_432 > 0;
}

function heldBy(pod: Pod, { cluster, now }: Context): string | null {
  const shape = cluster.shapes[pod.shape];
  if (shape === undefined || pod.deleting) return null;
  const mark = shape.annotations['karpenter.sh/do-not-disrupt'] ?? '';
  const untilMs = mark === 'true' ? Infinity : pod.createdAtMs + (parseDuration(mark) ?? -Infinity);
  if (untilMs > now) return `has ${pod.name}, which must not be disrupted`;
  const disrupted = [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }];
  if (shape.owner?.kind === 'Node' || blockingTaint(disrupted, shape.spec.tolerations) === null) return null;
  return isKept(pod, shape, cluster) ? `has ${pod.name}, which its budgets keep` : null;
}

function isKept({ ready }: Pod, { namespace, labels }: PodShape, { podDisruptionBudgets }: Cluster): boolean {
  const budgets = podDisruptionBudgets.filter(
    ({ metadata, spec }) => (metadata.namespace ?? 'default') === namespace && selected(spec?.selector, labels),
  );
  if (budgets.length !== 1) return budgets.length > 1;
  const [{ spec, status } = { spec: undefined, status: undefined }] = budgets;
  if (!ready && spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return false;
  return (status?.disruptionsAllowed ?? 0) === 0;
}

function checkBudgets(
  { reason, remove }: DisruptionStep,
  state: ReadonlyMap<string, FinalNode>,
  { known, now }: { readonly known: ReadonlyMap<string, NodeFacts>; readonly now: Instant },
): ReadonlyArray<Finding> {
  const going = Map.groupBy(remove, (name) => known.get(name)?.pool);
  return [...going].flatMap(([pool, names]) => {
    if (pool === undefined) return [];
    const there = [...state.values()].filter(
      ({ nodePool, claim, pods }) => nodePool === pool.metadata.name && (claim === null || pods.size > 0),
    );
    const most = mostAtOnce(pool, { reason, nodes: there.length, now });
    if (names.length <= most) return [];
    return [fatal('budget', `NodePool ${pool.metadata.name}: ${names.length} nodes at once, ${most} allowed`)];
  });
}
