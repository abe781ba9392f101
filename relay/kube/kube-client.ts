import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { KubeConnection } from './kube-config.ts';

/**
 * The little of an HTTP client that the relay needs: requests with small bodies, and responses read as they come. The
 * general client costs 30 MiB of memory and cannot read a page without holding all of it.
 */
export interface KubeClient {
  /** One request with a whole answer. Rejects only when no answer came. */
  readonly request: (method: string, path: string, body?: unknown) => Promise<KubeAnswer>;
  /** One GET whose answer is read as it comes. `idleMs` without a byte ends it with an error. */
  readonly open: (path: string, signal: AbortSignal, idleMs: number) => Promise<KubeStream>;
  readonly close: () => void;
}

export interface KubeAnswer {
  readonly status: number;
  /** Parsed JSON; null when the body is none. */
  readonly body: unknown;
  readonly retryAfterMs: number | null;
}

export interface KubeStream {
  readonly status: number;
  readonly retryAfterMs: number | null;
  readonly chunks: AsyncIterable<Buffer>;
}

/** Longest wait for a request with a small answer. The API server itself gives up after 60 s; leases cannot wait. */
const REQUEST_TIMEOUT_MS = 10_000;

/** Largest small answer, in bytes: an object of Kubernetes is at most 1.5 MiB. */
const LARGEST_ANSWER = 4 * 1024 * 1024;

/** Longest Retry-After we follow. */
const LONGEST_RETRY_AFTER_MS = 60_000;

/** Makes a client for one API server. */
export function createKubeClient(connection: KubeConnection, userAgent: string): KubeClient {
  const isHttps = connection.server.protocol === 'https:';
  const options = { keepAlive: true, keepAliveMsecs: 30_000 };
  const agent = isHttps
    ? new HttpsAgent({
        ...options,
        rejectUnauthorized: connection.verifyTls,
        ...(connection.ca === null ? {} : { ca: connection.ca }),
        ...(connection.certificate === null ? {} : { cert: connection.certificate }),
        ...(connection.key === null ? {} : { key: connection.key }),
      })
    : new HttpAgent(options);

  function send(method: string, path: string, body: unknown, signal: AbortSignal, timeoutMs: number) {
    return new Promise<IncomingMessage>((resolve, reject) => {
      const token = connection.token();
      const payload = body === undefined ? null : JSON.stringify(body);
      const headers = {
        accept: 'application/json',
        'user-agent': userAgent,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(payload === null
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
      };
      const url = new URL(path, connection.server);
      const request = (isHttps ? httpsRequest : httpRequest)(url, {
        method,
        headers,
        agent,
        signal,
        timeout: timeoutMs,
      });
      request.on('response', resolve);
      request.on('error', reject);
      request.on('timeout', () => request.destroy(new Error(`no byte from the API server for ${timeoutMs} ms`)));
      request.end(payload ?? undefined);
    });
  }

  return {
    async request(method, path, body) {
      const answer = await send(method, path, body, AbortSignal.timeout(REQUEST_TIMEOUT_MS), REQUEST_TIMEOUT_MS);
      const chunks: Array<Buffer> = [];
      let length = 0;
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        length += chunk.length;
        if (length > LARGEST_ANSWER) throw new Error(`${method} ${path}: answer larger than ${LARGEST_ANSWER} bytes`);
        chunks.push(chunk);
      }
      return {
        status: answer.statusCode ?? 0,
        body: jsonOf(Buffer.concat(chunks)),
        retryAfterMs: retryAfterOf(answer),
      };
    },
    async open(path, signal, idleMs) {
      const answer = await send('GET', path, undefined, signal, idleMs);
      return { status: answer.statusCode ?? 0, retryAfterMs: retryAfterOf(answer), chunks: answer };
    },
    close: () => agent.destroy(),
  };
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
}

function retryAfterOf(answer: IncomingMessage): number | null {
  const seconds = Number(answer.headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1_000, LONGEST_RETRY_AFTER_MS) : null;
}
