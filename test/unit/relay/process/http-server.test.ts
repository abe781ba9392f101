import { afterEach, describe, expect, test } from 'vitest';
import { servePages, type PageServer } from '../../../../relay/process/http-server.ts';

const servers: Array<PageServer> = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const text = (body: string, status = 200) => ({ status, contentType: 'text/plain', body });

async function serve(pages: Parameters<typeof servePages>[2]): Promise<(path: string) => Promise<Response>> {
  const server = await servePages('127.0.0.1', 0, pages);
  servers.push(server);
  return (path) => fetch(`http://127.0.0.1:${server.port}${path}`);
}

describe('a page', () => {
  test('is given with its status and kind, whatever is asked of it', async () => {
    const get = await serve({ '/readyz': () => ({ status: 503, contentType: 'text/x', body: 'no' }) });
    const answer = await get('/readyz?verbose');
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([503, 'text/x', 'no']);
  });

  test('may take its time', async () => {
    const get = await serve({ '/metrics': () => Promise.resolve(text('late')) });
    expect(await (await get('/metrics')).text()).toBe('late');
  });

  test.for(['/', '/other', '/toString', '/__proto__', '/metrics/x'])('that is not there is 404: %s', async (path) => {
    const get = await serve({ '/metrics': () => text('x') });
    const answer = await get(path);
    expect([answer.status, await answer.text()]).toEqual([404, 'not found\n']);
  });

  test('that fails is 500 and says no more, and the others go on', async () => {
    const get = await serve({
      '/metrics': () => Promise.reject(new Error('secret')),
      '/readyz': () => {
        throw new Error('secret');
      },
      '/healthz': () => text('ok'),
    });
    for (const path of ['/metrics', '/readyz']) {
      const answer = await get(path);
      expect([answer.status, await answer.text()]).toEqual([500, 'failed\n']);
    }
    expect((await get('/healthz')).status).toBe(200);
  });
});

test('a port that is taken is an error at the start', async () => {
  const first = await servePages('127.0.0.1', 0, {});
  servers.push(first);
  await expect(servePages('127.0.0.1', first.port, {})).rejects.toThrow(/EADDRINUSE/);
});

test('a server that is closed answers nobody, though connections were open', async () => {
  const server = await servePages('127.0.0.1', 0, { '/': () => text('x') });
  const url = `http://127.0.0.1:${server.port}/`;
  await (await fetch(url)).text();
  await server.close();
  await expect(fetch(url)).rejects.toThrow('fetch failed');
});
