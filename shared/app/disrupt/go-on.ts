import { poolsFor, type Pools } from '../../core/disruption/candidates/pools.ts';
import { judgeNodes, type JudgedNode } from '../../core/disruption/candidates/judge-nodes.ts';
import { FORCED_REASONS } from '../../core/disruption/plan/disruption-plan.ts';
import { renderKept } from '../../core/disruption/plan/render-kept.ts';
import { isDisrupted } from '../../contract/disrupted-taint.ts';
import { isReserved } from '../../contract/reserved-taint.ts';
import type { Plan } from '../../core/model/plan.ts';
import { claimOfVm } from '../node-name.ts';
import { annotation, label } from '../../contract/names.ts';
import { planProvisioning } from '../../core/plan-provisioning.ts';
import { withoutNodes } from '../../core/present/without-nodes.ts';
import { instant } from '../../core/quantity/units.ts';
import { claimFacts, machineFacts } from '../claim-facts.ts';
import { conditionOf, isTrue, toTimestamp } from '../conditions.ts';
import { eventAbout, written } from '../follow/node-claim.ts';
import { publish } from '../events.ts';
import type { Gathered } from '../gather.ts';
import { claimsNamed, hintObjects } from '../hint-objects.ts';
import { inParallel } from '../in-parallel.ts';
import { initializedNodes } from '../initialized-nodes.ts';
import { leavingNames } from '../leaving.ts';
import type { Ports } from '../ports.ts';
import { recordLook } from '../record-look.ts';
import { homesOf, withoutMarks, type Begun, type Candidate } from './begun.ts';
import { noteFailure } from './breaker.ts';
import { disruptionInput } from './disruption-input.ts';
import type { DisruptionPolicy } from '../../core/model/disruption-input.ts';
import { haltRollout } from './halt-rollouts.ts';
import { isBehind } from './rollouts.ts';
import { readBakeTime } from '../../contract/api/bake-time.ts';
import type { DisruptOutcome } from './disrupt.ts';
import { eventAboutNode } from './event-about.ts';
import { NODES_AT_ONCE, unmark } from './mark.ts';
import { failureCounts } from './look-figures.ts';

/**
 * From the mark to the deletion: the scheduler, which knows the taint within a second, has sent nobody there for so long, and
 * what it had decided before is in the snapshot. Karpenter waits 15 s before it marks; here the mark is what is waited on.
 */
const QUIET_MS = 5_000;

/** Replacements that are not initialized by then are not waited for: as in Karpenter, ten minutes. */
const REPLACED_MS = 10 * 60_000;

/** A decision whose executor has died is executed by another after some seconds. */
const MARKED_MS = 60_000;

/** What becomes of nodes that were marked to go. */
type Verdict =
  | { readonly kind: 'remove' }
  | { readonly kind: 'wait'; readonly for: string }
  /** `failed`: so many replacements did not come. */
  | { readonly kind: 'take-back'; readonly why: string; readonly failed?: number };

/** Decides about every set of nodes that was begun, on the newest view: all of a set go, or none. */
export async function goOn(
  ports: Ports,
  gathered: Gathered,
  begun: ReadonlyArray<Begun>,
  rollouts: DisruptionPolicy['rollouts'],
): Promise<DisruptOutcome> {
  // A canary that was decided on goes; where what is new does worse meanwhile, nothing goes for it.
  const halted = new Map([...rollouts].filter(([, { kind }]) => kind === 'halted'));
  const judged = begun.map((one) => ({ one, verdict: judge(ports, gathered, one, halted) }));
  await tellWaiting(ports, gathered, judged);
  const going = judged.flatMap(({ one, verdict }) => (verdict.kind === 'remove' ? one.candidates : []));
  const staying = judged.flatMap(({ one, verdict }) =>
    verdict.kind === 'take-back' ? one.candidates.map((candidate) => ({ candidate, why: verdict.why })) : [],
  );
  for (const { one, verdict } of judged) {
    // There is one, or two after a crash. Before the marks come off: else a crash would forget it.
    // oxlint-disable-next-line no-await-in-loop
    if (verdict.kind === 'take-back') await noteFailed(ports, gathered, one, verdict.failed ?? 0);
  }
  await inParallel(staying, NODES_AT_ONCE, async ({ candidate, why }) => {
    await unmark(ports, candidate, why);
    ports.log('disruption-taken-back', { ...claimFacts(candidate.claim), removal: removalOf(candidate), why });
  });
  await inParallel(going, NODES_AT_ONCE, (candidate) => remove(ports, candidate));
  const waiting = judged.flatMap(({ verdict }) => (verdict.kind === 'wait' ? [verdict.for] : []));
  if (going.length + staying.length === 0) return { kind: 'waiting', for: waiting.join('; ') };
  return { kind: 'finished', removed: going.length, takenBack: staying.length };
}

async function noteFailed(ports: Ports, gathered: Gathered, begun: Begun, replacements: number): Promise<void> {
  const { decision, candidates } = begun;
  const [first] = candidates;
  if (decision === null || first === undefined) return;
  const pools = candidates.map(({ claim }) => claim.metadata.labels?.[label.nodePool] ?? '');
  if (replacements > 0) await noteFailure(ports, pools, decision);
  if (replacements > 0) await haltFailed(ports, gathered, begun);
  const counts = failureCounts({ reason: reasonOf(first.claim) ?? '', candidates, replacements });
  await recordLook(ports, { id: `${decision}/taken-back`, counts, state: null });
}

/**
 * Where a NodePool tries a new image or Kubernetes version, a machine of its own that did not become a node is its last. One that Azure
 * never gave, or took back, says nothing about it, nor does one of another pool that went by the same decision.
 */
async function haltFailed(ports: Ports, { snapshot }: Gathered, { candidates, replacements }: Begun): Promise<void> {
  const own = snapshot.nodeClaims.filter(({ metadata }) => replacements.includes(metadata.name));
  const behind = candidates.filter(({ claim }) => isBehind(claim));
  for (const name of new Set(behind.map(({ claim }) => poolOf(claim)))) {
    const failed = own.find((claim) => poolOf(claim) === name && hasFailedItself(claim));
    if (failed === undefined) continue;
    // One pool, as a rule.
    // oxlint-disable-next-line no-await-in-loop
    const pool = await ports.kubernetes.get('NodePool', { name, namespace: null });
    if (pool === null || readBakeTime(pool.metadata).bakeMs === null) continue;
    // oxlint-disable-next-line no-await-in-loop
    await haltRollout(ports, pool, `the machine of NodeClaim ${failed.metadata.name} did not become a node`);
  }
}

function poolOf({ metadata }: Candidate['claim']): string {
  return metadata.labels?.[label.nodePool] ?? '';
}

/** What a claim is given up for whose machine was there and would not join. */
const OWN_FAILURES: ReadonlySet<string> = new Set(['NodeBootFailed', 'RegistrationTimeout']);

/** Of a replacement: did its machine not become a node, or not in time, while nobody has taken it away? */
function hasFailedItself({ metadata, status }: Candidate['claim']): boolean {
  if (!isTrue(status?.conditions, 'Launched') || isTrue(status?.conditions, 'Initialized')) return false;
  return metadata.deletionTimestamp === undefined || OWN_FAILURES.has(metadata.annotations?.[annotation.givenUp] ?? '');
}

/** On replacements that are not initialized yet, once each. */
async function tellWaiting(
  ports: Ports,
  { snapshot }: Gathered,
  judged: ReadonlyArray<{ readonly one: Begun; readonly verdict: Verdict }>,
): Promise<void> {
  const names = new Set(judged.flatMap(({ one, verdict }) => (verdict.kind === 'wait' ? one.replacements : [])));
  const waiting = snapshot.nodeClaims.filter(
    ({ metadata, status }) => names.has(metadata.name) && !isTrue(status?.conditions, 'Initialized'),
  );
  const message = 'Waiting on readiness to continue disruption';
  for (const claim of waiting) {
    const { uid = '' } = claim.metadata;
    if (!ports.told.isNews(`${uid}/readiness`, ports.now(), REPLACED_MS)) continue;
    // At most a handful, and each once.
    // oxlint-disable-next-line no-await-in-loop
    await publish(ports.kubernetes, eventAbout(claim, 'Normal', 'DisruptionWaitingReadiness', message), ports.now());
  }
}

function judge(ports: Ports, gathered: Gathered, one: Begun, halted: DisruptionPolicy['rollouts']): Verdict {
  if (one.decision === null) return { kind: 'take-back', why: 'no decision says so' };
  const replaced = judgeReplacements(ports, gathered, one);
  if (replaced !== null) return replaced;
  const quietMs = one.sinceMs + QUIET_MS;
  // The snapshot must be from after the wait: what came to the node in it is on it then.
  if (gathered.snapshot.takenAtMs < quietMs && ports.now() < quietMs)
    return { kind: 'wait', for: 'the scheduler to know' };
  if (!one.candidates.every(({ node }) => isDisrupted(node))) {
    // Somebody may be about to: marking takes a moment, and is taken up again after a crash.
    if (ports.now() < one.sinceMs + MARKED_MS) return { kind: 'wait', for: 'all to be marked' };
    return { kind: 'take-back', why: 'it was not marked to its end' };
  }
  return judgeAnew(ports, gathered, one, halted);
}

function judgeReplacements(ports: Ports, { snapshot }: Gathered, { replacements, sinceMs }: Begun): Verdict | null {
  const claims = new Map(snapshot.nodeClaims.map((claim) => [claim.metadata.name, claim]));
  const own = replacements.map((name) => claims.get(name));
  const failed = own.filter(
    (claim) => claim?.metadata.deletionTimestamp !== undefined || !isTrue(claim?.status?.conditions, 'Initialized'),
  ).length;
  if (own.some((claim) => claim === undefined || claim.metadata.deletionTimestamp !== undefined)) {
    return { kind: 'take-back', why: 'a replacement has failed', failed };
  }
  if (failed === 0) return null;
  if (ports.now() >= sinceMs + REPLACED_MS) return { kind: 'take-back', why: 'its replacement takes too long', failed };
  return { kind: 'wait', for: 'replacements' };
}

/** As if nothing had been decided: may each of the nodes go, and has each of their pods a place that is ready? */
function judgeAnew(ports: Ports, gathered: Gathered, one: Begun, halted: DisruptionPolicy['rollouts']): Verdict {
  const { snapshot, input } = gathered;
  const now = instant(ports.now());
  const names = new Set(one.candidates.map(({ node }) => node.metadata.name));
  const unmarked = { ...input.cluster, nodes: withoutMarks(input.cluster.nodes, one) };
  const provisioning = { ...input, cluster: unmarked };
  const all = judgeNodes(disruptionInput(ports, provisioning, halted), now);
  const nodes = all.filter(({ name }) => names.has(name));
  const reasons = new Map(one.candidates.map(({ claim, node }) => [node.metadata.name, reasonOf(claim)]));
  for (const { name, verdict, moving } of nodes) {
    if (verdict.kind === 'stays')
      return { kind: 'take-back', why: renderKept(verdict.reason, ports.catalogs.currency) };
    // Where such a reason has passed, nothing else has been decided.
    if (FORCED_REASONS.has(reasons.get(name) ?? '') && verdict.kind !== 'must') {
      return { kind: 'take-back', why: `it is ${reasons.get(name) ?? ''} no more` };
    }
    if (reasons.get(name) === 'Empty' && moving.length > 0) return { kind: 'take-back', why: 'pods have come to it' };
  }
  const overdrawn = poolOverBudget(nodes, poolsFor(unmarked, now));
  if (overdrawn !== null) {
    const why = `budgets of NodePool ${overdrawn} let fewer go now`;
    return ports.now() < one.sinceMs + REPLACED_MS ? { kind: 'wait', for: why } : { kind: 'take-back', why };
  }
  const uids = new Set(nodes.flatMap(({ moving }) => moving.map(({ uid }) => uid)));
  const plan = planProvisioning(withoutNodes(input, leavingNames(snapshot)), now);
  const { left, claims, targets } = homesOf(plan, uids);
  const [first] = left;
  if (first !== undefined) return { kind: 'take-back', why: `pod ${first.pod.name} finds no place any more` };
  if (claims.length > 0) return { kind: 'take-back', why: 'its pods would need another node' };
  const ready = initializedNodes(snapshot);
  const kept = keptForOthers(plan, gathered, uids);
  const awaited = targets.filter(({ name }) => !ready.has(name) || kept.has(name));
  return awaited.length === 0 ? { kind: 'remove' } : { kind: 'wait', for: `${awaited.length} nodes that start` };
}

/** Nodes that are in use, and kept for others than some of the pods that are to go there: those would wait. */
function keptForOthers(plan: Plan, { snapshot, input }: Gathered, uids: ReadonlySet<string>): ReadonlySet<string> {
  const reserved = new Set(snapshot.nodes.filter(isReserved).map(({ metadata }) => metadata.name));
  const others = plan.nominations.filter(({ target, pods }) => {
    if (!reserved.has(target.name)) return false;
    const promised = new Set(input.inFlight.get(claimOfVm(target.name) ?? '')?.pods);
    return pods.some(({ uid }) => uids.has(uid) && !promised.has(uid));
  });
  return new Set(others.map(({ target }) => target.name));
}

/** The first pool of which more would go than its budgets allow beside those that are going; null when there is none. */
function poolOverBudget(going: ReadonlyArray<JudgedNode>, pools: Pools): string | null {
  const perPool = Map.groupBy(going, ({ nodePool }) => nodePool?.metadata.name ?? '');
  for (const [pool, own] of perPool) {
    const isOver = own.some(
      ({ verdict }) => verdict.kind !== 'stays' && pools.allowed(pool, verdict.reason) < own.length,
    );
    if (isOver) return pool;
  }
  return null;
}

/** The decision that the node goes by, as `disruption-begun` has it. */
function removalOf({ claim: { metadata } }: Candidate): string | null {
  return metadata.annotations?.[annotation.disruption] ?? null;
}

function reasonOf({ status }: Candidate['claim']): string | undefined {
  return conditionOf(status?.conditions, 'DisruptionReason')?.reason;
}

/**
 * From here it drains: see `terminate`. Of another claim of that name nothing is removed. A sick node is not asked for patience: as in
 * Karpenter its deadline is now.
 */
async function remove(ports: Ports, candidate: Candidate): Promise<void> {
  const { claim, node } = candidate;
  const { name, uid } = claim.metadata;
  const reason = reasonOf(claim) ?? '';
  if (reason === 'Unhealthy') {
    const annotations = { [annotation.terminationTimestamp]: toTimestamp(ports.now()) };
    written(await ports.kubernetes.patch('NodeClaim', { name, namespace: null }, { metadata: { annotations } }), name);
  }
  const told = 'DisruptionTerminating';
  const about = [
    eventAboutNode(node, 'Normal', told, `Disrupting Node: ${reason}`),
    eventAbout(claim, 'Normal', told, `Disrupting NodeClaim: ${reason}`),
  ];
  for (const note of about) {
    // Two, in Karpenter's order.
    // oxlint-disable-next-line no-await-in-loop
    await publish(ports.kubernetes, note, ports.now());
  }
  await ports.kubernetes.delete('NodeClaim', { name, namespace: null }, uid === undefined ? undefined : { uid });
  await hintObjects(ports, claimsNamed([name]), { reason: 'disrupted', occasion: `disrupted/${uid ?? name}` });
  ports.log('disrupted', { ...claimFacts(claim), ...machineFacts(claim), removal: removalOf(candidate), reason });
}
