import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Log } from '../../../../relay/process/log.ts';
import { createOutbox, type Outbox } from '../../../../relay/publish/outbox.ts';
import type { OutgoingMessage } from '../../../../relay/azure/queue-sender.ts';
import type { Signal } from '../../../../relay/hint/signals.ts';
import { OBJECTS_MAX, REASON_MAX, type ObjectsHint } from '../../../../shared/contract/messages/messages.ts';

interface Attempt {
  readonly queue: string;
  readonly atMs: number;
  readonly messages: ReadonlyArray<OutgoingMessage>;
}

const outboxes: Array<Outbox> = [];

/** An outbox over queues that do with each attempt as the test says, and what became of it. */
function open(onAttempt: (attempt: Attempt) => void | Promise<void> = () => {}) {
  const state = { onAttempt };
  const attempts: Array<Attempt> = [];
  const told: Array<string> = [];
  const outbox = createOutbox({
    cluster: 'c',
    sender: {
      async send(queue, messages) {
        const attempt = { queue, messages, atMs: performance.now() };
        attempts.push(attempt);
        await state.onAttempt(attempt);
      },
      async close() {},
    },
    log: {
      warn: (what: string, fields: object) => void told.push(`${what} ${JSON.stringify(fields)}`),
    } as unknown as Log,
    onSent: (queue, count) => void told.push(`sent ${count} to ${queue}`),
    onFailed: (queue) => void told.push(`failed ${queue}`),
  });
  outboxes.push(outbox);
  return { outbox, attempts, told, state };
}

const claim = (name: string) => ({ kind: 'NodeClaim', name }) as const;
const signal: Signal = {
  event: 'preempt',
  notBeforeMs: 5,
  eventId: 'e',
  vmId: '/vm',
  nodeName: 'aks-a',
  key: 'aks-a preempt e',
};
const fails = (): never => {
  throw new Error('the queue is away');
};
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const hintIn = (message: OutgoingMessage | undefined) => message?.body as ObjectsHint;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  for (const outbox of outboxes.splice(0)) outbox.stop();
  vi.useRealTimers();
});

describe('hints leave', () => {
  test('a turn later, those of one turn in one request for each queue', async () => {
    const { outbox, attempts, told } = open();
    outbox.addPods('pods-unschedulable', '3-4', 's');
    outbox.addObject(claim('a'), 'node-ready', 's');
    outbox.addObject(claim('b'), 'node-gone', 's');
    outbox.addSignal(signal);
    expect([attempts.length, outbox.size()]).toEqual([0, 4]);
    await pass(1);
    expect(attempts.map(({ queue, messages }) => `${queue} ${messages.length}`)).toEqual([
      'pods 1',
      'claims 1',
      'signals 1',
    ]);
    expect(told).toEqual(['sent 1 to pods', 'sent 1 to claims', 'sent 1 to signals']);
    expect(outbox.size()).toBe(0);
    await pass(60_000);
    expect(attempts).toHaveLength(3);
  });

  test('about pods in the cluster’s session, with the snapshot that holds what they speak of', async () => {
    const { outbox, attempts } = open();
    outbox.addPods('pods-unschedulable', '3-4', 's');
    await pass(1);
    expect(attempts[0]?.messages[0]).toMatchObject({
      sessionId: 'c',
      body: { kind: 'pods', version: 1, cluster: 'c', snapshot: '3-4', reason: 'pods-unschedulable' },
    });
  });

  test('about objects together, in any session, with each reason once', async () => {
    const { outbox, attempts } = open();
    for (const name of ['a', 'b']) outbox.addObject(claim(name), 'node-ready', 's');
    outbox.addObject({ kind: 'NodePool', name: 'a' }, 'changed', 's');
    await pass(1);
    expect(attempts[0]?.messages).toHaveLength(1);
    expect(attempts[0]?.messages[0]).toMatchObject({
      sessionId: null,
      body: {
        kind: 'objects',
        version: 1,
        cluster: 'c',
        objects: [claim('a'), claim('b'), { kind: 'NodePool', name: 'a' }],
        reason: 'node-ready, changed',
      },
    });
  });

  test('in as many messages as objects need, none forgotten, and with no longer a reason than a hint may have', async () => {
    const { outbox, attempts } = open();
    const names = Array.from({ length: OBJECTS_MAX * 2 + 1 }, (_, index) => `c-${index}`);
    for (const name of names) outbox.addObject(claim(name), `reason-of-${name}`, 's');
    await pass(1);
    const hints = (attempts[0]?.messages ?? []).map(hintIn);
    expect(hints.map(({ objects }) => objects.length)).toEqual([OBJECTS_MAX, OBJECTS_MAX, 1]);
    expect(hints.flatMap(({ objects }) => objects.map(({ name }) => name))).toEqual(names);
    expect(hints[0]?.reason).toHaveLength(REASON_MAX);
    expect(hints[2]?.reason).toBe(`reason-of-${names.at(-1)}`);
  });

  test('with the time of a pod event, though another hint is about the same claim', async () => {
    const { outbox, attempts } = open();
    outbox.addPodEvent('a', 1_400, 's');
    outbox.addObject(claim('a'), 'node-ready', 's');
    await pass(1);
    expect(hintIn(attempts[0]?.messages[0])).toMatchObject({
      objects: [{ ...claim('a'), podEventMs: 1_400 }],
      reason: 'pod-event, node-ready',
    });
  });

  test('with the machine and the notice of a signal', async () => {
    const { outbox, attempts } = open();
    outbox.addSignal(signal);
    await pass(1);
    expect(attempts[0]?.messages[0]).toMatchObject({
      sessionId: null,
      body: {
        kind: 'signal',
        cluster: 'c',
        vmId: '/vm',
        nodeName: 'aks-a',
        event: 'preempt',
        notBeforeMs: 5,
        eventId: 'e',
      },
    });
  });
});

describe('what waits', () => {
  test('is one hint for each object, the newest, however long the queue is away', async () => {
    const { outbox, attempts, state } = open(fails);
    for (let turn = 0; turn < 1_000; turn++) {
      outbox.addObject(claim('a'), `turn-${turn}`, String(turn));
      outbox.addPods(`turn-${turn}`, `1-${turn}`, String(turn));
      outbox.addPodEvent('a', turn, String(turn));
      outbox.addSignal(signal);
      await pass(20);
    }
    expect(outbox.size()).toBe(4);
    state.onAttempt = () => {};
    attempts.length = 0;
    await pass(15_000);
    const bodies = attempts.flatMap(({ messages }) => messages.map(({ body }) => body));
    expect(bodies).toHaveLength(3);
    expect(bodies).toContainEqual(expect.objectContaining({ kind: 'pods', snapshot: '1-999' }));
    expect(bodies).toContainEqual(
      expect.objectContaining({ objects: [{ ...claim('a'), podEventMs: 999 }], reason: 'turn-999, pod-event' }),
    );
    expect(outbox.size()).toBe(0);
  });

  test('is sent again until the queue takes it, after pauses that grow from 200 ms to 5 s', async () => {
    const { outbox, attempts, told } = open(fails);
    outbox.addSignal(signal);
    await pass(120_000);
    const pauses = attempts.slice(1).map(({ atMs }, index) => atMs - (attempts[index]?.atMs ?? 0));
    for (const [index, waited] of pauses.entries()) {
      const longest = Math.min(200 * 2 ** index, 5_000);
      expect(waited).toBeGreaterThanOrEqual(Math.floor(longest / 2));
      expect(waited).toBeLessThanOrEqual(longest + 1);
    }
    expect(pauses.length).toBeGreaterThan(10);
    expect(told.slice(0, 2)).toEqual([
      'failed signals',
      'hints not sent {"queue":"signals","waiting":1,"reason":"the queue is away"}',
    ]);
    expect(outbox.size()).toBe(1);
  });

  test('for one queue does not wait for another', async () => {
    const { outbox, told } = open(({ queue }) => (queue === 'claims' ? fails() : undefined));
    outbox.addObject(claim('a'), 'node-ready', 's');
    outbox.addPods('pods-unschedulable', '1-1', 's');
    outbox.addSignal(signal);
    await pass(1);
    expect(told.filter((one) => one.startsWith('sent'))).toEqual(['sent 1 to pods', 'sent 1 to signals']);
    expect(outbox.size()).toBe(1);
  });

  test('and is replaced while the older one is on its way is sent after it', async () => {
    const { outbox, attempts, state } = open();
    const onItsWay = Promise.withResolvers<void>();
    state.onAttempt = () => onItsWay.promise;
    outbox.addObject(claim('a'), 'node-ready', '1');
    outbox.addObject(claim('b'), 'node-ready', '1');
    await pass(1);
    outbox.addObject(claim('a'), 'node-gone', '2');
    await pass(1);
    expect(attempts).toHaveLength(1);
    onItsWay.resolve();
    await pass(1);
    expect(attempts).toHaveLength(2);
    expect(hintIn(attempts[1]?.messages[0])).toMatchObject({ objects: [claim('a')], reason: 'node-gone' });
    expect(outbox.size()).toBe(0);
  });

  test('begins its pauses anew after a success', async () => {
    const { outbox, attempts, state } = open(fails);
    outbox.addSignal(signal);
    await pass(5_000);
    state.onAttempt = (attempt) => {
      // Another comes while this one is on its way, and meets a queue that is away again.
      outbox.addSignal({ ...signal, key: 'other' });
      state.onAttempt = fails;
      attempts.splice(0, attempts.length, attempt);
    };
    await pass(30_000);
    expect((attempts[2]?.atMs ?? 0) - (attempts[1]?.atMs ?? 0)).toBeLessThanOrEqual(200);
  });
});

describe('a message’s id', () => {
  const idsOf = async (add: (outbox: Outbox) => void, opened = open()): Promise<ReadonlyArray<string>> => {
    opened.attempts.length = 0;
    add(opened.outbox);
    await pass(1);
    return opened.attempts.flatMap(({ messages }) => messages.map(({ messageId }) => messageId));
  };
  const object =
    (stamp: string, name = 'a') =>
    (outbox: Outbox) =>
      outbox.addObject(claim(name), 'r', stamp);
  const pods =
    (snapshot: string | null, stamp = 's') =>
    (outbox: Outbox) =>
      outbox.addPods('r', snapshot, stamp);

  test('is the same when it is sent again because no answer came', async () => {
    let failures = 1;
    const { outbox, attempts } = open(() => (failures-- > 0 ? fails() : undefined));
    outbox.addObject(claim('a'), 'r', 's');
    await pass(500);
    const ids = attempts.map(({ messages }) => messages[0]?.messageId);
    expect(ids).toHaveLength(2);
    expect(ids[0]).toBe(ids[1]);
  });

  test('is another when the same is told of anew, or of another object, or by another relay', async () => {
    const one = open();
    const ids = [
      ...(await idsOf(object('1'), one)),
      ...(await idsOf(object('2'), one)),
      ...(await idsOf(object('1', 'b'), one)),
      ...(await idsOf(object('1'))),
      ...(await idsOf(pods('1-1'), one)),
      ...(await idsOf(pods('1-2'), one)),
      ...(await idsOf(pods('1-1'))),
      ...(await idsOf(pods(null, '1'), one)),
      ...(await idsOf(pods(null, '2'), one)),
    ];
    expect(ids).toHaveLength(9);
    expect(new Set(ids).size).toBe(9);
  });

  test('is one for a snapshot: a second hint about it is dropped by the queue', async () => {
    const one = open();
    const [first] = await idsOf(pods('1-1', '1'), one);
    expect(await idsOf(pods('1-1', '2'), one)).toEqual([first]);
  });

  test('is one for a notice, whichever relay sees it: a machine is taken back once', async () => {
    const [first] = await idsOf((outbox) => outbox.addSignal(signal));
    expect(await idsOf((outbox) => outbox.addSignal(signal))).toEqual([first]);
    expect(await idsOf((outbox) => outbox.addSignal({ ...signal, key: 'other' }))).not.toEqual([first]);
  });

  test('is no longer than a queue takes, however long a name is', async () => {
    const long = 'x'.repeat(253);
    const ids = [
      ...(await idsOf(object('1', long))),
      ...(await idsOf((one) => one.addSignal({ ...signal, key: long }))),
    ];
    expect(ids.map(({ length }) => length)).toEqual([22, 13]);
  });
});

describe('an outbox', () => {
  test('that is cleared forgets what was not sent, and sends what comes after', async () => {
    const { outbox, attempts, state } = open(fails);
    outbox.addObject(claim('a'), 'r', 's');
    await pass(1);
    outbox.clear();
    expect(outbox.size()).toBe(0);
    state.onAttempt = () => {};
    attempts.length = 0;
    outbox.addObject(claim('b'), 'r', 's');
    await pass(1_000);
    expect(attempts.map(({ messages }) => hintIn(messages[0]).objects)).toEqual([[claim('b')]]);
  });

  test('that is stopped takes nothing and sends nothing', async () => {
    const { outbox, attempts } = open(fails);
    outbox.addSignal(signal);
    await pass(1);
    outbox.stop();
    outbox.addObject(claim('a'), 'r', 's');
    const before = attempts.length;
    await pass(60_000);
    expect([attempts.length, outbox.size()]).toEqual([before, 1]);
  });

  test('is settled at once when nothing waits', async () => {
    let settled = false;
    void open()
      .outbox.settled(3_000)
      .then(() => (settled = true));
    await pass(0);
    expect(settled).toBe(true);
  });

  test('is settled when the last answer has come, not when the last message has left', async () => {
    const { outbox, state } = open();
    const onItsWay = Promise.withResolvers<void>();
    state.onAttempt = () => onItsWay.promise;
    outbox.addSignal(signal);
    let settled = false;
    void outbox.settled(3_000).then(() => (settled = true));
    await pass(1_000);
    // Forgotten is not answered: what is on its way still is.
    outbox.clear();
    await pass(1_000);
    expect(settled).toBe(false);
    onItsWay.resolve();
    await pass(20);
    expect(settled).toBe(true);
  });

  test('is not waited for longer than is said', async () => {
    const { outbox } = open(fails);
    outbox.addSignal(signal);
    let settled = false;
    void outbox.settled(3_000).then(() => (settled = true));
    await pass(2_990);
    expect(settled).toBe(false);
    await pass(30);
    expect(settled).toBe(true);
  });
});
