import { expect, test } from 'vitest';
import { parseNotices } from '../../../../relay/hint/interruption.ts';

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
  const notBeforeMs = at === null ? null : Date.parse(at);
  expect(parseNotices(message)).toEqual([{ event, notBeforeMs, eventId }]);
});

test.each([
  'SpotRebalanceRecommendation Advisory: Sat, 21 Nov 2026 05:41:02 GMT. EventId: 1',
  'IMDS query failed, exit code: 28',
  'No VM scheduled event',
  'Preempt',
  '',
])('"%s" announces nothing', (message) => {
  expect(parseNotices(message)).toEqual([]);
});

test.each([
  ['Preempt Scheduled: Thu, 01 Jan 1970 00:00:00 GMT. EventId: short', 0, null],
  ['Preempt Scheduled: Wed, 31 Dec 1969 23:59:59 GMT. EventId:12345678', null, '12345678'],
  [`Preempt Scheduled: soon. EventId: ${'a'.repeat(70)}`, null, 'a'.repeat(64)],
])('of %s no more is believed than can be', (message, notBeforeMs, id) => {
  expect(parseNotices(message)).toEqual([{ event: 'preempt', notBeforeMs, eventId: id }]);
});

test('of two notices in one message each has its own time and id', () => {
  const message = `Redeploy Scheduled: Sat, 21 Nov 2026 06:00:00 GMT. EventId: ${guid}. Preempt Scheduled: Sat, 21 Nov 2026 05:41:02 GMT. For more.`;
  expect(parseNotices(message)).toEqual([
    { event: 'redeploy', notBeforeMs: Date.parse('2026-11-21T06:00:00Z'), eventId: guid },
    { event: 'preempt', notBeforeMs: Date.parse('2026-11-21T05:41:02Z'), eventId: null },
  ]);
});
