import type { Cluster, Pod, PodShape } from '../../model/cluster.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import type { Node, NodeClaim, NodePool } from '../../../kubernetes/manifest.ts';
import type { FinalNode } from '../../audit/seen/final-state.ts';
import { fatal, type Finding } from '../../audit/seen/finding.ts';
import { blockingTaint, selected } from '../../audit/seen/matching.ts';
import type { Instant } from '../../quantity/units.ts';
import { parseDuration } from '../../../kubernetes/text/duration.ts';
import { parseTimestamp } from '../../quantity/utc-time.ts';
import type { DisruptionInput } from '../../model/disruption-input.ts';
import type { DisruptionReason } from '../plan/disruption-reason.ts';
import { mostAtOnce } from './most-at-once.ts';

/** A node that goes, and for which reason. */
export interface Going {
  readonly name: string;
  readonly reason: DisruptionReason;
}

/** What budgets count of a node: those that a plan creates have its claim. */
export type CountedNode = Pick<FinalNode, 'name' | 'nodePool' | 'claim' | 'pods'>;

/** Judges whether nodes may go together, beside all that are there then. */
export type LeaveCheck = (going: ReadonlyArray<Going>, there: ReadonlyArray<CountedNode>) => ReadonlyArray<Finding>;

interface NodeFacts {
  readonly node: Node;
  readonly claim: NodeClaim | undefined;
  readonly pool: NodePool | undefined;
  readonly pods: ReadonlyArray<Pod>;
}

/** A node of ours. */
interface OwnNode extends NodeFacts {
  readonly claim: NodeClaim;
  readonly pool: NodePool;
}

/** Names of nodes by what budgets make of them. */
interface Counted {
  readonly known: ReadonlyMap<string, NodeFacts>;
  readonly complete: ReadonlySet<string>;
  readonly busy: ReadonlySet<string>;
  readonly marked: ReadonlySet<string>;
}

function countedIn(known: ReadonlyMap<string, NodeFacts>): Counted {
  const named = (isOne: (one: NodeFacts) => boolean): ReadonlySet<string> =>
    new Set([...known].flatMap(([name, one]) => (isComplete(one) && isOne(one) ? [name] : [])));
  return {
    known,
    complete: named(() => true),
    busy: named(isInDisruption),
    marked: named((one) => isTainted(one) && !isBeingDeleted(one)),
  };
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
  const counted = countedIn(known);
  const waits = canaryCheck(policy, cluster);
  const whyNot = (name: string, reason: DisruptionReason): string | null => {
    const one = known.get(name);
    if (one === undefined) return 'is not there';
    if (waits(one, reason)) return 'waits for a canary';
    if (policy.goes === 'forced' && MONEY.has(reason)) return 'is to wait for pods that wait';
    if (GRACEFUL.has(reason) && policy.brakes.has(poolNameOf(one))) return 'is of a pool that is held back';
    return problemOf(one, reason, { cluster, now });
  };
  return (going, there) => [
    ...going.flatMap(({ name, reason }) => {
      const problem = policy.leftOut.has(name) ? 'is to be left out' : whyNot(name, reason);
      return problem === null ? [] : [fatal('blocked', `${name} ${problem}`, { kind: 'node', name })];
    }),
    ...checkBudgets(going, there, counted, now),
  ];
}

function poolNameOf({ pool }: NodeFacts): string {
  return pool?.metadata.name ?? '';
}

/**
 * Must the node wait for others of its pool to try a new image or Kubernetes version? One may go where a canary is
 * wanted.
 */
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

/** For these a pool with a fixed number makes another node. */
const SUCCEEDED: ReadonlySet<DisruptionReason> = new Set(['Drifted', 'Expired', 'Unhealthy']);

/** What goes for what it costs. */
const MONEY: ReadonlySet<DisruptionReason> = new Set(['Empty', 'Underutilized']);

const FORCED: ReadonlySet<DisruptionReason> = new Set(['Expired', 'Unhealthy']);

function problemOf({ node, claim, pool, pods }: NodeFacts, reason: DisruptionReason, context: Context): string | null {
  if (claim === undefined || pool === undefined) return 'is of no NodePool';
  if ([node, claim].some(({ metadata }) => metadata.deletionTimestamp !== undefined)) return 'is going already';
  if (FORCED.has(reason)) return null;
  if (node.metadata.labels?.[labelKey.initialized] !== 'true') return 'is not initialized';
  const marks = [node, claim].map(({ metadata }) => metadata.annotations?.['karpenter.sh/do-not-disrupt']);
  if (marks.includes('true')) return 'must not be disrupted';
  const isLate = reason === 'Drifted' && claim.spec.terminationGracePeriod !== undefined;
  const held = isLate ? null : pods.map((pod) => heldBy(pod, context)).find((one) => one !== null);
  return held ?? problemOfReason({ node, claim, pool, pods }, reason, context);
}

function problemOfReason(one: OwnNode, reason: DisruptionReason, context: Context): string | null {
  if (reason === 'Drifted') return says(one, 'Drifted') ? null : 'has not drifted';
  const isStatic = one.pool.spec.replicas !== undefined;
  if (reason === 'StaticSurplus') return isStatic ? null : 'is of no static pool';
  if (isStatic) return 'is of a static pool';
  if (!isQuiet(one, context.now) && !(reason === 'Empty' && isLeftOver(one, context.now)))
    return 'is not consolidatable';
  return problemOfPolicy(one, reason, context);
}

function says({ claim }: Pick<NodeFacts, 'claim'>, type: string): boolean {
  const conditions = claim?.status?.conditions ?? [];
  return conditions.some((one) => one.type === type && one.status === 'True');
}

function isQuiet(one: OwnNode, now: Instant): boolean {
  const quietMs = parseDuration(one.pool.spec.disruption?.consolidateAfter ?? '0s');
  const lastMs = parseTimestamp(one.claim.status?.lastPodEventTime);
  return says(one, 'Consolidatable') && quietMs !== null && (lastMs === null || lastMs + quietMs <= now);
}

/**
 * A replacement that has been in use for five minutes, and that no pod has come to: whatever its pool says of others.
 */
function isLeftOver(one: OwnNode, now: Instant): boolean {
  const { metadata, status } = one.claim;
  const isOwn = metadata.annotations?.['nodewright.dev/created-for'] !== undefined;
  if (!isOwn || status?.lastPodEventTime !== undefined || !says(one, 'Initialized')) return false;
  const initialized = status?.conditions?.find(({ type }) => type === 'Initialized');
  const sinceMs = parseTimestamp(initialized?.lastTransitionTime) ?? Infinity;
  return one.pool.spec.disruption?.consolidateAfter === 'Never' && sinceMs + 5 * 60_000 <= now;
}

function problemOfPolicy({ pool, pods }: OwnNode, reason: DisruptionReason, { cluster }: Context): string | null {
  const isEmpty = !pods.some((pod) => !pod.deleting && counts(cluster.shapes[pod.shape]));
  if (reason === 'Empty') return isEmpty ? null : 'is not empty';
  return pool.spec.disruption?.consolidationPolicy === 'WhenEmpty' ? 'is of a pool WhenEmpty' : null;
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
  const untilMs = mark === 'true' ? Infinity : (pod.startedAtMs ?? now) + (parseDuration(mark) ?? -Infinity);
  if (untilMs > now) return `has ${pod.name}, which must not be disrupted`;
  const disrupted = [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }];
  if (shape.owner?.kind === 'Node' || blockingTaint(disrupted, shape.spec.tolerations) === null) return null;
  return isKept(pod, shape, cluster) ? `has ${pod.name}, which its budgets keep` : null;
}

function isKept({ ready }: Pod, { namespace, labels }: PodShape, { podDisruptionBudgets }: Cluster): boolean {
  const budgets = podDisruptionBudgets.filter(
    ({ metadata, spec }) => (metadata.namespace ?? 'default') === namespace && selected(spec?.selector, labels),
  );
  const [budget] = budgets;
  if (budget === undefined) return false;
  if (budgets.length > 1) return true;
  if (!ready && budget.spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return false;
  return (budget.status?.disruptionsAllowed ?? 0) === 0;
}

/** Of each pool no more may go, for whichever reason, than its budgets leave beside what is in disruption already. */
function checkBudgets(
  going: ReadonlyArray<Going>,
  all: ReadonlyArray<CountedNode>,
  { known, complete, busy, marked }: Counted,
  now: Instant,
): ReadonlyArray<Finding> {
  const byPool = Map.groupBy(going, ({ name }) => known.get(name)?.pool);
  return [...byPool].flatMap(([pool, own]) => {
    if (pool === undefined) return [];
    const there = all.filter(({ nodePool }) => nodePool === pool.metadata.name);
    const among = (names: ReadonlySet<string>): number => there.filter(({ name }) => names.has(name)).length;
    const fresh = there.filter(({ claim, pods }) => claim !== null && pods.size > 0);
    const nodes = among(complete) + fresh.length;
    const most = Math.min(...own.map(({ reason }) => mostAtOnce(pool, { reason, nodes, now }))) - among(busy);
    const waiting = among(marked);
    const succeeded = own.filter(({ reason }) => pool.spec.replicas !== undefined && SUCCEEDED.has(reason));
    if (succeeded.length > 0 && succeeded.length + waiting > 1) {
      const about = succeeded.slice(Math.max(0, 1 - waiting)).map(({ name }) => ({ kind: 'node', name }) as const);
      return [fatal('static', `NodePool ${pool.metadata.name}: its nodes are replaced one by one`, ...about)];
    }
    if (own.length <= most) return [];
    const text = `NodePool ${pool.metadata.name}: ${own.length} nodes at once, ${Math.max(0, most)} allowed`;
    const over = own.slice(Math.max(0, most)).map(({ name }) => ({ kind: 'node', name }) as const);
    return [fatal('budget', text, ...over)];
  });
}

/** What budgets count, as Karpenter has it: initialized nodes with a claim, until their machine is being removed. */
function isComplete(one: NodeFacts): boolean {
  return (
    one.claim !== undefined &&
    one.node.metadata.labels?.[labelKey.initialized] === 'true' &&
    !says(one, 'InstanceTerminating')
  );
}

/** Of them, what takes from budgets: nodes that are not ready, are being deleted, or are marked to be. */
function isInDisruption(one: NodeFacts): boolean {
  const ready = one.node.status?.conditions?.find(({ type }) => type === 'Ready');
  return (ready !== undefined && ready.status !== 'True') || isBeingDeleted(one) || isTainted(one);
}

function isBeingDeleted({ node, claim }: NodeFacts): boolean {
  return [node, claim].some((one) => one?.metadata.deletionTimestamp !== undefined);
}

function isTainted({ node }: NodeFacts): boolean {
  return node.spec?.taints?.some(({ key }) => key === 'karpenter.sh/disrupted') === true;
}
