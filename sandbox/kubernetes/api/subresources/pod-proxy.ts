import { type IncomingHttpHeaders, request as requestHttp, type ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isProxyableAddress } from '../../proxyable-address.ts';
import type { ResourceCall } from '../request/resource-call.ts';
import { type ApiReply, textReply } from '../request/api-reply.ts';
import type { ApiRequest } from '../request/api-request.ts';
import { type JsonObject, listAt, numberAt, textAt } from '../json.ts';
import { readObject } from '../objects/update-object.ts';
import { badRequest, methodNotAllowed, StatusError } from '../status-error.ts';

/** A pod as the path names it: `pod`, `pod:port` or `scheme:pod:port`. */
interface PodEnd {
  readonly scheme: string;
  readonly name: string;
  /** Empty: the first port that a container declares. */
  readonly port: string;
}

interface Location {
  readonly scheme: string;
  readonly host: string;
  readonly port: string;
}

const methods: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);

/** Headers of one connection only, and the credentials, which are for the API server and nobody behind it. */
const heldBack: ReadonlySet<string> = new Set([
  'authorization',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** A pod that says nothing for this long is answered for; the API server waits as long as its client does. */
const SILENCE_MS = 30_000;

/** Hands a request on to a port of a pod, and its answer back. Pages are not rewritten, and nothing is upgraded. */
export function answerPodProxy({ state, route, request }: ResourceCall): ApiReply {
  if (!methods.has(request.method)) throw methodNotAllowed();
  const end = parsePodEnd(route.name);
  const location = locate(readObject(state, { ...route, name: end.name }), end);
  const path = pathBehindProxy(request.path);
  if (path === '' && (request.method === 'GET' || request.method === 'HEAD')) return toSlash(request);
  return { stream: (response) => relay(location, path === '' ? '/' : path, request, response) };
}

function parsePodEnd(text: string): PodEnd {
  const parts = text.split(':');
  const [scheme = '', name = '', port = ''] = parts.length === 3 ? parts : ['', ...parts];
  const isKnown = scheme === '' || scheme === 'http' || scheme === 'https';
  if (parts.length > 3 || name === '' || !isKnown) throw badRequest(`invalid pod request ${JSON.stringify(text)}`);
  return { scheme: scheme === '' ? 'http' : scheme, name, port };
}

function locate(pod: JsonObject, { scheme, port }: PodEnd): Location {
  const host = textAt(pod, 'status', 'podIPs', 0, 'ip') || textAt(pod, 'status', 'podIP');
  if (!isProxyableAddress(host)) throw badRequest('address not allowed');
  return { scheme, host, port: port === '' ? firstPort(pod) : port };
}

function firstPort(pod: JsonObject): string {
  const ports = listAt(pod, 'spec', 'containers').flatMap((container) => listAt(container, 'ports'));
  return ports.length === 0 ? '' : String(numberAt(ports[0], 0, 'containerPort'));
}

/** What follows `/proxy`, still encoded; empty when nothing does, not even a slash. */
function pathBehindProxy(path: string): string {
  const [, rest = ''] = /\/pods\/[^/]+\/proxy(\/.*)?$/.exec(path) ?? [];
  return rest.replaceAll(/\/{2,}/g, '/');
}

/** Relative links of a page need the slash at the end of its address. */
function toSlash({ path, query }: ApiRequest): ApiReply {
  return { ...textReply(301, ''), headers: { Location: `${path}/${queryText(query)}` } };
}

function queryText(query: URLSearchParams): string {
  return query.size === 0 ? '' : `?${query.toString()}`;
}

function relay(location: Location, path: string, request: ApiRequest, response: ServerResponse): void {
  const { scheme, host, port } = location;
  const send = scheme === 'https' ? requestHttps : requestHttp;
  const outgoing = send({
    host,
    ...(port === '' ? {} : { port }),
    path: `${path}${queryText(request.query)}`,
    method: request.method,
    headers: forwarded(request),
    // As the API server, which knows no certificate of a pod.
    rejectUnauthorized: false,
    timeout: SILENCE_MS,
  });
  outgoing.on('response', (incoming) => {
    response.writeHead(incoming.statusCode ?? 502, passedOn(incoming.headers));
    incoming.on('error', () => response.destroy());
    incoming.pipe(response);
  });
  outgoing.on('timeout', () => outgoing.destroy(new Error('i/o timeout')));
  outgoing.on('error', (error) => refuse(response, error));
  // A client that leaves takes its request with it.
  response.on('close', () => outgoing.destroy());
  outgoing.end(request.body);
}

function forwarded({ headers, path, body }: ApiRequest): IncomingHttpHeaders {
  return {
    ...passedOn(headers),
    'x-forwarded-uri': path,
    'x-forwarded-host': headers.host,
    'x-forwarded-proto': 'http',
    ...(body.length === 0 ? {} : { 'content-length': String(body.length) }),
  };
}

function passedOn(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !heldBack.has(name)));
}

function refuse(response: ServerResponse, error: Error): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const why = `error trying to reach service: ${error.message}`;
  const text = JSON.stringify(new StatusError(503, 'ServiceUnavailable', why).toStatus());
  response.writeHead(503, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}
