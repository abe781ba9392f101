import { isDisrupted, otherTaints } from '../../kubernetes/disrupted-taint.ts';
import { isOwnClass } from '../../contract/own-class.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { RefusedError, RetryableError, TerminalError } from '../../ports/errors.ts';
import { isMarked } from '../../core/disruption/second-look/begun.ts';
import { patchNode } from '../claims/patch-node.ts';
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

/**
 * Ends what somebody has begun and died over. A claim on which a notice was written, and that is not being deleted, is:
 * its machine goes. A node that was closed, with no word on its claim now and `WORD_MS` later, is opened again, as by
 * Karpenter; an interruption that says so later still closes it again. What cannot be done now is the next sweep's.
 * Doing it twice is as once.
 */
export async function endLeftHalfway(
  ports: Ports,
  { claims, snapshot }: { readonly claims: ReadonlyArray<NodeClaim>; readonly snapshot: Snapshot | null },
): Promise<void> {
  const own = claims.filter(
    ({ metadata, spec }) => isOwnClass(spec.nodeClassRef) && metadata.deletionTimestamp === undefined,
  );
  const closed = new Set(
    (snapshot?.nodes ?? [])
      .filter((node) => isDisrupted(node) && node.metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name),
  );
  await inParallel(own, AT_ONCE, async (claim) => {
    if (isInterrupted(claim)) await orLater(ports, claim, () => endNotice(ports, claim));
  });
  const wordless = own.filter((claim) => !isInterrupted(claim) && !isMarked(claim) && closed.has(nodeNameOf(claim)));
  if (wordless.length === 0) return;
  await ports.sleep(WORD_MS);
  await inParallel(wordless, AT_ONCE, (claim) => orLater(ports, claim, () => reopen(ports, claim)));
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
  if (ports.now() < (noticedAtMs(claim) ?? 0) + NOTICE_MS) return;
  await ports.kubernetes.delete('NodeClaim', { name, namespace: null }, uid === undefined ? undefined : { uid });
  await hintObjects(ports, claimsNamed([name]), { reason: 'interrupted', occasion: `left/${uid ?? name}` });
  ports.log('left-halfway', { claim: name, done: 'deleted', why: 'a notice was written on it' });
}

/**
 * Both are read again: what is on the claim by now decides, and a node that has changed since is looked at by the next
 * sweep.
 */
async function reopen(ports: Ports, { metadata: { name } }: NodeClaim): Promise<void> {
  const claim = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
  if (claim === null || claim.metadata.deletionTimestamp !== undefined) return;
  if (isMarked(claim) || isInterrupted(claim)) return;
  const node = await ports.kubernetes.get('Node', { name: nodeNameOf(claim), namespace: null });
  if (node === null || node.metadata.deletionTimestamp !== undefined || !isDisrupted(node)) return;
  await patchNode(ports, node, (fresh) => ({
    metadata: { resourceVersion: fresh.metadata.resourceVersion },
    spec: { taints: otherTaints(fresh) },
  }));
  ports.log('left-halfway', { claim: name, done: 'opened', why: 'its node was closed, and nothing says why' });
}
