import { describe, expect, test } from 'vitest';
import { deliverTo, pauseAfter } from '../../../../functions/deliver/deliver.ts';
import { type PodsHint, parsePodsHint } from '../../../../shared/contract/messages/messages.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { RetryableError, TerminalError } from '../../../../shared/ports/errors.ts';
import { START, smallCluster } from '../../../kit/app/small-cluster.ts';
import { never } from '../../../kit/app/workers.ts';

const hint: PodsHint = { kind: 'pods', version: 1, cluster: 'small', snapshot: null, reason: 'test' };

/** A worker that gets messages about pods; what it does with one is up to the test. */
function worker() {
  const { ports, outside, sent } = smallCluster();
  const poisoned: Array<{ readonly raw: unknown; readonly reason: string; readonly from: string }> = [];
  const errors: Array<string> = [];
  const infos: Array<string> = [];
  const app = {
    cluster: ports.cluster,
    hints: ports.hints,
    ports: () => Promise.resolve(ports),
    poison: (raw: unknown, reason: string, from: string) => Promise.resolve(void poisoned.push({ raw, reason, from })),
  };
  const context = {
    functionName: 'provision',
    invocationId: 'i',
    info: (line: string) => void infos.push(line),
    error: (...words: ReadonlyArray<unknown>) => void errors.push(String(words[0])),
  };
  return {
    app,
    outside,
    sent,
    poisoned,
    errors,
    infos,
    deliver: (
      use: (ports: Ports, message: PodsHint) => Promise<void>,
      raw: unknown = hint,
      parse: (raw: unknown) => PodsHint | null = parsePodsHint,
    ) => deliverTo({ app, now: () => START, after: never }, context, raw, parse, use),
  };
}

/** As long as that, and at most a quarter longer. */
const isAbout = (pauseMs: number, wantedMs: number): boolean => pauseMs >= wantedMs && pauseMs <= 1.25 * wantedMs;

const failing = (why: Error) => () => Promise.reject(why);

describe('a message', () => {
  test('that is used needs nothing more', async () => {
    const { deliver, sent, poisoned } = worker();
    const used: Array<PodsHint> = [];
    await deliver((_, message) => Promise.resolve(void used.push(message)));
    expect([used, sent, poisoned]).toEqual([[hint], [], []]);
  });

  test('that means nothing to us is dropped without a look', async () => {
    const { deliver, sent, poisoned } = worker();
    const used: Array<PodsHint> = [];
    await deliver(
      (_, message) => Promise.resolve(void used.push(message)),
      hint,
      () => null,
    );
    expect([used, sent, poisoned]).toEqual([[], [], []]);
  });

  test('that cannot be read is kept as it came, with the reason, and never used', async () => {
    const { deliver, sent, poisoned, errors } = worker();
    const used: Array<PodsHint> = [];
    await deliver((_, message) => Promise.resolve(void used.push(message)), { kind: 'other' });
    expect(poisoned).toMatchObject([{ raw: { kind: 'other' }, from: 'provision' }]);
    expect(poisoned[0]?.reason).toMatch(/^TypeError: /);
    expect([used, sent, errors]).toEqual([[], [], ['poison']]);
  });

  test('that fails for now is put off with its tries counted, and not kept', async () => {
    const { deliver, sent, poisoned, errors } = worker();
    await deliver(failing(new RetryableError('busy')));
    await deliver(failing(new RetryableError('busy')), { ...hint, attempt: 3 });
    expect(sent).toEqual([
      { hint: { ...hint, attempt: 1 }, atMs: expect.any(Number), key: 'retry/provision/i' },
      { hint: { ...hint, attempt: 4 }, atMs: expect.any(Number), key: 'retry/provision/i' },
    ]);
    expect(sent.map(({ atMs }) => isAbout((atMs ?? 0) - START, 1_000))).toEqual([true, false]);
    expect(isAbout((sent[1]?.atMs ?? 0) - START, 8_000)).toBe(true);
    expect([poisoned, errors]).toEqual([[], []]);
  });

  test('about pods that fails for five minutes is left to the sweep', async () => {
    const { deliver, sent, poisoned } = worker();
    await deliver(failing(new RetryableError('busy')), { ...hint, attempt: 9 });
    expect(sent.map(({ hint: { attempt } }) => attempt)).toEqual([10]);
    await deliver(failing(new RetryableError('busy')), { ...hint, attempt: 10 });
    expect([sent.length, poisoned]).toEqual([1, []]);
  });

  test('that lost a race, or was told when to come again, raises nothing that faults wait for', async () => {
    const { deliver, sent } = worker();
    await deliver(failing(new RetryableError('another came first', { retryAfterMs: 200 })), { ...hint, attempt: 3 });
    await deliver(failing(new RetryableError('another came first', { retryAfterMs: 200 })));
    expect(sent.map(({ hint: { attempt } }) => attempt)).toEqual([3, 0]);
    expect(sent.map(({ atMs }) => isAbout((atMs ?? 0) - START, 200))).toEqual([true, true]);
  });

  test('that fails for now and cannot be put off is left with the queue', async () => {
    const { deliver, outside, poisoned } = worker();
    outside.onSend = () => {
      throw new RetryableError('Service Bus is down');
    };
    await expect(deliver(failing(new RetryableError('busy')))).rejects.toThrow('Service Bus is down');
    expect(poisoned).toEqual([]);
  });

  test.each([
    ['for good', new TerminalError('never'), 'poison'],
    ['for its content', new TypeError('spec.x: is no number'), 'poison'],
    ['by a bug', new RangeError('bug'), 'bug'],
  ])('that fails %s is kept with the reason, and not tried again', async (_, error, said) => {
    const { deliver, sent, poisoned, errors, infos } = worker();
    await deliver(failing(error));
    const reason = `${error.name}: ${error.message}`;
    expect(infos.map((line) => JSON.parse(line) as unknown)).toEqual([
      { event: 'message-kept', kind: said, function: 'provision', reason },
    ]);
    expect(poisoned).toMatchObject([{ raw: hint, from: 'provision' }]);
    expect(poisoned[0]?.reason).toContain(`${error.name}: ${error.message}`);
    expect([sent, errors]).toEqual([[], [said]]);
  });

  test('that cannot be read is kept even where reading it says that it may work later', async () => {
    const { deliver, sent, poisoned } = worker();
    await deliver(failing(new Error('unused')), hint, () => {
      throw new RetryableError('busy');
    });
    expect([sent, poisoned.length]).toEqual([[], 1]);
  });

  test('that can neither be used nor kept is left with the queue', async () => {
    const { deliver, app } = worker();
    app.poison = () => Promise.reject(new RetryableError('Service Bus is down'));
    await expect(deliver(failing(new TerminalError('never')))).rejects.toThrow('Service Bus is down');
  });

  test('is put off when the ports to use it with cannot be had', async () => {
    const { deliver, app, sent } = worker();
    app.ports = () => Promise.reject(new RetryableError('no token'));
    await deliver(() => Promise.resolve());
    expect(sent).toMatchObject([{ hint: { attempt: 1 } }]);
  });
});

describe('the reason that is kept', () => {
  test('names what was behind it, and where a bug is', async () => {
    const { deliver, poisoned } = worker();
    await deliver(failing(new TerminalError('refused', { cause: new Error('403') })));
    expect(poisoned[0]?.reason).toMatch(/^TerminalError: refused \(403\)\n.*deliver\.test\.ts/s);
  });

  test('is the text of what is no error', async () => {
    const { deliver, poisoned } = worker();
    // What others throw is not for us to choose.
    await deliver(() => Promise.reject('text'));
    expect(poisoned.map(({ reason }) => reason)).toEqual(['text']);
  });

  test('of what is only put off is logged in one line', async () => {
    const { deliver, infos } = worker();
    await deliver(failing(new RetryableError('busy', { cause: new Error('503') })));
    expect(infos.map((line) => JSON.parse(line) as object)).toEqual([
      {
        event: 'retry-later',
        kind: 'pods',
        tried: 0,
        pauseMs: expect.any(Number),
        error: 'RetryableError: busy (503)',
      },
    ]);
  });
});

describe('the pause before the next try', () => {
  test('doubles from a second to a minute, and no further', () => {
    const pauses = [0, 1, 2, 5, 6, 7, 1_000].map((tried) => pauseAfter(new RetryableError('busy'), tried, 0));
    expect(pauses).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000, 60_000]);
  });

  test('is spread over a quarter more, so that those that failed together do not meet again', async () => {
    const at = (share: number): number => pauseAfter(new RetryableError('busy'), 1, share);
    expect([at(0), at(0.5), at(1)]).toEqual([2_000, 2_250, 2_500]);
    const { app, sent } = worker();
    for (const invocationId of ['a', 'b', 'c', 'd']) {
      const context = { functionName: 'f', invocationId, info: () => undefined, error: () => undefined };
      // Each is a delivery of its own.
      await deliverTo(
        { app, now: () => START, after: never },
        context,
        hint,
        parsePodsHint,
        failing(new RetryableError('busy')),
      );
    }
    expect(new Set(sent.map(({ atMs }) => atMs)).size).toBe(4);
  });

  test('is what the outside says, up to five minutes: asking earlier only makes it longer', () => {
    expect(pauseAfter(new RetryableError('busy', { retryAfterMs: 0 }), 5, 1)).toBe(0);
    expect(pauseAfter(new RetryableError('busy', { retryAfterMs: 61_000 }), 0, 0)).toBe(61_000);
    expect(pauseAfter(new RetryableError('busy', { retryAfterMs: 61_000 }), 0, 1)).toBe(62_000);
    expect(pauseAfter(new RetryableError('busy', { retryAfterMs: 372_000 }), 0, 0)).toBe(300_000);
  });
});
