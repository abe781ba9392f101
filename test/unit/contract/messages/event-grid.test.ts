import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventTypes, readEvent } from '../../../../shared/contract/messages/event-grid.ts';
import { annotations } from '../../../../shared/contract/messages/health-annotations.ts';
import { parseSignalHint } from '../../../../shared/contract/messages/messages.ts';

const vm = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/aks-general-0abc';
const signal = { kind: 'signal', version: 1, cluster: 'c', vmId: vm, nodeName: null, source: 'event-grid' };

function event(eventType: string, parts: object = {}): object {
  return { id: 'e-1', topic: '/subscriptions/s', subject: vm, eventType, data: {}, ...parts };
}

function scheduled(properties: object, parts: object = {}): object {
  return event(eventTypes.scheduled, { data: { resourceInfo: { properties } }, ...parts });
}

function annotated(annotationName: unknown, rest: object = {}): object {
  const properties = { annotationName, targetResourceId: vm, ...rest };
  return event(eventTypes.annotated, { data: { resourceInfo: { properties } } });
}

describe('a scheduled event', () => {
  test('names the machine, the time and itself', async () => {
    const NotBefore = 'Thu, 01 Jan 2026 00:00:30 GMT';
    const said = scheduled({ EventType: 'Preempt', EventStatus: 'Scheduled', EventId: 'se-9', NotBefore });
    const notBeforeMs = Date.UTC(2026, 0, 1, 0, 0, 30);
    const expected = { ...signal, event: 'preempt', notBeforeMs, eventId: 'se-9' };
    expect(await readEvent(said, 'c')).toEqual({ kind: 'signal', signal: expected });
  });

  test.each([
    ['in the Event Grid schema', { eventTime: '2026-01-01T00:00:01.5Z' }],
    ['in the CloudEvents schema', { specversion: '1.0', type: eventTypes.scheduled, time: '2026-01-01T00:00:01.500Z' }],
  ])('says when it was sent, %s', async (_, parts) => {
    const said = scheduled({ EventType: 'Preempt', EventStatus: 'Scheduled' }, parts);
    const sentMs = Date.UTC(2026, 0, 1, 0, 0, 1, 500);
    expect(await readEvent(said, 'c')).toMatchObject({ signal: { event: 'preempt', noticedMs: sentMs } });
  });

  test.each(['soon', 7])('whose time is no time (%s) is used all the same', async (eventTime) => {
    const said = scheduled({ EventType: 'Preempt', EventStatus: 'Scheduled' }, { eventTime });
    const news = await readEvent(said, 'c');
    expect(news).toMatchObject({ signal: { event: 'preempt' } });
    expect(news.kind === 'signal' && 'noticedMs' in news.signal).toBe(false);
  });

  test('that has started has no time, and one without an id of its own carries the envelope’s', async () => {
    const said = scheduled({ EventType: 'Reboot', EventStatus: 'Started', NotBefore: '' });
    expect(await readEvent(said, 'c')).toMatchObject({
      signal: { event: 'reboot', notBeforeMs: null, eventId: 'e-1' },
    });
  });

  test('from before the epoch has no time, for hints take none', async () => {
    const NotBefore = 'Wed, 31 Dec 1969 23:59:59 GMT';
    const said = scheduled({ EventType: 'Reboot', EventStatus: 'Scheduled', NotBefore });
    expect(await readEvent(said, 'c')).toMatchObject({ signal: { notBeforeMs: null } });
  });

  test.for(['Completed', 'Canceled'])('that is %s takes nothing away', async (EventStatus) => {
    const said = scheduled({ EventType: 'Preempt', EventStatus });
    expect(await readEvent(said, 'c')).toEqual({ kind: 'ignored', why: `Preempt ${EventStatus}: it is over` });
  });

  test('of a kind that is unheard of is ignored, and says its name', async () => {
    const said = scheduled({ EventType: 'constructor', EventStatus: 'Scheduled' });
    expect(await readEvent(said, 'c')).toMatchObject({ kind: 'ignored', why: expect.stringContaining('constructor') });
  });

  test('of a managed cluster, which comes under the same type, is ignored', async () => {
    const subject = '/subscriptions/s/resourcegroups/g/providers/Microsoft.ContainerService/managedClusters/c';
    const said = scheduled({ eventStatus: 'Started', resourceType: 'ManagedCluster' }, { subject });
    expect(await readEvent(said, 'c')).toMatchObject({
      kind: 'ignored',
      why: expect.stringContaining('virtual machine'),
    });
  });
});

describe('an annotation of Resource Health', () => {
  test.for([
    ['VirtualMachinePreempted', 'preempt'],
    ['VirtualMachineHostCrashed', 'reboot'],
    ['VirtualMachineMigrationInitiatedForRepair', 'redeploy'],
    ['VirtualMachineScheduledForServiceHealing', 'degraded'],
  ] as const)('%s replaces the machine (%s)', async ([name, what]) => {
    const expected = { ...signal, event: what, notBeforeMs: null, eventId: 'e-1' };
    expect(await readEvent(annotated(name), 'c')).toEqual({ kind: 'signal', signal: expected });
  });

  test('about what people do to a machine has Azure asked for it', async () => {
    const said = await readEvent(annotated('VirtualMachineDeallocationInitiated'), 'c');
    expect(said).toMatchObject({ kind: 'signal', signal: { event: 'gone', unlessThere: true, vmId: vm } });
  });

  test('that tells of a pause or a restart is noted, with Azure’s words', async () => {
    const said = await readEvent(annotated('LiveMigrationSucceeded', { summary: 'Briefly paused.' }), 'c');
    expect(said).toEqual({ kind: 'note', vmId: vm, text: 'LiveMigrationSucceeded: Briefly paused.' });
  });

  test('that nobody would ask for is ignored, and says why', async () => {
    const said = await readEvent(annotated('VirtualMachineAllocated'), 'c');
    expect(said).toMatchObject({ kind: 'ignored', why: expect.stringMatching(/^VirtualMachineAllocated: every/) });
  });

  test.for(['VirtualMachineLevitates', 'toString'])('that we do not know, %s, is ignored by its name', async (name) => {
    expect(await readEvent(annotated(name), 'c')).toMatchObject({
      kind: 'ignored',
      why: expect.stringContaining(name),
    });
  });

  test.for(Object.keys(annotations))('%s has a meaning that can be carried out', async (name) => {
    const news = await readEvent(annotated(name), 'c');
    if (news.kind === 'signal') expect(parseSignalHint(news.signal)).toBe(news.signal);
    expect(news).toMatchObject(annotations[name]?.does === 'ignore' ? { kind: 'ignored' } : {});
  });
});

describe('of availability', () => {
  const changed = (availabilityState: string): object => {
    const properties = { availabilityState, targetResourceId: vm };
    return event(eventTypes.availability, { data: { resourceInfo: { properties } } });
  };

  test('a machine that is unavailable may be gone: Azure is asked', async () => {
    expect(await readEvent(changed('Unavailable'), 'c')).toMatchObject({
      signal: { event: 'gone', unlessThere: true },
    });
  });

  test.for(['Available', 'Degraded', 'Unknown'])('%s takes nothing away', async (state) => {
    expect(await readEvent(changed(state), 'c')).toMatchObject({ kind: 'ignored' });
  });
});

describe('a deletion', () => {
  test.for([
    ['in the topic of the resource group', event(eventTypes.deleted, { data: { resourceUri: vm } })],
    ['without data', event(eventTypes.deleted)],
    ['as a resource notification', event(eventTypes.deletedResource, { data: { resourceInfo: { id: vm } } })],
  ] as const)('of the machine has Azure asked for it: %s', async ([, said]) => {
    expect(await readEvent(said, 'c')).toMatchObject({ signal: { event: 'gone', unlessThere: true, vmId: vm } });
  });

  test.for([
    `${vm}/extensions/computeAksLinuxBilling`,
    vm.replace('Compute/virtualMachines', 'Network/networkInterfaces'),
    vm.replace('virtualMachines', 'virtualMachineScaleSets/aks-pool/virtualMachines'),
    '/subscriptions/s/resourceGroups/g',
  ])('of something else is ignored: %s', async (subject) => {
    const said = event(eventTypes.deleted, { subject, data: { resourceUri: subject } });
    expect(await readEvent(said, 'c')).toMatchObject({ kind: 'ignored' });
  });
});

describe('an event', () => {
  test('in CloudEvents’ words means the same', async () => {
    const properties = { EventType: 'Terminate', EventStatus: 'Scheduled' };
    const cloud = { specversion: '1.0', type: eventTypes.scheduled, source: '/subscriptions/s', eventType: undefined };
    expect(await readEvent(scheduled(properties, cloud), 'c')).toEqual(await readEvent(scheduled(properties), 'c'));
  });

  test('about the machine’s health record is about the machine, in any casing', async () => {
    const subject = `${vm.toUpperCase()}/providers/Microsoft.ResourceHealth/resourceAnnotations/current`;
    const properties = { annotationName: 'VirtualMachinePreempted' };
    const said = event(eventTypes.annotated, { subject, data: { resourceInfo: { properties } } });
    expect(await readEvent(said, 'c')).toMatchObject({ signal: { vmId: vm.toUpperCase() } });
  });

  test.for([
    'Microsoft.Resources.ResourceWriteSuccess',
    'Microsoft.EventGrid.SubscriptionDeletedEvent',
    'Contoso.Items.ItemReceived',
    'toString',
  ])('of a type that we do not act on is ignored, whatever is in it: %s', async (type) => {
    expect(await readEvent({ eventType: type }, 'c')).toMatchObject({
      kind: 'ignored',
      why: expect.stringContaining(type),
    });
    expect(await readEvent({ specversion: '1.0', type, data: 1 }, 'c')).toMatchObject({ kind: 'ignored' });
  });

  test('with an id longer than a hint takes is still a hint', async () => {
    const said = { ...annotated('VirtualMachinePreempted'), id: 'x'.repeat(1_000) };
    const news = await readEvent(said, 'c');
    expect(news.kind === 'signal' && parseSignalHint(news.signal)).toMatchObject({ eventId: 'x'.repeat(256) });
  });

  test.for([
    ['a text', 'text', 'not an object'],
    ['a list', [], 'not an object'],
    ['without a type', { id: 'e' }, "missing required property 'eventType'"],
    ['a CloudEvent without a type', { specversion: '1.0' }, "missing required property 'type'"],
    ['of another CloudEvents', { specversion: '0.3', type: eventTypes.deleted }, 'not in the Cloud Event 1.0 schema'],
    ['about nothing', { eventType: eventTypes.deleted, data: {} }, 'ResourceDeleteSuccess without a subject'],
    ['that annotates nothing', annotated(undefined), 'without data.resourceInfo.properties.annotationName'],
    ['with a number for a name', annotated(7), 'without data.resourceInfo.properties.annotationName'],
    ['that schedules nothing', scheduled({}), 'without data.resourceInfo.properties.EventType'],
    [
      'whose status is missing',
      scheduled({ EventType: 'Preempt' }),
      'without data.resourceInfo.properties.EventStatus',
    ],
    ['that is in no state', event(eventTypes.availability), 'without data.resourceInfo.properties.availabilityState'],
  ] as const)('that is malformed says what is wrong with it: %s', async ([, said, why]) => {
    await expect(readEvent(said, 'c')).rejects.toThrow(TypeError);
    await expect(readEvent(said, 'c')).rejects.toThrow(why);
  });
});

test('anything at all is news that can be carried out, nothing, or a TypeError that says why', async () => {
  const envelope = fc.record(
    {
      id: fc.anything(),
      subject: fc.oneof(fc.anything(), fc.constant(vm)),
      specversion: fc.constantFrom('1.0', undefined, 1),
      eventType: fc.constantFrom(...Object.values(eventTypes), 1),
      type: fc.constantFrom(...Object.values(eventTypes), 1),
      data: fc.oneof(fc.anything(), fc.record({ resourceInfo: fc.record({ properties: fc.anything() }) })),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.anything(), envelope), async (said) => {
      try {
        const news = await readEvent(said, 'c');
        if (news.kind === 'signal') expect(parseSignalHint(news.signal)).toBe(news.signal);
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
        expect(String(error)).toContain('not an Event Grid event');
      }
    }),
  );
});
