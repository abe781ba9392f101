import { expect, test } from 'vitest';
import { feedTiming, startFeed, type Feed, type FeedState } from '../../../../relay/watch/feed.ts';
import type { KubeAnswer, KubeClient, KubeStream } from '../../../../relay/kube/kube-client.ts';
import type { WatchedResource } from '../../../../relay/watch/resources.ts';

/**
 * What a feed asks for, counts and tells, without a connection. What servers may do to it is in test/contract/relay.
 */

const claims: WatchedResource = { resource: 'nodeclaims', group: '/apis/karpenter.sh/v1', isCustom: true };

const answering = (status: number, text = ''): KubeStream => ({
  status,
  retryAfterMs: null,
  chunks: (async function* () {
    await Promise.resolve();
    if (text !== '') yield Buffer.from(text);
  })(),
});
const page = (resourceVersion: string, names: ReadonlyArray<string> = [], next = ''): KubeStream =>
  answering(
    200,
    JSON.stringify({
      metadata: { resourceVersion, continue: next },
      items: names.map((name) => ({ metadata: { name } })),
    }),
  );
const watched = (...lines: ReadonlyArray<object>): KubeStream =>
  answering(200, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
const added = (name: string, resourceVersion: string) => ({
  type: 'ADDED',
  object: { metadata: { name, resourceVersion } },
});

/**
 * Runs a feed until it has had all answers of the script, and has asked for one more. `installed`: the table of
 * contents.
 */
async function run(
  script: ReadonlyArray<KubeStream>,
  {
    resource = claims,
    installed = { status: 404, body: null, retryAfterMs: null },
  }: { readonly resource?: WatchedResource; readonly installed?: KubeAnswer } = {},
) {
  const told: Array<string> = [];
  const asked: Array<string> = [];
  const states: Array<FeedState> = [];
  const stopping = new AbortController();
  const problems: Array<string | null> = [];
  let feed: Feed | null = null;
  const client: KubeClient = {
    request: (method, path) => {
      asked.push(`${method} ${path}`);
      return Promise.resolve(installed);
    },
    open: (path) => {
      asked.push(path);
      const answer = script[asked.filter((one) => !one.startsWith('GET')).length - 1];
      if (answer !== undefined) return Promise.resolve(answer);
      problems.push(feed?.problem() ?? null);
      stopping.abort();
      return Promise.reject(new Error('aborted'));
    },
    close() {},
  };
  const tell = (what: string) => (name: string) => void told.push(`${what} ${name}`);
  const nameOf = (raw: unknown): string => (raw as { metadata: { name: string } }).metadata.name;
  feed = startFeed({
    client,
    resource,
    sink: {
      beginListing: () => void told.push('begin'),
      upsert: (raw) => void told.push(`upsert ${nameOf(raw)}`),
      finishListing: () => void told.push('finish'),
      remove: (raw) => void told.push(`remove ${nameOf(raw)}`),
      setResourceVersion: (version) => void told.push(`at ${version}`),
    },
    signal: stopping.signal,
    log: {
      info() {},
      warn: (message, fields) => void told.push(`${message}: ${String(fields?.['reason'])}`),
      error() {},
    },
    counters: {
      listed: tell('listed'),
      watched: tell('watched'),
      failed: tell('failed'),
      malformed: tell('malformed'),
    },
    onState: () => void states.push(feed?.state() ?? 'starting'),
    timing: { ...feedTiming, firstRetryMs: 1, longestRetryMs: 1, absentRetryMs: 1 },
  });
  expect([feed.resource, feed.state(), feed.problem()]).toEqual([resource.resource, 'starting', 'not listed yet']);
  await feed.done;
  return { told, asked, states, problem: problems[0] ?? null };
}

const watchPath = (from: string, group = '/apis/karpenter.sh/v1/nodeclaims?') =>
  `${group}watch=true&allowWatchBookmarks=true&resourceVersion=${from}&timeoutSeconds=540`;

test('a feed asks for pages of 500, and then for what happens since', async () => {
  const { asked, told, states, problem } = await run([
    page('10', ['a'], 'more'),
    page('11', ['b']),
    watched(added('c', '12'), { type: 'DELETED', object: { metadata: { name: 'a', resourceVersion: '13' } } }),
  ]);
  expect(asked).toEqual([
    '/apis/karpenter.sh/v1/nodeclaims?limit=500',
    '/apis/karpenter.sh/v1/nodeclaims?limit=500&continue=more',
    watchPath('11'),
    watchPath('13'),
  ]);
  expect(told).toEqual([
    'begin',
    'upsert a',
    'upsert b',
    'listed nodeclaims',
    'at 11',
    'finish',
    'upsert c',
    'at 12',
    'watched nodeclaims',
    'remove a',
    'at 13',
    'watched nodeclaims',
  ]);
  expect([states, problem]).toEqual([['broken', 'live'], null]);
});

test('a list that never ends is given up', async () => {
  const { asked, told } = await run(Array.from({ length: 1_000 }, () => page('1', [], 'again')));
  expect(asked).toHaveLength(1_001);
  expect(told.filter((line) => line.startsWith('listed'))).toEqual([]);
  expect(told).toContain('feed failed: list nodeclaims: more than 1000 pages');
});

test('what cannot be read is counted one by one', async () => {
  const bad = answering(200, '{"metadata":{"resourceVersion":"1"},"items":[{bad},{"metadata":{"name":"a"}},{bad}]}');
  const { told } = await run([bad, answering(200, 'nothing\n')]);
  expect(told.filter((line) => line.startsWith('malformed'))).toHaveLength(3);
});

test('a failure is counted each time and told once while it is the same', async () => {
  const { told, states, problem } = await run([answering(500), answering(500), answering(503)]);
  expect(told.filter((line) => line.startsWith('failed'))).toHaveLength(3);
  expect(told.filter((line) => line.startsWith('feed failed'))).toEqual([
    'feed failed: list nodeclaims: answered 500',
    'feed failed: list nodeclaims: answered 503',
  ]);
  expect([states, problem]).toEqual([[], 'list nodeclaims: answered 503']);
});

test('a feed that was live is broken while it cannot watch, and goes on from where it was', async () => {
  const { asked, states } = await run([page('10'), answering(500), watched(added('a', '11'))]);
  expect(asked.slice(1)).toEqual([watchPath('10'), watchPath('10'), watchPath('11')]);
  expect(states).toEqual(['broken', 'live']);
});

test('a place that the server has forgotten is listed anew, whoever says so [M01] [M02]', async () => {
  const list = '/apis/karpenter.sh/v1/nodeclaims?limit=500';
  const { asked } = await run([page('10'), answering(410), page('20', [], 'more'), answering(410), page('30')]);
  expect(asked).toEqual([list, watchPath('10'), list, `${list}&continue=more`, list, watchPath('30')]);
});

const list404 = answering.bind(null, 404);

test.each<readonly [string, unknown, number]>([
  ['is not there', null, 404],
  ['does not have it', { resources: [{ name: 'others' }, null, 'x'] }, 200],
  ['lists nothing', {}, 200],
  ['is not one', null, 200],
])('a custom resource is absent when the table of contents %s', async (_, body, status) => {
  const installed = { status, body, retryAfterMs: null };
  const { asked, told, states, problem } = await run([list404()], { installed });
  expect(asked.slice(0, 2)).toEqual(['/apis/karpenter.sh/v1/nodeclaims?limit=500', 'GET /apis/karpenter.sh/v1']);
  expect(told).toEqual(['begin', 'failed nodeclaims', 'begin', 'finish', 'begin']);
  expect([states, problem]).toEqual([['absent'], 'not installed']);
});

test.each<readonly [string, unknown, number]>([
  ['has it', { resources: [{ name: 'others' }, { name: 'nodeclaims' }] }, 200],
  ['cannot be read', { resources: 'many' }, 200],
  ['is refused', null, 500],
])('a custom resource is not absent when the table of contents %s', async (_, body, status) => {
  const { states } = await run([list404()], { installed: { status, body, retryAfterMs: null } });
  expect(states).toEqual([]);
});

test('objects that were there are forgotten when their resource was missed three times, and not before [M02]', async () => {
  const missed = (times: number) =>
    run([page('10', ['a']), answering(410), ...Array.from({ length: times }, () => list404())]);
  expect((await missed(2)).states).toEqual(['broken']);
  const { states, told } = await missed(3);
  expect(states).toEqual(['broken', 'absent']);
  expect(told.filter((line) => line === 'finish')).toHaveLength(2);
  const again = await run([
    page('10'),
    answering(410),
    list404(),
    list404(),
    page('20'),
    answering(410),
    list404(),
    list404(),
  ]);
  expect(again.states).not.toContain('absent');
});
