import { annotation, finalizer, label, taint } from '../../../contract/names.ts';
import type { Node, NodeClaim, Taint } from '../../../kubernetes/manifest.ts';
import { publish } from '../../tell/events.ts';
import { alone } from '../../ports/in-parallel.ts';
import type { ConditionChange } from '../../facts/conditions.ts';
import type { Ports } from '../../ports/ports.ts';
import { type Draft, draftOf, noted } from '../../claims/draft.ts';
import { isUsableAtOnce } from './initialize.ts';
import { eventAbout, isReadyNode, writeStatus } from '../../claims/node-claim.ts';
import type { FollowOutcome } from '../../ports/follow-outcome.ts';
import { lookOnceSettled } from './look-once-settled.ts';
import { isForMovers } from './open-node.ts';
import { patchNode } from '../../claims/patch-node.ts';
import { letIn, nominate, dedicationOf, dedicatedAs } from '../../gather/planned-pods.ts';

/**
 * How long a node that has joined may stay not ready before it is registered all the same. Its planned pods are let in
 * with its registration, and each attempt to bind them to a node that is not ready puts off the next, and drops the
 * nomination of a pod that has one. 30 s cover a CNI that starts slowly.
 */
const READY_PATIENCE_MS = 30_000;

/**
 * A claim and its node once they are tied together, which the claim is still to say; the node is null when it has gone
 * meanwhile.
 */
export interface Registered {
  readonly kind: 'registered';
  readonly draft: Draft;
  readonly node: Node | null;
  /** False where the node is kept for pods none of which waits any more, nor is to move there. */
  readonly isAwaited: boolean;
}

/** Of one that was given up: not registered yet, but its node is there. */
const HAS_JOINED: ConditionChange = {
  type: 'Registered',
  status: 'Unknown',
  reason: 'NodeJoined',
  message: 'Its node has joined after the NodeClaim was given up',
};

/**
 * Ties a node that has joined to its claim, and lets its pods in. The claim's status is left to the caller to write.
 */
export async function register(ports: Ports, claim: NodeClaim, node: Node): Promise<FollowOutcome | Registered> {
  const joinedMs = Date.parse(node.metadata.creationTimestamp ?? '') || ports.now();
  if (!isReadyNode(node.status?.conditions) && ports.now() < joinedMs + READY_PATIENCE_MS) {
    return { kind: 'wait', for: 'the node to become ready', lookAgainMs: joinedMs + READY_PATIENCE_MS };
  }
  await reportUntainted(ports, claim, node);
  const joined = await noteJoined(ports, claim);
  const admitted = await admit(ports, joined, node);
  const draft = noted(ports, draftOf(joined), {
    conditions: [{ type: 'Registered', status: 'True', reason: 'Registered', message: '' }],
    fields: { nodeName: node.metadata.name },
  });
  return { kind: 'registered', draft, ...admitted };
}

/**
 * Who gave it up could not delete it, and it has joined after all: with the note nobody would use it. The note stays
 * where the claim may not say that its node has joined: it would be given up for that again, and its node be closed and
 * opened at each look. Throws what refuses that; where the note cannot be taken off, the node joins all the same.
 */
async function noteJoined(ports: Ports, read: NodeClaim): Promise<NodeClaim> {
  if (!(annotation.givenUp in (read.metadata.annotations ?? {}))) return read;
  return takeNoteOff(ports, await writeStatus(ports, read, { conditions: [HAS_JOINED] }));
}

/** Of one whose node has joined after all; as it was where that is refused, which the next look tries again. */
export async function takeNoteOff(ports: Ports, claim: NodeClaim): Promise<NodeClaim> {
  const { name, annotations = {}, resourceVersion } = claim.metadata;
  if (!(annotation.givenUp in annotations)) return claim;
  const patch = { metadata: { resourceVersion, annotations: { [annotation.givenUp]: null } } };
  const answered = await alone(() => ports.kubernetes.patch('NodeClaim', { name, namespace: null }, patch));
  return answered.kind === 'done' && answered.answer.kind === 'written' ? answered.answer.object : claim;
}

/**
 * Pods may have come before the node had the labels and taints that keep them out: whoever changed its start has to
 * know.
 */
async function reportUntainted(ports: Ports, claim: NodeClaim, { metadata, spec }: Node): Promise<void> {
  const isTainted = (spec?.taints ?? []).some(({ key }) => key === taint.unregistered.key);
  // With the label it was registered by a look that could not say so any more.
  if (isTainted || metadata.labels?.[label.registered] === 'true') return;
  const message = `Node ${metadata.name} has joined without the taint ${taint.unregistered.key}:${taint.unregistered.effect}`;
  await publish(ports.kubernetes, eventAbout(claim, 'Warning', 'UnregisteredTaintMissing', message), ports.now());
}

/**
 * Labels, annotations, taints, finalizer and owner from the claim in one write: nobody sees the node half registered.
 * With it the unregistered taint makes way for our dedication, which the planned pods alone may pass. A node that is in
 * use from then on, and that has all it starts with, is marked as initialized by the same write.
 */
async function admit(ports: Ports, claim: NodeClaim, joined: Node): Promise<Pick<Registered, 'node' | 'isAwaited'>> {
  const { name } = joined.metadata;
  const dedication = await dedicationOf(ports, claim);
  const { value, pods: planned, sharedIn } = dedication;
  if (!ports.dedicatesNodes || planned.length === 0) {
    // As late as possible, and the write in the same breath: a failed attempt in between would take the nominations
    // away.
    await nominate(ports, name, planned);
    const admitted = await patchNode(ports, joined, (node) =>
      registration(ports, claim, node, { kept: [], isUsed: true }),
    );
    await lookOnceSettled(ports, claim);
    return { node: admitted, isAwaited: false };
  }
  const terms = { kept: [dedicatedAs(value)], isUsed: await isForMovers(ports, claim) };
  const admitted = await patchNode(ports, joined, (node) => registration(ports, claim, node, terms));
  // Where it is shared they have been let in since the launch: a change of a pod makes the scheduler try it at once.
  if (sharedIn !== null) return { node: admitted, isAwaited: true };
  const waiting = await letIn(ports, claim, name, dedication);
  return { node: admitted, isAwaited: terms.isUsed || waiting.length > 0 };
}

/** `kept`: the taints that keep its room for some. `isUsed`: it is in use before anybody has come. */
interface Terms {
  readonly kept: ReadonlyArray<Taint>;
  readonly isUsed: boolean;
}

function registration(ports: Ports, claim: NodeClaim, node: Node, { kept, isUsed }: Terms): object {
  // Startup taints come with the kubelet; one that is gone has been removed by whoever it waited for.
  const wanted = node.metadata.labels?.[label.doNotSyncTaints] === 'true' ? [] : (claim.spec.taints ?? []);
  const present = (node.spec?.taints ?? []).filter(({ key }) => key !== taint.unregistered.key);
  const taints = mergeTaints(present, wanted);
  const isUsable = isUsed && isUsableAtOnce(ports, claim, { ...node, spec: { ...node.spec, taints } });
  return {
    metadata: {
      resourceVersion: node.metadata.resourceVersion,
      labels: {
        ...claim.metadata.labels,
        [label.registered]: 'true',
        ...(isUsable ? { [label.initialized]: 'true' } : {}),
      },
      annotations: nodeAnnotations(claim),
      finalizers: [...new Set([...(node.metadata.finalizers ?? []), finalizer])],
      ownerReferences: [
        ...(node.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== claim.metadata.uid),
        ownerOf(claim),
      ],
    },
    spec: { taints: mergeTaints(taints, kept) },
  };
}

/** The claim's annotations that mean something on a node; our own book-keeping stays on the claim. */
function nodeAnnotations(claim: NodeClaim): Readonly<Record<string, string>> {
  const own: ReadonlySet<string> = new Set([
    annotation.decision,
    annotation.plannedOffering,
    annotation.plannedPods,
    annotation.severalTokens,
    annotation.interruption,
    annotation.replacedBy,
    annotation.replacementDue,
    'kubectl.kubernetes.io/last-applied-configuration',
  ]);
  return Object.fromEntries(Object.entries(claim.metadata.annotations ?? {}).filter(([key]) => !own.has(key)));
}

function ownerOf(claim: NodeClaim): object {
  const { name, uid } = claim.metadata;
  return { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name, uid, blockOwnerDeletion: true };
}

/** `present` with those of `wanted` that it lacks, by key and effect. */
function mergeTaints(present: ReadonlyArray<Taint>, wanted: ReadonlyArray<Taint>): ReadonlyArray<Taint> {
  const missing = wanted.filter((one) => !present.some(({ key, effect }) => key === one.key && effect === one.effect));
  return [...present, ...missing];
}
