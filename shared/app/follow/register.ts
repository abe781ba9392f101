import { annotation, finalizer, label, taint } from '../../contract/names.ts';
import type { Node, NodeClaim, Taint } from '../../core/model/manifest.ts';
import { RetryableError } from '../../ports/errors.ts';
import type { NodePod } from '../../ports/kubernetes.ts';
import { SETTLING_MS } from '../gather.ts';
import { inParallel } from '../in-parallel.ts';
import type { Ports } from '../ports.ts';
import { type Step, isReadyNode, transitionMs, writeStatus, written } from './node-claim.ts';

/**
 * How long a node that has joined may stay not ready before it is registered all the same. Pods are nominated to their
 * node just before the unregistered taint goes; on a node that is not ready the scheduler would drop the nomination.
 * Measured in real-scheduler.md; 30 s covers a CNI that starts slowly.
 */
const READY_PATIENCE_MS = 30_000;

/** Nominations in flight at once: status patches of about 5 ms each. */
const NOMINATIONS_AT_ONCE = 16;

/** Looks after registrations are gathered into slots of this length. */
const SETTLED_SLOT_MS = 5_000;

/** Ties a node that has joined to its claim, and lets its pods in. */
export async function register(ports: Ports, claim: NodeClaim, node: Node): Promise<Step> {
  const joinedMs = Date.parse(node.metadata.creationTimestamp ?? '') || ports.now();
  if (!isReadyNode(node.status?.conditions) && ports.now() < joinedMs + READY_PATIENCE_MS) {
    return { kind: 'wait', for: 'the node to become ready', lookAgainMs: joinedMs + READY_PATIENCE_MS };
  }
  // As late as possible, and the taint in the same breath: a failed attempt in between would take the nominations away.
  await nominate(ports, claim, node);
  await admit(ports, claim, node);
  const registered = await writeStatus(ports, claim, {
    conditions: [{ type: 'Registered', status: 'True', reason: 'Registered', message: '' }],
    fields: { nodeName: node.metadata.name },
  });
  await lookOnceSettled(ports, claim);
  ports.log('nodeclaim-registered', {
    claim: claim.metadata.name,
    node: node.metadata.name,
    sinceLaunchMs: ports.now() - transitionMs(claim, 'Launched'),
  });
  return { kind: 'next', claim: registered };
}

/**
 * Pods whose room somebody else took keep their promise until the node counts as settled; nothing in the cluster changes
 * then, so the look that finds them is asked for here. Nodes of one decision that come together share it.
 */
async function lookOnceSettled(ports: Ports, claim: NodeClaim): Promise<void> {
  const slot = Math.ceil((ports.now() + SETTLING_MS) / SETTLED_SLOT_MS) + 1;
  const hint = { kind: 'pods', version: 1, cluster: ports.cluster, snapshot: null, reason: 'nodes-settled' } as const;
  const decision = claim.metadata.annotations?.[annotation.decision] ?? claim.metadata.name;
  await ports.hints.send([{ hint, atMs: slot * SETTLED_SLOT_MS, key: `settled/${decision}/${slot}` }]);
}

/**
 * Labels, annotations, taints, finalizer and owner from the claim, and the unregistered taint gone, in one write: nobody
 * sees the node half registered. The kubelet writes its status meanwhile, so a conflict is met with a fresh look.
 */
async function admit(ports: Ports, claim: NodeClaim, joined: Node): Promise<void> {
  const key = { name: joined.metadata.name, namespace: null };
  let node: Node | null = joined;
  for (let attempt = 0; attempt < ADMISSIONS_MAX && node !== null; attempt++) {
    const outcome = await ports.kubernetes.patch('Node', key, registration(claim, node));
    if (outcome.kind !== 'conflict') {
      written(outcome, key.name);
      return;
    }
    node = await ports.kubernetes.get('Node', key);
  }
  throw new RetryableError(`registering ${key.name}: it changed ${ADMISSIONS_MAX} times meanwhile`, {
    retryAfterMs: 200,
  });
}

/** A node that starts is written by its kubelet about twice a second; losing five times in a row is not chance. */
const ADMISSIONS_MAX = 5;

function registration(claim: NodeClaim, node: Node): object {
  // Startup taints come with the kubelet; one that is gone has been removed by whoever it waited for.
  const wanted = node.metadata.labels?.[label.doNotSyncTaints] === 'true' ? [] : (claim.spec.taints ?? []);
  const present = (node.spec?.taints ?? []).filter(({ key }) => key !== taint.unregistered.key);
  return {
    metadata: {
      resourceVersion: node.metadata.resourceVersion,
      labels: { ...claim.metadata.labels, [label.registered]: 'true' },
      annotations: nodeAnnotations(claim),
      finalizers: [...new Set([...(node.metadata.finalizers ?? []), finalizer])],
      ownerReferences: [ownerOf(claim)],
    },
    spec: { taints: mergeTaints(present, wanted) },
  };
}

/** The claim's annotations that mean something on a node; our own book-keeping stays on the claim. */
function nodeAnnotations(claim: NodeClaim): Readonly<Record<string, string>> {
  const own: ReadonlySet<string> = new Set([
    annotation.decision,
    annotation.plannedOffering,
    annotation.interruption,
    annotation.replacedBy,
    'kubectl.kubernetes.io/last-applied-configuration',
  ]);
  return Object.fromEntries(Object.entries(claim.metadata.annotations ?? {}).filter(([key]) => !own.has(key)));
}

/** Tells the scheduler which of its pending pods this node was made for. A pod that has found room elsewhere is left there. */
async function nominate(ports: Ports, claim: NodeClaim, node: Node): Promise<void> {
  const name = claim.metadata.annotations?.[annotation.decision];
  const decision = name === undefined ? null : await ports.decisions.get(name);
  const planned = decision?.plan.claims[decision.claimNames.indexOf(claim.metadata.name)]?.pods ?? [];
  await inParallel(planned, NOMINATIONS_AT_ONCE, async (pod) => {
    const [namespace = 'default', podName = ''] = pod.name.split('/');
    const patch: { readonly metadata: Partial<NodePod['metadata']>; readonly status: object } = {
      metadata: { uid: pod.uid },
      status: { nominatedNodeName: node.metadata.name },
    };
    // Bound meanwhile (422), replaced (409) or gone (404): all fine.
    await ports.kubernetes.patchStatus('Pod', { namespace, name: podName }, patch);
  });
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
