import { RetryableError } from '../../ports/errors.ts';

/** What of an SDK error a decision reads. */
export interface AzureError {
  /** 0 when no answer came. */
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs: number | null;
}

interface ErrorBody {
  readonly code?: string;
  readonly message?: string;
  /** Azure's network provider says here what its message only hints at. */
  readonly details?: ReadonlyArray<{ readonly code?: string; readonly message?: string }>;
}

interface RestErrorLike {
  readonly statusCode?: number;
  readonly code?: string;
  readonly message: string;
  readonly details?: { readonly error?: ErrorBody };
  readonly response?: {
    readonly headers?: { get(name: string): string | undefined };
    readonly bodyAsText?: string | null;
  };
}

/** Reads an error that an Azure client threw. The code in the body, where there is one, is more exact than the SDK's. */
export function readAzureError(error: unknown): AzureError {
  if (!(error instanceof Error)) return { status: 0, code: '', message: String(error), retryAfterMs: null };
  const { statusCode = 0, code = '', message, details, response } = error as Error & RestErrorLike;
  const body = details?.error ?? parseBody(response?.bodyAsText);
  const seconds = Number(response?.headers?.get('retry-after'));
  return {
    status: statusCode,
    code: body?.code ?? code,
    message: wholeMessage(body) ?? message,
    retryAfterMs: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null,
  };
}

function wholeMessage(body: ErrorBody | undefined): string | undefined {
  const further = (body?.details ?? []).flatMap((detail) => (detail.message === undefined ? [] : [detail.message]));
  return body?.message === undefined ? undefined : [body.message, ...further].join(' ');
}

/** What to throw when nobody here can decide: it may work next time, after Azure's own pause where it named one. */
export function toRetryable(doing: string, error: unknown): RetryableError {
  const { status, code, message, retryAfterMs } = readAzureError(error);
  return new RetryableError(`${doing}: ${status} ${code} ${message}`.slice(0, 500), {
    cause: error,
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
  });
}

export function isNotFound(error: unknown): boolean {
  return readAzureError(error).status === 404;
}

/** Runs a read; null when Azure says 404; RetryableError for everything else. */
export async function orNull<T>(doing: string, read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw toRetryable(doing, error);
  }
}

function parseBody(text: string | null | undefined): ErrorBody | undefined {
  try {
    const { error } = JSON.parse(text ?? '') as { readonly error?: ErrorBody };
    return error;
  } catch {
    return undefined;
  }
}
