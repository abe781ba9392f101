import { describe, expect, test } from 'vitest';
import { parseSchedule, strikesWithin } from '../../../../../shared/core/disruption/candidates/cron.ts';
import { mostAtOnce } from '../../../../../shared/core/disruption/audit/most-at-once.ts';
import { instant } from '../../../../../shared/core/quantity/units.ts';
import type { NodePool } from '../../../../../shared/kubernetes/manifest.ts';
import { parseDuration } from '../../../../../shared/kubernetes/text/duration.ts';
import { parseTimestamp, utcTime } from '../../../../../shared/core/quantity/utc-time.ts';

const at = (text: string): number => parseTimestamp(text) ?? Number.NaN;
const strikes = (schedule: string, text: string): boolean => {
  const read = parseSchedule(schedule);
  return read !== null && strikesWithin(read, at(text) - 1, at(text));
};

describe('schedules of budgets [M04]', () => {
  test.each([
    ['0 9 * * mon-fri', '2026-11-23T09:00:00Z', true],
    ['0 9 * * mon-fri', '2026-11-22T09:00:00Z', false],
    ['*/15 * * * *', '2026-11-22T10:45:00Z', true],
    ['*/15 * * * *', '2026-11-22T10:46:00Z', false],
    ['5/20 * * * *', '2026-11-22T10:45:00Z', true],
    ['0 0 1,15 * *', '2026-11-15T00:00:00Z', true],
    ['0 0 29 2 *', '2028-02-29T00:00:00Z', true],
    ['0 0 13 * 5', '2026-11-20T00:00:00Z', true],
    ['0 0 13 * 5', '2026-11-13T00:00:00Z', true],
    ['0 0 13 * *', '2026-11-20T00:00:00Z', false],
    ['30 23 31 DEC *', '2026-12-31T23:30:00Z', true],
    ['@hourly', '2026-11-22T10:00:00Z', true],
    ['@weekly', '2026-11-22T00:00:00Z', true],
    ['@monthly', '2026-11-02T00:00:00Z', false],
    ['@yearly', '2027-01-01T00:00:00Z', true],
    // As robfig/cron reads them: what follows a star is not read.
    ['*-5 0 * * *', '2026-11-22T00:30:00Z', true],
    ['0 0 13 * *-3', '2026-11-14T00:00:00Z', false],
    ['0 0 13 * *-3', '2026-11-13T00:00:00Z', true],
    ['0-59 9 * * ?-x', '2026-11-22T09:30:00Z', true],
  ])('%s strikes at %s: %s', (schedule, text, expected) => {
    expect(strikes(schedule, text)).toBe(expected);
  });

  test.each([
    '',
    '* * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * * 13 *',
    '* * * * 7',
    '5-1 * * * *',
    '*/0 * * * *',
    '@often',
    '1-2-3 * * * *',
  ])('%j is no schedule', (text) => {
    expect(parseSchedule(text)).toBeNull();
  });

  test('a strike counts for as long as one looks back, and no longer', () => {
    const daily = parseSchedule('@daily');
    if (daily === null) throw new Error('no schedule');
    const noon = at('2026-11-22T12:00:00Z');
    expect(strikesWithin(daily, noon - 12 * 3_600_000 - 1, noon)).toBe(true);
    expect(strikesWithin(daily, noon - 12 * 3_600_000, noon)).toBe(false);
  });

  test('a schedule that never strikes is found out', () => {
    const never = parseSchedule('0 0 31 2 *');
    expect(never !== null && strikesWithin(never, 0, at('2026-11-22T12:00:00Z'))).toBe(false);
  });
});

test.each([
  '0 9 * * mon-fri',
  '*/15 * * * *',
  '5/20 3 * * *',
  '0 0 13 * 5',
  '30 23 31 dec *',
  '@weekly',
  '*-5 0 * * *',
  '0 0 13 * *-3',
  '?-x 9 1-7 * 2',
  '0 0 1 NOV,dec *',
  '  0   9 * *  sun ',
  '*/7 */5 */3 */2 *',
  '10-40/3 8-18/2 2-20 * *',
  '0 0 */2 * 5',
  '0 0 *-20 * 5',
  '0 0 ?-20/1 * 5',
  '0 0 13,* * 5',
  '0 0 13 * 5,?',
  '5 0,12 10-20/5 1/10 1-3',
  ' @daily ',
  '@daily',
  '@monthly',
])('the planner and the audit read %s the same', (schedule) => {
  const read = parseSchedule(schedule);
  const pool = {
    metadata: { name: 'general' },
    spec: { template: { spec: {} }, disruption: { budgets: [{ nodes: '0', schedule, duration: '1m' }] } },
  } as unknown as NodePool;
  const start = at('2026-11-01T00:00:00Z');
  // So that every minute of the day comes in three weeks.
  for (let ms = start; ms < start + 61 * 86_400_000; ms += 17 * 60_000) {
    const most = mostAtOnce(pool, { reason: 'Empty', nodes: 5, now: instant(ms) });
    expect([ms, most]).toEqual([ms, read !== null && strikesWithin(read, ms - 60_000, ms) ? 0 : Infinity]);
  }
});

describe('times', () => {
  test.each(['1969-12-31T23:59:59Z', '2000-02-29T12:30:15Z', '2026-11-22T10:00:00Z', '2100-03-01T00:00:00Z'])(
    '%s is read as others read it',
    (text) => {
      const date = new Date(text);
      expect(parseTimestamp(text)).toBe(date.getTime());
      expect(utcTime(date.getTime())).toMatchObject({
        year: date.getUTCFullYear(),
        month: date.getUTCMonth() + 1,
        day: date.getUTCDate(),
        hour: date.getUTCHours(),
        weekday: date.getUTCDay(),
      });
    },
  );

  test('offsets and fractions count', () => {
    expect(parseTimestamp('2026-11-22T10:00:00.5+02:00')).toBe(Date.parse('2026-11-22T08:00:00.500Z'));
    expect(parseTimestamp('22 Nov 2026')).toBeNull();
  });

  test.each([
    ['1h30m', 5_400_000],
    ['90s', 90_000],
    ['Never', null],
    ['', null],
  ])('the duration %j is %s ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });
});
