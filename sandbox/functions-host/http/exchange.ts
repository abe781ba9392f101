import type { IncomingMessage, ServerResponse } from 'node:http';

/** One request, read whole. */
export interface HostRequest {
  readonly method: string;
  readonly url: URL;
  /** Names in lower case; repeated headers joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** One answer, written whole. */
export interface HostResponse {
  readonly status: number;
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>;
  readonly body: Uint8Array | string | null;
}

/** The front end of the real platform refuses a request of more than 100 MB. */
export const MAX_BODY_BYTES = 100 * 1024 * 1024;

/** An answer with a JSON body. */
export function jsonResponse(status: number, value: unknown): HostResponse {
  return { status, headers: [['content-type', 'application/json; charset=utf-8']], body: JSON.stringify(value) };
}

/** An answer with no body. */
export function emptyResponse(status: number, headers: HostResponse['headers'] = []): HostResponse {
  return { status, headers, body: null };
}

/** Reads a request to its end; null when its body is too large. Throws when the client goes away. */
export async function readRequest(incoming: IncomingMessage, port: number): Promise<HostRequest | null> {
  const chunks: Array<Buffer> = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  const method = incoming.method ?? 'GET';
  return { method, url: readUrl(incoming, port), headers, body: Buffer.concat(chunks) };
}

/** A Host header or a target that makes no URL is read as a request to this host's root path. */
function readUrl(incoming: IncomingMessage, port: number): URL {
  const fallback = `http://localhost:${port}`;
  const target = incoming.url ?? '/';
  const path = target.startsWith('/') ? target : '/';
  const asked = `http://${incoming.headers.host ?? `localhost:${port}`}${path}`;
  return URL.parse(asked) ?? URL.parse(`${fallback}${path}`) ?? new URL(fallback);
}

/** Writes an answer; one that cannot be written (an illegal header) becomes a 500. */
export function writeResponse(outgoing: ServerResponse, response: HostResponse): void {
  try {
    outgoing.statusCode = response.status;
    for (const [name, value] of response.headers) outgoing.appendHeader(name, value);
    outgoing.end(response.body ?? undefined);
  } catch {
    if (!outgoing.headersSent) {
      for (const name of outgoing.getHeaderNames()) outgoing.removeHeader(name);
      outgoing.statusCode = 500;
    }
    outgoing.end();
  }
}
