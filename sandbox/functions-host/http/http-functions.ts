import type { Executor } from '../executor.ts';
import type { Log } from '../log.ts';
import type { RegisteredFunction } from '../worker/function-app.ts';
import type { RpcHttpCookie, RpcHttpRequest, RpcTypedData } from '../worker/rpc.ts';
import { emptyResponse, type HostRequest, type HostResponse } from './exchange.ts';
import { compareRoutes, matchRoute, parseRouteTemplate, type RouteTemplate } from './route-template.ts';

/** One HTTP function with its route. */
export interface HttpRoute {
  readonly fn: RegisteredFunction;
  readonly template: RouteTemplate;
  /** In upper case. */
  readonly methods: ReadonlyArray<string>;
}

/** The route of an HTTP function: its own, or its name. Throws, naming the function, when it cannot be read. */
export function toHttpRoute(fn: RegisteredFunction, routePrefix: string): HttpRoute {
  const { route, methods } = fn.trigger;
  const own = typeof route === 'string' && route !== '' ? route : fn.name;
  try {
    return {
      fn,
      template: parseRouteTemplate(`${routePrefix}/${own}`),
      methods: Array.isArray(methods) ? methods.map((method) => String(method).toUpperCase()) : ['GET', 'POST'],
    };
  } catch (error) {
    throw new Error(`Function '${fn.name}': ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** What there is for a path and a method: the function with its parameters, the methods it would take, or nothing. */
export type RouteMatch =
  | { readonly kind: 'found'; readonly route: HttpRoute; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'wrongMethod'; readonly allowed: ReadonlyArray<string> }
  | { readonly kind: 'nothing' };

/** Finds the most particular route for a path. */
export function findRoute(routes: ReadonlyArray<HttpRoute>, method: string, pathname: string): RouteMatch {
  const path = pathname.split('/').filter((part) => part !== '');
  const allowed = new Set<string>();
  for (const route of routes.toSorted((a, b) => compareRoutes(a.template, b.template))) {
    const params = matchRoute(route.template, path);
    if (params === null) continue;
    if (route.methods.includes(method)) return { kind: 'found', route, params };
    for (const other of route.methods) allowed.add(other);
  }
  return allowed.size === 0 ? { kind: 'nothing' } : { kind: 'wrongMethod', allowed: [...allowed].toSorted() };
}

/**
 * Answers a request with the function that serves its path: 404 where there is none, 405 with `Allow` for another
 * method, 500 with no body when it throws, 204 when it returns nothing. Keys are not checked, whatever the function's
 * authLevel.
 */
export async function serveFunction(
  routes: ReadonlyArray<HttpRoute>,
  request: HostRequest,
  executor: Executor,
  log: Log,
): Promise<HostResponse> {
  const match = findRoute(routes, request.method, request.url.pathname);
  if (match.kind === 'nothing') return emptyResponse(404);
  if (match.kind === 'wrongMethod') return emptyResponse(405, [['allow', match.allowed.join(', ')]]);
  const { fn } = match.route;
  const outcome = await executor.execute({
    fn,
    reason: 'This function was programmatically called via the host APIs.',
    details: null,
    input: { http: toRpcRequest(request, match.params) },
    triggerMetadata: {},
    retry: null,
  });
  if (!outcome.succeeded) return emptyResponse(500);
  return toResponse(outcome.response.returnValue, (mistake) => log.ofFunction('error', fn.name, null, mistake));
}

/** A request as the worker's wire has it. Repeated query values are joined by a comma, as the real host does. */
export function toRpcRequest(request: HostRequest, params: Readonly<Record<string, string>>): RpcHttpRequest {
  const query: Record<string, string> = {};
  for (const name of new Set(request.url.searchParams.keys())) {
    query[name] = request.url.searchParams.getAll(name).join(',');
  }
  return {
    method: request.method,
    url: request.url.href,
    headers: request.headers,
    query,
    params,
    body: request.body.length === 0 ? null : { bytes: request.body },
  };
}

function toResponse(value: RpcTypedData | null | undefined, complain: (mistake: string) => void): HostResponse {
  const http = value?.http;
  if (http === undefined || 'method' in http) return emptyResponse(204);
  const status = Number(http.statusCode ?? 200);
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    complain(`The answer's status ${JSON.stringify(http.statusCode)} is no HTTP status.`);
    return emptyResponse(500);
  }
  const cookies = (http.cookies ?? []).map((cookie) => ['set-cookie', renderCookie(cookie)] as const);
  return { status, headers: [...Object.entries(http.headers ?? {}), ...cookies], body: toBody(http.body) };
}

function toBody(data: RpcTypedData | null | undefined): Uint8Array | string | null {
  return data?.bytes ?? data?.string ?? null;
}

/** One cookie as a Set-Cookie value. */
export function renderCookie(cookie: RpcHttpCookie): string {
  const { domain, expires, httpOnly, maxAge, path, sameSite, secure } = cookie;
  const parts = [
    `${encodeURIComponent(cookie.name)}=${encodeURIComponent(cookie.value)}`,
    expires && `Expires=${new Date(expires.value.seconds * 1000).toUTCString()}`,
    maxAge && `Max-Age=${Math.trunc(maxAge.value)}`,
    domain && `Domain=${domain.value}`,
    path && `Path=${path.value}`,
    secure?.value && 'Secure',
    httpOnly?.value && 'HttpOnly',
    renderSameSite(sameSite),
  ];
  return parts.filter((part) => typeof part === 'string').join('; ');
}

function renderSameSite(sameSite: RpcHttpCookie['sameSite'] = 'none'): string | null {
  const names = { none: null, lax: 'Lax', strict: 'Strict', explicitNone: 'None' } as const;
  const name = names[sameSite];
  return name === null ? null : `SameSite=${name}`;
}
