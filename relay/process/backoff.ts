/** Delays between attempts at something that fails: exponential, with jitter, within bounds. */
export interface Backoff {
  /** The next delay in milliseconds; what the other side asked for, if that is longer. */
  readonly next: (askedForMs: number | null) => number;
  /** Starts over, after a success. */
  readonly reset: () => void;
}

/** Makes a back-off from `firstMs` doubling up to `longestMs`. Each delay is between half of that and all of it. */
export function createBackoff(firstMs: number, longestMs: number, random: () => number = Math.random): Backoff {
  let current = firstMs;
  return {
    next(askedForMs) {
      const delay = current * (0.5 + random() / 2);
      current = Math.min(current * 2, longestMs);
      // Jitter is added to what was asked for, so that clients told the same do not come back at once.
      return askedForMs === null ? delay : Math.max(delay, askedForMs * (1 + random() / 10));
    },
    reset() {
      current = firstMs;
    },
  };
}

/** Waits, or returns early when `signal` is aborted. */
export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    signal.addEventListener('abort', done);
  });
}
