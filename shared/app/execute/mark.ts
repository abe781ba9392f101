import { isDisrupted, otherTaints } from '../../kubernetes/disrupted-taint.ts';
import { annotation } from '../../contract/names.ts';
import { RefusedError, type RetryableError, type TerminalError } from '../../ports/errors.ts';
import type { Decision, Removal } from '../../ports/store.ts';
import { WRITE_DENIED, failingBy } from '../tell/denied-condition.ts';
import { eventAbout, written, writeStatus } from '../claims/node-claim.ts';
import { closeNode, patchNode } from '../claims/patch-node.ts';
import { despiteRivals } from './despite-rivals.ts';
import { publish } from '../tell/events.ts';
import { isInterrupted } from '../facts/interrupted.ts';
import { eachAlone, type Settled } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';
import { tellDenied, tellFailing } from '../tell/tell-denied.ts';
import { isMarked, type Candidate } from '../../core/disruption/second-look/begun.ts';
import { eventAboutNode } from '../tell/event-about.ts';

/** Nodes that are marked, unmarked or deleted at once: each takes three to five calls. */
export const NODES_AT_ONCE = 8;

/** What has come of marking. */
export interface MarkedForRemoval {
  /** Resource versions of the claims that were written. */
  readonly versions: ReadonlyArray<string | null>;
  /** Why none goes; null where all are marked, or those that may be. */
  readonly kept: string | null;
  /** What failed for now of one of them, and is to be tried again; null where nothing is. */
  readonly failed: RetryableError | TerminalError | null;
}

/** A node that may not be closed is left out of plans for so long: each try may buy what would come in its place. */
const CLOSING_DENIED_MS = 60 * 60_000;

/** ... and one that may not be deleted: it may have to go for its age. */
const DELETION_DENIED_MS = 20 * 60_000;

/**
 * Marks what the decision removes: says on each claim which decision removes it and why, and keeps new pods off its
 * node. The taint comes last, so that none of ours is without a word on the claim. Twice is as once; a claim that is
 * going already, or another by now, is left alone. A node that may not be marked stays, and says so; those beside it
 * go, unless something was made to come in place of all of them: then none goes. `isLast`: what fails for now is not
 * tried again, and its node stays as if that were denied.
 */
export async function markForRemoval(
  ports: Ports,
  decision: Decision,
  { isLast = false }: { readonly isLast?: boolean } = {},
): Promise<MarkedForRemoval> {
  const { removal } = decision;
  if (removal === undefined) return { versions: [], kept: null, failed: null };
  await eachAlone(decision.claimNames, NODES_AT_ONCE, (name) => tellLaunching(ports, name, removal.reason));
  // The claim and its node are written by others at any moment, such as by whoever follows them.
  const marked = await eachAlone(removal.claims, NODES_AT_ONCE, (one) =>
    despiteRivals(() => mark(ports, one, decision, removal.reason)),
  );
  const versions = marked.map((one) => (one.kind === 'done' ? one.answer : null));
  const failures = marked.flatMap((one, index) => {
    const claim = removal.claims[index];
    return one.kind === 'failed' && claim !== undefined ? [{ claim, error: one.error }] : [];
  });
  const failed = failures.find(({ error }) => !(error instanceof RefusedError))?.error ?? null;
  const [first] = failures;
  if (first === undefined || (failed !== null && !isLast)) return { versions, kept: null, failed };
  const why = `${first.claim.node} cannot be tainted: ${first.error.message}`;
  const isTogether = decision.claimNames.length > 0;
  const staying = isTogether ? removal.claims : failures.map(({ claim }) => claim);
  await eachAlone(staying, NODES_AT_ONCE, (one) => unmarkNamed(ports, one, why));
  await eachAlone(failures, NODES_AT_ONCE, ({ claim, error }) => tellOpen(ports, claim, error));
  return { versions, kept: isTogether || failures.length === removal.claims.length ? why : null, failed: null };
}

/** Says on the claim why its node could not be closed, and leaves it alone for a while. */
async function tellOpen(
  ports: Ports,
  { name }: Removal['claims'][number],
  error: RetryableError | TerminalError,
): Promise<void> {
  const about = { kind: 'NodeClaim', key: { name, namespace: null } } as const;
  await (error instanceof RefusedError
    ? tellDenied(ports, error.refusal, [about], CLOSING_DENIED_MS)
    : tellFailing(ports, about, failingBy('To mark it, or to close its node,', error), CLOSING_DENIED_MS));
}

/** As `unmark`, of a claim as a decision names it. */
async function unmarkNamed(ports: Ports, { name, node }: Removal['claims'][number], why: string): Promise<void> {
  const claim = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
  const own = await ports.kubernetes.get('Node', { name: node, namespace: null });
  if (claim !== null && own !== null && isMarked(claim)) await unmark(ports, { claim, node: own }, why);
}

/**
 * Says in the log, and on the objects, which of the candidates a step could not be taken on. The next look tries again.
 */
export async function tellFailed(
  ports: Ports,
  candidates: ReadonlyArray<Candidate>,
  settled: ReadonlyArray<Settled<unknown>>,
  step: 'unmark' | 'remove',
): Promise<void> {
  await eachAlone(candidates, NODES_AT_ONCE, async ({ claim: { metadata } }, index) => {
    const one = settled[index];
    if (one === undefined || one.kind === 'done') return;
    ports.log('disruption-step-refused', { claim: metadata.name, step, why: one.error.message });
    if (!(one.error instanceof RefusedError)) return;
    const about = { kind: 'NodeClaim', key: { name: metadata.name, namespace: null } } as const;
    await tellDenied(ports, one.error.refusal, [about], step === 'remove' ? DELETION_DENIED_MS : undefined);
  });
}

/** On the replacement, which has just been created. */
async function tellLaunching(ports: Ports, name: string, reason: string): Promise<void> {
  const claim = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
  if (claim === null) return;
  const note = eventAbout(claim, 'Normal', 'DisruptionLaunching', `Launching NodeClaim: ${reason}`);
  await publish(ports.kubernetes, note, ports.now());
}

async function mark(
  ports: Ports,
  { name, uid, node: nodeName }: Removal['claims'][number],
  decision: Decision,
  reason: string,
): Promise<string | null> {
  const claim = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
  const node = await ports.kubernetes.get('Node', { name: nodeName, namespace: null });
  if (claim === null || node === null || claim.metadata.deletionTimestamp !== undefined) return null;
  if ((claim.metadata.uid ?? '') !== uid) return null;
  const annotations = {
    [annotation.disruption]: decision.name,
    [annotation.replacedBy]: decision.claimNames.length === 0 ? null : decision.claimNames.join(','),
  };
  const { resourceVersion } = claim.metadata;
  const patch = { metadata: { resourceVersion, annotations } };
  const annotated = written(await ports.kubernetes.patch('NodeClaim', { name, namespace: null }, patch), name);
  const message = `${reason}, by decision ${decision.name}`;
  const condition = { type: 'DisruptionReason', status: 'True', reason, message } as const;
  const marked = await writeStatus(ports, annotated, { conditions: [condition], clear: [WRITE_DENIED] });
  await closeNode(ports, node);
  return marked.metadata.resourceVersion ?? null;
}

/**
 * Takes the mark off again and says why: the node stays. The decision on the claim goes last, so that who crashes here
 * is followed by one who finds it. What is being removed meanwhile is left alone; twice is as once, and said once:
 * false where there was nothing to take off.
 */
export async function unmark(ports: Ports, candidate: Candidate, why: string): Promise<boolean> {
  return despiteRivals(() => takeOff(ports, candidate, why));
}

async function takeOff(ports: Ports, { claim, node: { metadata } }: Candidate, why: string): Promise<boolean> {
  const { name } = claim.metadata;
  const current = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
  if (current === null || current.metadata.deletionTimestamp !== undefined) return false;
  // As it is now: the taint may be newer than what the candidate was read from.
  const node = await ports.kubernetes.get('Node', { name: metadata.name, namespace: null });
  if (!isMarked(current) && !isDisrupted(node)) return false;
  // First what a removal asks of the claim as it was read: none that is on its way reaches a node that is open again.
  const cleared = await writeStatus(ports, current, { conditions: [], clear: ['DisruptionReason'] });
  if (node !== null && isDisrupted(node)) {
    await patchNode(ports, node, (fresh) => ({
      metadata: { resourceVersion: fresh.metadata.resourceVersion },
      spec: { taints: otherTaints(fresh) },
    }));
  }
  const { resourceVersion } = cleared.metadata;
  // A deadline was the removal's. What Azure says of the machine stays.
  const deadline = isInterrupted(cleared) ? {} : { [annotation.terminationTimestamp]: null };
  const { disruption, replacedBy, replacementUnavailable } = annotation;
  const annotations = { [disruption]: null, [replacedBy]: null, [replacementUnavailable]: null, ...deadline };
  const patch = { metadata: { resourceVersion, annotations } };
  const outcome = await ports.kubernetes.patch('NodeClaim', { name, namespace: null }, patch);
  // Where it has gone meanwhile, the next try finds nothing to do.
  written(outcome, name);
  const message = `Keeping node: ${why}`;
  await publish(ports.kubernetes, eventAbout(claim, 'Normal', 'DisruptionBlocked', message), ports.now());
  if (node !== null) {
    await publish(ports.kubernetes, eventAboutNode(node, 'Normal', 'DisruptionBlocked', message), ports.now());
  }
  return true;
}
