/** It may work next time. The trigger lets the queue deliver again; the message says what was tried, `cause` what went wrong. */
export class RetryableError extends Error {
  override readonly name = 'RetryableError';
  /** Milliseconds to wait before the next try; null when nobody said. */
  readonly retryAfterMs: number | null;

  constructor(message: string, options: { readonly cause?: unknown; readonly retryAfterMs?: number } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** It will not work next time either. The trigger keeps the message in the poison queue with this reason. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}
