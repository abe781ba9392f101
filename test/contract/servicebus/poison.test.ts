import { ServiceBusClient } from '@azure/service-bus';
import { onTestFinished, expect, test } from 'vitest';
import { startBroker } from '../../../sandbox/servicebus/broker.ts';
import { VirtualClock } from '../../../sandbox/base/clock.ts';
import { createPoison } from '../../../shared/adapters/servicebus/poison.ts';
import { poisonQueue, queues } from '../../../shared/contract/messages/queues.ts';

test('a message that is delivered again and again is kept once, until nothing can bring it again', async () => {
  const clock = new VirtualClock(Date.now());
  const broker = await startBroker({ port: 0, queues, dataFolder: null, clock });
  onTestFinished(() => broker.close());
  const client = new ServiceBusClient(broker.connectionString);
  onTestFinished(() => client.close());
  const poison = createPoison(() => Promise.resolve(client));
  const kept = (): number => broker.stats(poisonQueue.name).active;

  for (const body of ['no JSON object', null, 'no JSON object', null]) await poison(body, 'unreadable', 'provision');
  expect(kept()).toBe(2);
  await poison('no JSON object', 'unreadable', 'interrupt');
  expect(kept()).toBe(3);
  clock.advance(50 * 60_000);
  await poison(null, 'unreadable', 'provision');
  expect(kept()).toBe(3);
  clock.advance(11 * 60_000);
  await poison(null, 'unreadable', 'provision');
  expect(kept()).toBe(4);
});
