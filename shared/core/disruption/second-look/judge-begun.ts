import { isDisrupted } from '../../../kubernetes/disrupted-taint.ts';
import { isDedicated } from '../../../kubernetes/dedicated-taint.ts';
import { QUIET_MS } from '../../../kubernetes/marks.ts';
import type { Finding } from '../../audit/seen/finding.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { DisruptionInput } from '../../model/disruption-input.ts';
import type { Plan } from '../../model/plan.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import { initializedNodes } from '../../present/initialized-nodes.ts';
import { leavingNames } from '../../present/leaving-names.ts';
import { withoutLeaving } from '../../present/without-leaving.ts';
import type { Instant } from '../../quantity/units.ts';
import type { AuditedPlan } from '../../recovery/sound-plan.ts';
import { conditionIn, says } from '../candidates/claim-conditions.ts';
import { judgeNodes } from '../candidates/judge-nodes.ts';
import type { JudgedNode } from '../candidates/judged-node.ts';
import { poolsFor, type Pools } from '../candidates/pools.ts';
import { FORCED_REASONS } from '../plan/disruption-plan.ts';
import { renderKept } from '../plan/render-kept.ts';
import { judgedRemoval, type AuditedRemoval } from '../sound-disruption.ts';
import {
  asMarked,
  begunIn,
  candidatesOf,
  cordoned,
  decisionOf,
  lostOf,
  withoutMarks,
  type Begun,
  type Candidate,
} from './begun.ts';
import { type Short, type Shortage, shortageOf } from './shortage.ts';
import { withoutStalled } from './without-stalled.ts';

/**
 * Replacements that are not initialized by then are not waited for: as in Karpenter, ten minutes. Nor is anything else
 * for longer.
 */
export const REPLACED_MS = 10 * 60_000;

/** What is bought later than this would not be ready by then. */
const BOUGHT_MS = REPLACED_MS / 2;

/** A decision whose executor has died is executed by another after some seconds. */
const MARKED_MS = 60_000;

/** What becomes of nodes that were marked to go. */
export type BegunVerdict =
  | { readonly kind: 'remove'; readonly removal: AuditedRemoval }
  /** `because`: names of the nodes that wait for it, where others may go meanwhile. */
  | { readonly kind: 'wait'; readonly for: string; readonly because?: ReadonlySet<string> }
  /**
   * Room that its pods were to have is gone: new nodes are to be bought for them. `why`, `failed` and `because` as of
   * what is taken back, where these cannot be had.
   */
  | {
      readonly kind: 'short';
      readonly shortage: Shortage;
      readonly why: string;
      readonly failed: number;
      readonly because: ReadonlySet<string>;
    }
  /**
   * `failed`: so many replacements did not come. `because`: names of the nodes that it is about, where others might go
   * without them.
   */
  | {
      readonly kind: 'take-back';
      readonly why: string;
      readonly failed?: number;
      readonly because?: ReadonlySet<string>;
    }
  /** The audit does not let them go, which is a fault of ours: they wait, and stay in the end. */
  | { readonly kind: 'refused'; readonly findings: ReadonlyArray<Finding> };

/** The newest view, and what it is judged by. */
export interface SecondLook {
  /** Of the policy's roll-outs those that are halted: a canary that was decided on goes. */
  readonly input: DisruptionInput;
  readonly now: Instant;
  /** The view lacks nothing that had happened by then, milliseconds since the epoch. */
  readonly seenMs: number;
  /** What prices are in (ISO 4217). */
  readonly currency: string;
  /** Plans, and has the plan audited. */
  readonly planFor: (input: ProvisioningInput) => AuditedPlan;
}

/** Nodes that were begun together, or some of them, and what becomes of these. */
export interface JudgedBegun {
  readonly one: Begun;
  readonly verdict: BegunVerdict;
}

/**
 * Each part that is judged takes a plan: of a hundred nodes, some of which stay for one reason each, the rest stays too
 * after so many.
 */
const PARTS_MAX = 8;

/**
 * Decides about nodes that were begun together, on the newest view. Where some of them stay, as a pod of theirs may not
 * go or has no place any more, the others go without them if they can: their replacements have come. Of those that go
 * for what they cost only where nothing has come in their place: what a part saves may be less than that costs. Pure,
 * if `planFor` is.
 */
export function judgeInParts(begun: Begun, look: SecondLook): ReadonlyArray<JudgedBegun> {
  return isDivisible(begun) ? judgeParts(begun, look, PARTS_MAX) : [{ one: begun, verdict: judgeBegun(begun, look) }];
}

function judgeParts(begun: Begun, look: SecondLook, most: number): ReadonlyArray<JudgedBegun> {
  const verdict = judgeBegun(begun, look);
  const because = becauseOf(verdict);
  const isOwn = ({ node }: Candidate): boolean => because.has(node.metadata.name);
  const staying = { ...begun, candidates: begun.candidates.filter(isOwn) };
  const others = { ...begun, candidates: begun.candidates.filter((one) => !isOwn(one)) };
  if (staying.candidates.length === 0 || others.candidates.length === 0 || most === 1) {
    return [{ one: begun, verdict }];
  }
  // Who waits keeps its marks, and goes later.
  if (verdict.kind !== 'take-back') return [{ one: staying, verdict }, ...judgeParts(others, look, most - 1)];
  // Their marks come off before any of the others goes.
  const { provisioning } = look.input;
  const opened = { ...provisioning, cluster: unmarked(provisioning.cluster, staying) };
  const rest = judgeParts(others, { ...look, input: { ...look.input, provisioning: opened } }, most - 1);
  return [{ one: staying, verdict }, ...rest];
}

function becauseOf(verdict: BegunVerdict): ReadonlySet<string> {
  return 'because' in verdict ? (verdict.because ?? new Set()) : new Set();
}

function isDivisible(one: Begun): boolean {
  return one.replacements.length === 0 || mustAllGo(one);
}

/** Must all of them go? */
export function mustAllGo({ candidates }: Begun): boolean {
  return candidates.every(({ claim }) => FORCED_REASONS.has(reasonOf(claim) ?? ''));
}

/**
 * The same for all of them: they go, or none does. What is waited for so long that a replacement would have failed is
 * waited for no more: the nodes stay.
 */
export function judgeBegun(one: Begun, look: SecondLook): BegunVerdict {
  const verdict = judgeNow(one, look);
  if (verdict.kind !== 'wait' || look.now < one.sinceMs + REPLACED_MS) return verdict;
  return { kind: 'take-back', why: `after 10 minutes it still waited for ${verdict.for}` };
}

function judgeNow(one: Begun, look: SecondLook): BegunVerdict {
  if (one.decision === null) return { kind: 'take-back', why: 'no decision removes it' };
  // All waits count from the mark: its node would stay closed, and others be kept from going, until the time has come.
  if (one.sinceMs > look.now + REPLACED_MS) return { kind: 'take-back', why: 'it was marked by a clock that is ahead' };
  const replaced = judgeReplacements(one, look);
  if (replaced.kind !== 'come') return replaced;
  // What came to the node within the wait must be on it in the view.
  if (look.seenMs < one.sinceMs + QUIET_MS) return { kind: 'wait', for: 'the scheduler to see the taint' };
  if (!one.candidates.every(({ node }) => isDisrupted(node))) {
    // Somebody may be about to: marking takes a moment, and is taken up again after a crash.
    if (look.now < one.sinceMs + MARKED_MS) return { kind: 'wait', for: 'all nodes to be tainted' };
    return { kind: 'take-back', why: 'it was only partly marked for removal' };
  }
  return judgeAnew(one, look, replaced);
}

/**
 * All have come that come: so many have not, without which some of the nodes may go all the same. `mayBuy`: none of
 * them has failed by itself, and there is time. `isStarting`: some are on their way, and others are lost.
 */
interface Come {
  readonly kind: 'come';
  readonly failed: number;
  readonly mayBuy: boolean;
  readonly isStarting: boolean;
}

function judgeReplacements(one: Begun, look: SecondLook): BegunVerdict | Come {
  const isOver = look.now >= one.sinceMs + REPLACED_MS;
  const { gone, starting, failed, isLost } = replacementsNow(one, look, isOver);
  // What Azure has refused or taken, or somebody deleted, can be had again; a machine that would not join fails again.
  const mayBuy = (gone === 0 || isLost) && look.now < one.sinceMs + BOUGHT_MS;
  const come: Come = { kind: 'come', failed, mayBuy, isStarting: isLost && starting > 0 && !isOver };
  if (isLost && (mayBuy || come.isStarting)) return come;
  // Where some have come, those nodes stay whose pods were to go to the others.
  const isWhole = !isDivisible(one) || gone + starting === one.replacements.length;
  if (gone > 0 && isWhole) return { kind: 'take-back', why: whyFailed(one, failed), failed };
  if (gone + starting === 0) return come;
  if (!isOver) return starting > 0 ? AWAITED : come;
  return isWhole ? { kind: 'take-back', why: 'its replacement was not ready within 10 minutes', failed } : come;
}

/**
 * How many replacements are no more, how many are not in use yet, and how many have failed: what still boots in its
 * time has not, but what Azure has no capacity for, and is about to go. `isOver`: their time. `isLost`: some are no
 * more, and none of those by its own fault.
 */
function replacementsNow(one: Begun, { input }: SecondLook, isOver: boolean) {
  const { replacements, unavailable } = one;
  const { cluster } = input.provisioning;
  const claims = new Map(cluster.nodeClaims.map((claim) => [claim.metadata.name, claim]));
  const there = replacements.flatMap((name) => {
    const claim = claims.get(name);
    return claim === undefined || claim.metadata.deletionTimestamp !== undefined ? [] : claim;
  });
  const starting = there.filter((claim) => !says(claim, 'Initialized'));
  const gone = replacements.length - there.length;
  const over = starting.filter(({ metadata }) => isOver || unavailable.includes(metadata.name));
  const isLost = gone > 0 && gone === lostOf(one, cluster).length;
  return { gone, starting: starting.length, failed: gone + over.length, isLost };
}

/** Some are on their way. */
const AWAITED = { kind: 'wait', for: 'replacements' } as const;

function whyFailed({ unavailable }: Begun, failed: number): string {
  return failed > unavailable.length ? 'a replacement has failed' : 'Azure has no capacity for a replacement';
}

/** As if nothing had been decided: may each of the nodes go, and has each of their pods a place that is ready? */
function judgeAnew(one: Begun, look: SecondLook, come: Come): BegunVerdict {
  const { input, now } = look;
  const { provisioning } = input;
  const opened = unmarked(provisioning.cluster, one);
  const isForced = mustAllGo(one);
  const cluster = isForced ? opened : { ...opened, nodeClaims: asMarked(opened, one) };
  const given = { ...input, provisioning: { ...provisioning, cluster } };
  const names = new Set(one.candidates.map(({ node }) => node.metadata.name));
  const begunAs = one.candidates.map(({ claim }) => reasonOf(claim))[0] ?? null;
  const nodes = judgeNodes(given, now, begunAs).filter(({ name }) => names.has(name));
  const held = whyHeld(one, nodes, look);
  if (held !== null) {
    const { why, because, isPassing } = held;
    const isWorthIt = isForced || one.replacements.length > 0;
    const mayPass = isPassing && isWorthIt && now < one.sinceMs + BOUGHT_MS;
    return mayPass ? { kind: 'wait', for: why, because } : { kind: 'take-back', why, because };
  }
  const pools = poolsFor(given.provisioning.cluster, now);
  const fixed = poolWithMore(nodes, pools.succeeded);
  if (fixed !== null) return { kind: 'wait', for: `another node of the static NodePool ${fixed} to go first` };
  const overdrawn = poolWithMore(nodes, pools.allowed);
  if (overdrawn !== null) {
    return { kind: 'wait', for: `the budgets of NodePool ${overdrawn} to allow this many removals` };
  }
  const left = withoutLeaving(provisioning, leavingNames(provisioning.cluster), now);
  const around = withoutStalled(left, provisioning, now);
  const asked = isForced ? withoutArrivals(around, provisioning) : around;
  const plan = look.planFor(asked);
  const lacking = judgePlaces(one, look, { nodes, isForced, asked, plan, ...come });
  if (lacking !== null) return lacking;
  // As in Karpenter all of them are waited for, though there is room by now: it may be gone when they come for nobody.
  if (come.isStarting) return AWAITED;
  const going = nodes.flatMap(({ name, verdict }) =>
    verdict.kind === 'stays' ? [] : [{ name, reason: verdict.reason }],
  );
  const judged = judgedRemoval({ nodes: going, plan }, given, now);
  if (judged.kind === 'sound') return { kind: 'remove', removal: judged.removal };
  if (now < one.sinceMs + REPLACED_MS) return judged;
  return { kind: 'take-back', why: 'its removal breaks a rule of the audit' };
}

/**
 * What is to be bought for the set. Where it is short beside pods that wait, or beside other sets, these are looked at
 * as staying where they are: else two sets that are short would wait for each other.
 */
function shortageIn(one: Begun, look: SecondLook, short: Short): Shortage | 'others-first' | null {
  const { provisioning } = look.input;
  const found = shortageOf(one, short, provisioning);
  if (found !== 'others-first' && found !== null) return found;
  const own = new Set(one.candidates.map(({ node }) => node.metadata.name));
  const marked = begunIn(provisioning.cluster).flatMap(({ candidates }) => candidates);
  const others = marked.filter(({ node }) => !own.has(node.metadata.name));
  if (others.length === 0) return found;
  const names = new Set(others.flatMap(({ node, claim }) => [node.metadata.name, claim.metadata.name]));
  const { cluster } = provisioning;
  const staying = { ...provisioning, cluster: { ...cluster, nodes: cordoned(cluster.nodes, names) } };
  const leaving = leavingNames(cluster).filter((name) => !names.has(name));
  const input = withoutStalled(withoutLeaving(staying, leaving, look.now), provisioning, look.now);
  return shortageOf(one, { ...short, input, plan: look.planFor(input) }, provisioning);
}

/** What places are judged by: the nodes that may go, and the plan for their pods, with what was planned for. */
interface Places extends Come {
  readonly nodes: ReadonlyArray<JudgedNode>;
  readonly isForced: boolean;
  readonly asked: ProvisioningInput;
  readonly plan: AuditedPlan;
}

/** What becomes of the nodes where not each of their pods has a place that is ready; null where each has. */
function judgePlaces(
  one: Begun,
  look: SecondLook,
  { nodes, isForced, asked, plan, failed, mayBuy }: Places,
): BegunVerdict | null {
  const { now } = look;
  const { provisioning } = look.input;
  const uids = new Set(nodes.flatMap(({ moving }) => moving.map(({ uid }) => uid)));
  const { left, claims, homes } = homesOf(plan, uids);
  const [first] = left;
  const nodesOf = (pods: ReadonlyArray<{ readonly uid: string }>): ReadonlySet<string> => {
    const own = new Set(pods.map(({ uid }) => uid));
    return new Set(nodes.flatMap(({ name, moving }) => (moving.some(({ uid }) => own.has(uid)) ? [name] : [])));
  };
  if (first !== undefined) {
    const why = `pod ${first.pod.name} has no place on any other node`;
    return { kind: 'take-back', why, failed, because: nodesOf(left.map(({ pod }) => pod)) };
  }
  if (claims.length > 0) {
    const because = nodesOf(claims.flatMap(({ pods }) => pods));
    const why = failed > 0 ? whyFailed(one, failed) : 'its pods would need one more new node';
    const shortage = mayBuy ? shortageIn(one, look, { plan, input: asked, uids, isForced }) : null;
    if (shortage === null) return { kind: 'take-back', why, failed, because };
    if (shortage === 'others-first') return { kind: 'wait', for: 'nodes for pods that wait' };
    return { kind: 'short', shortage, why, failed, because };
  }
  const ready = initializedNodes(provisioning.cluster);
  const moving = { uids, replacements: new Set(one.replacements), decision: one.decision };
  const kept = keptForOthers(plan, provisioning, moving);
  const awaited = homes.filter(({ target: { name } }) => !ready.has(name) || kept.has(name));
  if (awaited.length === 0) return null;
  if (failed === 0 || now < one.sinceMs + REPLACED_MS) {
    return { kind: 'wait', for: `${awaited.length} nodes to start` };
  }
  const because = nodesOf(awaited.flatMap(({ pods }) => pods));
  return { kind: 'take-back', why: 'its replacement was not ready within 10 minutes', failed, because };
}

function unmarked(cluster: Cluster, one: Begun): Cluster {
  return { ...cluster, nodes: withoutMarks(cluster.nodes, one) };
}

/** What keeps some of the nodes. */
interface Held {
  readonly why: string;
  readonly because: ReadonlySet<string>;
  /** A budget of pods allows more again once other pods of it run. */
  readonly isPassing: boolean;
}

/** Why some of the nodes, of the first that does not go any more, do not; null where all may. */
function whyHeld(one: Begun, nodes: ReadonlyArray<JudgedNode>, look: SecondLook): Held | null {
  const held = nodes.flatMap((node) => {
    const why = whyKept(one, node, look);
    const isPassing = node.verdict.kind === 'stays' && node.verdict.reason.kind === 'pod-budget';
    return why === null ? [] : [{ why, name: node.name, isPassing }];
  });
  // What stays for good does not wait for what may pass.
  const first = held.find(({ isPassing }) => !isPassing) ?? held[0];
  if (first === undefined) return null;
  const { why, isPassing } = first;
  return { why, isPassing, because: new Set(held.flatMap((other) => (other.why === why ? [other.name] : []))) };
}

function whyKept(
  { candidates }: Begun,
  { name, verdict, moving }: JudgedNode,
  { currency }: SecondLook,
): string | null {
  const own = candidates.find(({ node }) => node.metadata.name === name);
  if (verdict.kind === 'stays') return renderKept(verdict.reason, currency);
  // Where such a reason has passed, nothing else has been decided.
  const reason = (own === undefined ? undefined : reasonOf(own.claim)) ?? '';
  const isOther = reason === 'StaticSurplus' && verdict.reason !== reason;
  if (isOther || (FORCED_REASONS.has(reason) && verdict.kind !== 'must')) return `it is no longer ${reason}`;
  // Pods whose evictions count as nothing are no news: it was empty with them.
  return reason === 'Empty' && verdict.reason !== reason && moving.length > 0 ? 'new pods run on it' : null;
}

/**
 * Without the pods that wait and that nobody has promised a place: what must go does not wait for as long as others
 * come, and room that its pods were to have is theirs.
 */
function withoutArrivals(around: ProvisioningInput, { cluster, inFlight }: ProvisioningInput): ProvisioningInput {
  const promised = new Set([...inFlight.values()].flatMap(({ pods }) => pods));
  const arrived = new Set(
    cluster.pods.flatMap(({ uid, nodeName }) => (nodeName === null && !promised.has(uid) ? [uid] : [])),
  );
  return {
    ...around,
    cluster: { ...around.cluster, pods: around.cluster.pods.filter(({ uid }) => !arrived.has(uid)) },
  };
}

/** The pods that a plan has to find a place for, wherever it found one. */
function homesOf(plan: Plan, uids: ReadonlySet<string>) {
  const isOwn = ({ uid }: { readonly uid: string }): boolean => uids.has(uid);
  return {
    left: plan.left.filter(({ pod }) => isOwn(pod)),
    claims: plan.claims.filter(({ pods }) => pods.some((pod) => isOwn(pod))),
    homes: plan.nominations.filter(({ pods }) => pods.some((pod) => isOwn(pod))),
  };
}

/** The pods that move, the decision by which they do, and the claims that have come for them. */
interface Moving {
  readonly uids: ReadonlySet<string>;
  readonly replacements: ReadonlySet<string>;
  readonly decision: string | null;
}

/**
 * Nodes that are in use, and kept for others than some of the pods that are to go there: those would wait. What has
 * come for these very pods keeps none of them back: whichever of them this plan sends there, each has a place that it
 * is let in to.
 */
function keptForOthers(
  plan: Plan,
  { cluster, inFlight }: ProvisioningInput,
  { uids, replacements, decision }: Moving,
): ReadonlySet<string> {
  const going = new Set(
    candidatesOf(cluster).flatMap(({ claim, node }) => (decisionOf(claim) === decision ? node.metadata.name : [])),
  );
  const moving = new Set(cluster.pods.flatMap(({ uid, nodeName }) => (going.has(nodeName ?? '') ? uid : [])));
  const podsOn = Map.groupBy(cluster.pods, ({ nodeName }) => nodeName);
  const dedicated = new Set(cluster.nodes.filter(isDedicated).map(({ metadata }) => metadata.name));
  const claimOf = new Map(candidatesOf(cluster).map(({ claim, node }) => [node.metadata.name, claim.metadata.name]));
  const others = plan.nominations.filter(({ target, pods }) => {
    const claim = claimOf.get(target.name) ?? '';
    if (!dedicated.has(target.name) || replacements.has(claim)) return false;
    const promised = new Set(inFlight.get(claim)?.pods);
    // Whoever has not come yet is of the same set, which was bought for later, or in one plan with pods that waited.
    const missing = promised.difference(new Set(podsOn.get(target.name)?.map(({ uid }) => uid)));
    if (missing.size > 0 && missing.isSubsetOf(moving)) return false;
    return pods.some(({ uid }) => uids.has(uid) && !promised.has(uid));
  });
  return new Set(others.map(({ target }) => target.name));
}

/** The first pool of which more would go than `most` lets go beside those that are going; null when there is none. */
function poolWithMore(going: ReadonlyArray<JudgedNode>, most: Pools['succeeded']): string | null {
  const perPool = Map.groupBy(going, ({ nodePool }) => nodePool?.metadata.name ?? '');
  for (const [pool, own] of perPool) {
    const isOver = own.some(({ verdict }) => verdict.kind !== 'stays' && most(pool, verdict.reason) < own.length);
    if (isOver) return pool;
  }
  return null;
}

/** Why the claim is to go. */
export function reasonOf({ status }: Candidate['claim']): string | undefined {
  return conditionIn(status?.conditions, 'DisruptionReason')?.reason;
}
