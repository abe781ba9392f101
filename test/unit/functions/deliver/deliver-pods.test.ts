import { describe, expect, test } from 'vitest';
import { deliverPodsTo } from '../../../../functions/deliver/deliver-pods.ts';
import type { PodsHint } from '../../../../shared/contract/messages/messages.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { START, smallCluster } from '../../../kit/app/small-cluster.ts';
import { never } from '../../../kit/app/workers.ts';

const hint: PodsHint = { kind: 'pods', version: 1, cluster: 'small', snapshot: null, reason: 'test' };

/**
 * A worker that provisions; how often it has looked is counted by what it reads, and `fails` are the looks that fail.
 */
function worker(...fails: ReadonlyArray<number>) {
  const { ports, sent, outside } = smallCluster();
  const poisoned: Array<unknown> = [];
  const lines: Array<object> = [];
  let looks = 0;
  const latest = (): ReturnType<typeof ports.snapshots.latest> => {
    looks += 1;
    return fails.includes(looks) ? Promise.reject(new RetryableError('busy')) : ports.snapshots.latest();
  };
  const log = (event: string, facts: object): void => void lines.push({ event, ...facts });
  const app = {
    cluster: ports.cluster,
    hints: ports.hints,
    ports: () => Promise.resolve({ ...ports, log, snapshots: { ...ports.snapshots, latest } }),
    poison: (raw: unknown) => Promise.resolve(void poisoned.push(raw)),
  };
  const context = { functionName: 'provision', invocationId: 'i', info: () => undefined, error: () => undefined };
  return {
    sent,
    outside,
    poisoned,
    lines,
    looks: () => looks,
    deliver: (messages: unknown) => deliverPodsTo({ app, now: () => START, after: never }, context, messages),
  };
}

describe('of the hints that arrive together', () => {
  test('all ask for one look', async () => {
    const { deliver, looks, sent, poisoned, lines } = worker();
    await deliver([hint, hint, hint]);
    expect([looks(), sent, poisoned, lines]).toEqual([1, [], [], [{ event: 'looked', messages: 3, outcome: 'idle' }]]);
  });

  test('one that cannot be read keeps the others from nothing, and is kept', async () => {
    const { deliver, looks, poisoned } = worker();
    await deliver(['text', hint, { kind: 'other' }, hint]);
    expect([looks(), poisoned]).toEqual([1, ['text', { kind: 'other' }]]);
  });

  test('one look is all they get when it fails, so that an API server that hangs costs a batch its time once', async () => {
    const { deliver, looks, sent, poisoned } = worker(1, 2, 3);
    await deliver(Array.from({ length: 12 }, () => hint));
    expect([looks(), poisoned]).toEqual([1, []]);
    expect(sent).toMatchObject([{ hint: { attempt: 1 }, atMs: expect.any(Number) }]);
  });

  test('the one that was tried most often is put off for all, so that the pauses between tries go on growing', async () => {
    const { deliver, sent } = worker(1);
    await deliver([hint, { ...hint, attempt: 3 }, { ...hint, attempt: 2 }]);
    expect(sent.map(({ hint: { attempt } }) => attempt)).toEqual([4]);
  });

  test('none is kept of a delivery that comes again, because a look could neither be had nor put off', async () => {
    const { deliver, outside, poisoned } = worker(1);
    outside.onSend = () => {
      throw new RetryableError('the queue is away');
    };
    await expect(deliver(['text', hint])).rejects.toThrow('the queue is away');
    expect(poisoned).toEqual([]);
  });

  test('nothing is looked at when none can be read', async () => {
    const { deliver, looks } = worker();
    await deliver([{ kind: 'other' }]);
    expect(looks()).toBe(0);
  });
});

test('a hint that arrives alone is one of a batch', async () => {
  const { deliver, looks, lines } = worker();
  await deliver(hint);
  expect([looks(), lines]).toMatchObject([1, [{ messages: 1 }]]);
});
