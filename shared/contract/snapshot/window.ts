import type { Snapshot, SnapshotPod } from './parse.ts';
import { isProvisionable } from './reduced/reduced-pod.ts';

/** Whether provisioning should plan now or wait for more pods. */
export type PendingWindow =
  /** No pod waits for provisioning. */
  | { readonly kind: 'empty' }
  /** All replicas that the pending pods' owners want are accounted for: waiting would bring nothing. */
  | { readonly kind: 'settled' }
  /** More may come; look again then. */
  | { readonly kind: 'wait'; readonly untilMs: number }
  /** More may come, but it has been waited for long enough. */
  | { readonly kind: 'elapsed' };

/**
 * Silence that ends a batch, and the longest a batch may grow. Karpenter's `batchIdleDuration` and `batchMaxDuration`.
 */
export const BATCH_IDLE_MS = 1_000;
export const BATCH_LONGEST_MS = 10_000;

/** Whoever creates several pods creates the second of them within milliseconds. */
export const ALONE_IDLE_MS = 300;

/** Creation times are whole seconds, rounded down. */
const CREATION_STEP_MS = 1_000;

/**
 * Says whether to wait. A batch is the newest run of pending pods with no silence between them, so that pods that have
 * waited for an hour because nothing fits them do not close the window on those that come now. Silence is counted from
 * the latest moment at which the last pod can have come: the end of the second that its creation time names, or when
 * the snapshot was taken that has it. So a window never closes in the middle of a burst; a pod that came alone waits
 * less.
 */
export function pendingWindow(
  snapshot: Pick<Snapshot, 'pods' | 'shapes' | 'owners' | 'takenAtMs'>,
  nowMs: number,
): PendingWindow {
  const pending = snapshot.pods.filter((pod) => isPending(snapshot, pod));
  if (pending.length === 0) return { kind: 'empty' };
  if (isSettled(snapshot, pending)) return { kind: 'settled' };
  const untilMs = endOfBatch(snapshot, pending, nowMs);
  return nowMs < untilMs ? { kind: 'wait', untilMs } : { kind: 'elapsed' };
}

function isPending(snapshot: Pick<Snapshot, 'shapes'>, pod: SnapshotPod): boolean {
  const shape = snapshot.shapes[pod.shape];
  return shape !== undefined && !pod.deleting && isProvisionable(pod, shape);
}

function endOfBatch(
  snapshot: Pick<Snapshot, 'shapes' | 'owners' | 'takenAtMs'>,
  pending: ReadonlyArray<SnapshotPod>,
  nowMs: number,
): number {
  // By the API server's clock. Who is in the snapshot was there when it was taken: else one that is ahead would keep
  // all waiting for as long.
  const cameMs = ({ createdAtMs }: SnapshotPod): number =>
    createdAtMs > nowMs + BATCH_LONGEST_MS ? Math.min(createdAtMs, snapshot.takenAtMs) : createdAtMs;
  const came = pending.map((pod) => ({ ...pod, createdAtMs: cameMs(pod) }));
  const newestFirst = came.toSorted((a, b) => b.createdAtMs - a.createdAtMs);
  const [last] = newestFirst;
  const newest = last?.createdAtMs ?? 0;
  let oldest = newest;
  let pods = 0;
  for (const { createdAtMs } of newestFirst) {
    if (oldest - createdAtMs > BATCH_IDLE_MS) break;
    oldest = createdAtMs;
    pods += 1;
  }
  // The API server's clock and the relay's may differ: then the creation time is all there is.
  const lastCameMs = Math.max(newest, Math.min(newest + CREATION_STEP_MS - 1, snapshot.takenAtMs));
  const isAlone = pods === 1 && last !== undefined && !hasKnownOwner(snapshot, last);
  return Math.min(lastCameMs + (isAlone ? ALONE_IDLE_MS : BATCH_IDLE_MS), oldest + BATCH_LONGEST_MS);
}

/** Is it known how many pods its owner wants? Here, that is more than there are. */
function hasKnownOwner({ shapes, owners }: Pick<Snapshot, 'shapes' | 'owners'>, { shape }: SnapshotPod): boolean {
  const uid = shapes[shape]?.owner?.uid;
  return uid !== undefined && owners.some((owner) => owner.uid === uid);
}

/** True when each pending pod has an owner that we know, and all the pods it wants are there and were looked at. */
function isSettled(
  snapshot: Pick<Snapshot, 'pods' | 'shapes' | 'owners'>,
  pending: ReadonlyArray<SnapshotPod>,
): boolean {
  const owners = new Map(snapshot.owners.map((owner) => [owner.uid, owner]));
  const accounted = new Map<string, number>();
  for (const pod of snapshot.pods) {
    const uid = snapshot.shapes[pod.shape]?.owner?.uid;
    if (uid !== undefined && isAccountedFor(pod)) accounted.set(uid, (accounted.get(uid) ?? 0) + 1);
  }
  const uids = new Set(pending.map((pod) => snapshot.shapes[pod.shape]?.owner?.uid));
  return [...uids].every((uid) => {
    const owner = uid === undefined ? undefined : owners.get(uid);
    if (uid === undefined || owner === undefined) return false;
    // One by one, the next pod comes only when this one is ready, which it cannot be before it has a node.
    return owner.oneByOne || (accounted.get(uid) ?? 0) >= owner.desired;
  });
}

/** The scheduler has decided about it, or will not look at it, or someone else has found it a place. */
function isAccountedFor(pod: SnapshotPod): boolean {
  if (pod.deleting) return false;
  return pod.unschedulable || pod.gated || pod.nodeName !== null || pod.nominatedNodeName !== null;
}
