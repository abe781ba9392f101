import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { parse } from 'yaml';

/** Requests one connection keeps open at once: enough to keep a local API server busy, too few to hog two cores. */
const MAX_SOCKETS = 48;
/** A loopback API server that says nothing for this long is gone. Watches are exempt. */
const REQUEST_TIMEOUT_MS = 30_000;

/**
 * How a patch's body is merged: the API's kinds. Strategic merges lists of the core kinds by their keys; apply is
 * server-side.
 */
export type PatchKind = 'merge' | 'strategic' | 'json' | 'apply';

const patchContentType: Readonly<Record<PatchKind, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
};

/** A lean Kubernetes client: JSON in, JSON out, one keep-alive pool. Paths begin with `/api` or `/apis`. */
export interface Connection {
  get<T>(path: string): Promise<T>;
  create<T>(path: string, body: unknown): Promise<T>;
  update<T>(path: string, body: unknown): Promise<T>;
  patch<T>(path: string, kind: PatchKind, body: unknown): Promise<T>;
  remove(path: string, options?: unknown): Promise<void>;
  /** The open response of a watch or log, for the caller to read and to destroy. Throws `ApiError` unless it is 200. */
  stream(path: string): Promise<IncomingMessage>;
  /** Ends idle and running requests. Harmless when repeated. */
  close(): void;
}

/**
 * What the API server answered when it did not do what was asked: `code` is the HTTP status, `reason` the API's word.
 */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;

  constructor(code: number, reason: string, message: string) {
    super(`${code} ${reason}: ${message}`);
    this.name = 'ApiError';
    this.code = code;
    this.reason = reason;
  }
}

/** True when `error` is the API server's answer with HTTP status `code`. */
export function isApiError(error: unknown, code: number): boolean {
  return error instanceof ApiError && error.code === code;
}

interface Endpoint {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: HttpAgent;
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly contentType: string;
  readonly body: string | null;
}

/**
 * Opens a client for the current context of `kubeconfig` (YAML text). Token and client certificate are understood,
 * exec plugins are not. Throws an error that names the field when the text names no server.
 */
export function connect(kubeconfig: string): Connection {
  const endpoint = parseEndpoint(kubeconfig);
  const answer = async <T>(method: string, path: string, body: unknown, contentType: string): Promise<T> => {
    const text = body === undefined ? null : JSON.stringify(body);
    return (await readJson(await open(endpoint, { method, path, contentType, body: text }, REQUEST_TIMEOUT_MS))) as T;
  };
  return {
    get: (path) => answer('GET', path, undefined, 'application/json'),
    create: (path, body) => answer('POST', path, body, 'application/json'),
    update: (path, body) => answer('PUT', path, body, 'application/json'),
    patch: (path, kind, body) => answer('PATCH', path, body, patchContentType[kind]),
    remove: async (path, options) => {
      await answer('DELETE', path, options, 'application/json');
    },
    stream: async (path) => {
      const response = await open(endpoint, { method: 'GET', path, contentType: 'application/json', body: null }, 0);
      if (response.statusCode !== 200) await readJson(response);
      return response;
    },
    close: () => {
      endpoint.agent.destroy();
    },
  };
}

interface KubeconfigFile {
  readonly clusters?: ReadonlyArray<{ readonly cluster?: Readonly<Record<string, string>> }>;
  readonly users?: ReadonlyArray<{ readonly user?: Readonly<Record<string, string>> }>;
}

function parseEndpoint(kubeconfig: string): Endpoint {
  const file = parse(kubeconfig) as KubeconfigFile | null;
  const cluster = file?.clusters?.[0]?.cluster;
  const user = file?.users?.[0]?.user;
  const server = cluster?.['server'];
  if (server === undefined) throw new Error('kubeconfig: clusters[0].cluster.server is missing; name the API server');
  const url = new URL(server);
  const token = user?.['token'];
  const headers: Record<string, string> = { accept: 'application/json', 'user-agent': 'nodewright-sandbox' };
  if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
  const pool = { keepAlive: true, maxSockets: MAX_SOCKETS };
  if (url.protocol !== 'https:') return { url, headers, agent: new HttpAgent(pool) };
  const agent = new HttpsAgent({
    ...pool,
    ...decoded('ca', cluster?.['certificate-authority-data']),
    ...decoded('cert', user?.['client-certificate-data']),
    ...decoded('key', user?.['client-key-data']),
  });
  return { url, headers, agent };
}

function decoded(name: string, base64: string | undefined): Readonly<Record<string, Buffer>> {
  return base64 === undefined ? {} : { [name]: Buffer.from(base64, 'base64') };
}

function open(endpoint: Endpoint, call: Call, timeoutMs: number): Promise<IncomingMessage> {
  const { url, agent } = endpoint;
  const headers: Record<string, string | number> = { ...endpoint.headers };
  if (call.body !== null) {
    headers['content-type'] = call.contentType;
    headers['content-length'] = Buffer.byteLength(call.body);
  }
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(
      { host: url.hostname, port: url.port, path: call.path, method: call.method, headers, agent, timeout: timeoutMs },
      resolve,
    );
    request.on('timeout', () =>
      request.destroy(new Error(`${call.method} ${call.path}: no answer in ${timeoutMs} ms`)),
    );
    request.on('error', reject);
    request.end(call.body ?? undefined);
  });
}

async function readJson(response: IncomingMessage): Promise<unknown> {
  const chunks: Array<Buffer> = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  const code = response.statusCode ?? 0;
  if (code >= 200 && code < 300) return text === '' ? null : JSON.parse(text);
  throw toApiError(code, text);
}

function toApiError(code: number, text: string): ApiError {
  try {
    const status = JSON.parse(text) as { readonly reason?: string; readonly message?: string };
    return new ApiError(code, status.reason ?? 'Unknown', status.message ?? text);
  } catch {
    return new ApiError(code, 'Unknown', text.slice(0, 500));
  }
}
