import { ServiceBusClient, type ServiceBusReceivedMessage } from '@azure/service-bus';
import { onTestFinished, expect, test, vi } from 'vitest';
import { EventGrid } from '../../../../sandbox/azure/events/event-grid.ts';
import { type EventTarget, virtualMachinePreempted } from '../../../../sandbox/azure/events/event-grid-events.ts';
import type { EventSubscription } from '../../../../sandbox/azure/state/options.ts';
import { type Broker, startBroker } from '../../../../sandbox/servicebus/broker.ts';
import { VirtualClock, systemClock } from '../../../../sandbox/base/clock.ts';
import { readEvent } from '../../../../shared/contract/messages/event-grid.ts';
import { signalsQueue } from '../../../../shared/contract/messages/queues.ts';
import { patient } from '../kit/clients.ts';

const vmId = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/aks-spot-1';
const target: EventTarget = { subscriptionId: 's', vmId, vmName: 'aks-spot-1', eventId: 'event-1', at: 0 };

async function startQueue(port = 0): Promise<Broker> {
  const broker = await startBroker({ port, queues: [signalsQueue], dataFolder: null, clock: systemClock });
  onTestFinished(() => broker.close());
  return broker;
}

/** An Event Grid whose subscriptions all lead to the queue; `doubles` sends each event twice. */
async function startGrid(
  { connectionString }: Pick<Broker, 'connectionString'>,
  schemas: ReadonlyArray<EventSubscription['schema']>,
  doubles = false,
) {
  const clock = new VirtualClock();
  const grid = new EventGrid(clock, '/subscriptions/s', () => doubles);
  onTestFinished(() => grid.close());
  const destination = { connectionString, queue: signalsQueue.name };
  for (const schema of schemas) await grid.subscribe({ name: schema, schema, destination });
  return { grid, clock, states: () => grid.deliveries().map(({ state, attempts }) => [state, attempts]) };
}

/** What is in the queue, once nothing more comes. */
async function received({ connectionString }: Broker): Promise<ReadonlyArray<ServiceBusReceivedMessage>> {
  const client = new ServiceBusClient(connectionString);
  const receiver = client.createReceiver(signalsQueue.name, { receiveMode: 'receiveAndDelete' });
  const messages = await receiver.receiveMessages(10, { maxWaitTimeInMs: 500 });
  await client.close();
  return messages;
}

test.for(['EventGrid', 'CloudEvents'] as const)(
  'an event reaches a queue in the %s schema, as Azure sends it',
  async (schema) => {
    const broker = await startQueue();
    const { grid, states } = await startGrid(broker, [schema]);
    grid.publish(virtualMachinePreempted(target));
    await vi.waitFor(() => expect(states()).toEqual([['delivered', 1]]), patient);
    const [message, ...others] = await received(broker);
    expect(others).toEqual([]);
    // One event, not a list of one as a webhook gets.
    expect(message?.body).toMatchObject({ id: 'event-1', subject: vmId });
    expect(await readEvent(message?.body, 'demo')).toMatchObject({ signal: { event: 'preempt', vmId } });
    expect(message?.applicationProperties).toEqual({
      'aeg-subscription-name': schema.toUpperCase(),
      'aeg-delivery-count': '0',
      'aeg-event-type': 'Notification',
      'aeg-metadata-version': schema === 'EventGrid' ? '1' : '1.0',
      ...(schema === 'EventGrid' ? { 'aeg-data-version': '1' } : {}),
      'aeg-output-event-id': 'event-1',
    });
  },
);

test('an event that is sent twice is one message of the queue, and one of two subscriptions is two', async () => {
  const broker = await startQueue();
  const { grid, states } = await startGrid(broker, ['EventGrid', 'CloudEvents'], true);
  grid.publish(virtualMachinePreempted(target));
  await vi.waitFor(
    () =>
      expect(states()).toEqual([
        ['delivered', 1],
        ['delivered', 1],
      ]),
    patient,
  );
  expect((await received(broker)).map(({ messageId }) => String(messageId)).toSorted()).toEqual([
    'CloudEvents/event-1',
    'EventGrid/event-1',
  ]);
});

test('a queue that cannot be reached is asked again after ten seconds', async () => {
  const away = await startQueue();
  const { port } = away;
  const { grid, clock, states } = await startGrid(away, ['EventGrid']);
  await away.close();
  grid.publish(virtualMachinePreempted(target));
  await vi.waitFor(() => expect(states()).toEqual([['pending', 1]]), patient);
  const broker = await startQueue(port);
  clock.advance(9_999);
  expect(states()).toEqual([['pending', 1]]);
  clock.advance(1);
  await vi.waitFor(() => expect(states()).toEqual([['delivered', 2]]), patient);
  expect(
    (await received(broker)).map(({ applicationProperties }) => applicationProperties?.['aeg-delivery-count']),
  ).toEqual(['1']);
});

test('who has unsubscribed is sent nothing more', async () => {
  const broker = await startQueue();
  const { grid } = await startGrid(broker, ['EventGrid']);
  await grid.unsubscribe('EventGrid');
  grid.publish(virtualMachinePreempted(target));
  expect(await received(broker)).toEqual([]);
});
