import { type AzureError, LongPause, toAzureError } from './azure-error.ts';
import { type ErrorBody, parseErrorBody } from './error-body.ts';
import type { Policy } from './policy.ts';

/**
 * An execution waits so long for Azure at a time. What Azure wants to be left alone for longer is the queue's to wait
 * for.
 */
const WAIT_MAX_MS = 3_000;

/** Azure counts requests in minutes; the longest wait that anybody has reported is six. */
const CLOSED_MAX_MS = 10 * 60_000;

/**
 * Gives a request up that Azure wants to be made later than in some seconds. The SDK would wait for as long as Azure
 * says, as often as it tries, and with it every launch behind it. Where Azure counts the requests of the whole
 * subscription, others of the same kind are given up as well until then, without asking: each would be refused, and
 * count.
 */
export function createThrottles(now: () => number): Policy {
  // At most as many as the kinds of requests that the adapter makes.
  const closed = new Map<string, { readonly untilMs: number; readonly answer: AzureError }>();
  return {
    name: 'nodewrightThrottles',
    sendRequest: async (request, next) => {
      const kind = kindOf(request.method, request.url);
      const known = closed.get(kind);
      if (known !== undefined && now() < known.untilMs)
        throw new LongPause({ ...known.answer, retryAfterMs: known.untilMs - now() });
      const response = await next(request);
      const { status, headers, bodyAsText } = response;
      // Those whose Retry-After the SDK waits for.
      if (status !== 429 && status !== 503) return response;
      const body = parseErrorBody(bodyAsText);
      const answer = toAzureError(status, body, headers, { code: '', message: `Azure answers ${status}` });
      if (answer.retryAfterMs === null || answer.retryAfterMs <= WAIT_MAX_MS) return response;
      if (isOfAll(status, body))
        closed.set(kind, { untilMs: now() + Math.min(answer.retryAfterMs, CLOSED_MAX_MS), answer });
      throw new LongPause(answer);
    },
  };
}

/** The resource manager's codes for requests of one kind, of a subscription, and of a directory. */
const OF_ALL: ReadonlySet<string> = new Set([
  'ResourceRequestsThrottled',
  'SubscriptionRequestsThrottled',
  'TenantRequestsThrottled',
]);

/**
 * Whether a refusal is about all requests of its kind. Compute throttles one VM and a subscription under one code, and
 * tells them apart by its limits' names, `PutVMResource` and `PutVMSubscriptionMaximum`, and in words. One that is not
 * known to be about all is not.
 */
function isOfAll(status: number, body: ErrorBody | undefined): boolean {
  if (status !== 429 || body === undefined) return false;
  if (OF_ALL.has(body.code ?? '')) return true;
  const counted = (body.details ?? []).filter(({ code }) => code === 'TooManyRequests');
  if (counted.some(({ target }) => target?.endsWith('Resource') === true)) return false;
  return counted.length > 0 && /for this subscription/i.test(body.message ?? '');
}

/** A request's method and the types in its path, without names: what Azure counts together. */
function kindOf(method: string, url: string): string {
  const [, path = ''] = new URL(url).pathname.toLowerCase().split(/\/providers\/(?!.*\/providers\/)/);
  const [namespace = '', ...segments] = path.split('/');
  return [method, namespace, ...segments.map((segment, place) => (place % 2 === 0 ? segment : '*'))].join('/');
}
