import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RetryOptions, ServiceBusClient } from '@azure/service-bus';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type Broker, startBroker } from '../../../sandbox/servicebus/broker.ts';
import type { FaultSettings } from '../../../sandbox/servicebus/amqp/faults.ts';
import { VirtualClock, systemClock } from '../../../sandbox/base/clock.ts';
import { rngFrom } from '../../../sandbox/base/rng.ts';
import type { QueueSettings } from '../../../shared/contract/messages/queues.ts';

/** Rules of the double alone: failures on purpose, and what needs real time. */
const base = { maxDeliveryCount: 10, lockDurationMs: 60_000, duplicateDetectionWindowMs: 600_000 };
const queues: ReadonlyArray<QueueSettings> = [
  { ...base, name: 'plain', requiresSession: false },
  { ...base, name: 'session', requiresSession: true },
  { ...base, name: 'brief', requiresSession: false, lockDurationMs: 1_000 },
];
const PATIENT = { maxWaitTimeInMs: 10_000 };

const open: Array<() => Promise<void>> = [];

afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

async function brokerWith(faults: Partial<FaultSettings> = {}): Promise<Broker> {
  const settings = { rng: rngFrom('seed'), duplicatePercent: 0, dropPercent: 0, slowDrains: 0, ...faults };
  const broker = await startBroker({ port: 0, queues, dataFolder: null, clock: systemClock, faults: settings });
  open.push(() => broker.close());
  return broker;
}

function clientOf(
  broker: Broker,
  retryOptions: RetryOptions = { maxRetries: 0, timeoutInMs: 20_000 },
): ServiceBusClient {
  const client = new ServiceBusClient(broker.connectionString, { retryOptions });
  open.push(() => client.close());
  return client;
}

/** Completes everything in `plain`; the answer is the bodies in the order they came. */
async function completeAll(broker: Broker): Promise<ReadonlyArray<unknown>> {
  const receiver = clientOf(broker).createReceiver('plain');
  const bodies: Array<unknown> = [];
  while (broker.stats('plain').active > 0) {
    const [message] = await receiver.receiveMessages(1, PATIENT);
    if (message === undefined) throw new Error('expected a message');
    bodies.push(message.body);
    await receiver.completeMessage(message);
  }
  return bodies;
}

async function bodiesWithDuplicates(seed: string, duplicatePercent: number): Promise<ReadonlyArray<unknown>> {
  const broker = await brokerWith({ rng: rngFrom(seed), duplicatePercent });
  await clientOf(broker)
    .createSender('plain')
    .sendMessages(Array.from({ length: 20 }, (_, body) => ({ body, messageId: String(body) })));
  return completeAll(broker);
}

describe('completions that get lost', () => {
  test('bring their message once more, and once only', async () => {
    const bodies = await bodiesWithDuplicates('any', 100);
    expect(bodies).toHaveLength(40);
    expect(new Set(bodies).size).toBe(20);
  });

  test('are the same ones for the same seed', async () => {
    const first = await bodiesWithDuplicates('a', 30);
    expect(await bodiesWithDuplicates('a', 30)).toEqual(first);
    expect(await bodiesWithDuplicates('b', 30)).not.toEqual(first);
    expect(first.length).toBeGreaterThan(20);
    expect(first.length).toBeLessThan(40);
  });
});

describe('connections that break', () => {
  test('after a send that was kept: the sender tries again and duplicate detection drops the second one', async () => {
    const broker = await brokerWith({ dropPercent: 40 });
    const sender = clientOf(broker, { maxRetries: 20, retryDelayInMs: 1, timeoutInMs: 500 }).createSender('plain');
    for (let body = 0; body < 5; body++) await sender.sendMessages({ body, messageId: String(body) });
    expect(broker.stats('plain').active).toBe(5);
  });

  test('while a session is held: the session is free at once for another receiver', async () => {
    const broker = await brokerWith();
    await clientOf(broker).createSender('session').sendMessages({ body: 'work', sessionId: 's' });
    const holder = await clientOf(broker).acceptSession('session', 's');
    expect(await holder.receiveMessages(1, PATIENT)).toHaveLength(1);
    expect(broker.stats('session')).toMatchObject({ active: 0, locked: 1, lockedSessions: 1 });
    broker.dropConnections();
    const next = await clientOf(broker).acceptNextSession('session');
    const [message] = await next.receiveMessages(1, PATIENT);
    expect(message).toMatchObject({ body: 'work', deliveryCount: 0 });
  });

  test('while a stream runs: it goes on when the client has connected again', async () => {
    const broker = await brokerWith();
    const client = clientOf(broker, { maxRetries: 10, retryDelayInMs: 10, timeoutInMs: 2_000 });
    let next = Promise.withResolvers<unknown>();
    client.createReceiver('plain').subscribe({
      processMessage: ({ body }) => Promise.resolve(next.resolve(body)),
      processError: () => Promise.resolve(),
    });
    await clientOf(broker).createSender('plain').sendMessages({ body: 'before', messageId: '1' });
    expect(await next.promise).toBe('before');
    next = Promise.withResolvers();
    broker.dropConnections();
    await clientOf(broker).createSender('plain').sendMessages({ body: 'after', messageId: '2' });
    expect(await next.promise).toBe('after');
  });

  test('a client that closes while it waits for a session does not get one later', async () => {
    const broker = await brokerWith();
    const gone = clientOf(broker);
    const waiting = gone.acceptNextSession('session').catch(() => 'nothing');
    await new Promise((resolve) => setTimeout(resolve, 100));
    await gone.close();
    void waiting;
    const patient = clientOf(broker);
    const next = patient.acceptNextSession('session');
    await patient.createSender('session').sendMessages({ body: 1, sessionId: 's' });
    expect((await next).sessionId).toBe('s');
  });
});

describe('a broker that was closed', () => {
  test('has its messages when it starts again on its folder, and the old one stirs no more', async () => {
    const dataFolder = await mkdtemp(join(tmpdir(), 'servicebus-'));
    open.push(() => rm(dataFolder, { recursive: true, force: true }));
    const clock = new VirtualClock(Date.now());
    const first = await startBroker({ port: 0, queues, dataFolder, clock });
    const client = clientOf(first);
    await client.createSender('brief').sendMessages([
      { body: 1, messageId: '1' },
      { body: 2, messageId: '2' },
    ]);
    expect(await client.createReceiver('brief').receiveMessages(1, PATIENT)).toHaveLength(1);
    await client.close();
    await first.close();
    clock.advance(10_000);
    const second = await startBroker({ port: first.port, queues, dataFolder, clock });
    open.push(() => second.close());
    clock.advance(10_000);
    expect(second.stats('brief')).toMatchObject({ active: 2, locked: 0 });
  });

  test('whose port is taken leaves the folder alone', async () => {
    const dataFolder = await mkdtemp(join(tmpdir(), 'servicebus-'));
    open.push(() => rm(dataFolder, { recursive: true, force: true }));
    const options = { queues, dataFolder, clock: systemClock };
    const first = await startBroker({ ...options, port: 0 });
    await expect(startBroker({ ...options, port: first.port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    const client = clientOf(first);
    await client.createSender('plain').sendMessages({ body: 'kept' });
    await client.close();
    await first.close();
    const second = await startBroker({ ...options, port: 0 });
    open.push(() => second.close());
    expect(second.stats('plain').active).toBe(1);
  });
});

describe('in real time', () => {
  test('the client renews the lock of a message while it is worked on', async () => {
    const broker = await brokerWith();
    const client = clientOf(broker);
    await client.createSender('brief').sendMessages({ body: 'long work' });
    const deliveries: Array<number | undefined> = [];
    await new Promise<void>((resolve, reject) => {
      client.createReceiver('brief').subscribe({
        async processMessage({ deliveryCount }) {
          deliveries.push(deliveryCount);
          await new Promise((done) => setTimeout(done, 2_500));
          resolve();
        },
        processError: ({ error }) => Promise.resolve(reject(error)),
      });
    });
    await expect.poll(() => broker.stats('brief')).toMatchObject({ active: 0, locked: 0 });
    expect(deliveries).toEqual([0]);
  });

  test('an idle broker sleeps', async () => {
    const intervals = vi.spyOn(globalThis, 'setInterval');
    const broker = await brokerWith();
    const client = clientOf(broker);
    client.createReceiver('plain').subscribe({
      processMessage: () => Promise.resolve(),
      processError: () => Promise.resolve(),
    });
    await client.createSender('plain').sendMessages({ body: 1 });
    await expect.poll(() => broker.stats('plain')).toMatchObject({ active: 0, locked: 0 });
    const timers = (['setTimeout', 'setImmediate'] as const).map((name) => vi.spyOn(globalThis, name));
    await sleep(500);
    // There may be some of the connections' heartbeats; who polls starts a timer each time, or one that goes on.
    const started = timers.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    const lasting = intervals.mock.calls.length;
    vi.restoreAllMocks();
    expect(lasting).toBe(0);
    expect(started).toBeLessThan(5);
  });
});
