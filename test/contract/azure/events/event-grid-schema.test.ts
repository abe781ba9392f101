import { EventGridDeserializer, isSystemEvent, type SystemEventNameToEventData } from '@azure/eventgrid';
import { describe, expect, test } from 'vitest';
import {
  type EventTarget,
  type GridEvent,
  availabilityStatusChanged,
  renderCloudEvent,
  renderEventGrid,
  renderGridEvent,
  resourceDeleted,
  scheduledEventEmitted,
  virtualMachinePreempted,
} from '../../../../sandbox/azure/events/event-grid-events.ts';
import { eventTypes, readEvent } from '../../../../shared/contract/messages/event-grid.ts';

const vmId =
  '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/mc_demo/providers/Microsoft.Compute/virtualMachines/aks-spot-1';
const target: EventTarget = {
  subscriptionId: '00000000-0000-0000-0000-000000000000',
  vmId,
  vmName: 'aks-spot-1',
  eventId: '11111111-1111-1111-1111-111111111111',
  at: Date.UTC(2026, 10, 21),
};
const notBefore = Date.UTC(2026, 10, 21, 12);
const scheduled = scheduledEventEmitted(target, {
  type: 'Preempt',
  status: 'Scheduled',
  notBefore,
  durationSeconds: -1,
  source: 'Platform',
});
const unavailable = availabilityStatusChanged(target, { from: 'Available', to: 'Unavailable' });
const deserializer = new EventGridDeserializer();

/** The types that Azure's library knows; this would not compile if one of them were misspelt. */
const systemTypes: ReadonlyArray<keyof SystemEventNameToEventData> = [
  eventTypes.annotated,
  eventTypes.availability,
  eventTypes.deleted,
  eventTypes.deletedResource,
];
/** The one that it does not know; this will not compile once it does. */
const previewType: Exclude<typeof eventTypes.scheduled, keyof SystemEventNameToEventData> = eventTypes.scheduled;

/** What the double publishes, and what it means. */
const published: ReadonlyArray<readonly [string, GridEvent, object]> = [
  ['an eviction', virtualMachinePreempted(target), { event: 'preempt' }],
  ['a machine that is unavailable', unavailable, { event: 'gone', unlessThere: true }],
  ['a deletion', resourceDeleted(target, 'somebody'), { event: 'gone', unlessThere: true }],
  ['a scheduled event', scheduled, { event: 'preempt', notBeforeMs: notBefore, eventId: target.eventId }],
];

describe('what the double publishes is what the Event Grid library reads', () => {
  test.for(published)('%s, in the CloudEvents schema', async ([, event, meaning]) => {
    const body = renderCloudEvent(event);
    const [read, ...others] = await deserializer.deserializeCloudEvents(JSON.stringify(body));
    expect([read?.type, read?.id, others]).toEqual([event.type, event.id, []]);
    // Azure's own casing of an id differs from event to event.
    const news = await readEvent(JSON.parse(JSON.stringify(body)), 'demo');
    expect(news).toMatchObject({ kind: 'signal', signal: meaning });
    expect(news.kind === 'signal' && news.signal.vmId?.toLowerCase()).toBe(vmId.toLowerCase());
  });

  test.for(published)('%s, in the Event Grid schema, with the same meaning', async ([, event]) => {
    const body = renderEventGrid(event, '/subscriptions/0');
    const [read] = await deserializer.deserializeEventGridEvents(JSON.stringify(body));
    expect([read?.eventType, read?.id]).toEqual([event.type, event.id]);
    expect(await readEvent(renderGridEvent(event, '/subscriptions/0'), 'demo')).toEqual(
      await readEvent(renderCloudEvent(event), 'demo'),
    );
  });

  test('under the types that the library knows, but for one that is in preview', async () => {
    const types = new Set<string>([...systemTypes, previewType]);
    expect(published.map(([, { type }]) => type).filter((type) => !types.has(type))).toEqual([]);
    const [read] = await deserializer.deserializeCloudEvents(
      JSON.stringify(renderCloudEvent(virtualMachinePreempted(target))),
    );
    expect(read !== undefined && isSystemEvent(eventTypes.annotated, read)).toBe(true);
  });
});

/** Why we read `data` ourselves: docs/decisions/dependencies.md. Should this fail, look again. */
test('the library’s types name fields of notifications otherwise than they come, and it leaves them as they come', async () => {
  const [read] = await deserializer.deserializeCloudEvents(JSON.stringify(renderCloudEvent(unavailable)));
  const named: keyof SystemEventNameToEventData[typeof eventTypes.availability] = 'resourceDetails';
  const data = read?.data as object;
  expect(Object.keys(data)).toEqual(['resourceInfo', 'operationalInfo', 'apiVersion']);
  expect(named in data).toBe(false);
});
