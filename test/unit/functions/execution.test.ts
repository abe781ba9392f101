import { join } from 'node:path';
import { expect, test } from 'vitest';
import { deliverObjectsTo } from '../../../functions/deliver/deliver-objects.ts';
import { ACTING_MS, TELLING_MS, withinTime } from '../../../functions/execution.ts';
import { readHostJson } from '../../../sandbox/functions-host/settings/host-json.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import { podsQueue } from '../../../shared/contract/messages/queues.ts';
import type { ObjectsHint } from '../../../shared/contract/messages/messages.ts';
import { RetryableError } from '../../../shared/ports/errors.ts';
import { namesIn, smallCluster } from '../../kit/app/small-cluster.ts';

const hung = <Answer>(): Promise<Answer> => new Promise<Answer>(() => {});
const context = { functionName: 'follow', invocationId: 'i', info: () => undefined, error: () => undefined };

const log = (): void => undefined;

/** A worker over a small cluster, whose clock the test turns; `change` puts something in the place of its ports. */
function worker(change: (ports: Ports) => Partial<Ports> = () => ({})) {
  const cluster = smallCluster();
  const ports = { ...cluster.ports, ...change(cluster.ports) };
  const app = {
    cluster: ports.cluster,
    hints: cluster.ports.hints,
    ports: () => Promise.resolve(ports),
    poison: () => Promise.resolve(),
  };
  const { clock } = cluster;
  let timers = 0;
  const after = (ms: number, act: () => void): (() => void) => {
    timers += 1;
    const cancel = clock.after(ms, act);
    return () => {
      timers -= 1;
      cancel();
    };
  };
  return { ...cluster, worker: { app, now: () => clock.now(), after }, timers: () => timers };
}

/** Lets all that can go on go on. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('an execution ends before the host would end its worker, and before the lock of its session is lost', async () => {
  const { functionTimeoutMs } = await readHostJson(join(import.meta.dirname, '../../..'));
  expect(ACTING_MS).toBeLessThan(TELLING_MS);
  // Ten seconds are left to settle the messages of a batch.
  expect(TELLING_MS + 10_000).toBeLessThan(functionTimeoutMs ?? Infinity);
  expect(TELLING_MS + 10_000).toBeLessThan(podsQueue.lockDurationMs);
});

test('who waits for something outside when the time is over is told so, and nothing is asked afterwards', async () => {
  let asked = 0;
  const { worker: one, clock } = worker(({ kubernetes }) => ({
    kubernetes: {
      ...kubernetes,
      serverVersion: () => {
        asked += 1;
        return hung();
      },
    },
  }));
  const outcomes: Array<unknown> = [];
  const over = withinTime(one, async ({ app }) => {
    const { kubernetes } = await app.ports(log);
    for (let call = 0; call < 2; call++)
      await kubernetes.serverVersion().catch((error: unknown) => outcomes.push(error));
  });
  await settle();
  clock.advance(ACTING_MS - 1);
  await settle();
  expect(outcomes).toEqual([]);
  clock.advance(1);
  await over;
  expect(outcomes).toEqual([expect.any(RetryableError), expect.any(RetryableError)]);
  expect(asked).toBe(1);
});

test('an execution whose connection to the outside hangs ends all the same', async () => {
  const { worker: one, clock } = worker();
  const waits = { ...one, app: { ...one.app, ports: () => hung<Ports>() } };
  const over = withinTime(waits, ({ app }) => app.ports(log));
  clock.advance(ACTING_MS);
  await expect(over).rejects.toThrow('not done within 240 s');
});

test('a broker that hangs keeps an execution from putting off what was not done: it ends, and the queue has the message back', async () => {
  const { worker: one, clock } = worker();
  const waits = { ...one, app: { ...one.app, ports: () => hung<Ports>(), hints: { send: () => hung<void>() } } };
  const message = { kind: 'objects', version: 1, cluster: 'small', objects: [], reason: 'test' };
  const objects = [{ kind: 'NodeClaim', name: 'a' }];
  const delivered = deliverObjectsTo(waits, context, { ...message, objects });
  clock.advance(ACTING_MS);
  await settle();
  clock.advance(TELLING_MS - ACTING_MS);
  await expect(delivered).rejects.toThrow('not done within 285 s');
});

test('of an execution that is done in time nothing is left', async () => {
  const { worker: one, timers } = worker();
  const answer = await withinTime(one, async ({ app }) => (await app.ports(log)).kubernetes.serverVersion());
  expect([typeof answer, timers()]).toEqual(['string', 0]);
});

test('of the objects of a message that is not done in time those that hang are put off, and the others are moved', async () => {
  const {
    worker: one,
    addClass,
    addClaim,
    azure,
    sent,
    clock,
  } = worker(({ kubernetes }) => ({
    kubernetes: {
      ...kubernetes,
      get: (kind, key) => (key.name === 'hangs' ? hung() : kubernetes.get(kind, key)),
    },
  }));
  addClass('True');
  for (const name of ['hangs', 'moves']) addClaim(name);
  const objects = ['hangs', 'moves'].map((name) => ({ kind: 'NodeClaim' as const, name }));
  const message: ObjectsHint = { kind: 'objects', version: 1, cluster: 'small', objects, reason: 'test' };
  const delivered = deliverObjectsTo(one, context, message);
  await settle();
  expect(azure.orders.map(({ claim }) => claim)).toEqual(['moves']);
  clock.advance(ACTING_MS);
  await delivered;
  const putOff = sent.filter(({ hint }) => hint.attempt !== undefined);
  expect(putOff.map(({ hint }) => [namesIn(hint), hint.attempt])).toEqual([[['hangs'], 1]]);
});
