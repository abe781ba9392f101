import { annotation, label } from '../../contract/names.ts';
import { isBehind } from '../../core/disruption/brakes/rollouts.ts';
import type { Begun, Candidate } from '../../core/disruption/second-look/begun.ts';
import {
  judgeInParts,
  reasonOf,
  REPLACED_MS,
  type BegunVerdict,
  type JudgedBegun,
  type SecondLook,
} from '../../core/disruption/second-look/judge-begun.ts';
import type { AuditedRemoval } from '../../core/disruption/sound-disruption.ts';
import type { DisruptionPolicy } from '../../core/model/disruption-input.ts';
import { instant } from '../../core/quantity/units.ts';
import { bakeMsOf } from '../../kubernetes/bake-time.ts';
import { eventAbout } from '../claims/node-claim.ts';
import { NODES_AT_ONCE, tellFailed, unmark } from '../execute/mark.ts';
import { claimFacts } from '../facts/claim-facts.ts';
import { isTrue } from '../facts/conditions.ts';
import type { Gathered } from '../gather/gather.ts';
import { makePlan } from '../plan/make-plan.ts';
import { alone, eachAlone, type Settled } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';
import { publish } from '../tell/events.ts';
import { recordLook } from '../tell/record-look.ts';
import { noteFailure } from './brakes/breaker.ts';
import { haltRollout } from './brakes/halt-rollouts.ts';
import { poolOfNode, type Going } from './budgets-now.ts';
import type { DisruptOutcome } from './disrupt-outcome.ts';
import { disruptionInput, type View } from './disruption-input.ts';
import { removalOf, removeWithinBudgets, type Removed } from './remove.ts';
import { failureCounts } from './tell/look-figures.ts';
import { affordable, topUp } from './top-up.ts';

/**
 * Decides about every set of nodes that was begun, on the newest view: those of a set that cannot go keep none of the
 * others.
 */
export async function goOn(
  ports: Ports,
  { gathered, rollouts }: View,
  begun: ReadonlyArray<Begun>,
): Promise<DisruptOutcome> {
  // 1. Gather: what is judged from. A canary that was decided on goes; where what is new does worse meanwhile,
  //    nothing goes for it.
  const halted = new Map([...rollouts].filter(([, { kind }]) => kind === 'halted'));
  const look = await secondLook(ports, gathered, halted);

  // 2. Judge anew: as if nothing had been decided. 3. Audit: nothing goes that its rules do not let go.
  const judged = begun.flatMap((one) => judgeInParts(one, look)).map(affordable);
  tellRefusals(ports, gathered, judged);
  await tellWaiting(ports, gathered, judged);

  // 4. Act: marks come off what stays before any other node goes, and room that is missing is bought.
  const stayed = await takeBackStaying(ports, gathered, judged);
  const removed = await removeWithinBudgets(ports, goingIn(judged));
  await topUp(ports, gathered, judged);
  const ended = await endOverdue(ports, removed);
  return outcomeOf(judged, stayed, removed, ended);
}

type Judged = ReadonlyArray<JudgedBegun>;

/** What has come of nodes that stay: each lost its marks, or cannot be written. */
interface Stayed {
  /** Nodes whose failure could not be noted: the next look takes them back. */
  readonly unnoted: number;
  readonly unmarked: ReadonlyArray<Settled<void>>;
}

async function takeBackStaying(ports: Ports, gathered: Gathered, judged: Judged): Promise<Stayed> {
  const takingBack = judged.flatMap(({ one, verdict }) => (verdict.kind === 'take-back' ? [{ one, verdict }] : []));
  // Before the marks come off: else a crash would forget it. What cannot be noted now is taken back by the next look.
  const noted = await eachAlone(takingBack, 1, ({ one, verdict }) =>
    noteFailed(ports, gathered, one, verdict.failed ?? 0),
  );
  const unnoted = takingBack.filter((_, index) => noted[index]?.kind === 'failed');
  for (const [index, { one }] of takingBack.entries()) {
    const why = noted[index];
    const claim = one.candidates[0]?.claim.metadata.name ?? '';
    if (why?.kind === 'failed') ports.log('disruption-step-refused', { claim, step: 'note', why: why.error.message });
  }
  const staying = takingBack.flatMap(({ one, verdict }, index) =>
    noted[index]?.kind === 'failed' ? [] : one.candidates.map((candidate) => ({ candidate, why: verdict.why })),
  );
  const unmarked = await eachAlone(staying, NODES_AT_ONCE, ({ candidate, why }) => takeBack(ports, candidate, why));
  const candidates = staying.map(({ candidate }) => candidate);
  await tellFailed(ports, candidates, unmarked, 'unmark');
  return { unnoted: unnoted.reduce((sum, { one }) => sum + one.candidates.length, 0), unmarked };
}

/** What is deleted: the nodes that the audit lets go, and no others. */
function goingIn(judged: Judged): ReadonlyArray<ReadonlyArray<Going>> {
  return judged.flatMap(({ one, verdict }) => (verdict.kind === 'remove' ? [goingBy(verdict.removal, one)] : []));
}

/**
 * What budgets hold, or may not be deleted, is tried again by the next looks, for ten minutes; returns how many stay
 * then.
 */
async function endOverdue(ports: Ports, { going, removed, held }: Removed): Promise<number> {
  const failed = going.filter((_, index) => removed[index]?.kind === 'failed');
  const isOverdue = ({ sinceMs }: Going): boolean => ports.now() >= sinceMs + REPLACED_MS;
  for (const { candidate } of failed.filter(isOverdue)) await noteDecision(ports, candidate);
  const overdue = [...failed, ...held.map(({ one }) => one)].filter(isOverdue);
  const ends = await eachAlone(overdue, NODES_AT_ONCE, ({ candidate }) =>
    takeBack(ports, candidate, 'it could not be removed within 10 minutes'),
  );
  return ends.filter(({ kind }) => kind === 'done').length;
}

function outcomeOf(
  judged: Judged,
  { unnoted, unmarked }: Stayed,
  { going, removed, held }: Removed,
  ended: number,
): DisruptOutcome {
  const failed = [...unmarked, ...removed].filter(({ kind }) => kind === 'failed').length + unnoted;
  // What nobody lets us finish is no reason for others to wait.
  if (ended === 0 && failed === going.length + unmarked.length + unnoted) {
    const waits = [
      ...judged.flatMap(({ verdict }) => waitsFor(verdict)),
      ...new Set(held.map(({ why }) => why)),
      ...(failed === 0 ? [] : [`${failed} nodes that cannot be written`]),
    ];
    return { kind: 'waiting', for: waits.join('; ') };
  }
  return {
    kind: 'finished',
    removed: removed.filter((one) => one.kind === 'done' && one.answer).length,
    takenBack: unmarked.filter(({ kind }) => kind === 'done').length + ended,
  };
}

/** Takes the marks off a node that stays after all. */
async function takeBack(ports: Ports, candidate: Candidate, why: string): Promise<void> {
  // Another look may have done so a moment ago, which this one did not see.
  if (!(await unmark(ports, candidate, why))) return;
  ports.log('disruption-taken-back', { ...claimFacts(candidate.claim), removal: removalOf(candidate), why });
}

/**
 * A step whose node nobody may delete counts as one that has failed: each try may have bought what comes in its place.
 */
async function noteDecision(ports: Ports, candidate: Candidate): Promise<void> {
  const decision = removalOf(candidate);
  if (decision !== null) await alone(() => noteFailure(ports, [poolOfNode(candidate)], decision));
}

function goingBy({ nodes }: AuditedRemoval, { candidates, sinceMs }: Begun): ReadonlyArray<Going> {
  const reasons = new Map(nodes.map(({ name, reason }) => [name, reason]));
  return candidates.flatMap((candidate) => {
    const reason = reasons.get(candidate.node.metadata.name);
    return reason === undefined ? [] : [{ candidate, reason, sinceMs }];
  });
}

/** What a set of nodes waits for. */
function waitsFor(verdict: BegunVerdict): ReadonlyArray<string> {
  if (verdict.kind === 'wait') return [verdict.for];
  if (verdict.kind === 'short') return ['new nodes for pods whose room is gone'];
  return verdict.kind === 'refused' ? ['a removal that passes the audit'] : [];
}

/**
 * What is judged from: all that was gathered, and up to when it is known to be all. One plan for the same pods is made
 * once.
 */
async function secondLook(ports: Ports, gathered: Gathered, halted: DisruptionPolicy['rollouts']): Promise<SecondLook> {
  const { snapshot, input } = gathered;
  const held = await ports.snapshots.heldMs(snapshot.version);
  return {
    input: disruptionInput(ports, input, halted),
    now: instant(ports.now()),
    // Nobody has seen what is to come: a clock that is ahead would have a node go on a view from before it was marked.
    seenMs: Math.min(Math.max(snapshot.takenAtMs, held ?? 0), ports.now()),
    currency: ports.catalogs.currency,
    planFor: (asked) => makePlan(ports, gathered, asked).plan,
  };
}

/** A removal that its audit refuses is a bug of ours: it is logged with what is wrong. */
function tellRefusals({ log }: Ports, { snapshot }: Gathered, judged: Judged): void {
  for (const { one, verdict } of judged) {
    if (verdict.kind !== 'refused') continue;
    log('removal-refused', {
      snapshot: snapshot.version,
      removal: one.decision,
      nodes: one.candidates.map(({ node }) => node.metadata.name).join(','),
      findings: verdict.findings.map(({ rule, text }) => `${rule}: ${text}`).join('; '),
    });
  }
}

async function noteFailed(ports: Ports, gathered: Gathered, begun: Begun, replacements: number): Promise<void> {
  const { decision, candidates } = begun;
  const [first] = candidates;
  if (decision === null || first === undefined) return;
  const pools = candidates.map(poolOfNode).filter((name) => name !== '');
  // What Azure has no capacity for is passed over by the next plan; a NodePool that paused for it would keep what is
  // empty, too.
  if (replacements > begun.unavailable.length) {
    await noteFailure(ports, pools, decision);
    await haltFailed(ports, gathered, begun);
  }
  const counts = failureCounts({ reason: reasonOf(first.claim) ?? '', candidates, replacements });
  await recordLook(ports, { id: `${decision}/taken-back/${first.claim.metadata.name}`, counts, state: null });
}

/**
 * Where a NodePool tries a new image or Kubernetes version, a machine of its own that did not become a node is its
 * last. One that Azure never gave, or took back, says nothing about it, nor does one of another pool that went by the
 * same decision.
 */
async function haltFailed(ports: Ports, { snapshot }: Gathered, { candidates, replacements }: Begun): Promise<void> {
  const own = snapshot.nodeClaims.filter(({ metadata }) => replacements.includes(metadata.name));
  const behind = candidates.filter(({ claim }) => isBehind(claim));
  for (const name of new Set(behind.map(({ claim }) => poolOf(claim)))) {
    const failed = own.find((claim) => poolOf(claim) === name && hasFailedItself(claim));
    if (failed === undefined) continue;
    // One pool, as a rule.
    const pool = await ports.kubernetes.get('NodePool', { name, namespace: null });
    if (pool === null || bakeMsOf(pool.metadata) === null) continue;
    await haltRollout(ports, pool, `the machine of NodeClaim ${failed.metadata.name} did not become a node`);
  }
}

function poolOf({ metadata }: Candidate['claim']): string {
  return metadata.labels?.[label.nodePool] ?? '';
}

/** What a claim is given up for whose machine was there and would not join. */
const OWN_FAILURES: ReadonlySet<string> = new Set(['NodeBootFailed', 'RegistrationTimeout', 'InitializationTimeout']);

/** Of a replacement: did its machine not become a node, or not in time, while nobody has taken it away? */
function hasFailedItself({ metadata, status }: Candidate['claim']): boolean {
  if (!isTrue(status?.conditions, 'Launched') || isTrue(status?.conditions, 'Initialized')) return false;
  return metadata.deletionTimestamp === undefined || OWN_FAILURES.has(metadata.annotations?.[annotation.givenUp] ?? '');
}

/** On replacements that are not initialized yet, once each. */
async function tellWaiting(ports: Ports, { snapshot }: Gathered, judged: Judged): Promise<void> {
  const names = new Set(judged.flatMap(({ one, verdict }) => (verdict.kind === 'wait' ? one.replacements : [])));
  const waiting = snapshot.nodeClaims.filter(
    ({ metadata, status }) => names.has(metadata.name) && !isTrue(status?.conditions, 'Initialized'),
  );
  const message = 'Waiting on readiness to continue disruption';
  for (const claim of waiting) {
    const { uid = '' } = claim.metadata;
    if (!ports.told.isNews(`${uid}/readiness`, ports.now(), REPLACED_MS)) continue;
    // At most a handful, and each once.
    await publish(ports.kubernetes, eventAbout(claim, 'Normal', 'DisruptionWaitingReadiness', message), ports.now());
  }
}
