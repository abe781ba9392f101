import { isDisrupted } from '../../kubernetes/disrupted-taint.ts';
import type { SignalHint } from '../../contract/messages/messages.ts';
import { annotation } from '../../contract/names.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { RefusedError, RetryableError } from '../../ports/errors.ts';
import type { Refusal } from '../../ports/kubernetes.ts';
import { toTimestamp } from '../facts/conditions.ts';
import type { About } from '../tell/denied-condition.ts';
import { publish } from '../tell/events.ts';
import { countEvictions } from '../follow/leave/count-evictions.ts';
import { tellPods } from '../follow/leave/drain.ts';
import { closeNode } from '../claims/patch-node.ts';
import { claimsNamed, hintObjects } from '../ports/hint-objects.ts';
import { eachAlone } from '../ports/in-parallel.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import type { Ports } from '../ports/ports.ts';
import { isSameId } from '../facts/same-id.ts';
import { tellDenied } from '../tell/tell-denied.ts';
import { annotateClaim } from '../claims/annotate-claim.ts';
import {
  deadlineOf,
  isPreempted,
  noticedAtMs,
  noticeOf,
  renderInterruption,
  NAMED_WITHIN_MS,
} from '../facts/interrupted.ts';
import { orRefused } from '../claims/or-refused.ts';

/** What a notice says of a machine. */
export interface Leave {
  readonly signal: Pick<SignalHint, 'event' | 'attempt'>;
  /** By when the pods must have left, milliseconds since the epoch. */
  readonly deadlineMs: number;
}

/** How far the node is given up. Times are milliseconds since the epoch. */
export interface GivenUp {
  /** When the node took no more pods; null where it has none yet, or could not be closed. */
  readonly markedMs: number | null;
  /** When its pods had been told to go; null where they wait for the replacement, or could not be told yet. */
  readonly toldMs: number | null;
  /** Pods that were still there then. */
  readonly pods: number | null;
}

/** A machine that boots in the meantime is a node after a minute or two: with less time no pod waits for one. */
const REPLACED_FIRST_MS = 150_000;

/** Is there time for a replacement to come first? */
function mayAwait(deadlineMs: number, nowMs: number): boolean {
  return deadlineMs - nowMs > REPLACED_FIRST_MS;
}

/** Objects told of at once. */
const TOLD_AT_ONCE = 8;

/**
 * To tell the pods of a node takes a second; whoever dies meanwhile is followed by the same notice, or another, so much
 * later.
 */
const AT_IT_MS = 5_000;

/**
 * Closes the node, gives its claim up by the deadline, and tells its pods to go unless there is time for their
 * replacement first. Nothing of it waits for a plan, a Lease, Azure or a statistic, and what is refused of one step
 * stops none of the others; where the claim could not be given up that is thrown at the end, so that the notice is
 * acted on again, as it is a little later where another execution is at it. Null where nothing is left to give up.
 * Repeating it is harmless. It is done `inTurn`: of many nodes each is closed and its pods are told before the next,
 * and people are told of all of them last. An earlier deadline that the claim has stays.
 */
export async function giveUpNode(
  ports: Ports,
  claim: NodeClaim,
  notice: Leave,
  inTurn: InTurn,
): Promise<GivenUp | null> {
  const leave = { ...notice, deadlineMs: Math.min(notice.deadlineMs, deadlineOf(claim) ?? Infinity) };
  const denied: Array<Refusal> = [];
  const { node, stamp, told } = await inTurn(() => closeAndTell(ports, claim, leave, denied));
  if (stamp.kind === 'gone') return null;
  if (stamp.kind === 'left') throw otherIsAtIt(claim);
  await inTurn(async () => {
    // After the pods: from then on `follow` drains, too, and would tell those anew that it sees before they are on
    // their way.
    const given = stamp.kind === 'failed' ? stamp : await orFailure(() => deleteClaim(ports, claim));
    await hintOthers(ports, claim, leave);
    await told?.tellPeople();
    await eachAlone([...denied, ...(told?.outcome.denied ?? [])], TOLD_AT_ONCE, (refusal) =>
      tellDenied(ports, refusal, refusal.kind === 'Pod' ? [] : [aboutClaim(claim)]),
    );
    await countEvictions(ports, claim, told?.outcome.answers ?? []);
    if (stamp.kind === 'written') await tellPeople(ports, claim, leave, stamp.deadline);
    if (given.kind === 'failed') throw await toldSoon(ports, claim, given.error);
  });
  const markedMs = node?.kind === 'closed' ? node.atMs : null;
  return { markedMs, ...(told === null ? NOBODY_TOLD : { toldMs: told.outcome.toldMs, pods: told.outcome.remaining }) };
}

/** Lets a step be done when it is its turn, first come first served. */
export type InTurn = <Answer>(step: () => Promise<Answer>) => Promise<Answer>;

interface Told {
  /** Null where it could not be closed. */
  readonly node: Closed | null;
  readonly stamp: Stamp | { readonly kind: 'failed'; readonly error: unknown };
  /** The first pass of the drain; null where pods are not told yet, or could not be. */
  readonly told: Awaited<ReturnType<typeof firstPass>>;
}

/** What must not wait. The API server's denials are added to `denied`. */
async function closeAndTell(ports: Ports, claim: NodeClaim, leave: Leave, denied: Array<Refusal>): Promise<Told> {
  const note = (refusal: Refusal): void => void denied.push(refusal);
  const [node, stamp] = await Promise.all([
    orRefused(ports, claim, 'taint', () => closeOwnNode(ports, claim), note),
    orFailure(() => stampClaim(ports, claim, leave)),
  ]);
  const deadlineMs = stamp.kind === 'written' ? stamp.dueMs : leave.deadlineMs;
  const waits =
    mayAwait(deadlineMs, ports.now()) || node?.kind === 'foreign' || stamp.kind === 'gone' || stamp.kind === 'left';
  return { node, stamp, told: waits ? null : await firstPass(ports, claim, deadlineMs) };
}

const NOBODY_TOLD = { toldMs: null, pods: null };

/** The first pass of the drain. */
function firstPass(
  ports: Ports,
  claim: NodeClaim,
  deadlineMs: number,
): Promise<Awaited<ReturnType<typeof tellPods>> | null> {
  const rules = { deadlineMs, mayEvict: true, notice: noticeOf(claim) };
  return orRefused(ports, claim, 'drain', () => tellPods(ports, nodeNameOf(claim), rules, { mayBeOld: true }));
}

async function orFailure<Answer>(
  work: () => Promise<Answer>,
): Promise<Answer | { readonly kind: 'failed'; readonly error: unknown }> {
  try {
    return await work();
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/** `follow` continues the drain. */
async function hintOthers(ports: Ports, { metadata: { name, uid = '' } }: NodeClaim, leave: Leave): Promise<void> {
  const occasion = `interrupted/${uid}/${leave.deadlineMs}`;
  await hintObjects(ports, claimsNamed([name]), { reason: 'interrupted', occasion });
}

function aboutClaim({ metadata: { name } }: NodeClaim): About {
  return { kind: 'NodeClaim', key: { name, namespace: null } };
}

/** As `soon`, once people have been told of what is denied. */
async function toldSoon(ports: Ports, claim: NodeClaim, error: unknown): Promise<unknown> {
  if (error instanceof RefusedError) await tellDenied(ports, error.refusal, [aboutClaim(claim)]);
  return soon(error);
}

/** A right that is missing is asked for again in half a minute, which is all that a notice may have left. */
function soon(error: unknown): unknown {
  if (!(error instanceof RetryableError) || error instanceof RefusedError) return error;
  return new RetryableError(error.message, { cause: error.cause });
}

type Closed =
  | { readonly kind: 'closed'; readonly atMs: number }
  /** There is no node yet. */
  | { readonly kind: 'none' }
  /** Somebody else's machine has the name of the claim's node: it and its pods are left alone. */
  | { readonly kind: 'foreign' };

async function closeOwnNode(ports: Ports, claim: NodeClaim): Promise<Closed> {
  const node = await ports.kubernetes.get('Node', { name: nodeNameOf(claim), namespace: null });
  if (node === null) return { kind: 'none' };
  const [own, id] = [claim.status?.providerID, node.spec?.providerID];
  if (own !== undefined && id !== undefined && !isSameId(own, id)) return { kind: 'foreign' };
  const closed = isDisrupted(node) ? node : await closeNode(ports, node);
  return closed === null ? { kind: 'none' } : { kind: 'closed', atMs: ports.now() };
}

type Stamp =
  | { readonly kind: 'written'; readonly deadline: string; readonly dueMs: number }
  /** Another execution has just written it: that one does all the rest. */
  | { readonly kind: 'left' }
  | { readonly kind: 'gone' };

/** Writes on the claim by when its pods must have left, and returns it. An earlier time stays. */
async function stampClaim(ports: Ports, read: NodeClaim, { signal, deadlineMs }: Leave): Promise<Stamp> {
  let deadline = toTimestamp(deadlineMs);
  let dueMs = deadlineMs;
  const kind = await annotateClaim(ports, read, (claim) => {
    const knownMs = deadlineOf(claim) ?? Infinity;
    // What comes again has failed before: the stamp is its own.
    if ((signal.attempt ?? 0) === 0 && knownMs <= deadlineMs && isBegun(claim, ports.now())) return null;
    dueMs = Math.min(knownMs, deadlineMs);
    deadline = toTimestamp(dueMs);
    return {
      [annotation.terminationTimestamp]: deadline,
      // Statistics count that spot capacity was taken back, whatever else is said of the machine.
      [annotation.interruption]: renderInterruption(
        isPreempted(claim) ? 'preempt' : signal.event,
        deadline,
        ports.now(),
      ),
      ...(mayAwait(dueMs, ports.now())
        ? { [annotation.replacementDue]: toTimestamp(ports.now() + NAMED_WITHIN_MS) }
        : withoutWaiting(claim.metadata.annotations ?? {})),
    };
  });
  return kind === 'written' ? { kind, deadline, dueMs } : { kind };
}

/** Has another execution begun so short a while ago that it is at it still? */
function isBegun(claim: NodeClaim, nowMs: number): boolean {
  const atMs = noticedAtMs(claim);
  // Clocks differ: what one that is ahead has written says no more than that.
  return atMs !== null && Math.abs(nowMs - atMs) < AT_IT_MS;
}

/** Whoever told the pods beside it would tell some of them twice. */
function otherIsAtIt({ metadata }: NodeClaim): RetryableError {
  return new RetryableError(`another notice of ${metadata.name} is being acted on`, { retryAfterMs: AT_IT_MS });
}

async function deleteClaim(
  { kubernetes }: Ports,
  { metadata: { name, uid = '' } }: NodeClaim,
): Promise<{ readonly kind: 'deleted' }> {
  await kubernetes.delete('NodeClaim', { name, namespace: null }, uid === '' ? undefined : { uid });
  return { kind: 'deleted' };
}

/** What an earlier notice with more time, or disruption, had the pods wait for does not come in time. */
function withoutWaiting(annotations: Readonly<Record<string, string>>): Readonly<Record<string, null>> {
  const known = [annotation.replacementDue, annotation.replacedBy].filter((key) => key in annotations);
  return Object.fromEntries(known.map((key) => [key, null]));
}

async function tellPeople(ports: Ports, { metadata }: NodeClaim, { signal }: Leave, deadline: string): Promise<void> {
  const { name, uid = '' } = metadata;
  const regarding = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name, namespace: null, uid };
  const message = `Azure will take this VM offline (${signal.event}) at ${deadline}; Nodewright replaces it`;
  await publish(ports.kubernetes, { regarding, type: 'Warning', reason: 'Interrupted', message }, ports.now());
}
