import { pendingWindow } from '../contract/snapshot/window.ts';
import type { LeftPod, Plan } from '../core/model/plan.ts';
import { renderRefusal } from '../core/telling/reasons/render-refusal.ts';
import { activeBuffers } from '../core/present/buffer-demand.ts';
import { pendingPods } from '../core/present/pending-pods.ts';
import type { ProvisioningInput } from '../core/model/provisioning-input.ts';
import { instant } from '../core/quantity/units.ts';
import { lacksStaticNodes } from '../core/finishing/static-pools.ts';
import { withoutNodes } from '../core/present/without-nodes.ts';
import { writeBufferStatuses } from './buffer-status.ts';
import { commitPlan, resume } from './commit-plan.ts';
import { publish } from './events.ts';
import { type Gathered, gather } from './gather.ts';
import { leavingNames } from './leaving.ts';
import { inParallel } from './in-parallel.ts';
import { unjudgedPools } from './readiness.ts';
import { writeOverlayStatuses } from './overlay-status.ts';
import type { Ports } from './ports.ts';
import { type Look, type MadePlan, makePlan, recordPlan } from './record-plan.ts';

export type ProvisionOutcome =
  /** No relay has published yet; its first snapshot brings a hint. */
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
  | { readonly kind: 'provisioned'; readonly decision: string; readonly claims: number; readonly left: number }
  /** Another plan came first; a hint to look again is on its way. */
  | { readonly kind: 'lost' };

/** Decisions lost to another instance are tried again after this pause. */
const LOST_PAUSE_MS = 250;

/** A scheduled hint may arrive a little early by our clock; the window counts as closed then, or nobody would wake us again. */
const CLOCK_SKEW_MS = 250;

/** Events about pods that cannot be placed, at most so many per plan; the decision record has them all. */
const REPORTED_MAX = 100;
const REPORTS_AT_ONCE = 8;

/**
 * Brings capacity for the pods that wait now. What woke us is a hint; the snapshot is the truth. `mayList` allows reading
 * the API server itself when the relay is silent, which only the sweep does.
 */
export async function provision(ports: Ports, mayList = false): Promise<ProvisionOutcome> {
  const resumed = await resume(ports);
  if (resumed.kind === 'executing') {
    await wake(ports, resumed.untilMs, 'executing');
    return resumed;
  }

  // 1. Gather: one consistent view of pods, nodes, claims and offerings.
  const gathered = await gather(ports, resumed.ledger, mayList);
  if (gathered === null) return { kind: 'no-snapshot' };
  const { outcome, made } = await decide(ports, gathered);
  // Nobody waits for these, so they come last.
  await Promise.all([
    writeOverlayStatuses(ports, gathered),
    gathered.newDevices === null ? null : ports.deviceMemory.write(gathered.newDevices),
    made === null ? null : recordPlan(ports, made, outcome.kind === 'lost' ? 'lost' : 'holds'),
  ]);
  return outcome;
}

/** What came of a look, and what it knew then; null when it did not get as far as to judge the pods that wait. */
interface Decided {
  readonly outcome: ProvisionOutcome;
  readonly made: Look | null;
}

async function decide(ports: Ports, gathered: Gathered): Promise<Decided> {
  const window = pendingWindow(gathered.snapshot, ports.now() + CLOCK_SKEW_MS);
  const leaving = leavingNames(gathered.snapshot);
  //    Pods on nodes that are being removed count as pending, so that they find capacity before they are evicted.
  const input = withoutNodes(gathered.input, leaving);
  const isWanted = leaving.length > 0 || lacksStaticNodes(input) || activeBuffers(input).length > 0;
  if (window.kind === 'empty' && !isWanted) return { outcome: { kind: 'idle' }, made: null };
  if (!isWanted && allArePromised(ports, input)) {
    const made = { gathered, input, plan: { left: [] }, madeAtMs: ports.now(), tookMs: 0 };
    return { outcome: { kind: 'expected' }, made };
  }
  if (window.kind === 'wait') return { outcome: await waitUntil(ports, window.untilMs), made: null };

  // 2. Plan: pure; the same view always gives the same plan.
  const made = makePlan(ports, gathered, input);
  return { outcome: await carryOut(ports, made), made };
}

/**
 * Does every pod that waits have its place on a claim of an earlier decision? Then a plan would say so, and nothing else.
 * Whoever does not come to use the place is planned for again once the node has settled.
 */
function allArePromised(ports: Ports, { cluster, inFlight }: ProvisioningInput): boolean {
  const promised = new Set([...inFlight.values()].flatMap(({ pods }) => pods));
  return pendingPods(cluster, inFlight, instant(ports.now())).every(({ uid }) => promised.has(uid));
}

async function carryOut(ports: Ports, { gathered, input, plan }: MadePlan): Promise<ProvisionOutcome> {
  await report(ports, plan.left, unjudgedPools(gathered.snapshot, ports.now()));
  await lookAgainWhenCapacityMayBeBack(ports, plan);
  if (plan.claims.length === 0) {
    await writeBufferStatuses(ports, input, plan);
    return { kind: 'nothing-to-launch', left: plan.left.length };
  }

  // 3–5. Audit, commit, execute.
  const outcome = await commitPlan(ports, { ...gathered, input }, plan, 'provisioned');
  if (outcome.kind === 'lost') {
    await wake(ports, ports.now() + LOST_PAUSE_MS, 'lost');
    return { kind: 'lost' };
  }
  await writeBufferStatuses(ports, input, plan);
  logDecision(ports, gathered, plan, outcome.decision.name);
  return {
    kind: 'provisioned',
    decision: outcome.decision.name,
    claims: plan.claims.length,
    left: plan.left.length,
  };
}

async function waitUntil(ports: Ports, untilMs: number): Promise<ProvisionOutcome> {
  await wake(ports, untilMs, 'window-closed');
  return { kind: 'waiting', untilMs };
}

async function wake(ports: Ports, atMs: number, reason: string): Promise<void> {
  const hint = { kind: 'pods', version: 1, cluster: ports.cluster, snapshot: null, reason } as const;
  await ports.hints.send([{ hint, atMs, key: `${reason}/${atMs}` }]);
}

/** Pods and buffers that found no place may find one when the first refusal of Azure's ends. */
async function lookAgainWhenCapacityMayBeBack(ports: Ports, plan: Plan): Promise<void> {
  if (plan.left.length === 0 && plan.buffers.every(({ left }) => left.length === 0)) return;
  const atMs = await ports.catalogs.nextRetryMs();
  // A hint that came before the refusal ends would find it in force, and asking again for the same time is a duplicate.
  if (atMs !== null) await wake(ports, atMs + CLOCK_SKEW_MS, 'capacity-may-be-back');
}

/**
 * Tells each pod's owner, where `kubectl describe pod` shows it, which rule keeps the pod out and what would let it in. Not
 * while it may turn out that one of the pools takes it: that is looked at again when the pool has been judged.
 */
async function report(ports: Ports, left: ReadonlyArray<LeftPod>, unjudged: ReadonlySet<string>): Promise<void> {
  const told = left.filter(({ refusals }) => !refusals.some(({ nodePool }) => unjudged.has(nodePool ?? '')));
  await inParallel(told.slice(0, REPORTED_MAX), REPORTS_AT_ONCE, async ({ pod, refusals }) => {
    const [namespace = 'default', name = ''] = pod.name.split('/');
    const reasons = refusals.map((refusal) => {
      const { detail, fix } = renderRefusal(refusal);
      return `${refusal.nodePool ?? 'all pools'}: ${detail}; ${fix}`;
    });
    const regarding = { apiVersion: 'v1', kind: 'Pod', name, namespace, uid: pod.uid };
    const message = `Failed to schedule pod, ${reasons.join(' | ')}`;
    await publish(ports.kubernetes, { regarding, type: 'Warning', reason: 'FailedScheduling', message }, ports.now());
  });
}

function logDecision(ports: Ports, { snapshot }: Gathered, plan: Plan, decision: string): void {
  ports.log('provisioned', {
    decision,
    snapshot: snapshot.version,
    claims: plan.claims.length,
    pods: plan.claims.reduce((count, { pods }) => count + pods.length, 0),
    bufferPods: plan.buffers.flatMap(({ claims }) => claims).reduce((count, { pods }) => count + pods.length, 0),
    left: plan.left.length,
    costMicroUsdPerHour: plan.cost,
    lowerBoundMicroUsdPerHour: plan.lowerBound,
    weighedCostMicroUsdPerHour: plan.weighed.cost,
    weighedLowerBoundMicroUsdPerHour: plan.weighed.lowerBound,
  });
}
