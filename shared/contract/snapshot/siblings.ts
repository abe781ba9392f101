import type { Snapshot, SnapshotPod } from './parse.ts';

/**
 * The snapshot with the scheduler's word on one pod taken for all that are like it. It judges a thousand new pods one
 * after the other, which takes it many seconds; once it has found no room for one, it will find none for its siblings,
 * and what room there is the plan itself considers first. So a Deployment is planned in one piece, and at once.
 */
export function judgeSiblings(snapshot: Snapshot): Snapshot {
  const refused = new Set(snapshot.pods.filter(isRefused).map(({ shape }) => shape));
  if (refused.size === 0) return snapshot;
  const pods = snapshot.pods.map((pod) =>
    refused.has(pod.shape) && isUnjudged(pod) ? { ...pod, unschedulable: true } : pod,
  );
  return { ...snapshot, pods };
}

/** Waits because nothing can take it, and not because somebody has promised it a node. */
function isRefused(pod: SnapshotPod): boolean {
  return pod.unschedulable && pod.nodeName === null && pod.nominatedNodeName === null && !pod.deleting;
}

/** The scheduler has not looked at it yet, or has not said what it found. */
function isUnjudged(pod: SnapshotPod): boolean {
  const waits = pod.nodeName === null && pod.nominatedNodeName === null;
  return waits && !pod.unschedulable && !pod.gated && !pod.deleting && !pod.running;
}
