import type { Snapshot } from '../../contract/snapshot/parse.ts';
import { pendingWindow } from '../../contract/snapshot/window.ts';
import type { LeftPod, Plan } from '../../core/model/plan.ts';
import { emptyPlan } from '../../core/recovery/empty-plan.ts';
import { activeBuffers } from '../../core/present/buffer-demand.ts';
import { pendingPods } from '../../core/present/pending-pods.ts';
import type { ProvisioningInput } from '../../core/model/provisioning-input.ts';
import { instant } from '../../core/quantity/units.ts';
import { lacksStaticNodes } from '../../core/finishing/static-pools.ts';
import { leavingNames } from '../../core/present/leaving-names.ts';
import { withoutLeaving } from '../../core/present/without-leaving.ts';
import { writeBufferStatuses } from './buffer-status.ts';
import type { Decision } from '../../ports/store.ts';
import { digest } from '../../contract/digest.ts';
import { claimsNamed, hintObjects } from '../ports/hint-objects.ts';
import { CLOCK_SKEW_MS } from '../facts/clock-skew.ts';
import { commitPlan, resume } from '../commit/commit-plan.ts';
import { execute } from '../execute/execute.ts';
import { type Gathered, gatherFrom } from '../gather/gather.ts';
import { withKnownReasons } from '../interruption/known-reasons.ts';
import { nameReplacements } from '../interruption/name-replacements.ts';
import { noteEvictions } from '../interruption/note-evictions.ts';
import { letSpareIn } from './let-spare-in.ts';
import { makePlan, type Look, type MadePlan } from '../plan/make-plan.ts';
import { unjudgedPools } from '../facts/readiness.ts';
import { writeOverlayStatuses } from './overlay-status.ts';
import type { Ports } from '../ports/ports.ts';
import { readSnapshot } from '../gather/read-snapshot.ts';
import { planWithoutSpares } from '../plan/plan-without-spares.ts';
import { recordPlan } from '../commit/record-plan.ts';
import { reportLeft } from './report-left.ts';
import { endNominations } from './end-nominations.ts';
import { tellHeldBack } from './tell-held-back.ts';
import { tellNominated } from './tell-nominated.ts';
import { tellRefused } from '../plan/tell-refused.ts';
import { tellPools } from './tell-pools.ts';
import { tellSlowNodes } from './tell-slow-nodes.ts';
import { wake } from '../ports/wake.ts';
import { withdrawUnwanted } from './withdraw-unwanted.ts';

export type ProvisionOutcome =
  /** No relay publishes. Its first snapshot brings a hint; until then the sweep plans from a list. */
  | { readonly kind: 'no-snapshot' }
  | { readonly kind: 'idle' }
  /** All pods that wait are promised room on nodes that are on their way. */
  | { readonly kind: 'expected' }
  /** The last decision's claims are being created; a hint to look again then is on its way. */
  | { readonly kind: 'executing'; readonly untilMs: number }
  /** More pods are about to come; a hint for `untilMs` is on its way. */
  | { readonly kind: 'waiting'; readonly untilMs: number }
  /** Nothing to launch: the pods have a place, or none can be made. */
  | { readonly kind: 'nothing-to-launch'; readonly left: number }
  | {
      readonly kind: 'provisioned';
      readonly decision: string;
      readonly claims: number;
      readonly left: number;
      /** Names of those claims that whoever looks is to launch: the message about them comes later. */
      readonly toLaunch: ReadonlyArray<string>;
    }
  /** Another plan came first; a hint to look again is on its way. */
  | { readonly kind: 'lost' };

/** The relay publishes within a second. */
const DENIED_PAUSE_MS = 2_000;

/** Decisions lost to another instance are tried again after this pause. */
const LOST_PAUSE_MS = 250;

/** After so long without a decision the function `launch` has no instance any more, where none waits. */
const LAUNCH_SLEEPS_AFTER_MS = 60_000;

/**
 * More claims are left to `launch`, which has many instances: whoever launches keeps the cluster's other hints waiting
 * for that long.
 */
const LAUNCHED_HERE_MAX = 8;

/** So long has whoever launches here, in milliseconds; then `launch` hears of it, and does what is left. */
export const LAUNCHED_HERE_WITHIN_MS = 10_000;

/**
 * Brings capacity for the pods that wait now. What woke us is a hint; the snapshot is the truth. `mayList` allows
 * reading the API server itself when the relay is silent, which only the sweep does. `mayLaunch`: who looks is ready to
 * launch what is decided after a quiet time, so that the first pod does not wait until another function has woken.
 */
export async function provision(
  ports: Ports,
  { mayList = false, mayLaunch = false }: { readonly mayList?: boolean; readonly mayLaunch?: boolean } = {},
): Promise<ProvisionOutcome> {
  const resumed = await resume(ports);
  if (resumed.kind === 'executing') {
    await wake(ports, resumed.untilMs, 'executing');
    return resumed;
  }

  // 1. Gather: one consistent view of pods, nodes, claims and offerings.
  const published = await readSnapshot(ports, mayList);
  if (published === null) return { kind: 'no-snapshot' };
  //    What is taken back counts before prices are read.
  const snapshot = await withKnownReasons(ports, published);
  await noteEvictions(ports, snapshot);
  await endNominations(ports, snapshot);
  const gathered = await gatherFrom(ports, resumed.ledger, snapshot);
  await callHeirs(ports, gathered);
  const decided = await decide(ports, gathered, mayLaunch && isQuiet(ports, gathered));
  // Another plan may have given that room to others.
  if (decided.outcome.kind !== 'lost')
    await letSpareIn(ports, gathered, { nominations: decided.plan?.nominations ?? [] });
  await tell(ports, { snapshot, gathered }, decided);
  if (BUYS_NOTHING.has(decided.outcome.kind)) await withdrawUnwanted(ports, gathered, decided.plan ?? emptyPlan());
  return decided.outcome;
}

/** Outcomes after which nothing is on its way that the view does not have. */
const BUYS_NOTHING: ReadonlySet<ProvisionOutcome['kind']> = new Set(['idle', 'expected', 'nothing-to-launch']);

/** What objects and records are to say of a look. Nobody waits for it, so it comes last. */
async function tell(
  ports: Ports,
  { snapshot, gathered }: { readonly snapshot: Snapshot; readonly gathered: Gathered },
  { outcome, made, plan, claimNames = [] }: Decided,
): Promise<void> {
  const { nominations = [] } = plan ?? {};
  await Promise.all([
    tellSlowNodes(ports, snapshot, { nominations }),
    tellHeldBack(ports, gathered, { nominations }),
    plan === undefined ? null : tellNominated(ports, gathered, plan, claimNames),
    plan === undefined || outcome.kind !== 'provisioned'
      ? null
      : tellPools(ports, gathered, plan, { decision: outcome.decision, claimNames }),
    writeOverlayStatuses(ports, gathered),
    gathered.newDevices === null ? null : ports.deviceMemory.write(gathered.newDevices),
    made === null ? null : recordPlan(ports, made, outcome.kind === 'lost' ? 'lost' : 'holds'),
  ]);
}

/** Has nobody decided for so long that `launch` is asleep? */
function isQuiet(ports: Ports, { ledger: { heardAtMs } }: Gathered): boolean {
  return Math.abs(ports.now() - (heardAtMs ?? 0)) > LAUNCH_SLEEPS_AFTER_MS;
}

/** Nodes that are kept for pods that have moved let in the successors that wait now. */
async function callHeirs(ports: Ports, { heirs }: Gathered): Promise<void> {
  if (heirs.size === 0) return;
  const occasion = `successors/${digest(...[...heirs.values()].flat())}`;
  await hintObjects(ports, claimsNamed([...heirs.keys()]), { reason: 'successors', occasion });
}

/** What came of a look, and what it knew then; null when it did not get as far as to judge the pods that wait. */
interface Decided {
  readonly outcome: ProvisionOutcome;
  readonly made: Look | null;
  /** What was planned; absent when nothing was. */
  readonly plan?: Plan;
  /** Of the plan's claims; null for one that could not be created. Absent where none was. */
  readonly claimNames?: ReadonlyArray<string | null>;
}

async function decide(ports: Ports, gathered: Gathered, isQuietNow: boolean): Promise<Decided> {
  // A hint that comes a little early finds the window closed, or nobody would wake us again.
  const window = pendingWindow(gathered.snapshot, ports.now() + CLOCK_SKEW_MS);
  const leaving = leavingNames(gathered.snapshot);
  //    Pods on nodes that are being removed count as pending, so that they find capacity before they are evicted.
  const input = withoutLeaving(gathered.input, leaving, instant(ports.now()));
  const isWanted = leaving.length > 0 || lacksStaticNodes(input) || activeBuffers(input).length > 0;
  if (window.kind === 'empty' && !isWanted) return { outcome: { kind: 'idle' }, made: null };
  if (!isWanted && allArePromised(ports, gathered, input)) {
    const made = { gathered, input, plan: { left: [] }, madeAtMs: ports.now(), tookMs: 0 };
    return { outcome: { kind: 'expected' }, made };
  }
  if (window.kind === 'wait') return { outcome: await waitUntil(ports, window.untilMs), made: null };

  // 2. Plan: pure; the same view always gives the same plan. 3. Audit: by rules that do not know how the plan was made.
  const planned = makePlan(ports, gathered, input);
  const made = planWithoutSpares(ports, planned, { from: gathered.input, leaving });
  return { made, plan: made.plan, ...(await carryOut(ports, made, isQuietNow)) };
}

/**
 * Does every pod that waits have its place on a claim of an earlier decision, whether it was planned for it or beside
 * those that were? Then a plan would say so, and nothing else.
 * Whoever does not come to use the place is planned for again once the node has settled; on a node that is kept for
 * others, at each look, as they are let in by what a plan says.
 */
function allArePromised(ports: Ports, { ledger, kept }: Gathered, { cluster, inFlight }: ProvisioningInput): boolean {
  const planned = [...inFlight.values()].flatMap(({ pods }) => pods);
  const shut = new Set([...kept.values()].map(({ claim }) => claim.metadata.name));
  const open = new Map([...inFlight].filter(([name]) => !shut.has(name)));
  const promised = new Set([...planned, ...ports.places.promised(ledger.generation, open)]);
  return pendingPods(cluster, inFlight, instant(ports.now())).every(({ uid }) => promised.has(uid));
}

async function carryOut(
  ports: Ports,
  made: MadePlan,
  isQuietNow: boolean,
): Promise<Pick<Decided, 'outcome' | 'claimNames'>> {
  const { gathered, input, plan } = made;
  const unjudged = unjudgedPools(gathered.snapshot, ports.now());
  await tellRefused(ports, made);
  await reportLeft(ports, plan.left, unjudged);
  await lookAgainWhenPoolsShouldBeJudged(ports, plan, unjudged);
  await lookAgainWhenCapacityMayBeBack(ports, plan);
  if (plan.claims.length === 0) {
    await writeBufferStatuses(ports, input, plan);
    ports.places.note(plan, gathered.ledger.generation);
    await nameReplacements(ports, gathered, plan, []);
    return { outcome: { kind: 'nothing-to-launch', left: plan.left.length } };
  }

  // 4. Commit: on condition that nobody has decided since the gathering.
  const committed = await commitPlan(ports, { ...gathered, input }, plan, 'provisioned');
  if (committed.kind === 'lost') {
    await wake(ports, ports.now() + LOST_PAUSE_MS, 'lost');
    return { outcome: { kind: 'lost' } };
  }

  // 5. Execute: create the NodeClaims; whoever comes after a crash here finishes it.
  const isLaunchedHere = isQuietNow && plan.claims.length <= LAUNCHED_HERE_MAX;
  const launchesAtMs = isLaunchedHere ? ports.now() + LAUNCHED_HERE_WITHIN_MS : null;
  const { missing } = await execute(ports, committed.state, committed.decision, launchesAtMs);
  // Pods whose claims are denied may go to another pool. Not at once: the snapshot is to know by then what the pool
  // says of it.
  if (missing.size > 0) await wake(ports, ports.now() + DENIED_PAUSE_MS, 'claims-denied');
  await nameReplacements(ports, gathered, plan, committed.decision.claimNames);
  await writeBufferStatuses(ports, input, plan);
  ports.places.note(plan, committed.state.generation);
  logDecision(ports, gathered, plan, committed.decision);
  const claims = plan.claims.length - missing.size;
  const { name: decision } = committed.decision;
  const claimNames = committed.decision.claimNames.map((name) => (missing.has(name) ? null : name));
  const toLaunch = isLaunchedHere ? claimNames.filter((name) => name !== null) : [];
  return { outcome: { kind: 'provisioned', decision, claims, left: plan.left.length, toLaunch }, claimNames };
}

async function waitUntil(ports: Ports, untilMs: number): Promise<ProvisionOutcome> {
  await wake(ports, untilMs, 'window-closed');
  return { kind: 'waiting', untilMs };
}

/** Pods and buffers that found no place may find one when the first refusal of Azure's ends. */
async function lookAgainWhenCapacityMayBeBack(ports: Ports, plan: Plan): Promise<void> {
  if (plan.left.length === 0 && plan.buffers.every(({ left }) => left.length === 0)) return;
  const atMs = await ports.catalogs.nextRetryMs();
  // A hint that came before the refusal ends would find it in force, and asking again for the same time is a duplicate.
  if (atMs !== null) await wake(ports, atMs + CLOCK_SKEW_MS, 'capacity-may-be-back');
}

/** Pods hear nothing of pools that nobody has judged; when these should have been, they do. */
async function lookAgainWhenPoolsShouldBeJudged(
  ports: Ports,
  { left }: Plan,
  unjudged: ReadonlyMap<string, number>,
): Promise<void> {
  const endOf = ({ refusals }: LeftPod): number =>
    Math.max(...refusals.map(({ nodePool }) => unjudged.get(nodePool ?? '') ?? -Infinity));
  const ends = left.map(endOf).filter(Number.isFinite);
  if (ends.length > 0) await wake(ports, Math.min(...ends) + CLOCK_SKEW_MS, 'pools-not-judged');
}

function logDecision(ports: Ports, { snapshot }: Gathered, plan: Plan, { name, atMs }: Decision): void {
  const planned = new Set(plan.claims.flatMap(({ pods }) => pods.map(({ uid }) => uid)));
  // Those that are to move from nodes that go wait for nothing yet.
  const waiting = snapshot.pods.filter(({ uid, nodeName }) => nodeName === null && planned.has(uid));
  const createdAtMs = waiting.map((pod) => pod.createdAtMs);
  ports.log('provisioned', {
    decision: name,
    snapshot: snapshot.version,
    claims: plan.claims.length,
    pods: plan.claims.reduce((count, { pods }) => count + pods.length, 0),
    bufferPods: plan.buffers.flatMap(({ claims }) => claims).reduce((count, { pods }) => count + pods.length, 0),
    left: plan.left.length,
    longestWaitMs: atMs - createdAtMs.reduce((a, b) => Math.min(a, b), atMs),
    costMicroPerHour: plan.cost,
    lowerBoundMicroPerHour: plan.lowerBound,
    weighedCostMicroPerHour: plan.weighed.cost,
    weighedLowerBoundMicroPerHour: plan.weighed.lowerBound,
    currency: ports.catalogs.currency,
  });
  logAvoidedSpot(ports, plan, name);
}

/** Why what is on demand was chosen where spot is allowed: Azure had none of many sizes. */
function logAvoidedSpot(ports: Ports, { claims }: Plan, decision: string): void {
  for (const { offering, cheaper } of claims) {
    for (const { reason } of offering.capacityType === 'spot' ? [] : cheaper) {
      if (reason.kind !== 'spot-storm' || reason.refusedSizes === 0) continue;
      ports.log('spot-avoided', { decision, refusedSizes: reason.refusedSizes, until: reason.until });
      return;
    }
  }
}
