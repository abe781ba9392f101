import http from 'node:http';
import https from 'node:https';
import { RetryableError } from '../../ports/errors.ts';
import { isMissingRight, isNotReadyYet, policyIn } from './policy-in.ts';

/**
 * A request waits this long for its answer. A list page of 500 large objects takes a loaded API server some seconds.
 */
const TIMEOUT_MS = 30_000;

/** Connections kept open. More in flight queue here rather than at the API server. */
const SOCKETS_MAX = 32;

/**
 * Credentials are read again this often: tokens of managed identities and service accounts are renewed behind our back.
 */
const CREDENTIALS_MS = 60_000;

/**
 * An answer the caller has a choice about: what is denied to one object, whatever its status, what budgets say of an
 * eviction, and anything else below 500 but 401, 429 and a 403 for a right that is missing.
 */
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

/** An API server and what it takes to be let in. */
export interface ApiServer {
  readonly url: string;
  /** As `node:https` takes them; those that are not needed are left out. */
  readonly tls: Pick<
    https.AgentOptions,
    'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'rejectUnauthorized' | 'servername'
  >;
  /** Headers of every request, credentials among them. Asked again once a minute. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
}

/** What helps when the API server refuses us. */
const RIGHTS = "see that the app's identity is bound to what infra/kubernetes grants; it is tried again";

/** Between tries while a right is missing. */
const RIGHTS_PAUSE_MS = 30_000;

/**
 * What the API server answers, as 500, to the eviction of a pod that two budgets select: it stays so until somebody
 * changes them.
 */
const TWO_BUDGETS = 'more than one PodDisruptionBudget';

interface Connection {
  readonly server: URL;
  readonly agent: http.Agent;
}

/** Talks to an API server: JSON in and out, over connections that stay open. */
export function createTransport(server: ApiServer): Transport {
  const url = new URL(server.url);
  const pool = { keepAlive: true, maxSockets: SOCKETS_MAX };
  const agent = url.protocol === 'http:' ? new http.Agent(pool) : new https.Agent({ ...server.tls, ...pool });
  let known: { readonly atMs: number; readonly headers: Promise<Readonly<Record<string, string>>> } | null = null;
  const credentials = async (): Promise<Readonly<Record<string, string>>> => {
    if (known === null || Date.now() - known.atMs > CREDENTIALS_MS)
      known = { atMs: Date.now(), headers: server.headers() };
    try {
      return await known.headers;
    } catch (cause) {
      known = null;
      throw new RetryableError('no credentials for the API server', { cause });
    }
  };
  return async (request) => judge(request, await send({ server: url, agent }, await credentials(), request));
}

interface RawAnswer {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | undefined;
}

function send(
  { server, agent }: Connection,
  headers: Readonly<Record<string, string>>,
  request: ApiRequest,
): Promise<RawAnswer> {
  const body = request.body === undefined ? null : JSON.stringify(request.body);
  const call = server.protocol === 'http:' ? http.request : https.request;
  const base = server.pathname.replace(/\/$/, '');
  return new Promise<RawAnswer>((resolve, reject) => {
    const giveUp = (): void => {
      const why = new Error(`no answer within ${TIMEOUT_MS} ms`);
      outgoing.destroy(why);
      reject(why);
    };
    // The agent's own `timeout` begins with a socket, for which a request may queue.
    const waiting = setTimeout(giveUp, TIMEOUT_MS);
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
        clearTimeout(waiting);
        const chunks: Array<Buffer> = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ status: incoming.statusCode ?? 0, text, retryAfter: incoming.headers['retry-after'] });
        });
      },
    );
    outgoing.on('timeout', giveUp);
    outgoing.on('error', (error) => {
      clearTimeout(waiting);
      reject(error);
    });
    outgoing.end(body ?? undefined);
  }).catch((cause: unknown) => {
    throw new RetryableError(`${request.method} ${request.path}: the API server cannot be reached`, { cause });
  });
}

function judge({ method, path }: ApiRequest, { status, text, retryAfter }: RawAnswer): Answer {
  const what = `${method} ${path}: ${status}`;
  if (status >= 400 && !isAnswer({ path }, { status, text })) {
    const message = messageOf(text);
    // Roles take minutes to reach everybody, and who forgot one can add it: nothing is lost meanwhile.
    if ((status === 401 || status === 403) && !isNotReadyYet(message))
      throw new RetryableError(`${what} ${message}: ${RIGHTS}`, { retryAfterMs: RIGHTS_PAUSE_MS });
    const seconds = Number(retryAfter);
    const options = Number.isFinite(seconds) && seconds > 0 ? { retryAfterMs: seconds * 1000 } : {};
    throw new RetryableError(`${what} ${text.slice(0, 200)}`, options);
  }
  try {
    return { status, body: text === '' ? null : JSON.parse(text) };
  } catch (cause) {
    throw new RetryableError(`${what}: the answer is not JSON`, { cause });
  }
}

/** Is what is not done the answer to this one request, and no word about the server or about us? */
function isAnswer({ path }: Pick<ApiRequest, 'path'>, { status, text }: Pick<RawAnswer, 'status' | 'text'>): boolean {
  // An eviction that a PodDisruptionBudget forbids is a 429 too, and an answer.
  const isEviction = path.endsWith('/eviction');
  if (isEviction && (status === 429 || (status === 500 && text.includes(TWO_BUDGETS)))) return true;
  if (status < 500 && status !== 401 && status !== 403 && status !== 429) return true;
  const message = messageOf(text);
  // Whoever denies a request by a policy chooses the status, 401, 429 and 500 among them.
  if (policyIn(message) !== null) return true;
  return status === 403 && isStatus(text) && !isMissingRight(message) && !isNotReadyYet(message);
}

/** A proxy's page is no word of the API server's. */
function isStatus(text: string): boolean {
  try {
    return (JSON.parse(text) as { readonly kind?: unknown } | null)?.kind === 'Status';
  } catch {
    return false;
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
