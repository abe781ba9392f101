import type { Refusal } from './kubernetes.ts';

/**
 * It may work next time. The trigger lets the queue deliver again; the message says what was tried, `cause` what went
 * wrong.
 */
export class RetryableError extends Error {
  override readonly name: string = 'RetryableError';
  /** Milliseconds to wait before the next try; null when nobody said. */
  readonly retryAfterMs: number | null;
  /**
   * What people should be told of: the outside asks us to come later, or we lack a right. Null for whatever passes by
   * itself.
   */
  readonly because: 'throttled' | 'forbidden' | null;

  constructor(
    message: string,
    options: {
      readonly cause?: unknown;
      readonly retryAfterMs?: number;
      readonly because?: 'throttled' | 'forbidden';
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.because = options.because ?? null;
  }
}

/**
 * One object may not be written so. It is nobody's fault but that object's, and works once somebody has changed a
 * policy or the object: everything else continues.
 */
export class RefusedError extends RetryableError {
  override readonly name = 'RefusedError';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    const { act, kind, key, reason } = refusal;
    super(`may not ${act} ${kind} ${key.name}: ${reason}`);
    this.refusal = refusal;
  }
}

/** Somebody else wrote since the object was read: with a fresh look it works at once, as a rule. */
export class LostRaceError extends RetryableError {
  override readonly name = 'LostRaceError';

  constructor(message: string) {
    super(message, { retryAfterMs: 200 });
  }
}

/**
 * What is stored cannot be read, by nobody and at no time: it is damaged, or of another version of us. Who can do
 * without it does.
 */
export class UnreadableError extends RetryableError {
  override readonly name = 'UnreadableError';
}

/**
 * The longest pause that is waited for because somebody named it, in milliseconds: a claim has as long to be launched,
 * and who asked for more is asked again once in that time.
 */
export const NAMED_PAUSE_MAX_MS: number = 5 * 60_000;

/** It will not work next time either. The trigger keeps the message in the poison queue with this reason. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}
