import type { SnapshotChange } from '../../shared/contract/snapshot/builder.ts';

/** A pod that waits for provisioning. */
export interface WaitingPod {
  /** `namespace/name`. */
  readonly key: string;
  /** Since when, in milliseconds since the epoch. */
  readonly sinceMs: number;
  /** False when it waited already when we first saw it: then it has waited for longer. */
  readonly isSinceKnown: boolean;
}

/** A pod that waits no more: it has a place, or is gone. */
export interface EndedWait {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** The pods that wait for provisioning, and since when. */
export interface WaitingPods {
  readonly apply: (change: SnapshotChange, atMs: number) => void;
  readonly size: () => number;
  readonly list: () => Iterable<WaitingPod>;
  /**
   * The waits that have ended, of those whose beginning we saw, and that began by this moment. Each is given once;
   * later ones stay.
   */
  readonly takeEnded: (begunByMs: number) => ReadonlyArray<EndedWait>;
}

/** So many ended waits are kept until somebody takes them, 800 KiB; the oldest go where there are more. */
const ENDED_MAX = 10_000;

/** Makes one that has seen nothing. */
export function createWaitingPods(): WaitingPods {
  /** Below zero where the beginning was not seen. One number each: tens of thousands may wait. */
  const sinceOf = new Map<string, number>();
  let ended: Array<EndedWait> = [];

  function end(key: string, untilMs: number): void {
    const sinceMs = sinceOf.get(key) ?? 0;
    sinceOf.delete(key);
    if (sinceMs <= 0) return;
    if (ended.length === ENDED_MAX) ended.shift();
    ended.push({ sinceMs, untilMs });
  }

  return {
    apply(change, atMs) {
      if (change.kind !== 'pod') return;
      const { before, after } = change;
      if (after?.provisionable !== true) end(after?.key ?? before?.key ?? '', atMs);
      else if (!sinceOf.has(after.key)) sinceOf.set(after.key, before === null ? -atMs : atMs);
    },
    size: () => sinceOf.size,
    *list() {
      for (const [key, since] of sinceOf) yield { key, sinceMs: Math.abs(since), isSinceKnown: since > 0 };
    },
    takeEnded(begunByMs) {
      const taken = ended.filter(({ sinceMs }) => sinceMs <= begunByMs);
      ended = ended.filter(({ sinceMs }) => sinceMs > begunByMs);
      return taken;
    },
  };
}
