import type { ServiceBusReceivedMessage, ServiceBusReceiver, ServiceBusSender } from '@azure/service-bus';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LOCK_MS, type Namespace, WINDOW_MS, isReal, openNamespace } from './namespace.ts';

const QUEUE = 'contract-plain';
/** Long enough for a slow machine; a receiver that gets what it asked for returns earlier. */
const PATIENT = { maxWaitTimeInMs: 10_000 };
/** For a receiver that expects nothing. */
const BRIEF = { maxWaitTimeInMs: isReal ? 3_000 : 150 };

let namespace: Namespace;
let sender: ServiceBusSender;
let receiver: ServiceBusReceiver;

beforeEach(async () => {
  namespace = await openNamespace();
  sender = namespace.client.createSender(QUEUE);
  // Without automatic renewal, so that locks can run out.
  receiver = namespace.client.createReceiver(QUEUE, { maxAutoLockRenewalDurationInMs: 0 });
});

afterEach(() => namespace.close());

async function receiveOne(from: ServiceBusReceiver = receiver): Promise<ServiceBusReceivedMessage> {
  const [message] = await from.receiveMessages(1, PATIENT);
  if (message === undefined) throw new Error('expected a message and got none');
  return message;
}

function deadLetters(): ServiceBusReceiver {
  return namespace.client.createReceiver(QUEUE, { subQueueType: 'deadLetter' });
}

describe('sending', () => {
  test('a message arrives with its body, its properties and what the broker adds', async () => {
    const before = Date.now() - 60_000;
    await sender.sendMessages({
      body: { pods: ['a', 'b'], count: 2 },
      messageId: 'hint-1',
      correlationId: 'c-1',
      subject: 'pods.pending',
      contentType: 'application/json',
      to: 'somewhere',
      replyTo: 'someone',
      applicationProperties: { cluster: 'blue', attempt: 3, urgent: true },
    });
    const message = await receiveOne();
    expect(message).toMatchObject({
      body: { pods: ['a', 'b'], count: 2 },
      messageId: 'hint-1',
      correlationId: 'c-1',
      subject: 'pods.pending',
      contentType: 'application/json',
      to: 'somewhere',
      replyTo: 'someone',
      applicationProperties: { cluster: 'blue', attempt: 3, urgent: true },
      deliveryCount: 0,
      state: 'active',
    });
    expect(message.enqueuedTimeUtc?.getTime()).toBeGreaterThan(before);
    expect(message.lockedUntilUtc?.getTime()).toBeGreaterThan(before);
    expect(message.sequenceNumber?.toNumber()).toBeGreaterThan(0);
    expect(message.lockToken).toMatch(/^[0-9a-f-]{36}$/);
    await receiver.completeMessage(message);
  });

  test('a message without an id gets one', async () => {
    await sender.sendMessages({ body: 'anonymous' });
    const message = await receiveOne();
    expect(String(message.messageId)).not.toBe('');
    expect(message.messageId).toBeDefined();
  });

  test('an array and a filled batch arrive whole and in order', async () => {
    await sender.sendMessages([{ body: 0 }, { body: 1 }, { body: 2 }]);
    const batch = await sender.createMessageBatch();
    for (const body of [3, 4]) expect(batch.tryAddMessage({ body })).toBe(true);
    await sender.sendMessages(batch);
    const bodies: Array<unknown> = [];
    for (let index = 0; index < 5; index++) {
      const message = await receiveOne();
      bodies.push(message.body);
      await receiver.completeMessage(message);
    }
    expect(bodies).toEqual([0, 1, 2, 3, 4]);
  });

  test('bytes arrive as bytes, and a message of many frames arrives whole', async () => {
    const body = Buffer.alloc(200_000, 7);
    await sender.sendMessages({ body });
    const [message] = await receiver.receiveMessages(1, PATIENT);
    expect(body.equals(message?.body)).toBe(true);
  });

  test('a message above 256 KB is refused', async () => {
    await expect(sender.sendMessages({ body: 'x'.repeat(300_000) })).rejects.toMatchObject({
      code: 'MessageSizeExceeded',
    });
  });

  test('a queue that is not declared is not found, by senders and by receivers', async () => {
    const notFound = { code: 'MessagingEntityNotFound' };
    await expect(namespace.client.createSender('nowhere').sendMessages({ body: 1 })).rejects.toMatchObject(notFound);
    await expect(namespace.client.createReceiver('nowhere').receiveMessages(1)).rejects.toMatchObject(notFound);
  });
});

describe('receiving', () => {
  test('an empty queue gives nothing, and the receiver is good for the next message', async () => {
    expect(await receiver.receiveMessages(5, BRIEF)).toEqual([]);
    await sender.sendMessages({ body: 'later' });
    expect((await receiveOne()).body).toBe('later');
  });

  test('a receiver that waits gets a message when it comes', async () => {
    const waiting = receiver.receiveMessages(1, PATIENT);
    await sender.sendMessages({ body: 'come' });
    expect((await waiting).map(({ body }) => body as unknown)).toEqual(['come']);
  });

  test('a locked message is hidden from other receivers, and completing it removes it', async () => {
    await sender.sendMessages({ body: 'only' });
    const message = await receiveOne();
    const other = namespace.connect().createReceiver(QUEUE);
    expect(await other.receiveMessages(1, BRIEF)).toEqual([]);
    await receiver.completeMessage(message);
    await namespace.pass(LOCK_MS + 1);
    expect(await other.receiveMessages(1, BRIEF)).toEqual([]);
  });
});

describe('locks', () => {
  test('an abandoned message comes back at once with one more delivery and the changed properties', async () => {
    await sender.sendMessages({ body: 'again', applicationProperties: { kept: 'yes' } });
    await receiver.abandonMessage(await receiveOne(), { why: 'not now' });
    const message = await receiveOne();
    expect(message.deliveryCount).toBe(1);
    expect(message.applicationProperties).toEqual({ kept: 'yes', why: 'not now' });
    await receiver.completeMessage(message);
  });

  test('an abandoned message comes before those that were sent after it', async () => {
    await sender.sendMessages([{ body: 'first' }, { body: 'second' }]);
    await receiver.abandonMessage(await receiveOne());
    expect((await receiveOne()).body).toBe('first');
  });

  test('a message whose lock ran out comes back with one more delivery, and the old lock is lost', async () => {
    await sender.sendMessages({ body: 'slow' });
    const first = await receiveOne();
    await namespace.pass(LOCK_MS + 1);
    await expect(receiver.completeMessage(first)).rejects.toMatchObject({ code: 'MessageLockLost' });
    const second = await receiveOne();
    expect(second.deliveryCount).toBe(1);
    expect(second.lockToken).not.toBe(first.lockToken);
    await receiver.completeMessage(second);
  });

  test('a renewed lock lasts longer; a lost one cannot be renewed', async () => {
    await sender.sendMessages({ body: 'long' });
    const message = await receiveOne();
    const before = message.lockedUntilUtc?.getTime() ?? 0;
    await namespace.pass(LOCK_MS * 0.6);
    const until = await receiver.renewMessageLock(message);
    expect(until.getTime()).toBeGreaterThan(before);
    await namespace.pass(LOCK_MS * 0.6);
    await receiver.completeMessage(message);
    await expect(receiver.renewMessageLock(message)).rejects.toMatchObject({ code: 'MessageLockLost' });
  });

  test('a message deleted on receipt is gone', async () => {
    await sender.sendMessages([{ body: 1 }, { body: 2 }]);
    const deleting = namespace.client.createReceiver(QUEUE, { receiveMode: 'receiveAndDelete' });
    const messages = await deleting.receiveMessages(2, isReal ? PATIENT : { maxWaitTimeInMs: 300 });
    expect(messages.map(({ body }) => body as unknown)).toEqual([1, 2]);
    await deleting.close();
    await namespace.pass(LOCK_MS + 1);
    expect(await receiver.receiveMessages(1, BRIEF)).toEqual([]);
  });

  test('a message can be completed after its receiver was closed', async () => {
    await sender.sendMessages({ body: 'orphan' });
    const message = await receiveOne();
    await receiver.close();
    const other = namespace.client.createReceiver(QUEUE);
    await other.completeMessage(message);
    await namespace.pass(LOCK_MS + 1);
    expect(await other.receiveMessages(1, BRIEF)).toEqual([]);
  });
});

describe('many messages', () => {
  test('peeking shows messages, locked and scheduled ones too, and takes none', async () => {
    await sender.sendMessages([{ body: 'locked' }, { body: 'free' }]);
    await sender.scheduleMessages({ body: 'scheduled' }, new Date(namespace.now() + 3_600_000));
    const locked = await receiveOne();
    const peeked = await receiver.peekMessages(10);
    expect(peeked.map(({ body, state }) => [body as unknown, state])).toEqual([
      ['locked', 'active'],
      ['free', 'active'],
      ['scheduled', 'scheduled'],
    ]);
    expect(peeked[0]?.lockToken).toBeUndefined();
    await receiver.completeMessage(locked);
    // A client goes on peeking where it stopped, so what is left is seen by another one.
    expect(await namespace.connect().createReceiver(QUEUE).peekMessages(10)).toHaveLength(2);
    await sender.cancelScheduledMessages(peeked[2]?.sequenceNumber ?? []);
  });

  test('streaming takes thousands of messages over one link', async () => {
    const total = 5_000;
    const send = Array.from({ length: total }, (_, body) => ({ body }));
    for (let from = 0; from < total; from += 1_000) await sender.sendMessages(send.slice(from, from + 1_000));
    const seen = new Set<unknown>();
    await new Promise<void>((resolve, reject) => {
      receiver.subscribe(
        {
          processMessage: ({ body }) => {
            seen.add(body);
            if (seen.size === total) resolve();
            return Promise.resolve();
          },
          processError: ({ error }) => {
            reject(error);
            return Promise.resolve();
          },
        },
        { maxConcurrentCalls: 32 },
      );
    });
    expect(seen.size).toBe(total);
  });
});

describe('dead letters', () => {
  test('a dead-lettered message keeps its content and tells reason, description and source', async () => {
    await sender.sendMessages({ body: 'bad', messageId: 'm', applicationProperties: { kept: 1 } });
    await receiver.deadLetterMessage(await receiveOne(), {
      deadLetterReason: 'unreadable',
      deadLetterErrorDescription: 'no such kind',
      function: 'provision',
    });
    const from = deadLetters();
    const message = await receiveOne(from);
    expect(message).toMatchObject({ body: 'bad', messageId: 'm', deadLetterReason: 'unreadable' });
    expect(message.deadLetterErrorDescription).toBe('no such kind');
    expect(message.applicationProperties).toMatchObject({ kept: 1, function: 'provision' });
    await from.completeMessage(message);
    expect(await from.receiveMessages(1, BRIEF)).toEqual([]);
  });

  test('a message that fails as often as the queue allows is dead-lettered for it', async () => {
    await sender.sendMessages({ body: 'poison' });
    for (const count of [0, 1, 2]) {
      const message = await receiveOne();
      expect(message.deliveryCount).toBe(count);
      await receiver.abandonMessage(message);
    }
    expect(await receiver.receiveMessages(1, BRIEF)).toEqual([]);
    const from = deadLetters();
    const message = await receiveOne(from);
    expect(message).toMatchObject({ body: 'poison', deadLetterReason: 'MaxDeliveryCountExceeded' });
    await from.completeMessage(message);
  });

  test('lost locks count towards the limit', async () => {
    await sender.sendMessages({ body: 'crasher' });
    for (let delivery = 0; delivery < 3; delivery++) {
      await receiveOne();
      await namespace.pass(LOCK_MS + 1);
    }
    expect(await receiveOne(deadLetters())).toMatchObject({ deadLetterReason: 'MaxDeliveryCountExceeded' });
  });
});

describe('deferring and scheduling', () => {
  test('a deferred message comes by its number only, and is settled as any other', async () => {
    await sender.sendMessages({ body: 'aside' });
    const message = await receiveOne();
    const number = message.sequenceNumber;
    if (number === undefined) throw new Error('a received message has a sequence number');
    await receiver.deferMessage(message);
    expect(await receiver.receiveMessages(1, BRIEF)).toEqual([]);
    const [deferred] = await receiver.receiveDeferredMessages(number);
    expect(deferred).toMatchObject({ body: 'aside', state: 'deferred' });
    if (deferred === undefined) return;
    await receiver.abandonMessage(deferred);
    const [again] = await receiver.receiveDeferredMessages(number);
    if (again === undefined) throw new Error('an abandoned deferred message stays deferred');
    await receiver.completeMessage(again);
    await expect(receiver.receiveDeferredMessages(number)).rejects.toMatchObject({ code: 'MessageNotFound' });
  });

  test('a scheduled message comes when its time has come and not before, by either way of scheduling', async () => {
    const at = new Date(namespace.now() + 10_000);
    await sender.sendMessages({ body: 'by property', scheduledEnqueueTimeUtc: at });
    await sender.scheduleMessages({ body: 'by request' }, at);
    expect(await receiver.receiveMessages(1, BRIEF)).toEqual([]);
    await namespace.pass(10_001);
    const messages = [await receiveOne(), await receiveOne()];
    expect(messages.map(({ body }) => body as unknown)).toEqual(['by property', 'by request']);
    expect(messages[0]?.scheduledEnqueueTimeUtc?.getTime()).toBe(at.getTime());
  });

  test('a cancelled schedule delivers nothing and cannot be cancelled twice', async () => {
    const numbers = await sender.scheduleMessages([{ body: 1 }, { body: 2 }], new Date(namespace.now() + 5_000));
    expect(numbers).toHaveLength(2);
    await sender.cancelScheduledMessages(numbers);
    await namespace.pass(5_001);
    expect(await receiver.receiveMessages(1, BRIEF)).toEqual([]);
    await expect(sender.cancelScheduledMessages(numbers)).rejects.toMatchObject({ code: 'MessageNotFound' });
  });
});

describe('duplicate detection', () => {
  test('a second message with the same id is accepted and dropped within the window, and delivered after it', async () => {
    const unique = namespace.client.createSender('contract-unique');
    const from = namespace.client.createReceiver('contract-unique', { maxAutoLockRenewalDurationInMs: 0 });
    const messageId = namespace.fresh('hint');
    await unique.sendMessages({ body: 1, messageId });
    await from.completeMessage(await receiveOne(from));
    await unique.sendMessages([
      { body: 2, messageId },
      { body: 3, messageId: namespace.fresh('other') },
    ]);
    const next = await receiveOne(from);
    expect(next.body).toBe(3);
    await from.completeMessage(next);
    await namespace.pass(WINDOW_MS + 1);
    await unique.sendMessages({ body: 4, messageId });
    expect((await receiveOne(from)).body).toBe(4);
  });
});
