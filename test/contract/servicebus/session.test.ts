import type { ServiceBusClient, ServiceBusSender, ServiceBusSessionReceiver } from '@azure/service-bus';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LOCK_MS, type Namespace, isReal, openNamespace } from './namespace.ts';

const QUEUE = 'contract-session';
const PATIENT = { maxWaitTimeInMs: 10_000 };
const BRIEF = { maxWaitTimeInMs: isReal ? 3_000 : 150 };
/** Without automatic renewal, so that locks can run out. */
const UNRENEWED = { maxAutoLockRenewalDurationInMs: 0 };

let namespace: Namespace;
let sender: ServiceBusSender;

beforeEach(async () => {
  namespace = await openNamespace();
  sender = namespace.client.createSender(QUEUE);
});

afterEach(() => namespace.close());

/** A client that does not wait long for a session. */
function impatient(): ServiceBusClient {
  return namespace.connect({ timeoutMs: isReal ? 10_000 : 1_000 });
}

/** Takes `count` messages one by one and completes them; the answer is their bodies. */
async function drain(receiver: ServiceBusSessionReceiver, count: number): Promise<ReadonlyArray<unknown>> {
  const bodies: Array<unknown> = [];
  for (let index = 0; index < count; index++) {
    const [message] = await receiver.receiveMessages(1, PATIENT);
    if (message === undefined) throw new Error(`expected ${count} messages and got ${index}`);
    bodies.push(message.body);
    await receiver.completeMessage(message);
  }
  return bodies;
}

describe('accepting a session', () => {
  test('its messages come in order, and no others', async () => {
    const [blue, green] = [namespace.fresh('blue'), namespace.fresh('green')];
    await sender.sendMessages([
      { body: 1, sessionId: blue },
      { body: 'other', sessionId: green },
      { body: 2, sessionId: blue },
    ]);
    await sender.sendMessages({ body: 3, sessionId: blue });
    const receiver = await namespace.client.acceptSession(QUEUE, blue);
    expect(receiver.sessionId).toBe(blue);
    expect(receiver.sessionLockedUntilUtc.getTime()).toBeGreaterThan(Date.now() - 60_000);
    const [first] = await receiver.receiveMessages(1, PATIENT);
    expect(first).toMatchObject({ body: 1, sessionId: blue, deliveryCount: 0 });
    if (first !== undefined) await receiver.completeMessage(first);
    expect(await drain(receiver, 2)).toEqual([2, 3]);
    expect(await receiver.receiveMessages(1, BRIEF)).toEqual([]);
    const other = await namespace.client.acceptSession(QUEUE, green);
    expect(await drain(other, 1)).toEqual(['other']);
  });

  test('a session without messages can be accepted, and gets those that come', async () => {
    const sessionId = namespace.fresh('quiet');
    const receiver = await namespace.client.acceptSession(QUEUE, sessionId);
    const waiting = receiver.receiveMessages(1, PATIENT);
    await sender.sendMessages({ body: 'hello', sessionId });
    const [message] = await waiting;
    expect(message?.body).toBe('hello');
    if (message !== undefined) await receiver.completeMessage(message);
  });

  test('a session that somebody holds cannot be locked, until he closes it', async () => {
    const sessionId = namespace.fresh('busy');
    const receiver = await namespace.client.acceptSession(QUEUE, sessionId);
    const other = namespace.connect();
    await expect(other.acceptSession(QUEUE, sessionId)).rejects.toMatchObject({ code: 'SessionCannotBeLocked' });
    await receiver.close();
    const second = await other.acceptSession(QUEUE, sessionId);
    expect(second.sessionId).toBe(sessionId);
  });

  test('a session is free again when its holder is gone', async () => {
    const sessionId = namespace.fresh('gone');
    const holder = namespace.connect();
    await holder.acceptSession(QUEUE, sessionId);
    await holder.close();
    await expect(namespace.client.acceptSession(QUEUE, sessionId)).resolves.toMatchObject({ sessionId });
  });

  test('a message without a session id is refused, and so is a receiver without a session', async () => {
    await expect(sender.sendMessages({ body: 'lost' })).rejects.toThrow(/session/i);
    await expect(sender.scheduleMessages({ body: 'lost' }, new Date(namespace.now() + 60_000))).rejects.toThrow(
      /session/i,
    );
    await expect(namespace.client.createReceiver(QUEUE).receiveMessages(1, BRIEF)).rejects.toThrow(/session/i);
  });

  test('a queue without sessions refuses to lock one', async () => {
    await expect(namespace.client.acceptSession('contract-plain', 'any')).rejects.toThrow();
  });
});

describe('accepting the next session', () => {
  test('each receiver gets a session of its own', async () => {
    const ids = [namespace.fresh('one'), namespace.fresh('two')];
    for (const sessionId of ids) await sender.sendMessages({ body: sessionId, sessionId });
    const receivers = [
      await namespace.client.acceptNextSession(QUEUE),
      await namespace.client.acceptNextSession(QUEUE),
    ];
    expect(receivers.map(({ sessionId }) => sessionId).toSorted()).toEqual(ids.toSorted());
    for (const receiver of receivers) expect(await drain(receiver, 1)).toEqual([receiver.sessionId]);
  });

  test('a receiver that waits gets a session when its first message comes', async () => {
    const sessionId = namespace.fresh('late');
    const waiting = namespace.client.acceptNextSession(QUEUE);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await sender.sendMessages({ body: 'here', sessionId });
    const receiver = await waiting;
    expect(receiver.sessionId).toBe(sessionId);
    expect(await drain(receiver, 1)).toEqual(['here']);
  });

  test('a receiver that waits gets the session that another one gives back', async () => {
    const sessionId = namespace.fresh('passed on');
    await sender.sendMessages({ body: 'baton', sessionId });
    const first = await namespace.client.acceptSession(QUEUE, sessionId);
    const waiting = namespace.connect().acceptNextSession(QUEUE);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await first.close();
    const second = await waiting;
    expect(await drain(second, 1)).toEqual(['baton']);
  });

  test('without any session in time it is a timeout', async () => {
    await expect(impatient().acceptNextSession(QUEUE)).rejects.toMatchObject({ code: 'ServiceTimeout' });
  });

  test('a session whose messages are all scheduled or deferred is not offered', async () => {
    const sessionId = namespace.fresh('hidden');
    await sender.sendMessages([
      { body: 'aside', sessionId },
      { body: 'tomorrow', sessionId, scheduledEnqueueTimeUtc: new Date(namespace.now() + 10_000) },
    ]);
    const receiver = await namespace.client.acceptNextSession(QUEUE);
    const [message] = await receiver.receiveMessages(1, PATIENT);
    if (message?.sequenceNumber === undefined) throw new Error('expected a message');
    await receiver.deferMessage(message);
    await receiver.close();
    await expect(impatient().acceptNextSession(QUEUE)).rejects.toMatchObject({ code: 'ServiceTimeout' });
    await namespace.pass(10_001);
    const again = await namespace.client.acceptNextSession(QUEUE);
    expect(again.sessionId).toBe(sessionId);
    expect(await drain(again, 1)).toEqual(['tomorrow']);
    const [deferred] = await again.receiveDeferredMessages(message.sequenceNumber);
    if (deferred === undefined) throw new Error('a deferred message of a held session can be received');
    expect(deferred.body).toBe('aside');
    await again.completeMessage(deferred);
  });
});

describe('holding a session', () => {
  test('a renewed session lock lasts longer', async () => {
    const sessionId = namespace.fresh('long');
    await sender.sendMessages({ body: 'slow', sessionId });
    const receiver = await namespace.client.acceptSession(QUEUE, sessionId, UNRENEWED);
    const [message] = await receiver.receiveMessages(1, PATIENT);
    await namespace.pass(LOCK_MS * 0.6);
    const before = receiver.sessionLockedUntilUtc.getTime();
    expect((await receiver.renewSessionLock()).getTime()).toBeGreaterThan(before);
    await namespace.pass(LOCK_MS * 0.6);
    if (message !== undefined) await receiver.completeMessage(message);
    expect(message?.body).toBe('slow');
  });

  test('when its lock runs out the session goes to the next one, its open messages with one more delivery', async () => {
    const sessionId = namespace.fresh('stuck');
    await sender.sendMessages([
      { body: 1, sessionId },
      { body: 2, sessionId },
    ]);
    const stuck = await namespace.client.acceptSession(QUEUE, sessionId, UNRENEWED);
    const [held] = await stuck.receiveMessages(1, PATIENT);
    if (held === undefined) throw new Error('expected a message');
    await namespace.pass(LOCK_MS + 1);
    // The answer to this comes behind the news that the lock is lost, so the client knows by then.
    await expect(stuck.renewSessionLock()).rejects.toMatchObject({ code: 'SessionLockLost' });
    await expect(stuck.completeMessage(held)).rejects.toMatchObject({ code: 'SessionLockLost' });
    const next = await namespace.connect().acceptSession(QUEUE, sessionId);
    const [again] = await next.receiveMessages(1, PATIENT);
    expect(again).toMatchObject({ body: 1, deliveryCount: 1 });
    if (again !== undefined) await next.completeMessage(again);
    expect(await drain(next, 1)).toEqual([2]);
  });

  test('closing a session gives its open messages back, in order and without counting a delivery', async () => {
    const sessionId = namespace.fresh('handed back');
    await sender.sendMessages([1, 2, 3].map((body) => ({ body, sessionId })));
    const first = await namespace.client.acceptSession(QUEUE, sessionId);
    expect(await first.receiveMessages(2, PATIENT)).toHaveLength(2);
    await first.close();
    const second = await namespace.client.acceptSession(QUEUE, sessionId);
    const [message] = await second.receiveMessages(1, PATIENT);
    expect(message).toMatchObject({ body: 1, deliveryCount: 0 });
    if (message !== undefined) await second.completeMessage(message);
    expect(await drain(second, 2)).toEqual([2, 3]);
  });
});

describe('what belongs to a session', () => {
  test('an abandoned message comes again before the rest of its session', async () => {
    const sessionId = namespace.fresh('order');
    await sender.sendMessages([1, 2].map((body) => ({ body, sessionId })));
    const receiver = await namespace.client.acceptSession(QUEUE, sessionId);
    const [message] = await receiver.receiveMessages(1, PATIENT);
    if (message !== undefined) await receiver.abandonMessage(message);
    expect(await drain(receiver, 2)).toEqual([1, 2]);
  });

  test('the state of a session outlives its holders, and null removes it', async () => {
    const sessionId = namespace.fresh('stateful');
    const first = await namespace.client.acceptSession(QUEUE, sessionId);
    expect(await first.getSessionState()).toBeNull();
    await first.setSessionState({ generation: 7 });
    await first.close();
    const second = await namespace.connect().acceptSession(QUEUE, sessionId);
    expect(await second.getSessionState()).toEqual({ generation: 7 });
    await second.setSessionState(null);
    expect(await second.getSessionState()).toBeNull();
  });

  test('dead letters of a session queue are read without a session', async () => {
    const sessionId = namespace.fresh('poisoned');
    await sender.sendMessages({ body: 'bad', sessionId });
    const receiver = await namespace.client.acceptSession(QUEUE, sessionId);
    const [message] = await receiver.receiveMessages(1, PATIENT);
    if (message !== undefined) await receiver.deadLetterMessage(message);
    const deadLetters = namespace.client.createReceiver(QUEUE, { subQueueType: 'deadLetter' });
    const [dead] = await deadLetters.receiveMessages(1, PATIENT);
    expect(dead).toMatchObject({ body: 'bad', sessionId });
    if (dead !== undefined) await deadLetters.completeMessage(dead);
    expect(await deadLetters.receiveMessages(1, BRIEF)).toEqual([]);
  });

  test('many receivers empty many sessions, each in order and nothing twice', async () => {
    const ids = Array.from({ length: 12 }, (_, index) => namespace.fresh(`s${index}`));
    await sender.sendMessages(ids.flatMap((sessionId) => [0, 1, 2, 3].map((body) => ({ body, sessionId }))));
    const seen = new Map<string, ReadonlyArray<unknown>>();
    const work = async (): Promise<void> => {
      const client = impatient();
      while (seen.size < ids.length) {
        const receiver = await client.acceptNextSession(QUEUE).catch(() => null);
        // Nothing in time: the others have taken the rest.
        if (receiver === null) return;
        expect(seen.has(receiver.sessionId)).toBe(false);
        seen.set(receiver.sessionId, await drain(receiver, 4));
        await receiver.close();
      }
    };
    await Promise.all([work(), work(), work()]);
    expect([...seen.keys()].toSorted()).toEqual(ids.toSorted());
    for (const bodies of seen.values()) expect(bodies).toEqual([0, 1, 2, 3]);
  });
});
