import { expect, test } from 'vitest';
import { parseNotice } from '../../../relay/interruption.ts';
import { readNodeEvent } from '../../../relay/node-event.ts';

const guid = '0D5A3F0A-1111-4222-8333-444455556666';

test.each([
  [
    `Preempt Scheduled: Sat, 21 Nov 2026 05:41:02 GMT. DurationInSeconds: -1. EventId: ${guid}`,
    'preempt',
    '2026-11-21T05:41:02.000Z',
    guid,
  ],
  ['Preempt Started: . For more information, see the documentation.', 'preempt', null, null],
  ['Redeploy Scheduled: Sat, 21 Nov 2026 06:00:00 GMT. For more.', 'redeploy', '2026-11-21T06:00:00.000Z', null],
  [
    'Node condition VMEventScheduled is now: True, reason: VMEventScheduled, message: "Freeze Scheduled: soon. x"',
    'freeze',
    null,
    null,
  ],
  ['Terminate Scheduled: . x', 'terminate', null, null],
  ['Reboot Scheduled: . x', 'reboot', null, null],
])('%s', (message, event, at, eventId) => {
  const notice = parseNotice(message);
  expect({
    ...notice,
    notBeforeMs: notice === null || notice.notBeforeMs === null ? null : new Date(notice.notBeforeMs).toISOString(),
  }).toEqual({
    event,
    notBeforeMs: at,
    eventId,
  });
});

test.each([
  'SpotRebalanceRecommendation Advisory: Sat, 21 Nov 2026 05:41:02 GMT. EventId: 1',
  'IMDS query failed, exit code: 28',
  'No VM scheduled event',
  'Preempt',
  '',
])('"%s" announces nothing', (message) => {
  expect(parseNotice(message)).toBeNull();
});

const now = Date.parse('2026-11-21T05:41:00Z');

function rawEvent(changes: object): unknown {
  return {
    metadata: { creationTimestamp: '2026-11-21T05:40:00Z' },
    involvedObject: { kind: 'Node', name: 'aks-c1' },
    reason: 'PreemptScheduled',
    message: 'Preempt Scheduled: Sat, 21 Nov 2026 05:41:02 GMT. x',
    lastTimestamp: '2026-11-21T05:40:59Z',
    ...changes,
  };
}

test("a node's event gives the signal that its condition gives, so that the two are one", () => {
  const signal = readNodeEvent(rawEvent({}), now, () => 'azure:///subscriptions/x');
  expect(signal).toMatchObject({
    event: 'preempt',
    nodeName: 'aks-c1',
    vmId: '/subscriptions/x',
    key: 'aks-c1 preempt 1795239662000',
  });
});

test.each([
  ['of another reason', { reason: 'Rebooted' }],
  ['about another kind', { involvedObject: { kind: 'Pod', name: 'aks-c1' } }],
  ['that is old', { lastTimestamp: '2026-11-21T05:00:00Z' }],
  ['without a time', { lastTimestamp: null, metadata: {} }],
  ['that says only that the metadata service did not answer', { message: 'IMDS query failed, exit code: 28' }],
  ['that is malformed', { involvedObject: 7 }],
])('an event %s is no signal', (_, changes) => {
  expect(readNodeEvent(rawEvent(changes), now, () => null)).toBeNull();
});

test.each([
  ['when it happened last', {}, true],
  ['when it happened, where it has no last time', { lastTimestamp: null, eventTime: '2026-11-21T05:40:59Z' }, true],
  ['when it was made, where it has neither', { lastTimestamp: null }, true],
  ['its last time before all others', { eventTime: '2026-11-21T01:00:00Z' }, true],
  [
    'its last time, though it is old',
    { lastTimestamp: '2026-11-21T01:00:00Z', eventTime: '2026-11-21T05:40:59Z' },
    false,
  ],
  ['twenty minutes ago', { lastTimestamp: '2026-11-21T05:21:00Z' }, true],
  ['longer ago', { lastTimestamp: '2026-11-21T05:20:59Z' }, false],
])('an event is judged by %s', (_, changes, isSignal) => {
  expect(readNodeEvent(rawEvent(changes), now, () => null) !== null).toBe(isSignal);
});

test('the provider id is that of the node the event is about', () => {
  const asked: Array<string> = [];
  readNodeEvent(rawEvent({}), now, (name) => {
    asked.push(name);
    return null;
  });
  expect(asked).toEqual(['aks-c1']);
});

test.each([
  ['Preempt Scheduled: Thu, 01 Jan 1970 00:00:00 GMT. EventId: short', 0, null],
  ['Preempt Scheduled: Wed, 31 Dec 1969 23:59:59 GMT. EventId:12345678', null, '12345678'],
  [`Preempt Scheduled: soon. EventId: ${'a'.repeat(70)}`, null, 'a'.repeat(64)],
])('of %s no more is believed than can be', (message, notBeforeMs, id) => {
  expect(parseNotice(message)).toEqual({ event: 'preempt', notBeforeMs, eventId: id });
});
