import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One write that a client sent. */
export interface Sent {
  /** The resource's type, such as `virtualMachines/extensions`. */
  readonly type: string;
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * An ARM that accepts whatever it is sent, on loopback, and remembers it: so that the real clients show what they would
 * send. It decides nothing, and answers a read with what was written, or with one of `lists`, by path.
 */
export async function recordingAzure(lists: ReadonlyMap<string, ReadonlyArray<object>>): Promise<{
  readonly endpoint: string;
  readonly sent: ReadonlyArray<Sent>;
  /** Resources that were written are gone; what was sent stays. */
  forget(): void;
  close(): void;
}> {
  const sent: Array<Sent> = [];
  const listed = [...lists].map(([path, value]) => [path.toLowerCase(), { value }] as const);
  const kept = new Map<string, object>(listed);
  const server = createServer((request, response) => {
    void answer(request, response, sent, kept);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent,
    forget: () => {
      kept.clear();
      for (const [path, list] of listed) kept.set(path, list);
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  sent: Array<Sent>,
  kept: Map<string, object>,
): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://azure');
  if (request.method === 'PUT') {
    const body = JSON.parse(await textOf(request)) as Readonly<Record<string, unknown>>;
    sent.push({ ...nameOf(pathname), body });
    const properties = { ...(body['properties'] as object), provisioningState: 'Succeeded' };
    kept.set(pathname.toLowerCase(), { ...body, id: pathname, properties });
  }
  const found = kept.get(pathname.toLowerCase());
  response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(found ?? { error: { code: 'ResourceNotFound', message: pathname } }));
}

/** `…/providers/Microsoft.Compute/virtualMachines/a/extensions/b` is `b`, of the type `virtualMachines/extensions`. */
function nameOf(path: string): Pick<Sent, 'type' | 'name'> {
  const [, ...parts] = (path.split('/providers/')[1] ?? '').split('/');
  return { type: parts.filter((_, index) => index % 2 === 0).join('/'), name: parts.at(-1) ?? '' };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Array<Uint8Array> = [];
  for await (const part of request) parts.push(part as Uint8Array);
  return Buffer.concat(parts).toString('utf8');
}
