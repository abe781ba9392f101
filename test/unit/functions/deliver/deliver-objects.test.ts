import { describe, expect, test } from 'vitest';
import { deliverObjectsTo } from '../../../../functions/deliver/deliver-objects.ts';
import { toQueueMessages } from '../../../../shared/contract/messages/queue-messages.ts';
import type { ObjectsHint } from '../../../../shared/contract/messages/messages.ts';
import { RetryableError, TerminalError } from '../../../../shared/ports/errors.ts';
import { START, namesIn, smallCluster } from '../../../kit/app/small-cluster.ts';
import { never } from '../../../kit/app/workers.ts';

interface Poison {
  readonly message: unknown;
  readonly reason: string;
  readonly from: string;
}

/** A delivery to a worker. Each of the claims `names` wants a machine; reading one that `fails` names throws that. */
function worker(names: ReadonlyArray<string>, fails: Readonly<Record<string, Error>> = {}) {
  const cluster = smallCluster();
  const { ports, outside, clock } = cluster;
  cluster.addClass('True');
  for (const name of names) cluster.addClaim(name);
  outside.onRequest = ({ method, path }) => {
    const error = method === 'GET' ? fails[path.split('/').at(-1) ?? ''] : undefined;
    if (error !== undefined) throw error;
  };
  const poisoned: Array<Poison> = [];
  const app = {
    cluster: ports.cluster,
    hints: ports.hints,
    ports: () => Promise.resolve(ports),
    poison: (message: unknown, reason: string, from: string) =>
      Promise.resolve(void poisoned.push({ message, reason, from })),
  };
  const context = { functionName: 'follow', invocationId: 'i', info: () => undefined, error: () => undefined };
  const message: ObjectsHint = {
    kind: 'objects',
    version: 1,
    cluster: ports.cluster,
    objects: names.map((name) => ({ kind: 'NodeClaim', name })),
    reason: 'test',
  };
  return {
    ...cluster,
    poisoned,
    message,
    deliver: (raw: unknown = message) => deliverObjectsTo({ app, now: () => clock.now(), after: never }, context, raw),
    launched: () => cluster.azure.orders.map(({ claim }) => claim).toSorted(),
    /** What was put off: the objects' names, the tries so far, and for how long, without what spreads it. */
    putOff: () =>
      cluster.sent.flatMap(({ hint, atMs }) =>
        hint.attempt === undefined ? [] : [[namesIn(hint), hint.attempt, leastOf((atMs ?? 0) - START)]],
      ),
  };
}

/** Which of the pauses of these tests was spread over a quarter more. */
const leastOf = (pauseMs: number): number | undefined =>
  [1_000, 3_000, 4_000, 7_000].find((least) => pauseMs >= least && pauseMs <= 1.25 * least);

const busy = (retryAfterMs?: number): RetryableError =>
  new RetryableError('busy', retryAfterMs === undefined ? {} : { retryAfterMs });

describe('of the objects that a message names', () => {
  test('one that fails for now is put off by itself, and the others are done', async () => {
    const { deliver, launched, putOff, poisoned } = worker(['a', 'b', 'c'], { b: busy() });
    await deliver();
    expect(launched()).toEqual(['a', 'c']);
    expect(putOff()).toEqual([[['b'], 1, 1_000]]);
    expect(poisoned).toEqual([]);
  });

  test('those that fail for now are put off together where they wait equally long', async () => {
    const fails = { a: busy(7_000), b: busy(), c: busy(7_000), d: busy() };
    const { deliver, message, putOff, sent } = worker(['a', 'b', 'c', 'd', 'e'], fails);
    await deliver({ ...message, attempt: 2 });
    expect(putOff()).toEqual([
      [['a', 'c'], 2, 7_000],
      [['b', 'd'], 3, 4_000],
    ]);
    // Of one delivery, and still no two are taken for one by the queue.
    const ids = sent.flatMap(({ hint, key }) => toQueueMessages(hint, key).map(({ id }) => id));
    expect(new Set(ids).size).toBe(3);
  });

  test.each([
    ['for good', new TerminalError('never')],
    ['by a bug', new RangeError('bug')],
  ])('each that fails %s is kept by itself, with the reason, and the others are done', async (_, error) => {
    const { deliver, message, launched, poisoned, putOff } = worker(['a', 'b', 'c'], { a: error, c: error });
    await deliver();
    expect(launched()).toEqual(['b']);
    expect(poisoned.map((one) => one.message)).toEqual([
      { ...message, objects: [{ kind: 'NodeClaim', name: 'a' }] },
      { ...message, objects: [{ kind: 'NodeClaim', name: 'c' }] },
    ]);
    for (const { reason, from } of poisoned) expect([reason.includes(error.message), from]).toEqual([true, 'follow']);
    expect(putOff()).toEqual([]);
  });

  test('one that is put off keeps what its hint told of pods', async () => {
    const { deliver, message, sent } = worker(['a'], { a: busy() });
    await deliver({ ...message, objects: [{ kind: 'NodeClaim', name: 'a', podEventMs: 5 }] });
    expect(sent).toMatchObject([{ hint: { objects: [{ name: 'a', podEventMs: 5 }] } }]);
  });
});

describe('a message', () => {
  test('that wants machines for claims still does so when it is put off', async () => {
    const { deliver, message, sent } = worker(['a'], { a: busy() });
    await deliver({ ...message, kind: 'launches' });
    expect(sent).toMatchObject([{ hint: { kind: 'launches', objects: [{ name: 'a' }], attempt: 1 } }]);
  });

  test.each(['text', { kind: 'objects', version: 2 }, { kind: 'objects', version: 1, cluster: 'c', objects: [] }])(
    'that cannot be read is kept as it came: %j',
    async (raw) => {
      const { deliver, poisoned, sent } = worker([]);
      await deliver(raw);
      expect(poisoned.map(({ message, from }) => [message, from])).toEqual([[raw, 'follow']]);
      expect(sent).toEqual([]);
    },
  );

  test('whose rest cannot be put off is left with the queue, which delivers it again', async () => {
    const { deliver, outside, poisoned } = worker(['a', 'b'], { b: busy() });
    outside.onSend = ({ hint }) => {
      if (hint.attempt !== undefined) throw busy();
    };
    await expect(deliver()).rejects.toThrow('busy');
    expect(poisoned).toEqual([]);
  });

  test('whose next looks cannot be asked for is put off whole', async () => {
    const { deliver, outside, putOff } = worker(['a', 'b']);
    outside.onSend = ({ hint }) => {
      if (hint.attempt === undefined) throw busy(3_000);
    };
    await deliver();
    expect(putOff()).toEqual([[['a', 'b'], 0, 3_000]]);
  });
});
