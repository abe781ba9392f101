import type { FollowedObject } from '../../contract/messages/messages.ts';
import { annotation } from '../../contract/names.ts';
import { isOwnClass } from '../../contract/own-class.ts';
import { isDedicated } from '../../kubernetes/dedicated-taint.ts';
import type { Node, NodeClaim } from '../../kubernetes/manifest.ts';
import type { Machine, ObservedMachine } from '../../ports/cloud.ts';
import { parsePast } from '../../core/quantity/told-time.ts';
import { microUsdPerHour } from '../../core/quantity/units.ts';
import { LostRaceError, RefusedError, RetryableError, TerminalError } from '../../ports/errors.ts';
import { conditionOf, isTrue, type ConditionChange } from '../facts/conditions.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import { alone } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';
import { isSameId } from '../facts/same-id.ts';
import { tellDenied } from '../tell/tell-denied.ts';
import { type Draft, commit, draftOf, noted } from '../claims/draft.ts';
import { EPHEMERAL_TAINTS, initialize } from './join/initialize.ts';
import { launch } from './launch/launch.ts';
import { noteUnavailable } from './launch/note-unavailable.ts';
import { awaitPlanned, isForMovers, openNode, withoutDedication } from './join/open-node.ts';
import { releaseNode } from './join/release-node.ts';
import {
  NODE_NOT_FOUND,
  createdAtMs,
  deleteClaim,
  ensureFinalizer,
  eventAbout,
  isReadyNode,
  transitionMs,
  writeStatus,
} from '../claims/node-claim.ts';
import { timelyClaim } from '../claims/timely-claim.ts';
import type { FollowOutcome } from '../ports/follow-outcome.ts';
import { lastPodEvent, podEventFields } from './judge/consolidatable.ts';
import { noteDisruptable } from './judge/disruptable.ts';
import { followNodeClass } from './definitions/node-class.ts';
import { followNodePool } from './definitions/node-pool.ts';
import { noteRegistration } from './definitions/registration-health.ts';
import { register, takeNoteOff } from './join/register.ts';
import { tellPlanned } from './join/tell-planned.ts';
import { terminate } from './leave/terminate.ts';

/** From the claim's creation. Karpenter's limits. */
const LAUNCH_TIMEOUT_MS = 5 * 60_000;
const REGISTRATION_TIMEOUT_MS = 15 * 60_000;
/** ... and until what fails for now, and nobody denies, is tried no more. */
const FAILING_TIMEOUT_MS = 20 * 60_000;

/** From Azure's acceptance of a machine until a read that does not show it means that it is gone. */
const SHOWN_WITHIN_MS = 60_000;
const SHOWN_LOOK_MS = 10_000;

/** Other nodes are removed only when this one is in use. */
const EPHEMERAL_PAUSE_MS = 1_000;

/**
 * Between looks at a VM whose node has not joined, at most. Each comes at three times the claim's age at the last one:
 * Azure's failures show early, a node that joins is told by the relay, and a boot costs three executions.
 */
const LOOK_MAX_MS = 60_000;

/**
 * Moves one object along as far as it can go now. The hint only says where to look; whatever it finds done already it
 * leaves alone, so the same hint may come twice or late. When something must be looked at again at a known time, the
 * step says so: see `followAll`. `podEventMs` is when a pod last came to or left the claim's node, for hints that are
 * about that.
 */
export async function follow(ports: Ports, { kind, name, podEventMs }: FollowedObject): Promise<FollowOutcome> {
  switch (kind) {
    case 'NodeClaim':
      return followNodeClaim(ports, name, podEventMs ?? null);
    case 'NodePool':
      return followNodePool(ports, name);
    case 'AKSNodeClass':
      return followNodeClass(ports, name);
    default:
      return kind satisfies never;
  }
}

async function followNodeClaim(ports: Ports, name: string, podEventMs: number | null): Promise<FollowOutcome> {
  const read = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
  if (read === null) return releaseNode(ports, name);
  if (!isOwnClass(read.spec.nodeClassRef)) return { kind: 'ended', why: 'its node class is not an AKSNodeClass' };
  const claim = await timelyClaim(ports, read);
  if (claim.metadata.deletionTimestamp !== undefined) return terminate(ports, claim);
  return isTrue(claim.status?.conditions, 'Launched')
    ? followLaunched(ports, await ensureFinalizer(ports, claim), podEventMs)
    : launchInTime(ports, claim);
}

async function launchInTime(ports: Ports, claim: NodeClaim): Promise<FollowOutcome> {
  const late = ports.now() > createdAtMs(claim) + LAUNCH_TIMEOUT_MS;
  // A machine that is there was launched by somebody who could not say so any more: that is noted now.
  if (late && (await ports.cloud.observe(claim.metadata.name)).kind !== 'present') {
    const message = 'not launched within 5 minutes';
    const outcome = await deleteClaim(ports, claim, eventAbout(claim, 'Warning', 'LaunchTimeout', message));
    // The pool tells why, where Azure has said it: that is what somebody has to mend.
    const reason = conditionOf(claim.status?.conditions, 'Launched')?.reason ?? 'LaunchTimeout';
    await noteRegistration(ports, claim, { kind: 'failed', reason });
    await tellPlanned(ports, claim, message);
    return outcome;
  }
  try {
    return await launch(ports, await ensureFinalizer(ports, claim));
  } catch (error) {
    // Nobody can say of its machine that it is there: pods that were planned for it get another.
    if (!endsWait(ports, claim, error, LAUNCH_TIMEOUT_MS)) throw error;
    return failUnwritten(ports, claim, 'LaunchTimeout', error);
  }
}

/**
 * Is what keeps the claim from being moved on waited for no more? A refusal for `refusedMs` from its creation. What
 * fails for now, as where a webhook is called for it and does not answer, is tried for some minutes longer than any
 * wait of Karpenter's lasts; but it ends.
 */
function endsWait(ports: Ports, claim: NodeClaim, error: unknown, refusedMs: number): error is RetryableError {
  if (!(error instanceof RetryableError) || error instanceof LostRaceError) return false;
  const mostMs = error instanceof RefusedError ? refusedMs : FAILING_TIMEOUT_MS;
  return ports.now() > createdAtMs(claim) + mostMs;
}

/** Gives a claim up that cannot be moved on in time, as it, or its node, may not be written, or cannot. */
async function failUnwritten(
  ports: Ports,
  claim: NodeClaim,
  reason: string,
  error: RetryableError,
): Promise<FollowOutcome> {
  if (!(error instanceof RefusedError)) return fail(ports, claim, reason, `it cannot be moved on: ${error.message}`);
  const { refusal } = error;
  const what = refusal.kind === 'Node' ? 'its node' : 'it';
  await tellDenied(ports, refusal, [{ kind: 'NodeClaim', key: { name: claim.metadata.name, namespace: null } }]);
  return fail(ports, claim, reason, `${what} may not be written: ${refusal.reason}`);
}

async function followLaunched(ports: Ports, claim: NodeClaim, podEventMs: number | null): Promise<FollowOutcome> {
  const node = await ports.kubernetes.get('Node', { name: nodeNameOf(claim), namespace: null });
  if (node === null) return awaitNode(ports, claim);
  if (!isSameMachine(node, claim)) return foreignNode(ports, claim, node);
  if (node.metadata.deletionTimestamp !== undefined) {
    return deleteClaim(
      ports,
      claim,
      eventAbout(claim, 'Normal', 'NodeDeleted', `Node ${node.metadata.name} was deleted`),
    );
  }
  if (!isTrue(claim.status?.conditions, 'Registered')) return joinInTime(ports, claim, node, podEventMs);
  return (await hasLostMachine(ports, claim, node))
    ? deleteClaim(ports, claim, eventAbout(claim, 'Warning', 'InstanceGone', 'its machine is gone'))
    : followRegistered(ports, draftOf(await withoutNote(ports, claim, node)), node, podEventMs);
}

/** One that was given up and has registered after all may not have been let say so. */
async function withoutNote(ports: Ports, claim: NodeClaim, node: Node): Promise<NodeClaim> {
  return isReadyNode(node.status?.conditions) ? takeNoteOff(ports, claim) : claim;
}

async function followJoined(
  ports: Ports,
  claim: NodeClaim,
  present: Node,
  podEventMs: number | null,
): Promise<FollowOutcome> {
  const registered = await register(ports, claim, present);
  if (registered.kind !== 'registered') return registered;
  const { draft, node: joined, isAwaited } = registered;
  // Whoever it was made for has found room while it booted: nobody is to be kept out for another look.
  const isOver = joined !== null && isDedicated(joined) && !isAwaited;
  const opened = isOver ? await alone(() => openNode(ports, draft.claim, joined)) : null;
  // What cannot be opened now has been registered all the same, and is opened by a later look.
  const node = opened?.kind === 'done' && opened.answer.kind === 'opened' ? opened.answer.node : joined;
  const outcome =
    node !== null && isDedicated(node)
      ? await keepNode(ports, draft, node, { podEventMs, waits: awaitPlanned(ports, draft.claim, node) })
      : await useNode(ports, draft, node, podEventMs);
  await noteRegistration(ports, claim, { kind: 'registered' });
  // It has its certificate: what it was let in with opens nothing any more.
  await ports.cloud.revokeTokens(claim.metadata.name, annotation.severalTokens in (claim.metadata.annotations ?? {}));
  await equipJoined(ports, claim);
  return outcome;
}

/**
 * Where a policy does not let us write the node or the claim, there is as long as for a node that does not join, and a
 * little longer where that fails: pods that were planned for it get another.
 */
async function joinInTime(
  ports: Ports,
  claim: NodeClaim,
  node: Node,
  podEventMs: number | null,
): Promise<FollowOutcome> {
  try {
    return await followJoined(ports, claim, node, podEventMs);
  } catch (error) {
    if (!endsWait(ports, claim, error, REGISTRATION_TIMEOUT_MS)) throw error;
    return failUnwritten(ports, claim, 'RegistrationTimeout', error);
  }
}

/**
 * Whether the node of a registered claim is only a name any more. One that is ready is not: Azure's list is wrong then,
 * or late. As Karpenter's garbage collection.
 */
async function hasLostMachine(ports: Ports, claim: NodeClaim, node: Node): Promise<boolean> {
  return !isReadyNode(node.status?.conditions) && (await observeOwn(ports, claim)).kind === 'gone';
}

/** Last, as nobody waits for it; where Azure cannot take it now, the next sweep sees to it. */
async function equipJoined(ports: Ports, claim: NodeClaim): Promise<void> {
  try {
    await ports.cloud.equip(claim.metadata.name);
  } catch (error) {
    if (!(error instanceof RetryableError || error instanceof TerminalError)) throw error;
    ports.log('machine-not-equipped', { claim: claim.metadata.name, why: error.message });
  }
}

async function followRegistered(
  ports: Ports,
  draft: Draft,
  node: Node,
  podEventMs: number | null,
): Promise<FollowOutcome> {
  if (wasNeverReady(ports, draft.claim, node)) {
    return fail(ports, draft.claim, 'InitializationTimeout', 'its node has not become ready within 15 minutes');
  }
  if (!isDedicated(node)) return useNode(ports, draft, node, podEventMs);
  const opened = await openNode(ports, draft.claim, node, podEventMs);
  if (opened.kind === 'opened') return useNode(ports, draft, opened.node, podEventMs);
  return keepNode(ports, draft, node, { podEventMs, waits: opened });
}

/**
 * Has the node been registered for as long as it may take to register, and not been ready in all that time? No pod that
 * was planned for it can run there, and plans count on its room: it is given up as one that never joined. A node that
 * is ready and waits for a startup taint is for an operator to fix, as in Karpenter.
 */
function wasNeverReady(ports: Ports, claim: NodeClaim, { status }: Node): boolean {
  if (isTrue(claim.status?.conditions, 'Initialized') || isReadyNode(status?.conditions)) return false;
  // By the node's own clock.
  const changedMs = parsePast(conditionOf(status?.conditions, 'Ready')?.lastTransitionTime, ports.now()) ?? 0;
  return ports.now() > Math.max(transitionMs(claim, 'Registered'), changedMs) + REGISTRATION_TIMEOUT_MS;
}

/**
 * Of a node that is kept for some. What it waits for is said where people look for it; but one that is to take pods
 * from nodes that go is in use before they come: those go when it is.
 */
async function keepNode(ports: Ports, draft: Draft, node: Node, { podEventMs, waits }: Kept): Promise<FollowOutcome> {
  const isUsed = await isForMovers(ports, draft.claim);
  const isDone = isUsed && isTrue(draft.claim.status?.conditions, 'Initialized');
  const seen = isUsed ? withoutDedication(node) : node;
  const told = isDone
    ? withPodEvent(ports, draft, podEventMs)
    : (await initialize(ports, draft, seen, podEventMs)).draft;
  const claim = await commit(ports, told);
  const { reason } = conditionOf(claim.status?.conditions, 'Initialized') ?? {};
  return isUsed && reason === EPHEMERAL_TAINTS ? soonAgain(ports, claim, waits) : waits;
}

/** When a pod came is noted while its node is kept, too: who tells it tells it once. */
function withPodEvent(ports: Ports, draft: Draft, podEventMs: number | null): Draft {
  if (podEventMs === null) return draft;
  const fields = podEventFields(lastPodEvent(draft.claim, podEventMs, ports.now()));
  return noted(ports, draft, { conditions: [], fields });
}

/** What a node waits for that is kept. */
interface Kept {
  readonly podEventMs: number | null;
  readonly waits: FollowOutcome;
}

/** After as long as it has been there: what Kubernetes takes off a kept node in a moment nobody tells. */
function soonAgain(ports: Ports, claim: NodeClaim, outcome: FollowOutcome): FollowOutcome {
  if (outcome.kind !== 'wait' || outcome.lookAgainMs === null) return outcome;
  const pauseMs = Math.max(EPHEMERAL_PAUSE_MS, ports.now() - transitionMs(claim, 'Registered'));
  return { ...outcome, lookAgainMs: Math.min(outcome.lookAgainMs, ports.now() + pauseMs) };
}

/** Of a node that is open to all; null when it has just gone. */
async function useNode(
  ports: Ports,
  draft: Draft,
  node: Node | null,
  podEventMs: number | null,
): Promise<FollowOutcome> {
  if (node === null) {
    await commit(ports, draft);
    return { kind: 'wait', for: 'its node, which has just gone', lookAgainMs: ports.now() };
  }
  if (isTrue(draft.claim.status?.conditions, 'Initialized')) return noteDisruptable(ports, draft, node, podEventMs);
  const initialized = await initialize(ports, draft, node, podEventMs);
  if (initialized.wait === null) return noteDisruptable(ports, initialized.draft, node, podEventMs);
  await commit(ports, initialized.draft);
  return initialized.wait;
}

/** A launched claim without a Node: still booting, failed in Azure, or gone. */
async function awaitNode(ports: Ports, claim: NodeClaim): Promise<FollowOutcome> {
  const machine = await observeOwn(ports, claim);
  if (hadNode(claim)) {
    if (machine.kind === 'present' && machine.state !== 'deleting') return awaitReturn(ports, claim);
    return deleteClaim(ports, claim, eventAbout(claim, 'Warning', 'InstanceGone', 'its machine and its node are gone'));
  }
  switch (machine.kind) {
    case 'gone':
      return awaitsMachine(ports, claim) ?? fail(ports, claim, 'AsyncProvisioningError', 'its machine is gone');
    case 'failed':
      return giveUp(ports, claim, machine);
    case 'present':
      return awaitRegistration(ports, claim, machine);
    default:
      return machine satisfies never;
  }
}

/** Has it been registered, whatever it says now? */
function hadNode({ status }: NodeClaim): boolean {
  return isTrue(status?.conditions, 'Registered') || status?.nodeName !== undefined;
}

/**
 * The Node of a registered claim is no more, and its machine runs: a kubelet that starts again brings it back. It has
 * as long as a new one, from when it was first missed, and plans that count on its room as long.
 */
async function awaitReturn(ports: Ports, claim: NodeClaim): Promise<FollowOutcome> {
  const told = 'its node disappeared and did not return within 15 minutes';
  if (isMissedTooLong(ports, claim)) return fail(ports, claim, 'RegistrationTimeout', told);
  if (await cannotSayMissed(ports, claim, NODE_NOT_FOUND)) return fail(ports, claim, 'RegistrationTimeout', told);
  return { kind: 'wait', for: 'its node to come back', lookAgainMs: ports.now() + LOOK_MAX_MS };
}

/**
 * Has a node of its own been missed for as long as a new one may take? The claim says so from when it was first missed.
 */
function isMissedTooLong(ports: Ports, claim: NodeClaim): boolean {
  const isSaid = !isTrue(claim.status?.conditions, 'Registered');
  return isSaid && ports.now() > transitionMs(claim, 'Registered') + REGISTRATION_TIMEOUT_MS;
}

/**
 * Says on the claim that its node is missed. True where that is refused, and has been for as long as a node may take:
 * the claim says all that time that it is registered, and this process remembers instead. Throws what refuses it until
 * then.
 */
async function cannotSayMissed(ports: Ports, claim: NodeClaim, condition: ConditionChange): Promise<boolean> {
  try {
    await writeStatus(ports, claim, { conditions: [condition] });
    return false;
  } catch (error) {
    if (!(error instanceof RefusedError) || !isMissedStill(ports, claim)) throw error;
    return true;
  }
}

const MINUTE_MS = 60_000;

/**
 * Who is refused is looked at every ten seconds, and each minute by the sweep: a process that has just begun has seen
 * less.
 */
const LOOKED_BACK_MIN = 20;
const MISSED_MIN = REGISTRATION_TIMEOUT_MS / MINUTE_MS;

/**
 * Has this process missed the claim's node in so many of the last minutes? A node that came back in between was not
 * missed then.
 */
function isMissedStill({ told, now }: Ports, { metadata: { name, uid = name } }: NodeClaim): boolean {
  const minute = Math.floor(now() / MINUTE_MS);
  const keyOf = (one: number): string => `missed/${uid}/${one}`;
  told.isNews(keyOf(minute), now(), LOOKED_BACK_MIN * MINUTE_MS);
  const known = Array.from({ length: LOOKED_BACK_MIN }, (_, back) => told.isKnown(keyOf(minute - back), now()));
  return known.filter(Boolean).length > MISSED_MIN;
}

/** Azure's reads may lag behind what it has accepted; a claim given up in the meantime would be bought twice. */
function awaitsMachine(ports: Ports, claim: NodeClaim): FollowOutcome | null {
  const nowMs = ports.now();
  if (nowMs > transitionMs(claim, 'Launched') + SHOWN_WITHIN_MS) return null;
  return { kind: 'wait', for: 'Azure to show its machine', lookAgainMs: nowMs + SHOWN_LOOK_MS };
}

/** Azure accepted the VM and then could not make it. The refusal is remembered; the pods are planned again. */
async function giveUp(
  ports: Ports,
  claim: NodeClaim,
  failed: Extract<ObservedMachine, { kind: 'failed' }>,
): Promise<FollowOutcome> {
  const { machine, refusal, reason, message } = failed;
  if (refusal !== null) {
    await noteUnavailable(ports, claim);
    const { instanceType, zone, capacityType } = machine;
    const offering = { instanceType, zone, capacityType, price: UNPRICED };
    await ports.catalogs.refuse([
      { scope: refusal.scope, offering, untilMs: ports.now() + refusal.retryAfterMs, reason },
    ]);
  }
  return fail(ports, claim, 'AsyncProvisioningError', `${reason}: ${message}`);
}

/** Gives a claim up whose node will not come, notes it on its pool, and tells the pods that were to have it. */
async function fail(ports: Ports, claim: NodeClaim, reason: string, message: string): Promise<FollowOutcome> {
  const outcome = await deleteClaim(ports, claim, eventAbout(claim, 'Warning', reason, message));
  await noteRegistration(ports, claim, { kind: 'failed', reason });
  await tellPlanned(ports, claim, message);
  return outcome;
}

type Present = Extract<ObservedMachine, { kind: 'present' }>;

async function awaitRegistration(ports: Ports, claim: NodeClaim, present: Present): Promise<FollowOutcome> {
  const { machine, failedBoot } = present;
  const age = ports.now() - createdAtMs(claim);
  if (failedBoot !== null) {
    if (failedBoot.isOfSize) await refuseSize(ports, machine, 'NodeBootFailed');
    return failBoot(ports, claim, failedBoot.message);
  }
  if (age > REGISTRATION_TIMEOUT_MS) {
    await refuseSize(ports, machine, 'RegistrationTimeout');
    return fail(ports, claim, 'RegistrationTimeout', 'its node did not join within 15 minutes');
  }
  await lookAfter(ports, claim, present, age);
  await writeStatus(ports, claim, { conditions: [NODE_NOT_FOUND] });
  const pause = Math.min(Math.max(2 * age, MINIMUM_PAUSE_MS), LOOK_MAX_MS);
  return { kind: 'wait', for: 'the node to join', lookAgainMs: ports.now() + pause };
}

const MINIMUM_PAUSE_MS = 5_000;

/** A node joins within two minutes mostly. From then on its machine is asked why it did not. */
const DIAGNOSIS_AFTER_MS = 5 * 60_000;

/** What a machine that runs is to have by the time it joins; and when it does not join, what went wrong on it. */
async function lookAfter(ports: Ports, claim: NodeClaim, { state, isEquipped }: Present, ageMs: number): Promise<void> {
  if (state !== 'running') return;
  if (!isEquipped) await ports.cloud.equip(claim.metadata.name);
  if (ageMs > DIAGNOSIS_AFTER_MS) await ports.cloud.diagnose(claim.metadata.name);
}

/**
 * A size whose machine did not become a node is passed over for so long: others may do better, and one try costs
 * minutes.
 */
const BOOT_PAUSE_MS = 30 * 60_000;

async function refuseSize(ports: Ports, machine: Machine, reason: string): Promise<void> {
  const { instanceType, zone, capacityType } = machine;
  const offering = { instanceType, zone, capacityType, price: UNPRICED };
  await ports.catalogs.refuse([{ scope: 'size', offering, untilMs: ports.now() + BOOT_PAUSE_MS, reason }]);
}

/**
 * The reason stays on the claim until its machine is gone, where it can be said there, and with its event for an hour.
 */
async function failBoot(ports: Ports, claim: NodeClaim, message: string): Promise<FollowOutcome> {
  const condition = { type: 'Registered', status: 'False', reason: 'NodeBootFailed', message } as const;
  const told = await alone(() => writeStatus(ports, claim, { conditions: [condition] }));
  return fail(ports, told.kind === 'done' ? told.answer : claim, 'NodeBootFailed', message);
}

/** A refusal concerns a place, whatever it costs. */
const UNPRICED = microUsdPerHour(0);

/** The machine that the claim says it has. One of another identity under its name is not it. */
async function observeOwn(ports: Ports, claim: NodeClaim): Promise<ObservedMachine> {
  const machine = await ports.cloud.observe(claim.metadata.name);
  const said = claim.status?.providerID;
  if (machine.kind === 'gone' || said === undefined || isSameId(machine.machine.providerId, said)) return machine;
  return { kind: 'gone' };
}

/**
 * A Node of our claim's name on another machine, or on none that it says: not touched, and reported. A claim without a
 * machine of its own goes, and so does one whose node does not say within the time to register that it is on its
 * machine.
 */
async function foreignNode(ports: Ports, claim: NodeClaim, node: Node): Promise<FollowOutcome> {
  if ((await observeOwn(ports, claim)).kind === 'gone') {
    const message = `no machine has the providerID ${claim.status?.providerID ?? '(none)'}`;
    return deleteClaim(ports, claim, eventAbout(claim, 'Warning', 'InstanceGone', message));
  }
  const message = `Node ${node.metadata.name} has providerID ${node.spec?.providerID ?? '(none)'}`;
  // One that was registered has as long as a new one, from when its node was first found to be another.
  const condition = { type: 'Registered', status: 'Unknown', reason: 'NodeNotFound', message } as const;
  if (isMissedTooLong(ports, claim) || (await cannotSayMissed(ports, claim, condition))) {
    return fail(ports, claim, 'RegistrationTimeout', `no node of its own within 15 minutes: ${message}`);
  }
  return { kind: 'wait', for: 'a node with the right providerID', lookAgainMs: ports.now() + LOOK_MAX_MS };
}

function isSameMachine(node: Node, claim: NodeClaim): boolean {
  return isSameId(node.spec?.providerID, claim.status?.providerID);
}
