import http from 'node:http';
import https from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { RetryableError, TerminalError } from '../../ports/errors.ts';

/** A request waits this long for its answer. A list page of 500 large objects takes a loaded API server some seconds. */
const TIMEOUT_MS = 30_000;

/** Connections kept open. More in flight queue here rather than at the API server. */
const SOCKETS_MAX = 32;

/** Credentials are read again this often: tokens of managed identities and service accounts are renewed behind our back. */
const CREDENTIALS_MS = 60_000;

/** An answer the caller has a choice about: anything below 500 but 401, 403 and 429. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT';
  /** Begins with `/api` or `/apis`; query included. */
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
}

export type Transport = (request: ApiRequest) => Promise<Answer>;

interface Connection {
  readonly server: URL;
  readonly agent: http.Agent;
  readonly headers: Readonly<Record<string, string>>;
  readonly madeAtMs: number;
}

/**
 * Talks to the API server that the current context of `config` names. The library knows kubeconfig, credentials and
 * TLS; JSON in and out is all we add, since its typed calls turn every object into class instances, dates included.
 */
export function createTransport(config: KubeConfig): Transport {
  let connection: Promise<Connection> | null = null;
  let madeAtMs = 0;
  return async (request) => {
    if (connection === null || Date.now() - madeAtMs > CREDENTIALS_MS) {
      madeAtMs = Date.now();
      connection = connect(config, connection);
    }
    let ready: Connection;
    try {
      ready = await connection;
    } catch (cause) {
      connection = null;
      throw new RetryableError('no credentials for the API server', { cause });
    }
    return judge(request, await send(ready, request));
  };
}

/** Makes a connection, keeping the sockets of `previous` when its credentials have not changed. */
async function connect(config: KubeConfig, previous: Promise<Connection> | null): Promise<Connection> {
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) throw new TerminalError('the kubeconfig has no current cluster: set current-context');
  const options: https.RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const url = new URL(server);
  const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
  const tls = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername };
  const known = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
  const pool = { keepAlive: true, maxSockets: SOCKETS_MAX };
  const headers = { ...(options.headers as Record<string, string> | undefined) };
  const last = await previous?.catch(() => null);
  const unchanged = last !== null && last !== undefined && JSON.stringify(last.headers) === JSON.stringify(headers);
  if (unchanged && url.protocol === 'http:') return { ...last, madeAtMs: Date.now() };
  const agent = url.protocol === 'http:' ? new http.Agent(pool) : new https.Agent({ ...known, ...pool });
  last?.agent.destroy();
  return { server: url, agent, headers, madeAtMs: Date.now() };
}

function send(connection: Connection, request: ApiRequest): Promise<{ status: number; text: string; retryAfter: string | undefined }> {
  const { server, agent, headers } = connection;
  const body = request.body === undefined ? null : JSON.stringify(request.body);
  const call = server.protocol === 'http:' ? http.request : https.request;
  const base = server.pathname.replace(/\/$/, '');
  return new Promise((resolve, reject) => {
    const outgoing = call(
      {
        protocol: server.protocol,
        hostname: server.hostname,
        port: server.port,
        path: `${base}${request.path}`,
        method: request.method,
        agent,
        timeout: TIMEOUT_MS,
        headers: {
          ...headers,
          accept: 'application/json',
          'user-agent': 'nodewright',
          ...(body === null
            ? {}
            : { 'content-type': request.contentType ?? 'application/json', 'content-length': Buffer.byteLength(body) }),
        },
      },
      (incoming) => {
        const chunks: Array<Buffer> = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ status: incoming.statusCode ?? 0, text, retryAfter: incoming.headers['retry-after'] });
        });
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
    outgoing.on('error', reject);
    outgoing.end(body ?? undefined);
  }).catch((cause: unknown) => {
    throw new RetryableError(`${request.method} ${request.path}: the API server cannot be reached`, { cause });
  }) as Promise<{ status: number; text: string; retryAfter: string | undefined }>;
}

function judge(
  { method, path }: ApiRequest,
  { status, text, retryAfter }: { readonly status: number; readonly text: string; readonly retryAfter: string | undefined },
): Answer {
  const what = `${method} ${path}: ${status}`;
  // An eviction that a PodDisruptionBudget forbids is a 429 too, and an answer.
  const isEviction = path.endsWith('/eviction');
  if (status >= 500 || status === 0 || (status === 429 && !isEviction)) {
    const seconds = Number(retryAfter);
    const options = Number.isFinite(seconds) && seconds > 0 ? { retryAfterMs: seconds * 1000 } : {};
    throw new RetryableError(`${what} ${text.slice(0, 200)}`, options);
  }
  if (status === 401 || status === 403) throw new TerminalError(`${what} ${messageOf(text)}`);
  try {
    return { status, body: text === '' ? null : JSON.parse(text) };
  } catch (cause) {
    throw new RetryableError(`${what}: the answer is not JSON`, { cause });
  }
}

function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: string };
    return message ?? '';
  } catch {
    return text.slice(0, 200);
  }
}
