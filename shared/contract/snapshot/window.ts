import type { Snapshot, SnapshotPod } from './parse.ts';
import { isProvisionable } from './reduced-pod.ts';

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

/** Silence that ends a batch, and the longest a batch may grow. Karpenter's `batchIdleDuration` and `batchMaxDuration`. */
export const batchIdleMs = 1_000;
export const batchLongestMs = 10_000;

/**
 * Says whether to wait. A batch is the newest run of pending pods with no silence between them, so that pods that have
 * waited for an hour because nothing fits them do not close the window on those that come now. Creation times are
 * whole seconds, rounded down, so a silence may be up to a second shorter than it reads.
 */
export function pendingWindow(snapshot: Pick<Snapshot, 'pods' | 'shapes' | 'owners'>, nowMs: number): PendingWindow {
  const pending = snapshot.pods.filter((pod) => isPending(snapshot, pod));
  if (pending.length === 0) return { kind: 'empty' };
  if (isSettled(snapshot, pending)) return { kind: 'settled' };
  const untilMs = endOfBatch(pending.map(({ createdAtMs }) => createdAtMs));
  return nowMs < untilMs ? { kind: 'wait', untilMs } : { kind: 'elapsed' };
}

function isPending(snapshot: Pick<Snapshot, 'shapes'>, pod: SnapshotPod): boolean {
  const shape = snapshot.shapes[pod.shape];
  return shape !== undefined && !pod.deleting && isProvisionable(pod, shape);
}

function endOfBatch(createdAtMs: ReadonlyArray<number>): number {
  const newestFirst = createdAtMs.toSorted((a, b) => b - a);
  const newest = newestFirst[0] ?? 0;
  let oldest = newest;
  for (const time of newestFirst) {
    if (oldest - time > batchIdleMs) break;
    oldest = time;
  }
  return Math.min(newest + batchIdleMs, oldest + batchLongestMs);
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
