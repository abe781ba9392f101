import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { ArmError, type ArmErrorBody } from './arm/arm-error.ts';
import type { Cloud } from './state/cloud.ts';
import { drawGuid } from './arm/guid.ts';
import { isObject, type JsonObject } from './arm/json.ts';
import { findRoute, type ArmRequest, type ArmResponse, type Host, type Route } from './arm/router.ts';
import type { Fault, FaultPlan } from './faults.ts';
import { isGatewayAnswer, renderRefusal } from './arm/refusal.ts';
import { refuseUnknownVersion } from './types/api-versions.ts';

/** customData alone may have 87,380 characters; ARM's own limit is 4 MB. */
const BODY_LIMIT_BYTES = 4 * 2 ** 20;

/** Routes of Resource Manager, those that ask for no credential, and those of other hosts. */
interface Routes {
  readonly arm: ReadonlyArray<Route>;
  readonly open: ReadonlyArray<Route>;
  readonly hosts: ReadonlyArray<Host>;
}

/** The double's HTTP border: reads, asks the routes, injects faults, writes. */
export interface ArmServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts to listen on 127.0.0.1. */
export async function startArmServer(cloud: Cloud, routes: Routes, faults: FaultPlan): Promise<ArmServer> {
  const server: Server = createServer((message, response) => {
    serve({ cloud, routes, faults }, message, response).catch(() => {
      message.socket.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(cloud.options.port, '127.0.0.1', resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : cloud.options.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

interface Parts {
  readonly cloud: Cloud;
  readonly routes: Routes;
  readonly faults: FaultPlan;
}

async function serve(parts: Parts, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const { cloud, routes } = parts;
  const url = new URL(message.url ?? '/', 'http://127.0.0.1');
  const method = message.method ?? 'GET';
  const bytes = await readBytes(message);
  const elsewhere = elsewhereOf(routes.hosts, message);
  const open = elsewhere === null ? findRoute(routes.open, method, url.pathname) : null;
  // Who serves other hosts is not Resource Manager: faults name it before the path.
  const place = elsewhere === null ? url.pathname : `/${elsewhere.host}${url.pathname}`;
  cloud.ledger.count('requests', `${method} ${typeOf(url.pathname)}`);
  const fault = (open === null ? parts.faults.draw(method, place) : null) ?? NO_FAULT;
  const isJson = elsewhere === null || (message.headers['content-type'] ?? '').includes('json');
  const asked = { method, url, message, bytes, ending: fault.ending, isJson };
  const answer =
    fault.before ??
    (await answerRefusals(cloud, url.pathname, () =>
      route(asked, () =>
        elsewhere === null
          ? (open ?? findArmRoute(cloud, routes.arm, asked))
          : findRoute(elsewhere.routes, method, url.pathname),
      ),
    ));
  const isCounted = open === null && elsewhere === null && !isGatewayAnswer(answer);
  const limits = isCounted ? parts.faults.count(method, url.pathname) : {};
  await delay(cloud, fault.slowMs);
  if (fault.after === 'reset') message.socket.destroy();
  else if (fault.after === 'garbage') response.writeHead(200, { 'Content-Type': 'application/json' }).end('<html>{"');
  else write(cloud, response, { ...answer, headers: { ...limits, ...answer.headers } });
}

/** A proxy that brings a client here says which host it asked. Null: Resource Manager, or the double's own. */
function elsewhereOf(
  hosts: ReadonlyArray<Host>,
  message: IncomingMessage,
): { readonly host: string; readonly routes: ReadonlyArray<Route> } | null {
  const { 'x-forwarded-host': host } = message.headers;
  if (typeof host !== 'string') return null;
  const found = hosts.find(({ suffix }) => host.endsWith(suffix));
  return found === undefined ? null : { host, routes: found.routes(host.slice(0, -found.suffix.length)) };
}

const NO_FAULT: Fault = { before: null, slowMs: 0, after: 'answer', ending: null };

/** The last resource type in a path: what requests are counted by. */
function typeOf(path: string): string {
  const [, types = ''] = /\/providers\/[^/]+\/(.*)$/i.exec(path) ?? [];
  const segments = types.split('/').filter((_segment, index) => index % 2 === 0);
  return segments.at(-1) ?? (types === '' ? path : types);
}

interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly message: IncomingMessage;
  readonly bytes: Buffer;
  readonly ending: ArmErrorBody | null;
  /** Resource Manager and the double's own routes take nothing else. */
  readonly isJson: boolean;
}

async function route(
  { method, url, message, bytes, ending, isJson }: Asked,
  find: () => ReturnType<typeof findRoute>,
): Promise<ArmResponse> {
  const found = find();
  if (found === 'otherMethod')
    throw new ArmError(405, { code: 'MethodNotAllowed', message: `${method} is not possible on ${url.pathname}.` });
  if (found === null) throw unknownRoute(url);
  const request: ArmRequest = {
    method,
    path: url.pathname,
    query: url.searchParams,
    headers: message.headers,
    body: isJson ? parseBody(bytes.toString('utf8')) : {},
    bytes,
    ending,
    origin: `${protocolOf(message)}://${message.headers.host ?? '127.0.0.1'}`,
  };
  return found.route.answer(request, found.parameters);
}

function findArmRoute(
  cloud: Cloud,
  routes: ReadonlyArray<Route>,
  { method, url, message }: Pick<Asked, 'method' | 'url' | 'message'>,
): ReturnType<typeof findRoute> {
  if (message.headers.authorization?.startsWith('Bearer ') !== true)
    throw new ArmError(401, {
      code: 'AuthenticationFailed',
      message: "Authentication failed. The 'Authorization' header is missing or is no bearer token.",
    });
  refuseUnknownScope(cloud, url.pathname);
  const version = url.searchParams.get('api-version') ?? '';
  if (version === '')
    throw new ArmError(400, {
      code: 'MissingApiVersionParameter',
      message: 'The api-version query parameter (?api-version=) is required for all requests.',
    });
  refuseUnknownVersion(url.pathname, version, cloud.options.region);
  return findRoute(routes, method, url.pathname);
}

function refuseUnknownScope(cloud: Cloud, path: string): void {
  const { subscriptionId, resourceGroup, clusterResourceGroup } = cloud.options;
  const [, subscription = subscriptionId] = /^\/subscriptions\/([^/]+)/i.exec(path) ?? [];
  if (subscription.toLowerCase() !== subscriptionId.toLowerCase())
    throw new ArmError(404, {
      code: 'SubscriptionNotFound',
      message: `The subscription '${subscription}' could not be found.`,
    });
  const [, group = resourceGroup] = /\/resourceGroups\/([^/]+)/i.exec(path) ?? [];
  const known = [resourceGroup.toLowerCase(), clusterResourceGroup.toLowerCase()];
  const isPlace = /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+$/i.test(path);
  if (!isPlace && !known.includes(group.toLowerCase()) && !cloud.groups.has(group.toLowerCase()))
    throw new ArmError(404, {
      code: 'ResourceGroupNotFound',
      message: `Resource group '${group}' could not be found.`,
    });
}

function unknownRoute({ pathname, searchParams }: URL): ArmError {
  const [, provider, type] = /\/providers\/([^/]+)\/([^/]+)/i.exec(pathname) ?? [];
  if (provider === undefined || type === undefined)
    return new ArmError(404, { code: 'NotFound', message: `No resource is served at '${pathname}'.` });
  return new ArmError(404, {
    code: 'InvalidResourceType',
    message:
      `The resource type '${type}' could not be found in the namespace '${provider}' for api version ` +
      `'${searchParams.get('api-version') ?? ''}'.`,
  });
}

/** A proxy that ends TLS before the double says so: links have to lead back through it. */
function protocolOf({ headers }: IncomingMessage): 'http' | 'https' {
  return headers['x-forwarded-proto'] === 'https' ? 'https' : 'http';
}

/**
 * az puts a template into the body as it is, under a name without quotes, which Resource Manager's reader of JSON
 * takes.
 */
const AZ_TEMPLATE = /, template:(?=\s*\{)/;

function parseBody(text: string): JsonObject {
  if (text === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text.replace(AZ_TEMPLATE, ', "template":'));
  } catch {
    value = null;
  }
  if (isObject(value)) return value;
  throw new ArmError(400, {
    code: 'InvalidRequestContent',
    message: 'The request content was invalid and could not be deserialized: it is no JSON object.',
  });
}

async function answerRefusals(cloud: Cloud, path: string, answer: () => Promise<ArmResponse>): Promise<ArmResponse> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof ArmError)) throw error;
    cloud.ledger.count('refusals', error.code);
    return renderRefusal(error, path);
  }
}

async function readBytes(message: IncomingMessage): Promise<Buffer> {
  const chunks: Array<Buffer> = [];
  let size = 0;
  for await (const chunk of message) {
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    if (size > BODY_LIMIT_BYTES) throw new Error('The body of a request is larger than ARM takes.');
  }
  return Buffer.concat(chunks);
}

async function delay(cloud: Cloud, extraMs: number): Promise<void> {
  const waitMs = cloud.draw('request', cloud.options.latency.request) + extraMs;
  if (waitMs === 0) return;
  await new Promise<void>((resolve) => {
    cloud.clock.after(waitMs, resolve);
  });
}

function write(cloud: Cloud, response: ServerResponse, answer: ArmResponse): void {
  const requestId = drawGuid(cloud.rng('requests'));
  const { body: given } = answer;
  const body = typeof given === 'string' ? given : given === null ? '' : JSON.stringify(given);
  response.writeHead(answer.status, {
    ...(body === '' || typeof given === 'string' ? {} : { 'Content-Type': 'application/json; charset=utf-8' }),
    'Content-Length': Buffer.byteLength(body),
    'x-ms-request-id': requestId,
    'x-ms-correlation-request-id': requestId,
    'Cache-Control': 'no-cache',
    ...answer.headers,
  });
  response.end(body);
}
