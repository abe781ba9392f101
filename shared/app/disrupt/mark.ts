import { isDisrupted, otherTaints } from '../../contract/disrupted-taint.ts';
import { annotation, taint } from '../../contract/names.ts';
import type { Decision, Removal } from '../../ports/store.ts';
import { eventAbout, written, writeStatus } from '../follow/node-claim.ts';
import { patchNode } from '../follow/patch-node.ts';
import { publish } from '../events.ts';
import { inParallel } from '../in-parallel.ts';
import type { Ports } from '../ports.ts';
import type { Candidate } from './begun.ts';
import { eventAboutNode } from './event-about.ts';

/** Nodes that are marked, unmarked or deleted at once: each takes three to five calls. */
export const NODES_AT_ONCE = 8;

/**
 * Marks what the decision removes: says on each claim by which decision and why it is to go, and keeps new pods off its node.
 * The taint comes last, so that none of ours is without a word on the claim. Twice is as once; a claim that is going already, or
 * another by now, is left alone. Answers the resource versions of the claims.
 */
export async function markForRemoval(ports: Ports, decision: Decision): Promise<ReadonlyArray<string | null>> {
  const { removal } = decision;
  if (removal === undefined) return [];
  await inParallel(decision.claimNames, NODES_AT_ONCE, (name) => tellLaunching(ports, name, removal.reason));
  return inParallel(removal.claims, NODES_AT_ONCE, (one) => mark(ports, one, decision, removal.reason));
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
  const marked = await writeStatus(ports, annotated, { conditions: [condition] });
  await patchNode(ports, node, (fresh) => ({
    metadata: { resourceVersion: fresh.metadata.resourceVersion },
    spec: { taints: [...otherTaints(fresh), taint.disrupted] },
  }));
  return marked.metadata.resourceVersion ?? null;
}

/**
 * Takes the mark off again and says why: the node stays. The word on the claim goes last, so that who crashes here is followed by
 * one who finds it. What is being removed meanwhile is left alone; twice is as once.
 */
export async function unmark(ports: Ports, { claim, node: { metadata } }: Candidate, why: string): Promise<void> {
  const { name } = claim.metadata;
  const current = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
  if (current === null || current.metadata.deletionTimestamp !== undefined) return;
  // As it is now: the taint may be newer than what the candidate was read from.
  const node = await ports.kubernetes.get('Node', { name: metadata.name, namespace: null });
  if (node !== null && isDisrupted(node)) {
    await patchNode(ports, node, (fresh) => ({
      metadata: { resourceVersion: fresh.metadata.resourceVersion },
      spec: { taints: otherTaints(fresh) },
    }));
  }
  const cleared = await writeStatus(ports, current, { conditions: [], clear: ['DisruptionReason'] });
  const { resourceVersion } = cleared.metadata;
  const annotations = { [annotation.disruption]: null, [annotation.replacedBy]: null };
  const patch = { metadata: { resourceVersion, annotations } };
  const outcome = await ports.kubernetes.patch('NodeClaim', { name, namespace: null }, patch);
  if (outcome.kind === 'not-found') return;
  written(outcome, name);
  const message = `Not removed after all: ${why}`;
  await publish(ports.kubernetes, eventAbout(claim, 'Normal', 'DisruptionBlocked', message), ports.now());
  if (node !== null) {
    await publish(ports.kubernetes, eventAboutNode(node, 'Normal', 'DisruptionBlocked', message), ports.now());
  }
}
