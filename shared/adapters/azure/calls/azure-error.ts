import { RetryableError } from '../../../ports/errors.ts';
import { type ErrorBody, parseErrorBody } from './error-body.ts';
import { failedBodyOf } from './failed-bodies.ts';
import { nameMissingRight } from './missing-right.ts';
import { pauseOf } from './pause-of.ts';

/** What of an SDK error a decision reads. */
export interface AzureError {
  /** 0 when no answer came. */
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** The member of the request that is refused, such as `vmSize`; empty where Azure names none. */
  readonly target: string;
  readonly retryAfterMs: number | null;
}

/** Azure asks to wait for longer than an execution waits. */
export class LongPause extends Error {
  readonly answer: AzureError;

  constructor(answer: AzureError) {
    super(answer.message);
    this.answer = answer;
  }
}

interface RestErrorLike {
  readonly statusCode?: number;
  readonly code?: string;
  readonly message: string;
  readonly request?: object;
  readonly details?: { readonly error?: ErrorBody };
  readonly response?: {
    readonly headers?: { get(name: string): string | undefined };
    readonly bodyAsText?: string | null;
  };
}

/**
 * Reads an error that an Azure client threw. The code in the body, where there is one, is more exact than the SDK's.
 */
export function readAzureError(error: unknown): AzureError {
  if (!(error instanceof Error)) return { status: 0, code: '', message: String(error), target: '', retryAfterMs: null };
  if (error instanceof LongPause) return error.answer;
  const { statusCode = 0, code = '', message, request, details, response } = error as Error & RestErrorLike;
  const body =
    parseErrorBody(failedBodyOf(request)) ??
    parseErrorBody(JSON.stringify(details ?? null)) ??
    parseErrorBody(response?.bodyAsText);
  return toAzureError(statusCode, body, response?.headers, { code, message });
}

/** What an answer from 400 up says; `otherwise` where its body says nothing. */
export function toAzureError(
  status: number,
  body: ErrorBody | undefined,
  headers: { get(name: string): string | undefined } | undefined,
  otherwise: { readonly code: string; readonly message: string },
): AzureError {
  const message = wholeMessage(body) ?? otherwise.message;
  return {
    status,
    code: body?.code ?? otherwise.code,
    message: status === 403 ? nameMissingRight(message) : message,
    target: body?.target ?? '',
    retryAfterMs: pauseOf(headers, message, Date.now()),
  };
}

function wholeMessage(body: ErrorBody | undefined): string | undefined {
  const further = (body?.details ?? []).flatMap((detail) => (detail.message === undefined ? [] : [detail.message]));
  return body?.message === undefined ? undefined : [body.message, ...further].join(' ');
}

/** What to throw when nobody here can decide: it may work next time, after Azure's own pause where it named one. */
export function toRetryable(doing: string, error: unknown): RetryableError {
  const { status, code, message, retryAfterMs } = readAzureError(error);
  const because = becauseOf(status, error);
  return new RetryableError(`${doing}: ${status} ${code} ${message}`.slice(0, MESSAGE_MAX), {
    cause: error,
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
    ...(because === null ? {} : { because }),
  });
}

/** An action and its scope are some 300 letters, and stand first. */
const MESSAGE_MAX = 500;

function becauseOf(status: number, error: unknown): RetryableError['because'] {
  if (status === 403) return 'forbidden';
  return status === 429 || error instanceof LongPause ? 'throttled' : null;
}

/**
 * What Azure says of one thing that does not exist: the gateway, and Compute and Network themselves. A group or a
 * subscription that is not found, a type that a version does not know, and a page of somebody in between are 404 as
 * well, and say nothing about it.
 */
const GONE: ReadonlySet<string> = new Set(['ResourceNotFound', 'NotFound']);

export function isNotFound(error: unknown): boolean {
  const { status, code } = readAzureError(error);
  return status === 404 && GONE.has(code);
}

/** Runs a read; null when Azure says that it does not exist; RetryableError for everything else. */
export async function orNull<T>(
  doing: string,
  read: Promise<T>,
  isAbsent: (error: unknown) => boolean = isNotFound,
): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw toRetryable(doing, error);
  }
}
