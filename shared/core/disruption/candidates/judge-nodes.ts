import { markKey } from '../../../kubernetes/marks.ts';
import type { Cluster, Pod } from '../../model/cluster.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import type { Condition, NodeClaim, NodePool } from '../../../kubernetes/manifest.ts';
import type { Instant } from '../../quantity/units.ts';
import { hasDeviceClaims } from '../../devices/device-claims.ts';
import { isLeaving, machinesOf } from '../../present/existing-capacity.ts';
import { byCodeUnit } from '../../rules/label-rule.ts';
import { DO_NOT_DISRUPT, isPlaceable, isProtected } from '../../present/pending-pods.ts';
import { surplusClaims } from '../../finishing/static-pools.ts';
import type { DisruptionInput } from '../../model/disruption-input.ts';
import type { DisruptionReason } from '../plan/disruption-reason.ts';
import type { KeptReason } from '../plan/kept-reason.ts';
import { evictionCostOf } from './eviction-cost.ts';
import { poolBrake, withRollouts } from './pool-brakes.ts';
import { podBudgetCheck } from './pod-budgets.ts';
import { nodePrices } from './node-prices.ts';
import { repairJudge } from './node-repair.ts';
import { parseDuration } from '../../../kubernetes/text/duration.ts';
import { parseTimestamp } from '../../quantity/utc-time.ts';
import type { JudgedNode, Verdict } from './judged-node.ts';

/** Judges every node, by name. Whether budgets of pools leave room is not asked here. */
export function judgeNodes(input: DisruptionInput, now: Instant): ReadonlyArray<JudgedNode> {
  const { cluster } = input.provisioning;
  const podsOn = Map.groupBy(cluster.pods, ({ nodeName }) => nodeName);
  const pools = new Map(cluster.nodePools.map((pool) => [pool.metadata.name, pool]));
  const judge = judgeFor(input, now);
  const priceOf = nodePrices(input.provisioning.catalog, input.provisioning.evictionCostMs);
  const judged = machinesOf(cluster).flatMap((machine): ReadonlyArray<JudgedNode> => {
    const { node, claim } = machine;
    if (node === null) return [];
    const { name, labels = {} } = node.metadata;
    const pods = podsOn.get(name) ?? [];
    const moving = pods.filter((pod) => !pod.deleting && isPlaceable(cluster, pod));
    const poolName = claim === null ? undefined : labels[labelKey.nodePool];
    const nodePool = poolName === undefined ? null : (pools.get(poolName) ?? null);
    const price = poolName === undefined ? null : priceOf(poolName, labels);
    const disruption = 1 + moving.reduce((sum, pod) => sum + Math.max(0, costOf(cluster, pod)), 0);
    const facts = { name, machine, nodePool, price, pods, moving, disruption, isFull: false };
    return [{ ...facts, verdict: unlessBraked(judge(facts, poolName ?? null), poolName ?? '', input) }];
  });
  return withRollouts(judged, input.policy).toSorted((a, b) => byCodeUnit(a.name, b.name));
}

function unlessBraked(verdict: Verdict, nodePool: string, { policy }: DisruptionInput): Verdict {
  const held = verdict.kind === 'stays' ? null : poolBrake(policy, nodePool, verdict.reason);
  return held === null ? verdict : stays(held);
}

function costOf({ shapes }: Cluster, { shape: index }: Pod): number {
  const shape = shapes[index];
  return shape === undefined ? 1 : evictionCostOf(shape);
}

type Facts = Omit<JudgedNode, 'verdict'>;

function judgeFor(input: DisruptionInput, now: Instant): (facts: Facts, poolName: string | null) => Verdict {
  const { cluster } = input.provisioning;
  const budgetCheck = podBudgetCheck(cluster);
  const surplus = new Set(input.provisioning.policy.gates.staticCapacity ? surplusClaims(cluster) : []);
  const unhealthy = repairJudge(input, now);
  const podBlock = ({ pods }: Facts): KeptReason | null => blockByPods(cluster, pods, now, budgetCheck);
  const judgeOwn = (facts: Facts, claim: NodeClaim, pool: NodePool): Verdict => {
    const leftAlone = leftAloneBy(input.policy, facts.name);
    if (leftAlone !== null) return stays(leftAlone);
    const sick = unhealthy(facts.name);
    if (sick !== null) {
      return sick.kind === 'repair' ? { kind: 'must', reason: 'Unhealthy', sinceMs: sick.sinceMs } : stays(sick.reason);
    }
    const forced = forcedReason(claim, now, surplus);
    if (!isInUse(facts) && forced?.reason !== 'Expired') return stays({ kind: 'not-initialized' });
    const devices = blockByDevices(cluster, facts);
    if (devices !== null) return stays(devices);
    if (forced !== null) {
      const held = blockForced(forced.reason, claim, facts, podBlock);
      return held === null ? forced : stays(held);
    }
    const verdict = voluntary(facts, pool, now, podBlock);
    return verdict.kind === 'may' && input.policy.goes === 'forced' ? stays({ kind: 'pods-first' }) : verdict;
  };
  return (facts, poolName) => {
    const { machine, nodePool } = facts;
    const { claim } = machine;
    if (claim === null || poolName === null) return stays({ kind: 'unmanaged' });
    if (isLeaving(machine)) return stays({ kind: 'leaving' });
    if (nodePool === null) return stays({ kind: 'no-such-pool', nodePool: poolName });
    return judgeOwn(facts, claim, nodePool);
  };
}

/** What this look is not to touch, whatever speaks for it. */
function leftAloneBy({ denied, leftOut }: DisruptionInput['policy'], name: string): KeptReason | null {
  if (denied.has(name)) return { kind: 'write-denied' };
  return leftOut.has(name) ? { kind: 'nothing-cheaper' } : null;
}

/** What keeps a node that has to go: of one that has drifted, or is one too many, people and pods are asked; of the others nobody. */
function blockForced(
  reason: DisruptionReason,
  { spec }: NodeClaim,
  facts: Facts,
  podBlock: (facts: Facts) => KeptReason | null,
): KeptReason | null {
  if (reason !== 'Drifted' && reason !== 'StaticSurplus') return null;
  const asksPods = reason === 'StaticSurplus' || spec.terminationGracePeriod === undefined;
  return blockByOperator(facts) ?? (asksPods ? podBlock(facts) : null);
}

function stays(reason: KeptReason): Verdict {
  return { kind: 'stays', reason };
}

/** Sickness and age are not asked whether a node is in use, as in Karpenter: one that never gets so would stay for ever. */
function isInUse({ machine: { node } }: Facts): boolean {
  return node?.metadata.labels?.[labelKey.initialized] === 'true';
}

function blockByOperator({ machine: { node, claim } }: Facts): KeptReason | null {
  const marked = [node, claim].some((one) => one?.metadata.annotations?.[DO_NOT_DISRUPT] === 'true');
  return marked ? { kind: 'do-not-disrupt' } : null;
}

/** DaemonSets' and static pods count here too, as in Karpenter. */
function blockByPods(
  cluster: Cluster,
  pods: ReadonlyArray<Pod>,
  now: Instant,
  check: (pod: Pod) => KeptReason | null,
): KeptReason | null {
  for (const pod of pods) {
    const shape = cluster.shapes[pod.shape];
    if (shape === undefined || pod.deleting) continue;
    if (isProtected(shape, pod, now)) return { kind: 'pod-do-not-disrupt', pod: `${shape.namespace}/${pod.name}` };
    const held = check(pod);
    if (held !== null) return held;
  }
  return null;
}

function blockByDevices({ shapes }: Cluster, { moving }: Facts): KeptReason | null {
  for (const { shape: index, name } of moving) {
    const shape = shapes[index];
    if (shape !== undefined && hasDeviceClaims(shape.spec))
      return { kind: 'pod-devices', pod: `${shape.namespace}/${name}` };
  }
  return null;
}

function forcedReason(
  claim: NodeClaim,
  now: Instant,
  surplus: ReadonlySet<string>,
): Extract<Verdict, { kind: 'must' }> | null {
  const bornMs = parseTimestamp(claim.metadata.creationTimestamp);
  const lifeMs = parseDuration(claim.spec.expireAfter ?? '');
  if (bornMs !== null && lifeMs !== null && bornMs + lifeMs <= now) {
    return { kind: 'must', reason: 'Expired', sinceMs: bornMs + lifeMs };
  }
  const drifted = conditionOf(claim.status?.conditions, 'Drifted');
  if (drifted?.status === 'True') {
    return { kind: 'must', reason: 'Drifted', sinceMs: parseTimestamp(drifted.lastTransitionTime) ?? 0 };
  }
  return surplus.has(claim.metadata.name) ? { kind: 'must', reason: 'StaticSurplus', sinceMs: 0 } : null;
}

/** Emptiness and consolidation: what the pool's policy allows, once it is quiet. */
function voluntary(facts: Facts, pool: NodePool, now: Instant, podBlock: (facts: Facts) => KeptReason | null): Verdict {
  const { name } = pool.metadata;
  const { consolidateAfter } = pool.spec.disruption ?? {};
  if (pool.spec.replicas !== undefined) return stays({ kind: 'static-pool', nodePool: name });
  const isOff = consolidateAfter === 'Never';
  if (isOff && !hasNeverBeenUsed(facts, now)) return stays({ kind: 'consolidation-off', nodePool: name });
  const held = blockByOperator(facts) ?? podBlock(facts);
  if (held !== null) return stays(held);
  return isOff ? { kind: 'may', reason: 'Empty' } : consolidated(facts, pool, now);
}

function consolidated(facts: Facts, pool: NodePool, now: Instant): Verdict {
  const { name } = pool.metadata;
  const { consolidateAfter = '0s', consolidationPolicy } = pool.spec.disruption ?? {};
  if (!isQuiet(facts, consolidateAfter, now)) return stays({ kind: 'not-consolidatable', consolidateAfter });
  if (facts.disruption <= 1) return { kind: 'may', reason: 'Empty' };
  if (consolidationPolicy === 'WhenEmpty') {
    return stays({ kind: 'only-when-empty', nodePool: name, pods: facts.moving.length });
  }
  if (facts.price === null) {
    const instanceType = facts.machine.node?.metadata.labels?.[labelKey.instanceType] ?? 'unknown';
    return stays({ kind: 'unknown-price', instanceType });
  }
  return { kind: 'may', reason: 'Underutilized' };
}

/** So long nobody has come: a removal that was taken back may be begun again in the next minutes, and then need what came for it. */
const UNUSED_MS = 5 * 60_000;

/**
 * Has it come in place of others, and no pod to it? Then these have stayed after all, or their pods have found room elsewhere. `Never` is said
 * of nodes that somebody wanted.
 */
function hasNeverBeenUsed({ machine: { claim }, moving }: Facts, now: Instant): boolean {
  if (claim?.metadata.annotations?.[markKey.createdFor] === undefined || moving.length > 0) return false;
  const initialized = conditionOf(claim.status?.conditions, 'Initialized');
  const sinceMs = parseTimestamp(initialized?.lastTransitionTime) ?? now;
  return initialized?.status === 'True' && claim.status?.lastPodEventTime === undefined && now - sinceMs >= UNUSED_MS;
}

/** The claim says Consolidatable, and no pod has come or gone since: the condition may be older than the last pod. */
function isQuiet({ machine: { claim } }: Facts, consolidateAfter: string, now: Instant): boolean {
  const lengthMs = parseDuration(consolidateAfter);
  if (claim === null || lengthMs === null) return false;
  if (conditionOf(claim.status?.conditions, 'Consolidatable')?.status !== 'True') return false;
  const lastMs = parseTimestamp(claim.status?.lastPodEventTime);
  return lastMs === null || now - lastMs >= lengthMs;
}

function conditionOf(conditions: ReadonlyArray<Condition> | undefined, type: string): Condition | undefined {
  return conditions?.find((one) => one.type === type);
}
