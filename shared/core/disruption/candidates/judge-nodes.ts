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
import type { KeptReason } from '../plan/kept-reason.ts';
import { evictionCostOf } from './eviction-cost.ts';
import { poolBrake, withRollouts } from './pool-brakes.ts';
import { podBudgetCheck } from './pod-budgets.ts';
import { nodePrices } from './node-prices.ts';
import { repairJudge } from './node-repair.ts';
import { parseDuration } from '../../../kubernetes/text/duration.ts';
import { parseTimestamp } from '../../quantity/utc-time.ts';
import type { JudgedNode, Verdict } from './judged-node.ts';

/**
 * Judges every node, by name. Whether budgets of pools leave room is not asked here. `begunAs`: why they have begun to
 * go; null before. From then on a node goes as one too many only where it has begun so: with its own replacement there
 * a node that is replaced is one too many of a pool with a fixed number, and that asks no budget.
 */
export function judgeNodes(
  input: DisruptionInput,
  now: Instant,
  begunAs: string | null = null,
): ReadonlyArray<JudgedNode> {
  const { cluster } = input.provisioning;
  const podsOn = Map.groupBy(cluster.pods, ({ nodeName }) => nodeName);
  const pools = new Map(cluster.nodePools.map((pool) => [pool.metadata.name, pool]));
  const rules = rulesOf(input, now, begunAs);
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
    return [{ ...facts, verdict: unlessBraked(judge(rules, facts, poolName ?? null), poolName ?? '', input) }];
  });
  return withRollouts(judged, input.policy).toSorted((a, b) => byCodeUnit(a.name, b.name));
}

function unlessBraked(verdict: Verdict, nodePool: string, { policy }: DisruptionInput): Verdict {
  const brake = verdict.kind === 'stays' ? null : poolBrake(policy, nodePool, verdict.reason);
  return brake === null ? verdict : stays(brake);
}

function costOf({ shapes }: Cluster, { shape: index }: Pod): number {
  const shape = shapes[index];
  return shape === undefined ? 1 : evictionCostOf(shape);
}

type Facts = Omit<JudgedNode, 'verdict'>;

/** What nodes are judged by. */
interface Rules {
  readonly input: DisruptionInput;
  readonly now: Instant;
  readonly unhealthy: ReturnType<typeof repairJudge>;
  readonly begunAs: string | null;
  /** Names of claims that a static pool has too many. */
  readonly surplus: ReadonlySet<string>;
  /** What keeps the pods of a node where they are; null for nothing. */
  readonly podBlock: (facts: Facts) => KeptReason | null;
}

function rulesOf(input: DisruptionInput, now: Instant, begunAs: string | null): Rules {
  const { cluster, policy } = input.provisioning;
  const budgetCheck = podBudgetCheck(cluster);
  return {
    input,
    now,
    begunAs,
    unhealthy: repairJudge(input, now),
    surplus: new Set(policy.gates.staticCapacity ? surplusClaims(cluster) : []),
    podBlock: ({ pods }) => blockByPods(cluster, pods, now, budgetCheck),
  };
}

/** The gates that a node passes, in this order; the first that is shut says why it stays. */
function judge(rules: Rules, facts: Facts, poolName: string | null): Verdict {
  const { claim } = facts.machine;
  // 1. Is it ours, of a pool that exists, and not going already?
  if (claim === null || poolName === null) return stays({ kind: 'unmanaged' });
  if (isLeaving(facts.machine)) return stays({ kind: 'leaving' });
  if (facts.nodePool === null) return stays({ kind: 'no-such-pool', nodePool: poolName });

  // 2. May this look touch it at all?
  const leftAlone = leftAloneBy(rules.input.policy, facts.name);
  if (leftAlone !== null) return stays(leftAlone);

  // 3. Is it sick? Nobody is asked then, as in Karpenter.
  const sick = rules.unhealthy(facts.name);
  if (sick !== null) return sick.kind === 'repair' ? mustGo('Unhealthy', sick.sinceMs) : stays(sick.reason);

  // 4. Is it in use? Age is not asked that: a node that never gets so would stay for ever.
  const forced = forcedReason(claim, rules.now);
  if (!isInUse(facts) && forced?.reason !== 'Expired') return stays({ kind: 'not-initialized' });

  // 5. Does it have devices that another may not have?
  const devices = blockByDevices(rules.input.provisioning.cluster, facts);
  if (devices !== null) return stays(devices);

  // 6. Must it go? Then what may keep it depends on why.
  const obliged = judgeObliged(rules, facts, claim, forced);
  if (obliged !== null) return obliged;

  // 7. May it go, since that saves money?
  const verdict = judgeVoluntary(rules, facts, facts.nodePool);
  if (verdict.kind === 'stays') return verdict;

  // 8. Do pods that wait get their nodes first?
  return rules.input.policy.goes === 'forced' ? stays({ kind: 'pods-first' }) : verdict;
}

/** What this look is not to touch, whatever speaks for it. */
function leftAloneBy({ denied, leftOut }: DisruptionInput['policy'], name: string): KeptReason | null {
  if (denied.has(name)) return { kind: 'write-denied' };
  return leftOut.has(name) ? { kind: 'nothing-cheaper' } : null;
}

/**
 * Of a node that must go, is one too many, or both; null where it is neither. One too many comes first where it goes
 * for that: nothing comes in its place.
 */
function judgeObliged(rules: Rules, facts: Facts, claim: NodeClaim, forced: Forced | null): Verdict | null {
  const { begunAs } = rules;
  const isAsked = begunAs === null || begunAs === 'StaticSurplus';
  const surplus = isAsked ? judgeSurplus(rules, facts, claim) : null;
  if (surplus?.kind === 'must' || (surplus !== null && begunAs !== null) || forced === null) return surplus;
  return judgeForced(rules, facts, claim, forced);
}

/**
 * Are the node's pods asked whether it may go for that reason? As in Karpenter those of one that has expired or is sick
 * are not, nor are those of a drifted one where the claim says how long they may take.
 */
export function asksPods({ spec }: NodeClaim, reason: string): boolean {
  if (reason === 'Expired' || reason === 'Unhealthy') return false;
  return reason !== 'Drifted' || spec.terminationGracePeriod === undefined;
}

/** Of a node that has drifted people and pods are asked whether it may go; of one that has expired nobody. */
function judgeForced({ podBlock }: Rules, facts: Facts, claim: NodeClaim, forced: Forced): Verdict {
  if (forced.reason !== 'Drifted') return forced;
  const byPods = asksPods(claim, forced.reason) ? podBlock(facts) : null;
  const block = blockByOperator(facts) ?? byPods;
  return block === null ? forced : stays(block);
}

/** Of a node that is one too many people and pods are asked whether it may go; null of another. */
function judgeSurplus({ podBlock, surplus }: Rules, facts: Facts, claim: NodeClaim): Verdict | null {
  if (!isInUse(facts) || !surplus.has(claim.metadata.name)) return null;
  const block = blockByOperator(facts) ?? podBlock(facts);
  return block === null ? mustGo('StaticSurplus', 0) : stays(block);
}

function stays(reason: KeptReason): Verdict {
  return { kind: 'stays', reason };
}

type Forced = Extract<Verdict, { kind: 'must' }>;

function mustGo(reason: Forced['reason'], sinceMs: number): Forced {
  return { kind: 'must', reason, sinceMs };
}

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
    const block = check(pod);
    if (block !== null) return block;
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

function forcedReason(claim: NodeClaim, now: Instant): Forced | null {
  const bornMs = parseTimestamp(claim.metadata.creationTimestamp);
  const lifeMs = parseDuration(claim.spec.expireAfter ?? '');
  if (bornMs !== null && lifeMs !== null && bornMs + lifeMs <= now) {
    return mustGo('Expired', bornMs + lifeMs);
  }
  const drifted = conditionOf(claim.status?.conditions, 'Drifted');
  return drifted?.status === 'True' ? mustGo('Drifted', parseTimestamp(drifted.lastTransitionTime) ?? 0) : null;
}

/** Emptiness and consolidation: what the pool's policy allows, once it is quiet. */
function judgeVoluntary({ now, podBlock, begunAs }: Rules, facts: Facts, pool: NodePool): Verdict {
  const { name } = pool.metadata;
  const { consolidateAfter = '0s', consolidationPolicy } = pool.spec.disruption ?? {};
  // 1. Does the pool consolidate? What it wanted for others and nobody uses goes all the same.
  if (pool.spec.replicas !== undefined) return stays({ kind: 'static-pool', nodePool: name });
  const isOff = consolidateAfter === 'Never';
  if (isOff && !hasNeverBeenUsed(facts, now)) return stays({ kind: 'consolidation-off', nodePool: name });

  // 2. Do people, or its pods, keep it?
  const block = blockByOperator(facts) ?? podBlock(facts);
  if (block !== null) return stays(block);
  if (isOff) return { kind: 'may', reason: 'Empty' };

  // 3. Has it been quiet for long enough?
  const isQuiet =
    isQuietFor(facts, consolidateAfter, now) && (begunAs !== null || !hasNews(facts, consolidateAfter, now));
  if (!isQuiet) return stays({ kind: 'not-consolidatable', consolidateAfter });

  // 4. Is it empty? That is enough for any policy.
  if (facts.disruption <= 1) return { kind: 'may', reason: 'Empty' };

  // 5. Does the policy let nodes with pods go, and is it known what that saves?
  if (consolidationPolicy === 'WhenEmpty') {
    return stays({ kind: 'only-when-empty', nodePool: name, pods: facts.moving.length });
  }
  return facts.price === null ? stays(unknownPrice(facts)) : { kind: 'may', reason: 'Underutilized' };
}

function unknownPrice({ machine: { node } }: Facts): KeptReason {
  return { kind: 'unknown-price', instanceType: node?.metadata.labels?.[labelKey.instanceType] ?? 'unknown' };
}

/**
 * So long nobody has come: a removal that was taken back may be begun again in the next minutes, and then need what
 * came for it.
 */
const UNUSED_MS = 5 * 60_000;

/**
 * Has it come in place of others, and no pod to it? Then these have stayed after all, or their pods have found room
 * elsewhere. `Never` is said of nodes that somebody wanted.
 */
function hasNeverBeenUsed({ machine: { claim }, moving }: Facts, now: Instant): boolean {
  if (claim?.metadata.annotations?.[markKey.createdFor] === undefined || moving.length > 0) return false;
  const initialized = conditionOf(claim.status?.conditions, 'Initialized');
  const sinceMs = parseTimestamp(initialized?.lastTransitionTime) ?? now;
  return initialized?.status === 'True' && claim.status?.lastPodEventTime === undefined && now - sinceMs >= UNUSED_MS;
}

/** The claim says Consolidatable, and no pod has come or gone since: the condition may be older than the last pod. */
function isQuietFor({ machine: { claim } }: Facts, consolidateAfter: string, now: Instant): boolean {
  const lengthMs = parseDuration(consolidateAfter);
  if (claim === null || lengthMs === null) return false;
  if (conditionOf(claim.status?.conditions, 'Consolidatable')?.status !== 'True') return false;
  const lastMs = parseTimestamp(claim.status?.lastPodEventTime);
  return lastMs === null || now - lastMs >= lengthMs;
}

/** What has come within this may not be known to the claim yet: the relay tells of pods once in ten seconds. */
const NEWS_MS = 60_000;

/**
 * Has a pod come, of which the claim may not know yet? Once the node is marked its
 * [second look](../second-look/begun.ts) knows who came before.
 */
function hasNews({ moving }: Facts, consolidateAfter: string, now: Instant): boolean {
  const lengthMs = Math.min(parseDuration(consolidateAfter) ?? 0, NEWS_MS);
  return moving.some((pod) => now - cameMs(pod, now) < lengthMs);
}

/** By the clock of its machine; where that says nothing yet, or is ahead, it has come when it was made. */
function cameMs({ startedAtMs, createdAtMs }: Pod, now: Instant): number {
  return startedAtMs === null || startedAtMs > now ? createdAtMs : startedAtMs;
}

function conditionOf(conditions: ReadonlyArray<Condition> | undefined, type: string): Condition | undefined {
  return conditions?.find((one) => one.type === type);
}
