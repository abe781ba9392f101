import type { ServiceBusClient } from '@azure/service-bus';
import { expect, test } from 'vitest';
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
  expect(sent).toEqual([
    {
      body: { kind: 'odd' },
      subject: 'follow',
      applicationProperties: { reason: 'kind: not one of ours', function: 'follow' },
    },
    { body: null, subject: 'launch', applicationProperties: { reason: 'no body', function: 'launch' } },
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
