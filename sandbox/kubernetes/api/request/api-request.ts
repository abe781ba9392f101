import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { parse as parseYaml } from 'yaml';
import type { Json } from '../json.ts';
import { parseProtoBody } from './proto-body.ts';
import { badRequest, StatusError } from '../status-error.ts';

/** A request, read whole. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  readonly contentType: string;
  readonly userAgent: string;
  /** All of them, for what is handed on. */
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The API server's own limit on request bodies. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;

/** Reads the request; throws 413 for a body over 3 MiB. */
export async function readApiRequest(incoming: IncomingMessage): Promise<ApiRequest> {
  const chunks: Array<Buffer> = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) {
      throw new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY_BYTES}`);
    }
    chunks.push(chunk);
  }
  const url = new URL(incoming.url ?? '/', 'http://localhost');
  return {
    method: incoming.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    accept: incoming.headers.accept ?? '*/*',
    contentType: (incoming.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '',
    userAgent: incoming.headers['user-agent'] ?? '',
    headers: incoming.headers,
    body: Buffer.concat(chunks),
  };
}

/** The body as JSON, or as YAML where its content type says so; null when it is empty. Throws BadRequest and 415. */
export function parseBody(request: ApiRequest): Json {
  if (request.body.length === 0) return null;
  const text = request.body.toString('utf8');
  const { contentType } = request;
  if (contentType === 'application/vnd.kubernetes.protobuf') return parseProtoBody(request.body);
  if (/protobuf|cbor/.test(contentType)) {
    const why = `the body of the request was in an unknown format - accepted media types include: application/json, application/yaml`;
    throw new StatusError(415, 'UnsupportedMediaType', why);
  }
  try {
    return (contentType.includes('yaml') ? parseYaml(text) : JSON.parse(text)) as Json;
  } catch (error) {
    throw badRequest(`cannot read the body: ${error instanceof Error ? error.message : String(error)}`);
  }
}
