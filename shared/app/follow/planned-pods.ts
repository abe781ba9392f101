import { annotation, taint } from '../../contract/names.ts';
import type { NodeClaim, Taint, Toleration } from '../../kubernetes/manifest.ts';
import { RetryableError, TerminalError } from '../../ports/errors.ts';
import type { Decision } from '../../ports/store.ts';
import type { NodePod } from '../../ports/kubernetes.ts';
import { inParallel } from '../in-parallel.ts';
import type { Ports } from '../ports.ts';

/** Pods let in at once: a read and a patch of about 5 ms each. */
const PODS_AT_ONCE = 16;

/** A pod that a node was made for, as the decision has it. */
export interface PlannedPod {
  /** `namespace/name`. */
  readonly name: string;
  readonly uid: string;
}

/** The decision that made the claim; null where none did. */
export async function decisionOf(ports: Ports, claim: NodeClaim): Promise<Decision | null> {
  const name = claim.metadata.annotations?.[annotation.decision];
  return name === undefined ? null : ports.decisions.get(name);
}

/** The pods that the claim was made for; none when no decision made it. */
export async function plannedPods(ports: Ports, claim: NodeClaim): Promise<ReadonlyArray<PlannedPod>> {
  const decision = await decisionOf(ports, claim);
  return decision?.plan.claims[decision.claimNames.indexOf(claim.metadata.name)]?.pods ?? [];
}

/** The taint that keeps a claim's room for its planned pods. */
export function reservationOf(claim: NodeClaim): Taint {
  return { ...taint.reserved, value: claim.metadata.name };
}

/** Up to so many pods are asked one by one whether they have come: a list of a node's pods costs as much as five answers. */
const ASKED_MAX = 5;

/** As `letIn`, of those that have not come to the node yet. */
export async function letMissingIn(
  ports: Ports,
  claim: NodeClaim,
  nodeName: string,
  planned: ReadonlyArray<PlannedPod>,
): Promise<ReadonlyArray<PlannedPod>> {
  if (planned.length <= ASKED_MAX) return letIn(ports, claim, nodeName, planned);
  const there = await ports.kubernetes.list('Pod', { fields: `spec.nodeName=${nodeName}` });
  const placed = new Set(there.map(({ metadata }) => metadata.uid));
  return letIn(
    ports,
    claim,
    nodeName,
    planned.filter(({ uid }) => !placed.has(uid)),
  );
}

/**
 * Lets those planned pods that still wait pass the claim's reservation, by a toleration of exactly that taint, and
 * returns them. A pod that must not be changed (a policy or our rights forbid it) is nominated and not returned: nothing
 * is gained by keeping room that it cannot take. Doing it twice changes nothing.
 */
export async function letIn(
  ports: Ports,
  claim: NodeClaim,
  nodeName: string,
  planned: ReadonlyArray<PlannedPod>,
): Promise<ReadonlyArray<PlannedPod>> {
  const entries = await inParallel(planned, PODS_AT_ONCE, (pod) => letOneIn(ports, claim, pod));
  const refusal = entries.find(({ kind }) => kind === 'refused');
  if (refusal?.kind === 'refused') {
    const refused = planned.filter((_, index) => entries[index]?.kind === 'refused');
    ports.log('pods-not-let-in', {
      claim: claim.metadata.name,
      node: nodeName,
      pods: refused.length,
      why: refusal.why,
    });
    await nominate(ports, nodeName, refused);
  }
  return planned.filter((_, index) => entries[index]?.kind === 'waits');
}

/** `waits`: it may come, and has not been bound; `placed`: it needs the room no more; `refused`: it may not be changed. */
type Entry =
  { readonly kind: 'waits' } | { readonly kind: 'placed' } | { readonly kind: 'refused'; readonly why: string };

async function letOneIn(ports: Ports, claim: NodeClaim, planned: PlannedPod): Promise<Entry> {
  const key = keyOf(planned);
  const passage = { ...reservationOf(claim), operator: 'Equal' };
  const pod = await ports.kubernetes.get('Pod', key);
  if (pod === null || !waits(pod, planned)) return { kind: 'placed' };
  const tolerations = pod.spec.tolerations ?? [];
  if (tolerations.some((one) => isSame(one, passage))) return { kind: 'waits' };
  // A toleration that came meanwhile is not lost: the API server refuses a list that lacks one.
  const patch = { metadata: { uid: planned.uid }, spec: { tolerations: [...tolerations, passage] } };
  try {
    const outcome = await ports.kubernetes.patch('Pod', key, patch);
    if (outcome.kind === 'written') return { kind: 'waits' };
    if (outcome.kind === 'not-found') return { kind: 'placed' };
    return { kind: 'refused', why: outcome.kind === 'refused' ? outcome.reason : 'it has changed' };
  } catch (error) {
    // A right that is not ours, or, since the server has just answered, most likely a webhook that fails.
    if (error instanceof RetryableError || error instanceof TerminalError)
      return { kind: 'refused', why: error.message };
    throw error;
  }
}

function waits({ metadata, spec, status }: NodePod, { uid }: PlannedPod): boolean {
  const isSameAndStays = metadata.uid === uid && metadata.deletionTimestamp === undefined;
  return isSameAndStays && (spec.nodeName ?? '') === '' && (status?.phase ?? 'Pending') === 'Pending';
}

function isSame(a: Toleration, b: Toleration): boolean {
  return a.key === b.key && a.value === b.value && a.effect === b.effect;
}

/** Tells the scheduler which of its pending pods this node was made for. A pod that has found room elsewhere is left there. */
export async function nominate(ports: Ports, nodeName: string, planned: ReadonlyArray<PlannedPod>): Promise<void> {
  await inParallel(planned, PODS_AT_ONCE, (pod) => nominateOne(ports, nodeName, pod));
}

async function nominateOne(ports: Ports, nodeName: string, planned: PlannedPod): Promise<void> {
  const patch: { readonly metadata: Partial<NodePod['metadata']>; readonly status: object } = {
    metadata: { uid: planned.uid },
    status: { nominatedNodeName: nodeName },
  };
  // Bound meanwhile (422), replaced (409) or gone (404): all fine.
  await ports.kubernetes.patchStatus('Pod', keyOf(planned), patch);
}

function keyOf({ name }: PlannedPod): { readonly namespace: string; readonly name: string } {
  const [namespace = 'default', own = ''] = name.split('/');
  return { namespace, name: own };
}
