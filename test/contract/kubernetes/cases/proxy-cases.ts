import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFreePorts } from '../../../../sandbox/kubernetes/control-plane/free-ports.ts';
import { hostAddresses } from '../../../../sandbox/world/processes/host-addresses.ts';
import { type Answer, type ApiUnderTest } from './api-under-test.ts';

/** What the pod's end was asked. */
interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Something that listens where a pod would. */
interface PodEnd {
  readonly port: number;
  readonly asked: ReadonlyArray<Asked>;
  readonly server: Server;
}

/** Answers every request with 203, a header, and a text that names its path. */
async function listenAt(address: string): Promise<PodEnd> {
  const asked: Array<Asked> = [];
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      asked.push({ method, url, headers, body: Buffer.concat(chunks).toString('utf8') });
      response.writeHead(203, { 'content-type': 'text/plain; version=0.0.4', 'x-from': 'pod' });
      response.end(`you asked for ${url}\n`);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, address, resolve);
  });
  return { port: (server.address() as AddressInfo).port, asked, server };
}

/** The proxy to a pod's port. It connects from the API server, so pods here have an address of this machine. */
export function proxyCases(api: () => ApiUnderTest): void {
  const [address] = hostAddresses();

  /** A pod that runs at `ip`, and declares `port`; answers the path of its collection. */
  const runPod = async (ip: string, port: number): Promise<string> => {
    const pods = `/api/v1/namespaces/${await api().namespace()}/pods`;
    const containers = [{ name: 'main', image: 'x', ports: [{ name: 'http-metrics', containerPort: port }] }];
    const made = await api().send('POST', pods, {
      body: { metadata: { name: 'web' }, spec: { schedulerName: 'nobody', containers } },
    });
    expect(made.status).toBe(201);
    const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }] };
    const patched = await api().send('PATCH', `${pods}/web/status`, {
      type: 'application/merge-patch+json',
      body: { status },
    });
    expect(patched.status).toBe(200);
    return pods;
  };
  const get = (path: string): Promise<Answer> => api().send('GET', path, { accept: '*/*' });

  describe('the proxy to a pod', () => {
    test.each(['127.0.0.1', '127.8.0.1', '169.254.1.1', '::1', 'fe80::1', '224.0.0.1'])(
      'refuses a pod whose address is %s',
      async (ip) => {
        const pods = await runPod(ip, 8080);
        const { body } = await get(`${pods}/web:8080/proxy/metrics`);
        expect(body).toMatchObject({ kind: 'Status', code: 400, reason: 'BadRequest', message: 'address not allowed' });
      },
    );

    test('refuses a pod that has no address yet', async () => {
      const pods = `/api/v1/namespaces/${await api().namespace()}/pods`;
      const spec = { schedulerName: 'nobody', containers: [{ name: 'main', image: 'x' }] };
      await api().send('POST', pods, { body: { metadata: { name: 'web' }, spec } });
      expect((await get(`${pods}/web/proxy/`)).body).toMatchObject({ code: 400, message: 'address not allowed' });
    });

    test('knows no pod that is not there, and no pod with four parts to its name', async () => {
      const pods = `/api/v1/namespaces/${await api().namespace()}/pods`;
      expect((await get(`${pods}/none:80/proxy/`)).body).toMatchObject({ code: 404, message: 'pods "none" not found' });
      expect((await get(`${pods}/a:b:c:d/proxy/`)).body).toMatchObject({
        code: 400,
        message: 'invalid pod request "a:b:c:d"',
      });
    });
  });

  describe.skipIf(address === undefined)('the proxy to a pod at an address of this machine', () => {
    const ip = address ?? '';
    let end: PodEnd | null = null;
    const listener = (): PodEnd => {
      if (end === null) throw new Error('not started');
      return end;
    };
    const last = (): Asked | undefined => listener().asked.at(-1);
    beforeAll(async () => {
      end = await listenAt(ip);
    });
    afterAll(() => {
      end?.server.close();
      end?.server.closeAllConnections();
    });

    test('hands on path and query, and brings back status, headers and text', async () => {
      const { port } = listener();
      const pods = await runPod(ip, port);
      const answer = await get(`${pods}/web:${port}/proxy/metrics/all?a=1&b=two%20words`);
      expect([answer.status, answer.headers['x-from'], answer.headers['content-type']]).toEqual([
        203,
        'pod',
        'text/plain; version=0.0.4',
      ]);
      expect(answer.text).toMatch(/^you asked for \/metrics\/all\?a=1&b=two(%20|\+)words\n$/);
      expect(last()?.headers['x-forwarded-uri']).toBe(`${pods}/web:${port}/proxy/metrics/all`);
    });

    test('keeps the credentials of the client to itself', async () => {
      const { port } = listener();
      const pods = await runPod(ip, port);
      await get(`${pods}/web:${port}/proxy/metrics`);
      expect(last()?.url).toBe('/metrics');
      expect(last()?.headers.authorization).toBeUndefined();
    });

    test('takes the first port that the pod declares where the path names none, and the scheme where it does', async () => {
      const { port } = listener();
      const pods = await runPod(ip, port);
      expect((await get(`${pods}/web/proxy/metrics`)).text).toBe('you asked for /metrics\n');
      expect((await get(`${pods}/http:web:${port}/proxy/metrics`)).text).toBe('you asked for /metrics\n');
    });

    test('hands on a body, with its method', async () => {
      const { port } = listener();
      const pods = await runPod(ip, port);
      const answer = await api().send('POST', `${pods}/web:${port}/proxy/take`, { body: { some: 'thing' } });
      expect(answer.status).toBe(203);
      expect(last()).toMatchObject({ method: 'POST', url: '/take', body: '{"some":"thing"}' });
      expect(last()?.headers['content-type']).toBe('application/json');
    });

    test('sends a reader of the bare name to the path that ends in a slash, and serves that', async () => {
      const { port } = listener();
      const pods = await runPod(ip, port);
      const bare = await get(`${pods}/web:${port}/proxy`);
      expect([bare.status, bare.headers['location']]).toEqual([301, `${pods}/web:${port}/proxy/`]);
      expect((await get(`${pods}/web:${port}/proxy/`)).text).toBe('you asked for /\n');
      expect((await get(`${pods}/web:${port}/proxy/metrics/`)).text).toBe('you asked for /metrics/\n');
    });

    test('says 503 and why where nobody listens', async () => {
      const [free = 0] = await findFreePorts(1);
      const pods = await runPod(ip, free);
      const { body } = await get(`${pods}/web:${free}/proxy/metrics`);
      expect(body).toMatchObject({ kind: 'Status', code: 503, reason: 'ServiceUnavailable' });
      expect(body.message).toMatch(/^error trying to reach service: .*refused/i);
    });
  });
}
