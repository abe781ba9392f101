import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from './connection.ts';

/** With waits that double up to two seconds this outlasts a restart of an API server many times over. */
const MAX_ATTEMPTS = 60;
const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 2_000;

/**
 * Runs writes a few at a time. A write that waits is replaced by a later one with its key: only the last state counts.
 */
export interface WriteQueue {
  put(key: string, write: () => Promise<unknown>): void;
  /** Resolves when nothing waits and nothing runs. */
  idle(): Promise<void>;
  /** Drops what waits; what runs is given up at its next failure. */
  close(): void;
}

/** How many writes run at once, and who hears of a write that was given up. */
export interface WriteQueueOptions {
  readonly concurrency: number;
  readonly onDropped: (key: string, error: unknown) => void;
}

/**
 * Opens a queue. A refusal that repeating cannot change (4xx but 409 and 429) drops the write; while the server is away
 * or overloaded a write is tried again, up to `MAX_ATTEMPTS` times.
 */
export function openWriteQueue({ concurrency, onDropped }: WriteQueueOptions): WriteQueue {
  const waiting = new Map<string, () => Promise<unknown>>();
  const running = new Set<string>();
  let idlers: Array<() => void> = [];
  let closed = false;
  const attempt = async (key: string, write: () => Promise<unknown>): Promise<void> => {
    try {
      // A later state of the same object may come meanwhile: then that one is written instead.
      await retryWrite(write, () => closed || waiting.has(key));
    } catch (error) {
      onDropped(key, error);
    }
  };
  const runOne = async (key: string, write: () => Promise<unknown>): Promise<void> => {
    await attempt(key, write);
    running.delete(key);
    pump();
  };
  const pump = (): void => {
    for (const [key, write] of waiting) {
      if (running.size >= concurrency) return;
      // Two writes to one object in flight could land in the wrong order.
      if (running.has(key)) continue;
      waiting.delete(key);
      running.add(key);
      void runOne(key, write);
    }
    if (running.size > 0 || waiting.size > 0) return;
    for (const resolve of idlers) resolve();
    idlers = [];
  };
  return {
    put: (key, write) => {
      if (closed) return;
      waiting.set(key, write);
      pump();
    },
    idle: () =>
      new Promise((resolve) => {
        idlers.push(resolve);
        pump();
      }),
    close: () => {
      closed = true;
      waiting.clear();
    },
  };
}

/**
 * Makes a write, again and again while the server is away or overloaded. Throws what it was refused with when repeating
 * cannot change that or `MAX_ATTEMPTS` is reached; gives up silently when `isMoot` says so after a failure.
 */
export async function retryWrite(write: () => Promise<unknown>, isMoot: () => boolean): Promise<void> {
  let waitMs = FIRST_RETRY_MS;
  for (let count = 1; ; count++) {
    try {
      await write();
      return;
    } catch (error) {
      if (isMoot()) return;
      if (count === MAX_ATTEMPTS || !canRetry(error)) throw error;
      await sleep(waitMs, undefined, { ref: false });
      if (isMoot()) return;
      waitMs = Math.min(waitMs * 2, LAST_RETRY_MS);
    }
  }
}

/** True when the same write may be accepted later: the server is away, overloaded, or the object has moved on. */
export function canRetry(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true;
  return error.code === 409 || error.code === 429 || error.code >= 500;
}
