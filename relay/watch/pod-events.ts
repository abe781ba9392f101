import type { SnapshotChange } from '../../shared/contract/snapshot/builder.ts';
import type { PodState } from '../../shared/contract/snapshot/pod-table.ts';
import type { HintView } from './cluster-index.ts';

/** Pods come to a new node, or leave one, in bursts. */
const BURST_MS = 500;

/** Karpenter notes the pod events of a node at most once in this time; so do we. */
const LEAST_PAUSE_MS = 10_000;

/** However long `consolidateAfter` is, what the claim shows is at most this late. */
const LONGEST_PAUSE_MS = 10 * 60_000;

/** Pods came to the node of a claim or left it, last at `atMs` since the epoch. */
export interface PodEventHint {
  readonly kind: 'pod-event';
  readonly claim: string;
  readonly atMs: number;
  readonly delayMs: number;
}

/** Now, twice: `nowMs` never goes back and is for pauses, `atMs` since the epoch is for people. */
export interface Moment {
  readonly nowMs: number;
  readonly atMs: number;
}

/** The moment by the system's clocks. */
export function systemMoment(): Moment {
  return { nowMs: performance.now(), atMs: Date.now() };
}

/** Says when the claim of a node should hear that pods came or went: what its `consolidateAfter` is counted from. */
export interface PodEvents {
  /** The hint that a change is worth; null for most. */
  readonly hintOf: (change: SnapshotChange, moment: Moment) => PodEventHint | null;
}

/**
 * Makes one that has seen nothing. Of each claim it keeps when its latest hint is due. Between two hints there are 10
 * s, or half of `consolidateAfter` where that is longer: the last event of a burst is still told before the time is
 * over, and nodes with many short-lived pods cost few hints. A node whose pods stay costs none.
 */
export function createPodEvents(view: Pick<HintView, 'claimOf' | 'consolidateAfterMs' | 'emptyingClaim'>): PodEvents {
  const dueOf = new Map<string, number>();

  /** When a claim's next hint is due; null when nobody waits for it. */
  function nextDue(claim: string, nowMs: number): number | null {
    const last = dueOf.get(claim) ?? Number.NEGATIVE_INFINITY;
    if (last > nowMs) return last;
    const after = view.consolidateAfterMs(claim);
    if (after === null) return null;
    const pause = Math.min(Math.max(LEAST_PAUSE_MS, after / 2), LONGEST_PAUSE_MS);
    return Math.max(nowMs + BURST_MS, last + pause);
  }

  return {
    hintOf(change, { nowMs, atMs }) {
      if (change.kind === 'object' && change.resource === 'nodeclaims' && change.after === null) {
        dueOf.delete(change.key);
      }
      const node = change.kind === 'pod' ? nodeOfEvent(change.before, change.after) : null;
      // A node that is being emptied is told by other hints, and will not be consolidated.
      const claim = node === null || view.emptyingClaim(node) !== null ? null : view.claimOf(node);
      const due = claim === null ? null : nextDue(claim, nowMs);
      if (claim === null || due === null) return null;
      dueOf.set(claim, due);
      return { kind: 'pod-event', claim, atMs, delayMs: due - nowMs };
    },
  };
}

/**
 * The node that a pod was bound to, began to leave, or ran its course on; null for other changes. Daemons do not count,
 * nor do pods that were bound when we first saw them: that is how a list looks after a restart, and no event.
 */
function nodeOfEvent(before: PodState | null, after: PodState | null): string | null {
  if (before === null || before.placedByOwner) return null;
  if (before.nodeName === null) return after?.nodeName ?? null;
  const leaves = !before.deleting && (after === null || after.deleting);
  return leaves ? before.nodeName : null;
}
