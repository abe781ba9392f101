import type { Clock } from '../../base/clock.ts';

/** Objects of one kind reconciled at once. */
const WORKERS = 5;
/** Between two passes over one object: what a burst of events asks for is a few passes, not one for each. */
const SPACING_MS = 25;
const FIRST_RETRY_MS = 20;
const LAST_RETRY_MS = 5_000;

/** Works through keys of objects that may need something done. */
export interface ReconcileLoop {
  /** Asks for a pass over the object; asking again before it starts changes nothing. */
  enqueue(key: string): void;
  /** Asks for a pass at a later time, beside any asked for otherwise. */
  readonly enqueueAfter: (key: string, delayMs: number) => void;
  /** Begins: before that, keys only gather, since what the watches have not shown yet looks like it is missing. */
  readonly start: () => void;
  readonly close: () => void;
}

/**
 * Opens a loop that calls `reconcile` for each key, never twice at once for the same one. A pass that throws is
 * repeated with growing waits until it succeeds: a reconciler that cannot finish must return, not throw.
 */
export function openReconcileLoop(
  clock: Clock,
  reconcile: (key: string) => Promise<void>,
  onError: (key: string, error: unknown) => void,
): ReconcileLoop {
  const waiting = new Set<string>();
  const running = new Set<string>();
  const failures = new Map<string, number>();
  const timers = new Map<string, () => void>();
  let closed = false;
  let started = false;
  const runOne = async (key: string): Promise<void> => {
    await pass(key);
    const timer = setTimeout(() => {
      running.delete(key);
      pump();
    }, SPACING_MS);
    timer.unref();
  };
  const pump = (): void => {
    for (const key of waiting) {
      if (closed || !started || running.size >= WORKERS) return;
      if (running.has(key)) continue;
      waiting.delete(key);
      running.add(key);
      void runOne(key);
    }
  };
  const enqueue = (key: string): void => {
    waiting.add(key);
    // In the next turn: what one batch of events asks for is one pass.
    setImmediate(pump);
  };
  const enqueueAfter = (key: string, delayMs: number): void => {
    if (closed) return;
    timers.get(key)?.();
    timers.set(
      key,
      clock.after(delayMs, () => {
        timers.delete(key);
        enqueue(key);
      }),
    );
  };
  const pass = async (key: string): Promise<void> => {
    try {
      await reconcile(key);
      failures.delete(key);
    } catch (error) {
      if (closed) return;
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      onError(key, error);
      const timer = setTimeout(
        () => {
          enqueue(key);
        },
        Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(count, 10)),
      );
      timer.unref();
    }
  };
  return {
    enqueue,
    enqueueAfter,
    start: () => {
      started = true;
      pump();
    },
    close: () => {
      closed = true;
      waiting.clear();
      for (const cancel of timers.values()) cancel();
    },
  };
}
