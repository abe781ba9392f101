import { EventGridDeserializer, isSystemEvent } from '@azure/eventgrid';
import { describe, expect, test } from 'vitest';
import {
  type EventTarget,
  availabilityStatusChanged,
  renderCloudEvent,
  renderEventGrid,
  scheduledEventEmitted,
  virtualMachinePreempted,
} from '../../../sandbox/azure/event-grid-events.ts';
import { toSignal } from '../../../shared/contract/event-grid.ts';

const vmId =
  '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/mc_demo/providers/Microsoft.Compute/virtualMachines/aks-spot-1';
const target: EventTarget = {
  subscriptionId: '00000000-0000-0000-0000-000000000000',
  vmId,
  vmName: 'aks-spot-1',
  eventId: '11111111-1111-1111-1111-111111111111',
  at: Date.UTC(2026, 10, 21),
};

describe('what the double publishes is what the Event Grid library reads', () => {
  const deserializer = new EventGridDeserializer();

  test('an eviction in the CloudEvents schema is the system event it claims to be', async () => {
    const [event] = await deserializer.deserializeCloudEvents(
      JSON.stringify(renderCloudEvent(virtualMachinePreempted(target))),
    );
    if (event === undefined) throw new Error('the library read no event');
    expect(isSystemEvent('Microsoft.ResourceNotifications.HealthResources.ResourceAnnotated', event)).toBe(true);
    expect(toSignal({ ...event, data: event.data }, 'demo')).toMatchObject({ event: 'gone', vmId });
  });

  test('an eviction in the Event Grid schema carries the same news', async () => {
    const text = JSON.stringify(renderEventGrid(virtualMachinePreempted(target), '/subscriptions/0'));
    const [event] = await deserializer.deserializeEventGridEvents(text);
    if (event === undefined) throw new Error('the library read no event');
    expect(isSystemEvent('Microsoft.ResourceNotifications.HealthResources.ResourceAnnotated', event)).toBe(true);
    expect(toSignal(event, 'demo')).toMatchObject({ event: 'gone', vmId });
  });

  test('a change of availability is read, and takes nothing away by itself', async () => {
    const body = renderCloudEvent(availabilityStatusChanged(target, { from: 'Available', to: 'Unavailable' }));
    const [event] = await deserializer.deserializeCloudEvents(JSON.stringify(body));
    if (event === undefined) throw new Error('the library read no event');
    expect(isSystemEvent('Microsoft.ResourceNotifications.HealthResources.AvailabilityStatusChanged', event)).toBe(
      true,
    );
    expect(toSignal(event, 'demo')).toBeNull();
  });

  test('a scheduled event names its deadline and its id', async () => {
    const notBefore = Date.UTC(2026, 10, 21, 12);
    const grid = scheduledEventEmitted(target, {
      type: 'Preempt',
      status: 'Scheduled',
      notBefore,
      durationSeconds: -1,
      source: 'Platform',
    });
    const [event] = await deserializer.deserializeCloudEvents(JSON.stringify(renderCloudEvent(grid)));
    expect(toSignal(event, 'demo')).toMatchObject({
      event: 'preempt',
      notBeforeMs: notBefore,
      eventId: target.eventId,
    });
  });
});
