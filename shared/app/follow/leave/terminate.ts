import { parseUntil } from '../../../core/quantity/told-time.ts';
import { CLOCK_SKEW_MS } from '../../facts/clock-skew.ts';
import { isDisrupted, otherTaints } from '../../../kubernetes/disrupted-taint.ts';
import { parseGoDuration } from '../../../kubernetes/text/go-duration.ts';
import { annotation, finalizer, label, taint } from '../../../contract/names.ts';
import type { Node, NodeClaim } from '../../../kubernetes/manifest.ts';
import type { ObservedMachine } from '../../../ports/cloud.ts';
import { claimFacts, machineFacts } from '../../facts/claim-facts.ts';
import { publish, type Regarding } from '../../tell/events.ts';
import { claimsNamed, hintObjects } from '../../ports/hint-objects.ts';
import { alone, eachAlone } from '../../ports/in-parallel.ts';
import { deadlineOf, isInterrupted, noticeOf, NAMED_WITHIN_MS } from '../../facts/interrupted.ts';
import { replacementsOf } from '../../../core/disruption/second-look/begun.ts';
import { nodeNameOf } from '../../facts/node-name.ts';
import type { Ports } from '../../ports/ports.ts';
import { RefusedError, RetryableError } from '../../../ports/errors.ts';
import type { Refusal } from '../../../ports/kubernetes.ts';
import { isSameId } from '../../facts/same-id.ts';
import { tellDenied } from '../../tell/tell-denied.ts';
import { statusIfPossible } from '../../tell/tell-unwritten.ts';
import { conditionOf, isTrue, toTimestamp } from '../../facts/conditions.ts';
import { awaitDecision } from './await-decision.ts';
import { countEvictions } from './count-evictions.ts';
import { drain } from './drain.ts';
import { eventAbout, isReadyNode, transitionMs, writeStatus, written } from '../../claims/node-claim.ts';
import type { FollowOutcome } from '../../ports/follow-outcome.ts';
import { awaitedAttachments } from './volumes-in-use.ts';

/** While pods are on their way out, the relay tells of each; this is for what it misses. */
const DRAIN_LOOK_MS = 10_000;
/** A PodDisruptionBudget or a protected pod holds the drain: looked at this often. */
const BLOCKED_LOOK_MS = 5_000;
/** The scheduler may have chosen the node for a pod before it saw the taint: so long after that the pod has come. */
const LANDING_MS = 5_000;
/** Replacements get ready within a notice of 30 s or not at all; each look reads two or three objects. */
const REPLACEMENT_LOOK_MS = 1_500;
/** Looks are no further apart: the longest of them, and half as much for the grid. */
const DEADLINE_AHEAD_MS = 1.5 * DRAIN_LOOK_MS;
/** Pods told of at once. */
const TOLD_AT_ONCE = 8;
/** Removing a VM takes Azure half a minute to a few minutes. */
const MACHINE_LOOK_MS = 5_000;

/**
 * Takes a deleted claim to its end: taint, drain, volumes, machine, finalizers. Each call does what can be done now.
 */
export async function terminate(ports: Ports, deleted: NodeClaim): Promise<FollowOutcome> {
  if (deleted.metadata.finalizers?.includes(finalizer) !== true) return { kind: 'ended', why: 'not ours to hold' };
  const claim = await stampDeadline(ports, deleted);
  const named = await ports.kubernetes.get('Node', { name: nodeNameOf(claim), namespace: null });
  if (named !== null && isOwnAndReady(named, claim)) {
    // Azure need not be asked whether it has the machine, and cannot hold up a drain by not answering.
    const waiting = await emptyAndTell(ports, claim, named);
    return waiting ?? removeMachine(ports, claim, named);
  }
  const machine = await ports.cloud.observe(claim.metadata.name);
  const node = named === null || isForeign(named, claim, machine) ? null : named;
  const machineIsGone = machine.kind === 'gone' && !isReadyNode(node?.status?.conditions);
  if (node !== null && !machineIsGone) {
    const waiting = await emptyAndTell(ports, claim, node);
    if (waiting !== null) return waiting;
  }
  return removeMachine(ports, claim, node);
}

/** Is the Node of the very machine that the claim has, and in use? */
function isOwnAndReady({ spec, status }: Node, claim: NodeClaim): boolean {
  return isSameId(spec?.providerID, claim.status?.providerID) && isReadyNode(status?.conditions);
}

/** A Node that has our claim's name and is on another machine than any that the claim has or had: it is left alone. */
function isForeign(node: Node, claim: NodeClaim, machine: ObservedMachine): boolean {
  const own = [claim.status?.providerID, machine.kind === 'gone' ? undefined : machine.machine.providerId];
  const known = own.filter((id) => id !== undefined);
  const id = node.spec?.providerID;
  return id !== undefined && known.length > 0 && !known.some((one) => isSameId(id, one));
}

/** The claim's own limit on its drain, counted from its deletion; an earlier one stays. */
async function stampDeadline(ports: Ports, claim: NodeClaim): Promise<NodeClaim> {
  const period = claim.spec.terminationGracePeriod;
  const deletedMs = Date.parse(claim.metadata.deletionTimestamp ?? '');
  if (period === undefined || claim.metadata.annotations?.[annotation.terminationTimestamp] !== undefined) return claim;
  const deadline = toTimestamp(deletedMs + (parseGoDuration(period) ?? 0));
  const { name, resourceVersion } = claim.metadata;
  const patch = { metadata: { resourceVersion, annotations: { [annotation.terminationTimestamp]: deadline } } };
  return written(await ports.kubernetes.patch('NodeClaim', { name, namespace: null }, patch), name);
}

/**
 * As `empty`. People are told last that the Node may not be deleted: it is a write to the claim, which the steps before
 * depend on.
 */
async function emptyAndTell(ports: Ports, claim: NodeClaim, node: Node): Promise<FollowOutcome | null> {
  const kept: Array<Refusal> = [];
  try {
    return await empty(ports, claim, node, (refusal) => void kept.push(refusal));
  } finally {
    const about = { kind: 'NodeClaim', key: { name: claim.metadata.name, namespace: null } } as const;
    for (const refusal of kept) {
      // One at most.
      await tellDenied(ports, refusal, [about]);
    }
  }
}

/**
 * Keeps pods away, moves those that are there, waits for their volumes. Null once the machine may go. The Node is
 * deleted so that others know that it goes; where that is denied, which `keep` is told, it is emptied all the same.
 */
async function empty(
  ports: Ports,
  claim: NodeClaim,
  node: Node,
  keep: (refusal: Refusal) => void,
): Promise<FollowOutcome | null> {
  const { isNew, denied } = await announceIfAllowed(ports, claim, node, keep);
  const deadlineMs = deadlineOf(claim);
  if (deadlineMs !== null) await tellDeadline(ports, claim, node, deadlineMs);
  const mayEvict = await isReplaced(ports, claim);
  const outcome = await drain(ports, node.metadata.name, {
    deadlineMs,
    mayEvict,
    notice: isInterrupted(claim) ? noticeOf(claim) : null,
  });
  await countEvictions(ports, claim, outcome.answers);
  await tellPods(ports, outcome.denied);
  if (denied !== null && !(outcome.remaining === 0 && isOver(ports, deadlineMs))) {
    await lookBeforeDeadline(ports, claim, outcome.nextForcedMs);
    throw denied;
  }
  const landedMs = landedAtMs(ports, claim, isNew);
  if (outcome.remaining === 0 && ports.now() < landedMs) {
    const text = `a pod may still be on its way to ${node.metadata.name}`;
    await noteDraining(ports, claim, text);
    return { kind: 'wait', for: text, lookAgainMs: landedMs };
  }
  if (outcome.remaining > 0) {
    const text = `${outcome.remaining} pods are left on ${node.metadata.name}`;
    await noteDraining(ports, claim, text);
    if (outcome.blocked !== null) await reportBlocked(ports, node, outcome.blocked);
    await lookBeforeDeadline(ports, claim, outcome.nextForcedMs);
    const after = !mayEvict ? REPLACEMENT_LOOK_MS : outcome.blocked === null ? DRAIN_LOOK_MS : BLOCKED_LOOK_MS;
    return { kind: 'wait', for: outcome.blocked ?? text, lookAgainMs: ports.now() + after };
  }
  return awaitVolumes(ports, claim, node, deadlineMs);
}

/** On pods that a policy keeps on the node. */
async function tellPods(ports: Ports, denied: ReadonlyArray<Refusal>): Promise<void> {
  await eachAlone(denied, TOLD_AT_ONCE, (refusal) => tellDenied(ports, refusal));
}

/**
 * Azure does not wait until a node may be closed, nor does a deadline that is over: what keeps us from that is thrown
 * after the drain, unless that has ended.
 */
async function announceIfAllowed(
  ports: Ports,
  claim: NodeClaim,
  node: Node,
  keep: (refusal: Refusal) => void,
): Promise<{ readonly isNew: boolean; readonly denied: RetryableError | null }> {
  try {
    return { isNew: await announce(ports, claim, node, keep), denied: null };
  } catch (error) {
    const isAwaited = !isInterrupted(claim) && !isOver(ports, deadlineOf(claim));
    if (!(error instanceof RetryableError) || isAwaited) throw error;
    return { isNew: false, denied: error };
  }
}

function isOver(ports: Ports, deadlineMs: number | null): boolean {
  return deadlineMs !== null && ports.now() > deadlineMs;
}

/** In Karpenter's words, by the first look that drains. */
async function tellDeadline(ports: Ports, claim: NodeClaim, node: Node, deadlineMs: number): Promise<void> {
  if (conditionOf(claim.status?.conditions, 'Drained') !== undefined) return;
  const note = { type: 'Warning', reason: 'TerminationGracePeriodExpiring' } as const;
  const message = `All pods will be deleted by ${toTimestamp(deadlineMs)}`;
  await publish(ports.kubernetes, { ...note, regarding: regardingNode(node), message }, ports.now());
  await publish(ports.kubernetes, eventAbout(claim, note.type, note.reason, message), ports.now());
}

/**
 * From when no pod comes to the node any more, milliseconds since the epoch. One that was tainted before its claim was
 * deleted, as the disruption does, has none on their way. As Karpenter.
 */
function landedAtMs(ports: Ports, claim: NodeClaim, isNew: boolean): number {
  const isDraining = conditionOf(claim.status?.conditions, 'Drained')?.status === 'Unknown';
  if (isDraining) return transitionMs(claim, 'Drained') + LANDING_MS;
  // A notice taints the node a moment before.
  return isNew || isInterrupted(claim) ? ports.now() + LANDING_MS : ports.now();
}

function noteDraining(ports: Ports, claim: NodeClaim, message: string): Promise<NodeClaim> {
  return writeStatus(ports, claim, {
    conditions: [{ type: 'Drained', status: 'Unknown', reason: 'Draining', message }],
  });
}

/**
 * Other looks come on a grid of seconds: a pod that has to be deleted to meet the deadline would lose them of its own
 * grace period. Asked for by the last look before, so that a deadline far away brings one message and not one for each
 * look.
 */
async function lookBeforeDeadline(ports: Ports, { metadata }: NodeClaim, dueMs: number | null): Promise<void> {
  if (dueMs === null || dueMs > ports.now() + DEADLINE_AHEAD_MS) return;
  const occasion = `drain-deadline/${dueMs}`;
  await hintObjects(ports, claimsNamed([metadata.name]), {
    reason: 'drain-deadline',
    occasion,
    atMs: dueMs + CLOCK_SKEW_MS,
  });
}

/**
 * Replacements that are not ready so long after the deletion are not waited for any more: the disruption, which names
 * them, waits as long. Where Azure evicts the VM its deadline ends the wait.
 */
const REPLACED_MS = 10 * 60_000;

/**
 * Whether the claims launched in place of one that goes are ready, so that its pods have somewhere to go. One that was
 * never launched for, or whose replacement has failed and is planned again, is not waited for; nor is a plan that does
 * not come.
 */
async function isReplaced(ports: Ports, claim: NodeClaim): Promise<boolean> {
  const deletedMs = Date.parse(claim.metadata.deletionTimestamp ?? '');
  if (!isInterrupted(claim) && ports.now() >= deletedMs + REPLACED_MS) return true;
  const due = claim.metadata.annotations?.[annotation.replacementDue];
  if (ports.now() < (parseUntil(due, ports.now(), NAMED_WITHIN_MS) ?? 0)) return false;
  // It may have been said since the claim was read: a call can take half a minute.
  const { name: own } = claim.metadata;
  const named = due === undefined ? claim : await ports.kubernetes.get('NodeClaim', { name: own, namespace: null });
  const claims = await Promise.all(
    replacementsOf(named ?? claim).map((name) => ports.kubernetes.get('NodeClaim', { name, namespace: null })),
  );
  return claims.every(
    (one) =>
      one === null || one.metadata.deletionTimestamp !== undefined || isTrue(one.status?.conditions, 'Initialized'),
  );
}

/**
 * Marks the node so that the scheduler, load balancers and people know, and makes the API server keep it until we are
 * done. Returns whether it was open to pods until now.
 */
async function announce(
  ports: Ports,
  claim: NodeClaim,
  node: Node,
  keep: (refusal: Refusal) => void,
): Promise<boolean> {
  const { name, resourceVersion } = node.metadata;
  const key = { name, namespace: null };
  // The API server takes no finalizer for what is being deleted already.
  const holds = node.metadata.finalizers?.includes(finalizer) !== true && node.metadata.deletionTimestamp === undefined;
  if (!isDisrupted(node) || holds) {
    const patch = {
      metadata: {
        resourceVersion,
        labels: { [label.excludeFromLoadBalancers]: 'karpenter' },
        ...(holds ? { finalizers: [...(node.metadata.finalizers ?? []), finalizer] } : {}),
      },
      spec: { taints: [...otherTaints(node), taint.disrupted] },
    };
    written(await ports.kubernetes.patch('Node', key, patch), name);
  }
  if (node.metadata.deletionTimestamp === undefined) {
    const options = node.metadata.uid === undefined ? undefined : { uid: node.metadata.uid };
    const deleted = await alone(() => ports.kubernetes.delete('Node', key, options));
    if (deleted.kind === 'done')
      ports.log('node-draining', { ...claimFacts(claim), node: name, cause: causeOf(claim) });
    else if (deleted.error instanceof RefusedError) keep(deleted.error.refusal);
    else throw deleted.error;
  }
  return !isDisrupted(node);
}

/**
 * Who has the node removed: Nodewright, for what it says on the claim, or somebody who deleted the claim or its
 * NodePool.
 */
function causeOf(claim: NodeClaim): 'disruption' | 'interruption' | 'given-up' | 'deleted' {
  const { annotations = {} } = claim.metadata;
  if (isInterrupted(claim)) return 'interruption';
  if (annotation.disruption in annotations) return 'disruption';
  return annotation.givenUp in annotations ? 'given-up' : 'deleted';
}

async function awaitVolumes(
  ports: Ports,
  claim: NodeClaim,
  node: Node,
  deadlineMs: number | null,
): Promise<FollowOutcome | null> {
  const attached = await awaitedAttachments(ports, node.metadata.name);
  const drained = { type: 'Drained', status: 'True', reason: 'Drained', message: '' } as const;
  const elapsed = isOver(ports, deadlineMs);
  if (attached.length > 0 && !elapsed) {
    const message = `${attached.length} volumes are still attached`;
    const detached = {
      type: 'VolumesDetached',
      status: 'Unknown',
      reason: 'AwaitingVolumeDetachment',
      message,
    } as const;
    await writeStatus(ports, claim, { conditions: [drained, detached] });
    return { kind: 'wait', for: message, lookAgainMs: ports.now() + BLOCKED_LOOK_MS };
  }
  const detached =
    attached.length > 0
      ? ({ type: 'VolumesDetached', status: 'False', reason: 'TerminationGracePeriodElapsed', message: '' } as const)
      : ({ type: 'VolumesDetached', status: 'True', reason: 'VolumesDetached', message: '' } as const);
  if (!isTrue(claim.status?.conditions, 'InstanceTerminating')) {
    // An empty machine does not wait until its claim may say so. Where somebody else wrote, the next look finds what.
    await statusIfPossible(ports, { kind: 'NodeClaim', name: claim.metadata.name }, async () => {
      await writeStatus(ports, claim, { conditions: [drained, detached] });
      return null;
    });
  }
  return null;
}

async function removeMachine(ports: Ports, claim: NodeClaim, node: Node | null): Promise<FollowOutcome> {
  const state = await ports.cloud.delete(claim.metadata.name);
  const key = { name: claim.metadata.name, namespace: null };
  if (state === 'deleting') {
    const fresh = (await ports.kubernetes.get('NodeClaim', key)) ?? claim;
    await writeStatus(ports, fresh, {
      conditions: [{ type: 'InstanceTerminating', status: 'True', reason: 'InstanceTerminating', message: '' }],
    });
    return { kind: 'wait', for: 'the machine to go', lookAgainMs: ports.now() + MACHINE_LOOK_MS };
  }
  if (node !== null) await removeNode(ports, node);
  const waiting = await awaitDecision(ports, claim);
  if (waiting !== null) return waiting;
  await dropFinalizer(ports, 'NodeClaim', claim);
  ports.log('nodeclaim-terminated', {
    ...claimFacts(claim),
    ...machineFacts(claim),
    afterMs: ports.now() - Date.parse(claim.metadata.deletionTimestamp ?? ''),
  });
  return { kind: 'ended', why: 'terminated' };
}

async function removeNode(ports: Ports, node: Node): Promise<void> {
  const { name, uid } = node.metadata;
  if (node.metadata.deletionTimestamp === undefined) {
    await ports.kubernetes.delete('Node', { name, namespace: null }, uid === undefined ? undefined : { uid });
  }
  await dropFinalizer(ports, 'Node', node);
}

/** Not of another object that has its name by now. */
async function dropFinalizer(
  ports: Ports,
  kind: 'Node' | 'NodeClaim',
  { metadata: { name, uid } }: Pick<Node, 'metadata'>,
): Promise<void> {
  const key = { name, namespace: null };
  const fresh = await ports.kubernetes.get(kind, key);
  if (fresh === null || fresh.metadata.uid !== uid) return;
  if (fresh.metadata.finalizers?.includes(finalizer) !== true) return;
  const finalizers = fresh.metadata.finalizers.filter((one) => one !== finalizer);
  const { resourceVersion } = fresh.metadata;
  const outcome = await ports.kubernetes.patch(kind, key, { metadata: { resourceVersion, finalizers } });
  if (outcome.kind !== 'not-found') written(outcome, name);
}

async function reportBlocked(ports: Ports, node: Node, why: string): Promise<void> {
  const regarding = regardingNode(node);
  await publish(ports.kubernetes, { regarding, type: 'Warning', reason: 'FailedDraining', message: why }, ports.now());
}

function regardingNode({ metadata: { name, uid = '' } }: Node): Regarding {
  return { apiVersion: 'v1', kind: 'Node', name, namespace: null, uid };
}
