import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { toSignal } from '../../../shared/contract/event-grid.ts';

const vm = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/aks-general-0abc';
const maintenance = 'Microsoft.ResourceNotifications.MaintenanceResources.ScheduledEventEmitted';
const health = 'Microsoft.ResourceNotifications.HealthResources.ResourceAnnotated';

function scheduled(properties: object, parts: object = {}): object {
  return { id: 'e-1', subject: vm, eventType: maintenance, data: { resourceInfo: { properties } }, ...parts };
}

function annotated(annotationName: string, targetResourceId: string = vm): object {
  const properties = { annotationName, targetResourceId };
  return { id: 'e-2', subject: 'x', eventType: health, data: { resourceInfo: { properties } } };
}

test('a scheduled eviction names the machine, the time and the event', () => {
  const NotBefore = 'Thu, 01 Jan 2026 00:00:30 GMT';
  const event = scheduled({ EventType: 'Preempt', EventStatus: 'Scheduled', EventId: 'se-9', NotBefore });
  expect(toSignal(event, 'c')).toEqual({
    kind: 'signal',
    version: 1,
    cluster: 'c',
    vmId: vm,
    nodeName: null,
    event: 'preempt',
    notBeforeMs: Date.UTC(2026, 0, 1, 0, 0, 30),
    eventId: 'se-9',
    source: 'event-grid',
  });
});

test('an event that has started has no time, and one without an id of its own carries the envelope’s', () => {
  const signal = toSignal(scheduled({ EventType: 'Reboot', EventStatus: 'Started', NotBefore: '' }), 'c');
  expect(signal).toMatchObject({ event: 'reboot', notBeforeMs: null, eventId: 'e-1' });
});

test.for(['Completed', 'Canceled'])('an event that is %s takes nothing away', (EventStatus) => {
  expect(toSignal(scheduled({ EventType: 'Preempt', EventStatus }), 'c')).toBeNull();
});

test.for([
  ['VirtualMachinePreempted', 'gone'],
  ['VirtualMachineHostCrashed', 'reboot'],
  ['VirtualMachinePossiblyDegradedDueToHardwareFailure', 'degraded'],
] as const)('the annotation %s means %s', ([name, event]) => {
  expect(toSignal(annotated(name), 'c')).toMatchObject({ event, vmId: vm, notBeforeMs: null });
});

test('the same event in CloudEvents’ words means the same', () => {
  const properties = { EventType: 'Terminate', EventStatus: 'Scheduled' };
  const event = scheduled(properties, { eventType: undefined, type: maintenance, specversion: '1.0' });
  expect(toSignal(event, 'c')?.event).toBe('terminate');
});

test('annotations and events that say nothing about a machine’s end are not signals', () => {
  expect(toSignal(annotated('VirtualMachineAvailable'), 'c')).toBeNull();
  expect(toSignal(annotated('VirtualMachinePreempted', ''), 'c')).toBeNull();
  expect(toSignal(scheduled({ EventType: 'Unheard' }), 'c')).toBeNull();
  expect(toSignal({ eventType: 'Microsoft.Resources.ResourceWriteSuccess' }, 'c')).toBeNull();
});

test('anything at all is a signal, nothing, or a TypeError that says why', () => {
  const envelope = fc.record(
    {
      id: fc.anything(),
      subject: fc.anything(),
      eventType: fc.constantFrom(maintenance, health, 1),
      data: fc.anything(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(fc.anything(), envelope), (event) => {
      try {
        const signal = toSignal(event, 'c');
        expect(signal === null || signal.kind === 'signal').toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
        expect(String(error)).toContain('not an Event Grid event');
      }
    }),
  );
});
