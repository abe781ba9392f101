import { annotation, taint } from '../../contract/names.ts';
import type { NodeClaim, Taint, Toleration } from '../../kubernetes/manifest.ts';
import { RetryableError, TerminalError } from '../../ports/errors.ts';
import type { Decision } from '../../ports/store.ts';
import type { NodePod } from '../../ports/kubernetes.ts';
import { isWaiting, podsOfDedication } from './dedications.ts';
import { knownDecision } from './known-decision.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import { latestReadable } from './read-snapshot.ts';
import { isTrue } from '../facts/conditions.ts';
import { WRITE_DENIED } from '../tell/denied-condition.ts';
import { eachAlone } from '../ports/in-parallel.ts';
import { podKeyOf } from '../tell/pod-key.ts';
import type { Ports } from '../ports/ports.ts';

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
  return name === undefined ? null : knownDecision(ports, name);
}

/** Whom a claim's node is kept for. */
export interface Dedication {
  /** The taint's value, which the pods' toleration names. */
  readonly value: string;
  /** The pods that the claim was made for; none when no decision made it. */
  readonly pods: ReadonlyArray<PlannedPod>;
  /**
   * The decision several of whose claims share it: then as many as `pods` take the place, whichever of them. Null: its
   * own.
   */
  readonly sharedIn: Decision | null;
}

export async function dedicationOf(ports: Ports, claim: NodeClaim): Promise<Dedication> {
  const { name } = claim.metadata;
  const decision = await decisionOf(ports, claim);
  const index = decision?.claimNames.indexOf(name) ?? -1;
  const pods = decision?.plan.claims[index]?.pods ?? [];
  const value = decision?.reservations?.[index] ?? name;
  return { value, pods, sharedIn: value === name ? null : decision };
}

/**
 * Up to so many pods are asked one by one whether they have come: a list of a node's pods costs as much as five
 * answers.
 */
const ASKED_MAX = 5;

/** As `letIn`, of those that have not come to the node yet. */
export async function letMissingIn(
  ports: Ports,
  claim: NodeClaim,
  nodeName: string,
  dedication: Dedication,
): Promise<ReadonlyArray<PlannedPod>> {
  const { pods, sharedIn } = dedication;
  if (sharedIn === null && pods.length <= ASKED_MAX) return letIn(ports, claim, nodeName, dedication);
  const there = await ports.kubernetes.list('Pod', { fields: `spec.nodeName=${nodeName}` });
  const placed = new Set(there.map(({ metadata }) => metadata.uid));
  if (sharedIn !== null) return letMatesIn(ports, claim, nodeName, { ...dedication, sharedIn }, placed);
  const missing = pods.filter(({ uid }) => !placed.has(uid));
  return letIn(ports, claim, nodeName, { ...dedication, pods: missing });
}

/**
 * As many of those who wait as have not come yet, those first that the node was made for: each place is anybody's of
 * them.
 */
async function letMatesIn(
  ports: Ports,
  claim: NodeClaim,
  nodeName: string,
  dedication: Dedication & { readonly sharedIn: Decision },
  placed: ReadonlySet<string>,
): Promise<ReadonlyArray<PlannedPod>> {
  const { pods } = dedication;
  const mates = podsOfDedication(dedication.sharedIn, dedication.value);
  const missing = pods.length - mates.filter(({ uid }) => placed.has(uid)).length;
  if (missing <= 0) return [];
  const snapshot = await latestReadable(ports);
  if (snapshot === null)
    return letIn(ports, claim, nodeName, { ...dedication, pods: pods.filter(({ uid }) => !placed.has(uid)) });
  const waiting = new Set(snapshot.pods.filter(isWaiting).map(({ uid }) => uid));
  const own = new Set(pods.map(({ uid }) => uid));
  const next = [...pods, ...mates.filter(({ uid }) => !own.has(uid))].filter(({ uid }) => waiting.has(uid));
  for (let asked = 0; asked < Math.min(next.length, MATES_ASKED_MAX); asked += missing) {
    const some = next.slice(asked, asked + missing);
    // Each answer decides whether others are asked.
    const entered = await enterOrNominate(ports, claim, nodeName, { ...dedication, pods: some });
    if (entered.waiting.length + entered.refused.length > 0) return entered.waiting;
  }
  // The snapshot is a moment old, and all nodes ask the same ones first: others wait still.
  return next.slice(MATES_ASKED_MAX, MATES_ASKED_MAX + missing);
}

/** Of those who wait as the snapshot has it, so many are asked whether they do. */
const MATES_ASKED_MAX = 8;

/**
 * Lets those pods of a dedication that still wait pass it, by a toleration of exactly that taint, and returns them. A
 * pod that must not be changed (a policy or our rights forbid it) is nominated and not returned: nothing is gained by
 * keeping room that it cannot take. Doing it twice changes nothing.
 */
export async function letIn(
  ports: Ports,
  claim: NodeClaim,
  nodeName: string,
  dedication: Pick<Dedication, 'value' | 'pods'>,
): Promise<ReadonlyArray<PlannedPod>> {
  return (await enterOrNominate(ports, claim, nodeName, dedication)).waiting;
}

async function enterOrNominate(
  ports: Ports,
  claim: NodeClaim,
  nodeName: string,
  dedication: Pick<Dedication, 'value' | 'pods'>,
): Promise<Entered> {
  const entered = await enter(ports, claim, nodeName, dedication);
  // A node that may not be opened is none that they get: nominated there, they would wait, and be planned for no more.
  if (!isTrue(claim.status?.conditions, WRITE_DENIED)) await nominate(ports, nodeName, entered.refused);
  return entered;
}

/** Who may pass the taint and waits still, and who may not be changed. */
interface Entered {
  readonly waiting: ReadonlyArray<PlannedPod>;
  readonly refused: ReadonlyArray<PlannedPod>;
}

/**
 * As `letIn`, and nominates nobody: who is kept out of a node that is not opened for it would be planned for no more.
 */
export async function enter(
  ports: Ports,
  claim: NodeClaim,
  nodeName: string,
  { value, pods: planned }: Pick<Dedication, 'value' | 'pods'>,
): Promise<Entered> {
  const passage = { ...dedicatedAs(value), operator: 'Equal' };
  const settled = await eachAlone(planned, PODS_AT_ONCE, (pod) => letOneIn(ports, passage, pod));
  // Of one that could not be read nobody knows: the next look asks again.
  const entries = settled.map((one): Entry => (one.kind === 'done' ? one.answer : { kind: 'waits' }));
  const refusal = entries.find(({ kind }) => kind === 'refused');
  const refused = planned.filter((_, index) => entries[index]?.kind === 'refused');
  if (refusal?.kind === 'refused') {
    ports.log('pods-not-let-in', {
      claim: claim.metadata.name,
      node: nodeName,
      pods: refused.length,
      why: refusal.why,
    });
  }
  return { waiting: planned.filter((_, index) => entries[index]?.kind === 'waits'), refused };
}

/**
 * The claim's pods of a shared dedication may pass it as soon as its machine is on the way: whichever the scheduler
 * tries next takes the first node that is ready. Those of one that is not shared are let in with the node's
 * registration.
 */
export async function letMatesInEarly(ports: Ports, claim: NodeClaim): Promise<void> {
  if (!ports.dedicatesNodes) return;
  const dedication = await dedicationOf(ports, claim);
  if (dedication.sharedIn !== null) await letIn(ports, claim, nodeNameOf(claim), dedication);
}

/** The taint that keeps a node's room for the pods of a dedication. */
export function dedicatedAs(value: string): Taint {
  return { ...taint.dedicated, value };
}

/**
 * `waits`: it may come, and has not been bound; `placed`: it needs the room no more; `refused`: it may not be changed.
 */
type Entry =
  { readonly kind: 'waits' } | { readonly kind: 'placed' } | { readonly kind: 'refused'; readonly why: string };

async function letOneIn(ports: Ports, passage: Toleration, planned: PlannedPod): Promise<Entry> {
  const key = podKeyOf(planned);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    // Each try reads what the last one lost to.
    const pod = await ports.kubernetes.get('Pod', key);
    if (pod === null || !isStillWaiting(pod, planned)) return { kind: 'placed' };
    const tolerations = pod.spec.tolerations ?? [];
    if (tolerations.some((one) => isSame(one, passage))) return { kind: 'waits' };
    const { uid, resourceVersion } = pod.metadata;
    const patch = { metadata: { uid, resourceVersion }, spec: { tolerations: [...tolerations, passage] } };
    try {
      const outcome = await ports.kubernetes.patch('Pod', key, patch);
      if (outcome.kind === 'written') return { kind: 'waits' };
      if (outcome.kind === 'not-found') return { kind: 'placed' };
      if (outcome.kind === 'refused') return { kind: 'refused', why: outcome.reason };
    } catch (error) {
      // A right that is not ours, or, since the server has just answered, most likely a webhook that fails.
      if (error instanceof RetryableError || error instanceof TerminalError)
        return { kind: 'refused', why: error.message };
      throw error;
    }
  }
  // Others let it in elsewhere at the same moment. The next look tries again.
  return { kind: 'waits' };
}

/**
 * The scheduler writes a pod's status, and other nodes let the same pod in; losing five times in a row is not chance.
 */
const ATTEMPTS_MAX = 5;

/** Is the pod the one that was planned for, with no node yet, and to stay? */
export function isStillWaiting({ metadata, spec, status }: NodePod, { uid }: PlannedPod): boolean {
  const isSameAndStays = metadata.uid === uid && metadata.deletionTimestamp === undefined;
  return isSameAndStays && (spec.nodeName ?? '') === '' && (status?.phase ?? 'Pending') === 'Pending';
}

function isSame(a: Toleration, b: Toleration): boolean {
  return a.key === b.key && a.value === b.value && a.effect === b.effect;
}

/**
 * Tells the scheduler which of its pending pods this node was made for. A pod that has found room elsewhere is left
 * there, and one that may not be written, as where a webhook fails for its namespace, keeps the node from none of the
 * others.
 */
export async function nominate(ports: Ports, nodeName: string, planned: ReadonlyArray<PlannedPod>): Promise<void> {
  await eachAlone(planned, PODS_AT_ONCE, (pod) => nominateOne(ports, nodeName, pod));
}

/**
 * Revokes what `nominate` has said of those that still wait: the node is not opened after all, and pods that are
 * nominated are not planned for.
 */
export async function nominateNoMore(
  ports: Ports,
  nodeName: string,
  planned: ReadonlyArray<PlannedPod>,
): Promise<void> {
  await eachAlone(planned, PODS_AT_ONCE, async (one) => {
    const pod = await ports.kubernetes.get('Pod', podKeyOf(one));
    if (pod === null || !isStillWaiting(pod, one) || pod.status?.nominatedNodeName !== nodeName) return;
    const { uid, resourceVersion } = pod.metadata;
    const patch = { metadata: { uid, resourceVersion }, status: { nominatedNodeName: null } };
    await ports.kubernetes.patchStatus('Pod', podKeyOf(one), patch);
  });
}

async function nominateOne(ports: Ports, nodeName: string, planned: PlannedPod): Promise<void> {
  const patch: { readonly metadata: Partial<NodePod['metadata']>; readonly status: object } = {
    metadata: { uid: planned.uid },
    status: { nominatedNodeName: nodeName },
  };
  // Bound meanwhile (422), replaced (409) or gone (404): all fine.
  await ports.kubernetes.patchStatus('Pod', podKeyOf(planned), patch);
}
