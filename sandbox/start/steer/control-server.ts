import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RefusedError } from './actions.ts';

/** What another terminal can ask for. Each answers a sentence; RefusedError says why not. */
export interface Controls {
  readonly scale: (replicas: number, deployment: string | null) => Promise<string>;
  readonly evict: (node: string | null) => Promise<string>;
  readonly freeze: (node: string) => Promise<string>;
  readonly thaw: (node: string) => Promise<string>;
}

/** The requests of the control server. */
export type ControlRequest =
  | { readonly kind: 'scale'; readonly replicas: number; readonly deployment: string | null }
  | { readonly kind: 'evict'; readonly node: string | null }
  | { readonly kind: 'freeze' | 'thaw'; readonly node: string };

/** A listening control server. */
export interface ControlServer {
  readonly url: string;
  readonly token: string;
  close(): void;
}

/** A request is a line of JSON. */
const BODY_BYTES_MAX = 4_096;

/** Serves `controls` on a free loopback port to whoever knows the token. */
export async function startControlServer(controls: Controls): Promise<ControlServer> {
  const token = randomBytes(16).toString('hex');
  const server = createServer((request, response) => {
    void answer(request, response, { controls, token });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    token,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { controls, token }: { readonly controls: Controls; readonly token: string },
): Promise<void> {
  const reply = (status: number, message: string): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message }));
  };
  try {
    if (!isSame(request.headers.authorization ?? '', `Bearer ${token}`)) return reply(401, 'The token is wrong.');
    if (request.method !== 'POST') return reply(405, 'Only POST is understood.');
    const asked = parseRequest(await readBody(request));
    if (asked === null) return reply(400, 'The request is not understood.');
    reply(200, await carryOut(controls, asked));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    reply(error instanceof RefusedError ? 409 : 500, message);
  }
}

function carryOut(controls: Controls, asked: ControlRequest): Promise<string> {
  switch (asked.kind) {
    case 'scale':
      return controls.scale(asked.replicas, asked.deployment);
    case 'evict':
      return controls.evict(asked.node);
    case 'freeze':
    case 'thaw':
      return controls[asked.kind](asked.node);
    default:
      return asked satisfies never;
  }
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > BODY_BYTES_MAX) throw new RefusedError('The request is too long.');
  }
  return text;
}

function parseRequest(text: string): ControlRequest | null {
  try {
    const { kind, replicas, deployment, node } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);
    if (kind === 'evict') return { kind, node: textOrNull(node) };
    if (kind === 'freeze' || kind === 'thaw') return typeof node === 'string' ? { kind, node } : null;
    const isCount = typeof replicas === 'number' && Number.isInteger(replicas) && replicas >= 0;
    return kind === 'scale' && isCount ? { kind, replicas, deployment: textOrNull(deployment) } : null;
  } catch {
    return null;
  }
}
