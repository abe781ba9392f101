import type { RpcRetryOptions } from '../worker/rpc.ts';

/** When a failed timer run is tried again. */
export interface RetryPolicy {
  /** Tries after the first. Infinity for −1, which the app wrote. */
  readonly maxRetryCount: number;
  /** The wait before the retry with this number, from 1. */
  delayMs(retryNumber: number): number;
}

/**
 * Reads a function's retry options; null when it has none. Throws, naming the option, when the strategy is unknown. The
 * real host draws the exponential delay at random around these values; here it is exactly minimum × 2^(n−1), capped.
 */
export function toRetryPolicy(options: RpcRetryOptions | null): RetryPolicy | null {
  if (options === null) return null;
  const count = options.maxRetryCount ?? 0;
  const maxRetryCount = count < 0 ? Infinity : count;
  switch (options.retryStrategy) {
    case 'fixedDelay': {
      const delayMs = toMs(options.delayInterval, 'retry.delayInterval');
      return { maxRetryCount, delayMs: () => delayMs };
    }
    case 'exponentialBackoff': {
      const least = toMs(options.minimumInterval, 'retry.minimumInterval');
      const most = toMs(options.maximumInterval, 'retry.maximumInterval');
      return { maxRetryCount, delayMs: (retryNumber) => Math.min(most, least * 2 ** (retryNumber - 1)) };
    }
    case undefined:
    default:
      throw new Error(`retry.strategy is ${JSON.stringify(options.retryStrategy)}; fixedDelay or exponentialBackoff?`);
  }
}

function toMs(interval: { readonly seconds: number } | undefined, field: string): number {
  if (interval === undefined) throw new Error(`${field} is missing.`);
  return interval.seconds * 1000;
}
