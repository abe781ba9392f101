import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createTransport, type ApiServer, type Transport } from '../../../../shared/adapters/kubernetes/transport.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';

const servers: Array<http.Server> = [];
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  readonly socket: Socket;
}

type Answer = (response: http.ServerResponse) => void;

/** An API server on loopback that gives every request the same answer, and what it was asked. */
async function serving(answer: Answer, more: Partial<ApiServer> & { readonly under?: string } = {}) {
  const asked: Array<Asked> = [];
  const server = http.createServer((request, response) => {
    const chunks: Array<Buffer> = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers, socket } = request;
      asked.push({ method, url, headers, socket, body: Buffer.concat(chunks).toString('utf8') });
      answer(response);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${more.under ?? ''}`;
  const transport: Transport = createTransport({ url, tls: {}, headers: () => Promise.resolve({}), ...more });
  return { transport, asked };
}

const json =
  (status: number, body: object | string, headers: http.OutgoingHttpHeaders = {}): Answer =>
  (response) =>
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
const get = { method: 'GET', path: '/api/v1/nodes/a' } as const;
const eviction = { method: 'POST', path: '/api/v1/namespaces/d/pods/p/eviction', body: {} } as const;

/** What a request that is answered so throws. */
async function failureOf(answer: Answer, request: Parameters<Transport>[0] = get): Promise<unknown> {
  const { transport } = await serving(answer);
  return transport(request).then(
    () => expect.fail('it was answered'),
    (error: unknown) => error,
  );
}

describe('a request', () => {
  test('carries its body as JSON with its length and kind, and the credentials', async () => {
    const headers = (): Promise<Record<string, string>> => Promise.resolve({ authorization: 'Bearer t' });
    const { transport, asked } = await serving(json(200, {}), { headers });
    await transport({
      method: 'PATCH',
      path: '/apis/x?y=1',
      body: { a: 'é' },
      contentType: 'application/merge-patch+json',
    });
    expect(asked[0]).toMatchObject({ method: 'PATCH', url: '/apis/x?y=1', body: '{"a":"é"}' });
    expect(asked[0]?.headers).toMatchObject({
      authorization: 'Bearer t',
      accept: 'application/json',
      'user-agent': 'nodewright',
      'content-type': 'application/merge-patch+json',
      'content-length': '10',
    });
  });

  test('is JSON where nobody says otherwise, and without a body has no kind', async () => {
    const { transport, asked } = await serving(json(200, {}));
    await transport({ ...get, method: 'POST', body: {} });
    await transport(get);
    expect(asked[0]?.headers['content-type']).toBe('application/json');
    expect(asked[1]?.headers).not.toHaveProperty('content-type');
    expect(asked[1]?.body).toBe('');
  });

  test('goes below the path of the server’s address', async () => {
    const { transport, asked } = await serving(json(200, {}), { under: '/clusters/c/' });
    await transport(get);
    expect(asked[0]?.url).toBe('/clusters/c/api/v1/nodes/a');
  });

  test('goes over a connection that stays open', async () => {
    const { transport, asked } = await serving(json(200, {}));
    await transport(get);
    await transport(get);
    expect(asked[1]?.socket).toBe(asked[0]?.socket);
  });
});

describe('credentials', () => {
  test('are read once a minute', async () => {
    let reads = 0;
    let nowMs = 1_000_000;
    vi.spyOn(Date, 'now').mockImplementation(() => nowMs);
    const headers = (): Promise<Record<string, string>> => Promise.resolve({ authorization: `Bearer ${++reads}` });
    const { transport, asked } = await serving(json(200, {}), { headers });
    await transport(get);
    nowMs += 60_000;
    await transport(get);
    nowMs += 1;
    await transport(get);
    expect(asked.map((one) => one.headers.authorization)).toEqual(['Bearer 1', 'Bearer 1', 'Bearer 2']);
  });

  test('that are not to be had are asked for again by the next request, and this one may be tried again', async () => {
    let reads = 0;
    const headers = (): Promise<Record<string, string>> => {
      reads += 1;
      return reads === 1 ? Promise.reject(new Error('no identity')) : Promise.resolve({});
    };
    const { transport, asked } = await serving(json(200, {}), { headers });
    const failure = await transport(get).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ message: 'no credentials for the API server', cause: new Error('no identity') });
    expect(asked).toHaveLength(0);
    expect(await transport(get)).toEqual({ status: 200, body: {} });
  });
});

describe('an answer', () => {
  test.for([200, 201, 400, 404, 409, 410, 422])('%s is the caller’s to judge', async (status) => {
    const { transport } = await serving(json(status, { message: 'why' }));
    expect(await transport(get)).toEqual({ status, body: { message: 'why' } });
  });

  test('without content has none', async () => {
    const { transport } = await serving(json(200, ''));
    expect(await transport(get)).toEqual({ status: 200, body: null });
  });

  test.for([401, 403])(
    '%s may pass when roles have arrived, says what the server says and what to look at',
    async (status) => {
      const failure = await failureOf(json(status, { message: 'nodes is forbidden' }));
      expect(failure).toBeInstanceOf(RetryableError);
      expect(failure).toMatchObject({
        message: expect.stringContaining(`GET /api/v1/nodes/a: ${status} nodes is forbidden: see that`),
        retryAfterMs: 30_000,
      });
    },
  );

  const saying = (code: number, message: string): Answer =>
    json(code, { kind: 'Status', status: 'Failure', code, message });
  const policy = "nodes \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no";
  const webhook = 'admission webhook "validation.gatekeeper.sh" denied the request: [p] no';

  test.for([
    [401, policy],
    [403, policy],
    [422, policy],
    [400, webhook],
    [403, webhook],
    [409, webhook],
    [429, webhook],
    [500, webhook],
    [403, 'secrets "a" is forbidden: exceeded quota: few, requested: secrets=1, used: secrets=1, limited: secrets=1'],
  ] as const)('%s by which admission denies one object is the caller’s to judge: %s', async ([code, message]) => {
    const { transport } = await serving(saying(code, message));
    expect(await transport(get)).toMatchObject({ status: code, body: { message } });
  });

  test('403 for a right that is missing is about us, and no object’s', async () => {
    const message =
      'nodes "a" is forbidden: User "app" cannot patch resource "nodes" in API group "" at the cluster scope';
    const failure = await failureOf(saying(403, message));
    expect(failure).toMatchObject({ name: 'RetryableError', retryAfterMs: 30_000 });
    expect((failure as Error).message).toContain('see that the app');
  });

  test('403 of an API server that has just started passes at once', async () => {
    const failure = await failureOf(saying(403, 'nodes "a" is forbidden: not yet ready to handle request'));
    expect(failure).toMatchObject({ name: 'RetryableError', retryAfterMs: null });
  });

  test('500 for a webhook that cannot be called is a pause', async () => {
    const failure = await failureOf(saying(500, 'Internal error occurred: failed calling webhook "a.b": EOF'));
    expect(failure).toMatchObject({ name: 'RetryableError', retryAfterMs: null });
  });

  test('that refuses us in other words than JSON is cut short', async () => {
    const failure = await failureOf(json(403, `<html>${'x'.repeat(300)}`));
    expect((failure as Error).message).toContain(`GET /api/v1/nodes/a: 403 <html>${'x'.repeat(194)}: see`);
  });

  test.for([429, 500, 503, 504])('%s may pass, after the pause that the server names', async (status) => {
    const failure = await failureOf(json(status, 'busy', { 'retry-after': '3' }));
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ retryAfterMs: 3_000, message: `GET /api/v1/nodes/a: ${status} busy` });
  });

  test('that is long is told in part', async () => {
    const failure = (await failureOf(json(500, 'x'.repeat(1_000)))) as Error;
    expect(failure.message).toBe(`GET /api/v1/nodes/a: 500 ${'x'.repeat(200)}`);
  });

  test.for([{}, { 'retry-after': '0' }, { 'retry-after': '-1' }, { 'retry-after': 'Sat, 21 Nov 2026 05:41:02 GMT' }])(
    'with %j names no pause',
    async (headers) => {
      expect(await failureOf(json(503, '', headers))).toMatchObject({ name: 'RetryableError', retryAfterMs: null });
    },
  );

  test('429 to an eviction is an answer: a budget does not allow it now [K08]', async () => {
    const { transport } = await serving(json(429, { message: 'budget' }, { 'retry-after': '3' }));
    expect(await transport(eviction)).toEqual({ status: 429, body: { message: 'budget' } });
  });

  test('500 to an eviction of a pod with two budgets is an answer, to another request it is none [K08]', async () => {
    const message = 'Internal error occurred: This pod has more than one PodDisruptionBudget, which is not supported.';
    const { transport } = await serving(json(500, { message }));
    expect(await transport(eviction)).toEqual({ status: 500, body: { message } });
    expect(await failureOf(json(500, { message }), get)).toBeInstanceOf(RetryableError);
    expect(await failureOf(json(502, { message }), eviction)).toBeInstanceOf(RetryableError);
  });

  test('5xx to an eviction is none', async () => {
    expect(await failureOf(json(500, ''), eviction)).toBeInstanceOf(RetryableError);
  });

  test('that is no JSON may be another next time', async () => {
    const failure = await failureOf(json(200, '{"kind":'));
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({
      message: 'GET /api/v1/nodes/a: 200: the answer is not JSON',
      cause: expect.any(SyntaxError),
    });
  });

  test('of many pieces is read to its end, with letters cut in two', async () => {
    const bytes = Buffer.from(JSON.stringify({ name: 'é'.repeat(100) }));
    const { transport } = await serving((response) => {
      response.writeHead(200);
      response.write(bytes.subarray(0, 10));
      setImmediate(() => response.end(bytes.subarray(10)));
    });
    expect(await transport(get)).toEqual({ status: 200, body: { name: 'é'.repeat(100) } });
  });
});

describe('a server that cannot be reached', () => {
  test('may be reached later', async () => {
    const transport = createTransport({ url: 'http://127.0.0.1:1', tls: {}, headers: () => Promise.resolve({}) });
    const failure = await transport(get).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ message: 'GET /api/v1/nodes/a: the API server cannot be reached' });
  });

  test('is also one that ends in the middle of its answer', async () => {
    const cut: Answer = (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{');
      setImmediate(() => response.destroy());
    };
    expect(await failureOf(cut)).toBeInstanceOf(RetryableError);
  });

  test('is also one that ends before it answers', async () => {
    expect(await failureOf((response) => response.destroy())).toBeInstanceOf(RetryableError);
  });

  test('is also one that says nothing for thirty seconds', async () => {
    const request = vi.spyOn(http, 'request');
    const { transport, asked } = await serving(() => {});
    const failure = transport(get).catch((error: unknown) => error);
    await vi.waitUntil(() => asked.length === 1);
    expect(request.mock.calls[0]?.[0]).toMatchObject({ timeout: 30_000 });
    // What the socket says when that time is over.
    const outgoing = request.mock.results[0]?.value as http.ClientRequest | undefined;
    outgoing?.emit('timeout');
    expect(await failure).toBeInstanceOf(RetryableError);
    expect(await failure).toMatchObject({ cause: new Error('no answer within 30000 ms') });
  });

  test('is none any more for a request that has waited for thirty seconds for a connection, and it is not sent', async () => {
    const held: Array<http.ServerResponse> = [];
    const { transport, asked } = await serving((response) => void held.push(response));
    const first = Array.from({ length: 32 }, () => transport(get));
    await vi.waitUntil(() => asked.length === first.length);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const queued = transport(eviction).catch((error: unknown) => error);
    await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(30_000);
    expect(await queued).toMatchObject({ cause: new Error('no answer within 30000 ms') });
    vi.useRealTimers();
    for (const response of held.splice(0)) json(200, {})(response);
    await Promise.all(first);
    // Connections are free again, and who queued before this one would be sent before it.
    const last = transport(get);
    await vi.waitUntil(() => held.length > 0);
    for (const response of held) json(200, {})(response);
    expect((await last).status).toBe(200);
    expect(asked.map(({ method }) => method)).not.toContain('POST');
  });

  test.each([
    ['is answered', json(200, {})],
    ['fails', (response: http.ServerResponse) => void response.destroy()],
  ])('is waited for no longer once the request %s', async (_, answer) => {
    const { transport } = await serving(answer);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await Promise.allSettled([transport(get)]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
