import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createKubeClient, type KubeClient } from '../../../../relay/kube/kube-client.ts';

const servers: Array<Server> = [];
const clients: Array<KubeClient> = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A client of an API server on loopback that answers as the test says, and what that was asked. */
async function serving(answer: (response: ServerResponse) => void, token: () => string | null = () => 't') {
  const asked: Array<Asked> = [];
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url, headers } = request;
      asked.push({ method, url, headers, body: Buffer.concat(chunks).toString('utf8') });
      answer(response);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const nothing = { ca: null, certificate: null, key: null, verifyTls: true };
  const client = createKubeClient({ server: url, token, ...nothing }, 'relay');
  clients.push(client);
  return { client, asked };
}

const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));

describe('a request', () => {
  test('carries its body as JSON, who asks and the token of the moment', async () => {
    let turn = 0;
    const { client, asked } = await serving(json({}), () => `t${++turn}`);
    await client.request('PUT', '/apis/x?y=1', { a: 'é' });
    await client.request('GET', '/api');
    expect(asked[0]).toMatchObject({ method: 'PUT', url: '/apis/x?y=1', body: '{"a":"é"}' });
    expect(asked[0]?.headers).toMatchObject({
      accept: 'application/json',
      'user-agent': 'relay',
      authorization: 'Bearer t1',
      'content-type': 'application/json',
      'content-length': '10',
    });
    expect(asked[1]?.headers.authorization).toBe('Bearer t2');
    expect(asked[1]?.headers).not.toHaveProperty('content-type');
  });

  test('without a token carries none', async () => {
    const { client, asked } = await serving(json({}), () => null);
    await client.request('GET', '/api');
    expect(asked[0]?.headers).not.toHaveProperty('authorization');
  });
});

describe('an answer', () => {
  test.for([200, 403, 404, 409, 500])('%s is given with what it says', async (status) => {
    const { client } = await serving(json({ a: 1 }, status));
    expect(await client.request('GET', '/api')).toEqual({ status, body: { a: 1 }, retryAfterMs: null });
  });

  test('that is no JSON says nothing', async () => {
    const { client } = await serving(json('<html>', 503));
    expect(await client.request('GET', '/api')).toEqual({ status: 503, body: null, retryAfterMs: null });
  });

  test.for([
    ['7', 7_000],
    ['3600', 60_000],
    ['0', null],
    ['-1', null],
    ['soon', null],
  ] as const)('may ask for a pause, of a minute at most: %s', async ([seconds, ms]) => {
    const { client } = await serving(json({}, 429, { 'retry-after': seconds }));
    expect((await client.request('GET', '/api')).retryAfterMs).toBe(ms);
    expect((await client.open('/api', AbortSignal.timeout(5_000), 5_000)).retryAfterMs).toBe(ms);
  });

  test('that is larger than any object is an error, and so is none', async () => {
    const largest = 4 * 1024 * 1024;
    const { client } = await serving(json(`"${'x'.repeat(largest - 2)}"`));
    expect((await client.request('GET', '/api')).body).toHaveLength(largest - 2);
    const larger = await serving(json('x'.repeat(largest + 1)));
    await expect(larger.client.request('GET', '/api')).rejects.toThrow('GET /api: answer larger than 4194304 bytes');
    const none = await serving((response) => response.destroy());
    await expect(none.client.request('GET', '/api')).rejects.toThrow('socket hang up');
  });
});

describe('what is read as it comes', () => {
  test('is given before it has ended', async () => {
    let end = (): void => {};
    const { client } = await serving((response) => {
      response.writeHead(200);
      response.write('first');
      end = () => void response.end('last');
    });
    const { status, chunks } = await client.open('/api/v1/pods?watch=true', AbortSignal.timeout(5_000), 5_000);
    const read: Array<string> = [];
    for await (const chunk of chunks) {
      read.push(chunk.toString('utf8'));
      end();
    }
    expect([status, read.join(' ')]).toEqual([200, 'first last']);
  });

  test('ends when it is called off', async () => {
    const { client } = await serving((response) => void response.writeHead(200).write('first'));
    const off = new AbortController();
    const { chunks } = await client.open('/api', off.signal, 5_000);
    const reading = (async () => {
      for await (const _ of chunks) off.abort();
    })();
    await expect(reading).rejects.toThrow(/aborted/);
  });

  test('ends when nothing comes for too long', async () => {
    const { client } = await serving((response) => response.writeHead(200).flushHeaders());
    const { chunks } = await client.open('/api', AbortSignal.timeout(5_000), 300);
    const reading = (async () => {
      for await (const _ of chunks);
    })();
    await expect(reading).rejects.toThrow(/aborted|no byte from the API server for 300 ms/);
  });
});
