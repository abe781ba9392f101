import type { ServiceBusClient } from '@azure/service-bus';
import { expect, test } from 'vitest';
import { poisonQueue, queues as allQueues } from '../../../../shared/contract/messages/queues.ts';
import { createPoison } from '../../../../shared/adapters/servicebus/poison.ts';

/** A poison queue that refuses the first `failures` messages. */
function open(failures = 0) {
  const sent: Array<unknown> = [];
  const queues: Array<string> = [];
  let refused = 0;
  const createSender = (queue: string) => {
    queues.push(queue);
    return {
      async sendMessages(message: unknown) {
        if (refused++ < failures) throw new Error('the queue is away');
        sent.push(message);
      },
    };
  };
  const poison = createPoison(() => Promise.resolve({ createSender } as unknown as ServiceBusClient));
  return { poison, sent, queues };
}

test('what nobody can use is kept whole, with the reason and who refused it', async () => {
  const { poison, sent, queues } = open();
  await poison({ kind: 'odd' }, 'kind: not one of ours', 'follow');
  await poison(undefined, 'no body', 'launch');
  const messageId = expect.any(String);
  expect(sent).toEqual([
    {
      body: { kind: 'odd' },
      messageId,
      subject: 'follow',
      applicationProperties: { reason: 'kind: not one of ours', function: 'follow' },
    },
    { body: null, messageId, subject: 'launch', applicationProperties: { reason: 'no body', function: 'launch' } },
  ]);
  expect(queues).toEqual(['poison']);
});

test('a reason is no longer than the queue takes', async () => {
  const { poison, sent } = open();
  await poison({}, 'x'.repeat(5_000), 'follow');
  expect(sent[0]).toMatchObject({ applicationProperties: { reason: 'x'.repeat(4_096) } });
});

test('a message that the poison queue did not take is not taken for kept', async () => {
  const { poison, sent } = open(1);
  await expect(poison({}, 'x', 'follow')).rejects.toThrow('the queue is away');
  await poison({}, 'x', 'follow');
  expect(sent).toHaveLength(1);
});

test('what one function refuses twice has one id, whatever the reason, so that the queue takes it once', async () => {
  const { poison, sent } = open();
  await poison({ kind: 'odd' }, 'at first', 'follow');
  await poison({ kind: 'odd' }, 'and then', 'follow');
  await poison({ kind: 'odd' }, 'at first', 'launch');
  await poison({ kind: 'even' }, 'at first', 'follow');
  await poison(null, 'at first', 'follow');
  await poison('null', 'at first', 'follow');
  const ids = sent.map((message) => (message as { readonly messageId: string }).messageId);
  expect(ids[0]).toBe(ids[1]);
  expect(new Set(ids).size).toBe(5);
  // Service Bus takes no longer ids.
  expect(Math.max(...ids.map(({ length }) => length))).toBeLessThanOrEqual(128);
});

test('the queue remembers what it keeps for as long as any queue may deliver it again', () => {
  const again = allQueues.map(({ lockDurationMs, maxDeliveryCount }) => lockDurationMs * maxDeliveryCount);
  expect(poisonQueue.duplicateDetectionWindowMs).toBeGreaterThanOrEqual(Math.max(...again));
});
