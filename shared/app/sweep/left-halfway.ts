import { isDisrupted, otherTaints } from '../../kubernetes/disrupted-taint.ts';
import { isOwnClass } from '../../contract/own-class.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import { isAhead } from '../../core/quantity/told-time.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { RefusedError, RetryableError, TerminalError } from '../../ports/errors.ts';
import { isMarked } from '../../core/disruption/second-look/begun.ts';
import { written } from '../claims/node-claim.ts';
import { closeNode } from '../claims/patch-node.ts';
import { claimsNamed, hintObjects } from '../ports/hint-objects.ts';
import { inParallel } from '../ports/in-parallel.ts';
import { isInterrupted, noticedAtMs } from '../facts/interrupted.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import type { Ports } from '../ports/ports.ts';
import { tellDenied } from '../tell/tell-denied.ts';

/** Each takes two or three calls. */
const AT_ONCE = 5;

/** Whoever acts on a notice has deleted the claim within seconds, or tries again within a minute. */
const NOTICE_MS = 2 * 60_000;

/**
 * An interruption closes a node and says so on its claim side by side. Among many at once, or where writes are slow,
 * the word comes so much later at most; pods would be bound to a node that was opened before it.
 */
const WORD_MS = 10_000;

interface Found {
  readonly claims: ReadonlyArray<NodeClaim>;
  readonly snapshot: Snapshot | null;
}

/**
 * Deletes the claims on which a notice was written, and which whoever acted on it did not delete before it died: their
 * machines go. What cannot be done now is the next sweep's, and twice is as once.
 */
export async function endNotices(ports: Ports, claims: Found['claims']): Promise<void> {
  const noticed = claims.filter((claim) => isLiving(claim) && isInterrupted(claim));
  await inParallel(noticed, AT_ONCE, (claim) => orLater(ports, claim, () => endNotice(ports, claim)));
}

/**
 * Opens nodes that somebody has closed and died over, as Karpenter does: those with no word on their claim now and
 * `WORD_MS` later. What cannot be done now is the next sweep's, and twice is as once.
 */
export async function openWordless(ports: Ports, { claims, snapshot }: Found): Promise<void> {
  const closed = new Set(
    (snapshot?.nodes ?? [])
      .filter((node) => isDisrupted(node) && node.metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name),
  );
  const wordless = claims.filter((claim) => isLiving(claim) && !isSpokenFor(claim) && closed.has(nodeNameOf(claim)));
  if (wordless.length === 0) return;
  await ports.sleep(WORD_MS);
  await inParallel(wordless, AT_ONCE, (claim) => orLater(ports, claim, () => reopen(ports, claim)));
}

/** Ours, and not being deleted. */
function isLiving({ metadata, spec }: NodeClaim): boolean {
  return isOwnClass(spec.nodeClassRef) && metadata.deletionTimestamp === undefined;
}

/** Does the claim say why its node is closed? */
function isSpokenFor(claim: NodeClaim): boolean {
  return isMarked(claim) || isInterrupted(claim);
}

async function orLater(ports: Ports, { metadata }: NodeClaim, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof RetryableError || error instanceof TerminalError)) throw error;
    ports.log('left-halfway', { claim: metadata.name, done: 'nothing', why: error.message });
    if (error instanceof RefusedError)
      await tellDenied(ports, error.refusal, [{ kind: 'NodeClaim', key: { name: metadata.name, namespace: null } }]);
  }
}

async function endNotice(ports: Ports, claim: NodeClaim): Promise<void> {
  const { name, uid } = claim.metadata;
  const [nowMs, noticedMs] = [ports.now(), noticedAtMs(claim) ?? 0];
  // A clock that is ahead has no claim waiting for it.
  if (!isAhead(noticedMs, nowMs) && nowMs < noticedMs + NOTICE_MS) return;
  await ports.kubernetes.delete('NodeClaim', { name, namespace: null }, uid === undefined ? undefined : { uid });
  await hintObjects(ports, claimsNamed([name]), { reason: 'interrupted', occasion: `left/${uid ?? name}` });
  ports.log('left-halfway', { claim: name, done: 'deleted', why: 'a notice was written on it' });
}

/**
 * Both are read again, the claim last: what is on it by now decides. A node that has changed meanwhile is the next
 * sweep's. A word that comes during the write finds the node closed, writes nothing on it, and is found here; where
 * closing it again fails, it is closed when its claim is deleted, two minutes later at most.
 */
async function reopen(ports: Ports, seen: NodeClaim): Promise<void> {
  const { name } = seen.metadata;
  const node = await ports.kubernetes.get('Node', { name: nodeNameOf(seen), namespace: null });
  if (node === null || node.metadata.deletionTimestamp !== undefined || !isDisrupted(node)) return;
  if (await isClosedByNow(ports, name)) return;
  const { resourceVersion } = node.metadata;
  const patch = { metadata: { resourceVersion }, spec: { taints: otherTaints(node) } };
  const outcome = await ports.kubernetes.patch('Node', { name: node.metadata.name, namespace: null }, patch);
  const opened = written(outcome, node.metadata.name);
  ports.log('left-halfway', { claim: name, done: 'opened', why: 'its node was closed, and nothing says why' });
  if (!(await isClosedByNow(ports, name))) return;
  await closeNode(ports, opened);
  ports.log('left-halfway', { claim: name, done: 'closed', why: 'a word on it has come meanwhile' });
}

/** Is its node closed for a reason, as the claim goes or says one? */
async function isClosedByNow(ports: Ports, name: string): Promise<boolean> {
  const claim = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
  return claim === null || claim.metadata.deletionTimestamp !== undefined || isSpokenFor(claim);
}
