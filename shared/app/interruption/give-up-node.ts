import { otherTaints, isDisrupted } from '../../contract/disrupted-taint.ts';
import type { SignalHint } from '../../contract/messages.ts';
import { annotation, taint } from '../../contract/names.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { RetryableError } from '../../ports/errors.ts';
import { toTimestamp } from '../conditions.ts';
import { publish } from '../events.ts';
import { countEvictions } from '../follow/count-evictions.ts';
import { drain, type DrainOutcome } from '../follow/drain.ts';
import { patchNode } from '../follow/patch-node.ts';
import { claimsNamed, hintObjects } from '../hint-objects.ts';
import { nodeNameOf } from '../node-name.ts';
import type { Ports } from '../ports.ts';
import { isSameId } from '../same-id.ts';
import { annotateClaim } from './annotate-claim.ts';
import { orRefused } from './or-refused.ts';

/** What a notice says of a machine. */
export interface Leave {
  readonly signal: Pick<SignalHint, 'event'>;
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

/** How long pods wait to hear which machine is made for them. A plan takes seconds; one that has not come then may never. */
const NAMED_WITHIN_MS = 30_000;

/** To tell the pods of a node takes a second; whoever dies meanwhile is followed by the same notice, or another, so much later. */
const AT_IT_MS = 5_000;

/**
 * Closes the node, gives its claim up by the deadline, and tells its pods to go unless there is time for their replacement
 * first. Nothing of it waits for a plan, a Lease, Azure or a statistic, and what is refused of one step stops none of the others; where the
 * claim could not be given up that is thrown at the end, so that the notice is acted on again, as it is a little later where another
 * execution is at it. Null where nothing is left to give up. Repeating it is harmless.
 */
export async function giveUpNode(ports: Ports, claim: NodeClaim, leave: Leave): Promise<GivenUp | null> {
  const awaits = leave.deadlineMs - ports.now() > REPLACED_FIRST_MS;
  const [node, stamp] = await Promise.all([
    orRefused(ports, claim, 'taint', () => closeNode(ports, claim)),
    orFailure(() => stampClaim(ports, claim, leave, awaits)),
  ]);
  if (stamp.kind === 'gone') return null;
  if (stamp.kind === 'left') throw otherIsAtIt(claim);
  const told = awaits || node?.kind === 'foreign' ? null : await tellPods(ports, claim, leave);
  if (stamp.kind === 'failed') throw soon(stamp.error);
  // After the pods: from then on `follow` drains, too, and would tell those anew that it sees before they are on their way.
  await deleteClaim(ports, claim);
  await tellOthers(ports, claim, leave, { deadline: stamp.deadline, answers: told?.answers ?? [] });
  const markedMs = node?.kind === 'closed' ? node.atMs : null;
  return { markedMs, ...(told === null ? NOBODY_TOLD : { toldMs: told.toldMs, pods: told.remaining }) };
}

const NOBODY_TOLD = { toldMs: null, pods: null };

/** The first pass of the drain; `follow` goes on with it. */
function tellPods(ports: Ports, claim: NodeClaim, { deadlineMs }: Leave): Promise<DrainOutcome | null> {
  return orRefused(ports, claim, 'drain', () => drain(ports, nodeNameOf(claim), deadlineMs, true));
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

/** Whoever goes on with it, reads of it and counts it: after the pods. */
async function tellOthers(
  ports: Ports,
  claim: NodeClaim,
  leave: Leave,
  { deadline, answers }: { readonly deadline: string; readonly answers: ReadonlyArray<number> },
): Promise<void> {
  const { name, uid = '' } = claim.metadata;
  const occasion = `interrupted/${uid}/${leave.deadlineMs}`;
  await Promise.all([
    hintObjects(ports, claimsNamed([name]), { reason: 'interrupted', occasion }),
    tellPeople(ports, claim, leave, deadline),
    countEvictions(ports, claim, answers),
  ]);
}

/** A right that is missing is asked for again in half a minute, which is all that a notice may have left. */
function soon(error: unknown): unknown {
  if (!(error instanceof RetryableError)) return error;
  return new RetryableError(error.message, { cause: error.cause });
}

type Closed =
  | { readonly kind: 'closed'; readonly atMs: number }
  /** There is no node yet. */
  | { readonly kind: 'none' }
  /** Somebody else's machine has the name of the claim's node: it and its pods are left alone. */
  | { readonly kind: 'foreign' };

async function closeNode(ports: Ports, claim: NodeClaim): Promise<Closed> {
  const node = await ports.kubernetes.get('Node', { name: nodeNameOf(claim), namespace: null });
  if (node === null) return { kind: 'none' };
  const [own, id] = [claim.status?.providerID, node.spec?.providerID];
  if (own !== undefined && id !== undefined && !isSameId(own, id)) return { kind: 'foreign' };
  if (!isDisrupted(node)) {
    await patchNode(ports, node, (fresh) => ({
      metadata: { resourceVersion: fresh.metadata.resourceVersion },
      spec: { taints: [...otherTaints(fresh), taint.disrupted] },
    }));
  }
  return { kind: 'closed', atMs: ports.now() };
}

type Stamp =
  | { readonly kind: 'written'; readonly deadline: string }
  /** Another execution has just written it: that one does all the rest. */
  | { readonly kind: 'left' }
  | { readonly kind: 'gone' };

/** Writes on the claim by when its pods must have left, and answers it. An earlier time stays. */
async function stampClaim(
  ports: Ports,
  claim: NodeClaim,
  { signal, deadlineMs }: Leave,
  awaits: boolean,
): Promise<Stamp> {
  let deadline = toTimestamp(deadlineMs);
  const kind = await annotateClaim(ports, claim, ({ metadata: { annotations = {} } }) => {
    const knownMs = Date.parse(annotations[annotation.terminationTimestamp] ?? '');
    if (knownMs <= deadlineMs && isBegun(annotations, ports.now())) return null;
    deadline = toTimestamp(Number.isNaN(knownMs) ? deadlineMs : Math.min(knownMs, deadlineMs));
    return {
      [annotation.terminationTimestamp]: deadline,
      [annotation.interruption]: `${signal.event} by ${deadline} since ${toTimestamp(ports.now())}`,
      ...(awaits
        ? { [annotation.replacementDue]: toTimestamp(ports.now() + NAMED_WITHIN_MS) }
        : withoutWaiting(annotations)),
    };
  });
  return kind === 'written' ? { kind, deadline } : { kind };
}

/** Has another execution begun so short a while ago that it is at it still? */
function isBegun(annotations: Readonly<Record<string, string>>, nowMs: number): boolean {
  const sinceMs = Date.parse(annotations[annotation.interruption]?.split(' since ')[1] ?? '');
  return nowMs - sinceMs < AT_IT_MS;
}

/** Whoever told the pods beside it would tell some of them twice. */
function otherIsAtIt({ metadata }: NodeClaim): RetryableError {
  return new RetryableError(`another notice of ${metadata.name} is being acted on`, { retryAfterMs: AT_IT_MS });
}

async function deleteClaim(ports: Ports, { metadata: { name, uid = '' } }: NodeClaim): Promise<void> {
  try {
    await ports.kubernetes.delete('NodeClaim', { name, namespace: null }, uid === '' ? undefined : { uid });
  } catch (error) {
    throw soon(error);
  }
}

/** What an earlier notice with more time, or disruption, had the pods wait for does not come in time. */
function withoutWaiting(annotations: Readonly<Record<string, string>>): Readonly<Record<string, null>> {
  const known = [annotation.replacementDue, annotation.replacedBy].filter((key) => key in annotations);
  return Object.fromEntries(known.map((key) => [key, null]));
}

async function tellPeople(ports: Ports, { metadata }: NodeClaim, { signal }: Leave, deadline: string): Promise<void> {
  const { name, uid = '' } = metadata;
  const regarding = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name, namespace: null, uid };
  const message = `Azure takes this machine back (${signal.event}) at ${deadline}; replacing it`;
  await publish(ports.kubernetes, { regarding, type: 'Warning', reason: 'Interrupted', message }, ports.now());
}
