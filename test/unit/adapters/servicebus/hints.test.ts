import type { ServiceBusClient } from '@azure/service-bus';
import { expect, test } from 'vitest';
import { createHints } from '../../../../shared/adapters/servicebus/hints.ts';
import { OBJECTS_MAX, parsePodsHint, type ObjectsHint } from '../../../../shared/contract/messages/messages.ts';
import type { Hints } from '../../../../shared/ports/hints.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';

const body = { kind: 'pods', version: 1, cluster: 'c', snapshot: null, reason: 'sweep', attempt: 0 };
const hint = { hint: parsePodsHint(body), atMs: null, key: 'k' };

test('a connection that fails once is tried again by the next hint', async () => {
  const sent: Array<unknown> = [];
  const sender = { sendMessages: (some: unknown) => Promise.resolve(void sent.push(some)) };
  let connects = 0;
  const hints = createHints(async () => {
    connects += 1;
    if (connects === 1) throw new Error('no token yet');
    return { createSender: () => sender } as unknown as ServiceBusClient;
  });
  await expect(hints.send([hint])).rejects.toBeInstanceOf(RetryableError);
  await hints.send([hint]);
  await hints.send([hint]);
  expect(sent).toHaveLength(2);
});

interface Sent {
  readonly queue: string;
  readonly messages: ReadonlyArray<Readonly<Record<string, unknown>>>;
}

/** Hints over queues whose requests take `size` messages; those of `refusing` take none. */
function sending(size: number, refusing = '') {
  const sent: Array<Sent> = [];
  const senders: Array<string> = [];
  const createSender = (queue: string) => {
    senders.push(queue);
    return {
      createMessageBatch: () => {
        const messages: Array<unknown> = [];
        return Promise.resolve({
          messages,
          get count() {
            return messages.length;
          },
          tryAddMessage: (message: unknown) => messages.length < size && messages.push(message) > 0,
        });
      },
      sendMessages: async (some: object) => {
        if (queue === refusing) throw new Error('the queue is full');
        sent.push({ queue, messages: 'messages' in some ? (some.messages as Sent['messages']) : [some as never] });
      },
    };
  };
  const hints: Hints = createHints(() => Promise.resolve({ createSender } as unknown as ServiceBusClient));
  return { hints, sent, senders };
}

const objects = (kind: ObjectsHint['kind'], count: number) => ({
  hint: {
    kind,
    version: 1,
    cluster: 'c',
    objects: Array.from({ length: count }, (_, index) => ({ kind: 'NodeClaim', name: `c-${index}` }) as const),
    reason: 'created',
  } as const,
  atMs: null,
  key: 'k',
});

test('a hint is a message of its queue: in its session, named by its occasion, for the time it is for', async () => {
  const { hints, sent } = sending(100);
  await hints.send([hint]);
  await hints.send([{ ...hint, atMs: 5_000 }]);
  await hints.send([objects('objects', 1)]);
  const [pods, later, claims] = sent.map(({ queue, messages }) => ({ queue, ...messages[0] }));
  expect(pods).toMatchObject({ queue: 'pods', contentType: 'application/json', subject: 'pods', sessionId: 'c', body });
  expect(pods).not.toHaveProperty('scheduledEnqueueTimeUtc');
  expect(later).toMatchObject({ scheduledEnqueueTimeUtc: new Date(5_000) });
  expect(claims).toMatchObject({ queue: 'claims', subject: 'objects', messageId: expect.stringContaining('k') });
  expect(claims).not.toHaveProperty('sessionId');
});

test('an occasion has one id, so that a queue drops what it is told twice, and another occasion another', async () => {
  const { hints, sent } = sending(100);
  await hints.send([objects('objects', 3)]);
  await hints.send([objects('objects', 3)]);
  await hints.send([{ ...objects('objects', 3), key: 'other' }]);
  await hints.send([objects('objects', 2)]);
  const ids = sent.map(({ messages }) => messages[0]?.['messageId']);
  expect(ids[1]).toBe(ids[0]);
  expect(new Set(ids).size).toBe(3);
});

test('many objects travel in messages of twenty, all of them, in requests as large as the queue takes', async () => {
  const { hints, sent, senders } = sending(2);
  await hints.send([objects('launches', 4 * OBJECTS_MAX + 1), objects('objects', 1)]);
  const launches = sent.filter(({ queue }) => queue === 'launches');
  expect(launches.map(({ messages }) => messages.length)).toEqual([2, 2, 1]);
  const names = launches.flatMap(({ messages }) =>
    messages.flatMap(({ body: one }) => (one as ObjectsHint).objects.map(({ name }) => name)),
  );
  expect(names).toEqual(Array.from({ length: 4 * OBJECTS_MAX + 1 }, (_, index) => `c-${index}`));
  expect(sent.filter(({ queue }) => queue === 'claims')).toHaveLength(1);
  await hints.send([objects('launches', 1)]);
  expect(senders.toSorted()).toEqual(['claims', 'launches']);
});

test('a queue that refuses is told by its name, and what it refused may be sent again', async () => {
  const { hints } = sending(2, 'launches');
  const failure = await hints.send([objects('launches', 1)]).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RetryableError);
  expect(failure).toMatchObject({ message: 'sending to queue launches', cause: new Error('the queue is full') });
});

test('a message that is larger than a request is an error, not a message less', async () => {
  const { hints, sent } = sending(0);
  await expect(hints.send([objects('launches', OBJECTS_MAX + 1)])).rejects.toMatchObject({
    cause: new Error('a message is larger than the queue takes'),
  });
  expect(sent.flatMap(({ messages }) => messages)).toEqual([]);
});
