import { describe, expect, test } from 'vitest';
import { windowAt } from '../../../../../shared/app/follow/definitions/maintenance-window.ts';
import type { MaintenanceSchedule } from '../../../../../shared/ports/maintenance.ts';

const day = (text: string): number => Date.parse(text) / 86_400_000;

const nightly: MaintenanceSchedule = {
  name: 'aksManagedNodeOSUpgradeSchedule',
  recurrence: { kind: 'daily', every: 1 },
  firstDay: null,
  countedFromDay: null,
  startMinutes: 22 * 60,
  durationMinutes: 8 * 60,
  offsetMinutes: 0,
  blockedDays: [],
};

/** `open`, or when it opens, in UTC without seconds. */
function at(schedule: MaintenanceSchedule, now: string): string {
  const state = windowAt(schedule, Date.parse(`${now}Z`));
  if (state.isOpen) return 'open';
  return state.opensAtMs === null ? 'never' : new Date(state.opensAtMs).toISOString().slice(0, 16);
}

describe('a window', () => {
  test('is open from its begin to its end, over midnight too', () => {
    expect(at(nightly, '2026-11-23T21:59:59')).toBe('2026-11-23T22:00');
    expect(at(nightly, '2026-11-23T22:00')).toBe('open');
    expect(at(nightly, '2026-11-24T05:59:59')).toBe('open');
    expect(at(nightly, '2026-11-24T06:00')).toBe('2026-11-24T22:00');
  });

  test('is in the local time of its zone', () => {
    const east = { ...nightly, offsetMinutes: 330 };
    expect(at(east, '2026-11-23T16:29')).toBe('2026-11-23T16:30');
    expect(at(east, '2026-11-23T16:30')).toBe('open');
    const west = { ...nightly, offsetMinutes: -420 };
    expect(at(west, '2026-11-24T04:59')).toBe('2026-11-24T05:00');
    expect(at(west, '2026-11-24T05:00')).toBe('open');
  });

  test('is none before its first day', () => {
    const later = { ...nightly, firstDay: day('2026-12-01'), countedFromDay: day('2026-12-01') };
    expect(at(later, '2026-11-23T23:00')).toBe('2026-12-01T22:00');
    // That of the day before would last until then.
    expect(at(later, '2026-12-01T01:00')).toBe('2026-12-01T22:00');
    expect(at(later, '2026-12-01T22:00')).toBe('open');
  });

  test('is none on days that are blocked, and only the rest of one that reaches out of them', () => {
    const calm = { ...nightly, blockedDays: [{ first: day('2026-12-22'), last: day('2026-12-26') }] };
    expect(at(calm, '2026-12-21T23:59')).toBe('open');
    expect(at(calm, '2026-12-22T00:00')).toBe('2026-12-27T00:00');
    expect(at(calm, '2026-12-26T23:00')).toBe('2026-12-27T00:00');
    expect(at(calm, '2026-12-27T00:00')).toBe('open');
    expect(at(calm, '2026-12-27T06:00')).toBe('2026-12-27T22:00');
  });

  test('that is blocked for ever never opens', () => {
    const never = { ...nightly, blockedDays: [{ first: 0, last: day('2100-01-01') }] };
    expect(at(never, '2026-11-23T23:00')).toBe('never');
  });
});

describe('a recurrence', () => {
  const from = { firstDay: day('2026-11-02'), countedFromDay: day('2026-11-02') };

  test('of every third day is counted from the first', () => {
    const schedule = { ...nightly, ...from, recurrence: { kind: 'daily', every: 3 } } as const;
    expect(at(schedule, '2026-11-02T22:00')).toBe('open');
    expect(at(schedule, '2026-11-03T06:00')).toBe('2026-11-05T22:00');
    expect(at(schedule, '2026-11-06T06:00')).toBe('2026-11-08T22:00');
  });

  test('of every second week is counted from the first such weekday', () => {
    // 2026-11-02 is a Monday; its first Friday is the 6th.
    const schedule = { ...nightly, ...from, recurrence: { kind: 'weekly', every: 2, weekday: 5 } } as const;
    expect(at(schedule, '2026-11-02T22:00')).toBe('2026-11-06T22:00');
    expect(at(schedule, '2026-11-07T06:00')).toBe('2026-11-20T22:00');
    expect(at(schedule, '2026-11-20T22:00')).toBe('open');
  });

  test('of every second week is that of each week where nobody knows the first', () => {
    const schedule = { ...nightly, recurrence: { kind: 'weekly', every: 2, weekday: 0 } } as const;
    expect(at(schedule, '2026-11-23T00:00:00')).toBe('open');
    expect(at(schedule, '2026-11-23T12:00')).toBe('2026-11-29T22:00');
  });

  test('of a day of the month is on the last where the month is shorter', () => {
    const schedule = { ...nightly, recurrence: { kind: 'monthly', every: 1, day: 31 } } as const;
    expect(at(schedule, '2026-11-23T00:00')).toBe('2026-11-30T22:00');
    expect(at(schedule, '2026-12-01T06:00')).toBe('2026-12-31T22:00');
    expect(at(schedule, '2027-02-01T06:00')).toBe('2027-02-28T22:00');
  });

  test('of every second month is counted from the first', () => {
    const schedule = { ...nightly, ...from, recurrence: { kind: 'monthly', every: 2, day: 15 } } as const;
    expect(at(schedule, '2026-11-16T06:00')).toBe('2027-01-15T22:00');
  });

  test('of a weekday of the month is on the week that is named', () => {
    const on = (week: 1 | 2 | 3 | 4 | 'last') =>
      at({ ...nightly, recurrence: { kind: 'weekday-of-month', every: 1, weekday: 1, week } }, '2026-11-01T12:00');
    // Mondays of November 2026: 2, 9, 16, 23, 30.
    expect([on(1), on(2), on(3), on(4), on('last')].map((text) => text.slice(8, 10))).toEqual([
      '02',
      '09',
      '16',
      '23',
      '30',
    ]);
  });
});
