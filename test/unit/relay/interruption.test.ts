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
