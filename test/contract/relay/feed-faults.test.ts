import { afterEach, describe, expect, test } from 'vitest';
import { feedTiming, startFeed, type Feed, type FeedTiming } from '../../../relay/watch/feed.ts';
import { silentLog } from '../../../relay/process/log.ts';
import type { WatchedResource } from '../../../relay/watch/resources.ts';
import { until } from './rig.ts';
import {
  item,
  page,
  startScriptedServer,
  status,
  watchOf,
  type Answer,
  type ScriptedServer,
} from './scripted-server.ts';

const nodes: WatchedResource = { resource: 'nodes', group: '/api/v1', isCustom: false };
const claims: WatchedResource = { resource: 'nodeclaims', group: '/apis/karpenter.sh/v1', isCustom: true };

describe('a feed', () => {
  let server: ScriptedServer;
  let feed: Feed;
  const stopping = { controller: new AbortController() };

  afterEach(async () => {
    stopping.controller.abort();
    await feed.done;
    await server.close();
  });

  /** Runs a feed against a script and keeps what it says is there. */
  async function run(
    script: ReadonlyArray<Answer>,
    resource = nodes,
    { watchIdleMs = feedTiming.watchIdleMs, openMs = feedTiming.openMs }: Partial<FeedTiming> = {},
  ) {
    server = await startScriptedServer(script);
    stopping.controller = new AbortController();
    const there = new Set<string>();
    const counts = { malformed: 0, failed: 0 };
    let listed = new Set<string>();
    const nameOf = (raw: unknown): string => (raw as { metadata?: { name?: string } }).metadata?.name ?? '?';
    feed = startFeed({
      client: server.client,
      resource,
      sink: {
        beginListing: () => void (listed = new Set()),
        upsert(raw) {
          there.add(nameOf(raw));
          listed.add(nameOf(raw));
        },
        finishListing() {
          for (const name of there) if (!listed.has(name)) there.delete(name);
        },
        remove: (raw) => void there.delete(nameOf(raw)),
        setResourceVersion() {},
      },
      signal: stopping.controller.signal,
      log: silentLog,
      counters: {
        listed() {},
        watched() {},
        failed: () => void (counts.failed += 1),
        malformed: () => void (counts.malformed += 1),
      },
      onState() {},
      timing: { ...feedTiming, firstRetryMs: 5, longestRetryMs: 40, absentRetryMs: 20, watchIdleMs, openMs },
    });
    return { there, counts, asks: (count: number) => until(`${count} requests`, () => server.asked.length >= count) };
  }

  test('lists page by page, then watches from where the list was taken', async () => {
    const { there, asks } = await run([
      page(['a', 'b'], '10', 'next'),
      page(['c'], '10'),
      watchOf(['ADDED', item('d', '11')]),
    ]);
    await asks(3);
    await until('the event', () => there.has('d'));
    expect(server.asked).toEqual(['list', 'list next', 'watch 10']);
    expect([...there]).toEqual(['a', 'b', 'c', 'd']);
    await until('the watch', () => feed.state() === 'live');
  });

  test('goes on from the last event or bookmark when the connection breaks', async () => {
    const cut: Answer = (response, url, request) => {
      watchOf(['ADDED', item('b', '11')], ['BOOKMARK', { metadata: { resourceVersion: '15' } }])(
        response,
        url,
        request,
      );
      setTimeout(() => response.destroy(), 20);
    };
    const { asks } = await run([page(['a'], '10'), cut]);
    await asks(3);
    expect(server.asked).toEqual(['list', 'watch 10', 'watch 15']);
  });

  test('a watch that ends in the middle of a line loses nothing: it goes on before that line', async () => {
    const half: Answer = (response) => {
      response.writeHead(200);
      response.write(`${JSON.stringify({ type: 'ADDED', object: item('b', '11') })}\n{"type":"ADD`);
      setTimeout(() => response.end(), 20);
    };
    const { asks } = await run([page(['a'], '10'), half]);
    await asks(3);
    expect(server.asked.at(2)).toBe('watch 11');
  });

  test.each([
    ['as an event', watchOf(['ERROR', { kind: 'Status', code: 410, message: 'too old' }])],
    ['as an answer', status(410)],
  ])('410 Gone %s brings a new list, which finds what went away unseen', async (_, gone) => {
    const { there, asks } = await run([page(['a', 'b'], '10'), gone, page(['b', 'c'], '20')]);
    await asks(4);
    expect(server.asked).toEqual(['list', 'watch 10', 'list', 'watch 20']);
    expect([...there].toSorted()).toEqual(['b', 'c']);
  });

  test('a list whose continue token has expired begins again', async () => {
    const { there, asks } = await run([page(['a'], '10', 'next'), status(410), page(['b'], '20')]);
    await asks(4);
    expect(server.asked).toEqual(['list', 'list next', 'list', 'watch 20']);
    expect([...there]).toEqual(['b']);
  });

  test('a line that is no event is counted, and what it may have said is found by a new list', async () => {
    const garbage: Answer = (response) => {
      response.writeHead(200);
      response.write('{"type":"DELETED","obj\u0000ect": garbage}\n');
    };
    const { there, counts, asks } = await run([page(['a', 'b'], '10'), garbage, page(['a'], '11')]);
    await asks(4);
    expect([...there]).toEqual(['a']);
    expect(counts.malformed).toBe(1);
  });

  test('an item that is not JSON is counted and left aside; a page that ends early is listed again', async () => {
    const oneBad: Answer = (response) =>
      response.end(
        '{"metadata":{"resourceVersion":"10"},"items":[{"metadata":{"name":"a"}},{bad},{"metadata":{"name":"b"}}]}',
      );
    const early: Answer = (response) => response.end('{"metadata":{"resourceVersion":"9"},"items":[{"metadata"');
    const { there, counts, asks } = await run([early, oneBad]);
    await asks(3);
    expect([...there]).toEqual(['a', 'b']);
    expect(counts.malformed).toBe(1);
    expect(server.asked).toEqual(['list', 'list', 'watch 10']);
  });

  test('429 is followed as it asks, and 5xx backs off', async () => {
    const { asks } = await run([status(429, { 'retry-after': '1' }), status(500), status(503), page([], '10')]);
    await asks(5);
    const waits = server.askedAtMs.slice(1).map((at, index) => at - (server.askedAtMs[index] ?? 0));
    expect(waits[0]).toBeGreaterThanOrEqual(1_000);
    expect(server.asked.at(-1)).toBe('watch 10');
  });

  test('a server that closes every watch at once is not hammered', async () => {
    const closes: Answer = (response) => response.writeHead(200).end();
    await run([page([], '10'), ...Array.from({ length: 500 }, () => closes)]);
    await until('some watches', () => server.asked.length > 5);
    const before = server.asked.length;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(server.asked.length - before).toBeLessThan(12);
  });

  test('a watch that says nothing for too long is opened anew from where it was', async () => {
    const { asks } = await run([page([], '10'), watchOf(), watchOf()], nodes, { watchIdleMs: 400 });
    await asks(3);
    expect(server.asked.slice(0, 3)).toEqual(['list', 'watch 10', 'watch 10']);
  });

  test('is not live before its watch is open: an API server that queues watches sends no change', async () => {
    const queues: Answer = () => undefined;
    const { asks } = await run([page(['a'], '10'), queues, watchOf()], nodes, { watchIdleMs: 400 });
    await asks(2);
    await until('it is listed', () => feed.state() === 'broken');
    await until('the next watch is open', () => feed.state() === 'live');
    expect(server.asked).toEqual(['list', 'watch 10', 'watch 10']);
  });

  test('that was live is broken once the next watch does not open, and live again when it does', async () => {
    const ends: Answer = (response) => {
      response.writeHead(200).flushHeaders();
      setTimeout(() => response.end(), 20);
    };
    const late: Answer = (response) => void setTimeout(() => response.writeHead(200).flushHeaders(), 300);
    const { asks } = await run([page(['a'], '10'), ends, late], nodes, { openMs: 50 });
    await until('the first watch is open', () => feed.state() === 'live');
    await asks(3);
    await until('it is broken', () => feed.state() === 'broken');
    expect(feed.problem()).toBe('its watch does not open');
    await until('it is live again', () => feed.state() === 'live');
    expect(server.asked).toEqual(['list', 'watch 10', 'watch 10']);
  });

  test('a server that is away is found again when it is back', async () => {
    const { asks } = await run([page(['a'], '10'), (response) => response.destroy(), (response) => response.destroy()]);
    await asks(4);
    expect(server.asked).toEqual(['list', 'watch 10', 'watch 10', 'watch 10']);
  });

  test('a custom resource that is not installed is absent, looked for quietly, and found when it comes', async () => {
    const { there, asks } = await run([status(404), status(404), status(404), status(404), page(['a'], '10')], claims);
    await until('absent', () => feed.state() === 'absent');
    await asks(6);
    expect(server.asked).toEqual(['list', claims.group, 'list', claims.group, 'list', 'watch 10']);
    expect([...there]).toEqual(['a']);
  });

  test('a 404 of a custom resource that the server says it has is no reason to forget its objects', async () => {
    const installed: Answer = (response) => response.end(JSON.stringify({ resources: [{ name: 'nodeclaims' }] }));
    const { there, asks } = await run(
      [page(['a'], '10'), status(410), status(404), installed, page(['a'], '20')],
      claims,
    );
    await asks(6);
    expect([...there]).toEqual(['a']);
    await until('the watch', () => feed.state() === 'live');
  });

  test('a server that goes away between a 404 and its table of contents ends no feed', async () => {
    const { there, asks } = await run(
      [page(['a'], '10'), status(410), status(404), (response) => response.destroy(), page(['a', 'b'], '20')],
      claims,
    );
    await asks(6);
    expect(server.asked).toEqual(['list', 'watch 10', 'list', claims.group, 'list', 'watch 20']);
    expect([...there]).toEqual(['a', 'b']);
    await until('the watch', () => feed.state() === 'live');
  });

  test('a built-in resource that is refused is a problem that is told, not an absence', async () => {
    await run([status(403), status(403), status(404)]);
    await until('three tries', () => server.asked.length >= 3);
    expect(feed.state()).toBe('starting');
    expect(feed.problem()).toMatch(/list nodes: answered 40/);
  });
});
