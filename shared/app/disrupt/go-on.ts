import { isBehind } from '../../core/disruption/brakes/rollouts.ts';
import type { Begun, Candidate } from '../../core/disruption/second-look/begun.ts';
import {
  judgeInParts,
  reasonOf,
  REPLACED_MS,
  type BegunVerdict,
  type SecondLook,
} from '../../core/disruption/second-look/judge-begun.ts';
import type { AuditedRemoval } from '../../core/disruption/sound-disruption.ts';
import { bakeMsOf } from '../../kubernetes/bake-time.ts';
import { isDisrupted } from '../../kubernetes/disrupted-taint.ts';
import { annotation, label } from '../../contract/names.ts';
import { instant } from '../../core/quantity/units.ts';
import { claimFacts, machineFacts } from '../facts/claim-facts.ts';
import { isTrue, toTimestamp } from '../facts/conditions.ts';
import { eventAbout, written } from '../claims/node-claim.ts';
import { publish } from '../tell/events.ts';
import type { Gathered } from '../gather/gather.ts';
import { claimsNamed, hintObjects } from '../ports/hint-objects.ts';
import { makePlan } from '../plan/make-plan.ts';
import { alone, eachAlone, type Settled } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';
import { recordLook } from '../tell/record-look.ts';
import { noteFailure } from './brakes/breaker.ts';
import { poolOfNode, withinBudgetsNow, type Going, type WithinBudgets } from './budgets-now.ts';
import { disruptionInput } from './disruption-input.ts';
import type { DisruptionPolicy } from '../../core/model/disruption-input.ts';
import { haltRollout } from './brakes/halt-rollouts.ts';
import type { DisruptOutcome } from './disrupt-outcome.ts';
import { eventAboutNode } from '../tell/event-about.ts';
import { NODES_AT_ONCE, tellFailed, unmark } from '../execute/mark.ts';
import { failureCounts } from './tell/look-figures.ts';

/** Decides about every set of nodes that was begun, on the newest view: those of a set that cannot go keep none of the others. */
export async function goOn(
  ports: Ports,
  gathered: Gathered,
  begun: ReadonlyArray<Begun>,
  rollouts: DisruptionPolicy['rollouts'],
): Promise<DisruptOutcome> {
  // A canary that was decided on goes; where what is new does worse meanwhile, nothing goes for it.
  const halted = new Map([...rollouts].filter(([, { kind }]) => kind === 'halted'));
  const look = await secondLook(ports, gathered, halted);
  const judged = begun.flatMap((one) => judgeInParts(one, look));
  tellRefusals(ports, gathered, judged);
  await tellWaiting(ports, gathered, judged);
  const takingBack = judged.flatMap(({ one, verdict }) => (verdict.kind === 'take-back' ? [{ one, verdict }] : []));
  // Before the marks come off: else a crash would forget it. What cannot be noted now is taken back by the next look.
  const noted = await eachAlone(takingBack, 1, ({ one, verdict }) =>
    noteFailed(ports, gathered, one, verdict.failed ?? 0),
  );
  const unnoted = takingBack.flatMap(({ one }, index) => (noted[index]?.kind === 'failed' ? one.candidates : []));
  const staying = takingBack.flatMap(({ one, verdict }, index) =>
    noted[index]?.kind === 'failed' ? [] : one.candidates.map((candidate) => ({ candidate, why: verdict.why })),
  );
  const takenBack = await eachAlone(staying, NODES_AT_ONCE, ({ candidate, why }) => takeBack(ports, candidate, why));
  const stayed = staying.map(({ candidate }) => candidate);
  await tellFailed(ports, stayed, takenBack, 'unmark');
  const sets = judged.flatMap(({ one, verdict }) => (verdict.kind === 'remove' ? [goingBy(verdict.removal, one)] : []));
  const { going, removed, held, ended } = await removeWithinBudgets(ports, sets);
  for (const [index, { one }] of takingBack.entries()) {
    const why = noted[index];
    const claim = one.candidates[0]?.claim.metadata.name ?? '';
    if (why?.kind === 'failed') ports.log('disruption-step-refused', { claim, step: 'note', why: why.error.message });
  }
  const failed = [...takenBack, ...removed].filter(({ kind }) => kind === 'failed').length + unnoted.length;
  // What nobody lets us finish is no reason for others to wait.
  if (ended === 0 && failed === going.length + staying.length + unnoted.length) {
    const waiting = judged.flatMap(({ verdict }) => waitsFor(verdict));
    return {
      kind: 'waiting',
      for: [
        ...waiting,
        ...new Set(held.map(({ why }) => why)),
        ...(failed === 0 ? [] : [`${failed} nodes that cannot be written`]),
      ].join('; '),
    };
  }
  return {
    kind: 'finished',
    removed: removed.filter((one) => one.kind === 'done' && one.answer).length,
    takenBack: takenBack.filter(({ kind }) => kind === 'done').length + ended,
  };
}

/** What has come of nodes that are to go. */
interface Removed {
  readonly going: ReadonlyArray<Going>;
  /** Of each of them. */
  readonly removed: ReadonlyArray<Settled<boolean>>;
  readonly held: WithinBudgets['held'];
  /** How many stay after all, as ten minutes were not enough. */
  readonly ended: number;
}

/** Deletes what budgets let go now. What they hold, or what may not be deleted, is tried again by the next looks, for ten minutes. */
async function removeWithinBudgets(ports: Ports, sets: ReadonlyArray<ReadonlyArray<Going>>): Promise<Removed> {
  const { going, held } = await withinBudgetsNow(ports, sets);
  const removed = await eachAlone(going, NODES_AT_ONCE, ({ candidate }) => remove(ports, candidate));
  const candidates = going.map(({ candidate }) => candidate);
  await tellFailed(ports, candidates, removed, 'remove');
  for (const { one, why } of held) {
    ports.log('disruption-step-refused', { claim: one.candidate.claim.metadata.name, step: 'remove', why });
  }
  const failed = going.filter((_, index) => removed[index]?.kind === 'failed');
  const isOverdue = ({ sinceMs }: Going): boolean => ports.now() >= sinceMs + REPLACED_MS;
  for (const { candidate } of failed.filter(isOverdue)) await noteDecision(ports, candidate);
  const overdue = [...failed, ...held.map(({ one }) => one)].filter(isOverdue);
  const ends = await eachAlone(overdue, NODES_AT_ONCE, ({ candidate }) =>
    takeBack(ports, candidate, 'it could not be removed within 10 minutes'),
  );
  return { going, removed, held, ended: ends.filter(({ kind }) => kind === 'done').length };
}

/** Takes the marks off a node that stays after all. */
async function takeBack(ports: Ports, candidate: Candidate, why: string): Promise<void> {
  await unmark(ports, candidate, why);
  ports.log('disruption-taken-back', { ...claimFacts(candidate.claim), removal: removalOf(candidate), why });
}

/** A step whose node nobody may delete counts as one that has failed: each try may have bought what comes in its place. */
async function noteDecision(ports: Ports, candidate: Candidate): Promise<void> {
  const decision = removalOf(candidate);
  if (decision !== null) await alone(() => noteFailure(ports, [poolOfNode(candidate)], decision));
}

/** What is deleted: the nodes that the audit lets go, and no others. */
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
  return verdict.kind === 'refused' ? ['a removal that passes the audit'] : [];
}

/** What is judged from: all that was gathered, and up to when it is known to be all. One plan for the same pods is made once. */
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
function tellRefusals(
  { log }: Ports,
  { snapshot }: Gathered,
  judged: ReadonlyArray<{ readonly one: Begun; readonly verdict: BegunVerdict }>,
): void {
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
  // What Azure has no capacity for is passed over by the next plan; a NodePool that paused for it would keep what is empty, too.
  if (replacements > begun.unavailable.length) {
    await noteFailure(ports, pools, decision);
    await haltFailed(ports, gathered, begun);
  }
  const counts = failureCounts({ reason: reasonOf(first.claim) ?? '', candidates, replacements });
  await recordLook(ports, { id: `${decision}/taken-back/${first.claim.metadata.name}`, counts, state: null });
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
    if (pool === null || bakeMsOf(pool.metadata) === null) continue;
    // oxlint-disable-next-line no-await-in-loop
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
async function tellWaiting(
  ports: Ports,
  { snapshot }: Gathered,
  judged: ReadonlyArray<{ readonly one: Begun; readonly verdict: BegunVerdict }>,
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

/** The decision that the node goes by, as `disruption-begun` has it. */
function removalOf({ claim: { metadata } }: Candidate): string | null {
  return metadata.annotations?.[annotation.disruption] ?? null;
}

/**
 * Does the claim still say that it is to go, by the decision that was judged, and is its node closed? What was judged may be old: an
 * execution that was held up would remove a node that another has taken the marks off, and that has pods again.
 */
async function isStillMarked(ports: Ports, candidate: Candidate): Promise<boolean> {
  const { claim, node } = candidate;
  const current = await ports.kubernetes.get('NodeClaim', { name: claim.metadata.name, namespace: null });
  if (current === null || current.metadata.uid !== claim.metadata.uid) return false;
  if (removalOf({ claim: current, node }) !== removalOf(candidate)) return false;
  const closed = await ports.kubernetes.get('Node', { name: node.metadata.name, namespace: null });
  return isTrue(current.status?.conditions, 'DisruptionReason') && isDisrupted(closed);
}

/**
 * From here it drains: see `terminate`. Of another claim of that name nothing is removed, nor of one that is not marked any more. A sick
 * node is not asked for patience: as in Karpenter its deadline is now.
 */
async function remove(ports: Ports, candidate: Candidate): Promise<boolean> {
  const { claim, node } = candidate;
  if (!(await isStillMarked(ports, candidate))) return false;
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
  return true;
}
