import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextOccurrence, parseNcrontab } from '../../../sandbox/functions-host/timers/ncrontab.ts';

/** The first occurrences after an instant, as text. */
const after = (schedule: string, from: string, count = 1): ReadonlyArray<string> => {
  const parsed = parseNcrontab(schedule);
  const found: Array<string> = [];
  for (let at = Date.parse(from); found.length < count;) {
    at = nextOccurrence(parsed, at) ?? Number.NaN;
    found.push(new Date(at).toISOString().slice(0, 19));
  }
  return found;
};

test.each([
  ['0 */5 * * * *', '2026-11-21T12:00:00Z', '2026-11-21T12:05:00'],
  ['0 */5 * * * *', '2026-11-21T11:59:59.500Z', '2026-11-21T12:00:00'],
  ['30 59 23 31 Dec *', '2026-11-21T00:00:00Z', '2026-12-31T23:59:30'],
  ['0 0 0 29 2 *', '2026-01-01T00:00:00Z', '2028-02-29T00:00:00'],
  ['0 0 0 29 2 *', '2096-03-01T00:00:00Z', '2104-02-29T00:00:00'],
  ['0 0 9 * * Mon-Fri', '2026-11-21T00:00:00Z', '2026-11-23T09:00:00'],
  ['0 0 9 13 * 5', '2026-11-21T00:00:00Z', '2027-08-13T09:00:00'],
  ['*/5 * * * *', '2026-11-21T12:00:01Z', '2026-11-21T12:05:00'],
  ['10/20 * * * * *', '2026-11-21T12:00:11Z', '2026-11-21T12:00:30'],
  ['50-40/5 0 0 * * *', '2026-11-21T00:00:45Z', '2026-11-21T00:00:50'],
])('%s after %s comes at %s', (schedule, from, expected) => {
  expect(after(schedule, from)).toEqual([expected]);
});

test.each([
  '',
  '* * * *',
  '* * * * * * *',
  '60 * * * * *',
  '0 0 0 0 * *',
  '0 0 0 * * 7',
  'a * * * * *',
  '*/0 * * * * *',
])('"%s" is refused with the reason', (schedule) => {
  expect(() => parseNcrontab(schedule)).toThrow(/is no (?:value|NCRONTAB)/);
});

const field = (least: number, most: number): fc.Arbitrary<string> => {
  const value = fc.integer({ min: least, max: most });
  const part = fc.oneof(
    fc.constant('*'),
    value.map(String),
    fc.tuple(value, value).map(([a, b]) => `${a}-${b}`),
    fc.integer({ min: 1, max: most }).map((step) => `*/${step}`),
    fc.tuple(value, fc.integer({ min: 1, max: most })).map(([a, step]) => `${a}/${step}`),
  );
  return fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(','));
};

const timeOfDay = fc
  .tuple(field(0, 59), field(0, 59), field(0, 23))
  .map(([second, minute, hour]) => `${second} ${minute} ${hour} * * *`);

const instant = fc.date({ min: new Date('2024-01-01'), max: new Date('2032-01-01'), noInvalidDate: true }).map(Number);

/** The same rule said in another way: does the schedule name this second? */
function names(schedule: string, ms: number): boolean {
  const date = new Date(ms);
  const time = [date.getUTCSeconds(), date.getUTCMinutes(), date.getUTCHours()];
  const values = [...time, date.getUTCDate(), date.getUTCMonth() + 1, date.getUTCDay()];
  const mosts = [59, 59, 23, 31, 12, 6];
  const leasts = [0, 0, 0, 1, 1, 0];
  return schedule
    .split(' ')
    .every((text, index) =>
      text.split(',').some((part) => matches(part, values[index] ?? -1, leasts[index] ?? 0, mosts[index] ?? 0)),
    );
}

function matches(part: string, value: number, least: number, most: number): boolean {
  const [range = '', step = '1'] = part.split('/');
  const [a = '', b] = range.split('-');
  const bounds = range === '*' ? [least, most] : [Number(a), Number(b ?? (part.includes('/') ? most : a))];
  const low = Math.min(...bounds);
  return value >= low && value <= Math.max(...bounds) && (value - low) % Number(step) === 0;
}

test('the next occurrence is later, is named by the schedule, and nothing between is', () => {
  fc.assert(
    fc.property(timeOfDay, instant, (schedule, from) => {
      const next = nextOccurrence(parseNcrontab(schedule), from) ?? Number.NaN;
      expect(next).toBeGreaterThan(from);
      expect(names(schedule, next)).toBe(true);
      const start = Math.floor(from / 1000) * 1000 + 1000;
      // Every second for half an hour, then one in 997: enough to find a gap, quick enough to run always.
      for (let ms = start; ms < Math.min(next, start + 1_800_000); ms += 1000) expect(names(schedule, ms)).toBe(false);
      for (let ms = start; ms < next; ms += 997_000) expect(names(schedule, ms)).toBe(false);
    }),
    { numRuns: 60 },
  );
});

const wholeSchedule = fc
  .tuple(field(1, 28), field(1, 12), field(0, 6))
  .map(([day, month, weekday]) => `0 0 0 ${day} ${month} ${weekday}`);

test('day, month and day of week must all match, and no earlier day does', () => {
  fc.assert(
    fc.property(wholeSchedule, instant, (schedule, from) => {
      const next = nextOccurrence(parseNcrontab(schedule), from);
      const day = 86_400_000;
      const first = Math.floor(from / day) * day + day;
      const until = Math.min(next ?? Infinity, first + 800 * day);
      if (next !== null) expect(names(schedule, next)).toBe(true);
      for (let ms = first; ms < until; ms += day) if (names(schedule, ms)) expect(ms).toBe(next);
    }),
    { numRuns: 60 },
  );
});

test('occurrences form one strictly growing chain whatever instant of a gap it is asked from', () => {
  fc.assert(
    fc.property(
      timeOfDay,
      instant,
      fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      (text, from, share) => {
        const schedule = parseNcrontab(text);
        const first = nextOccurrence(schedule, from) ?? Number.NaN;
        const second = nextOccurrence(schedule, first) ?? Number.NaN;
        expect(second).toBeGreaterThan(first);
        expect(nextOccurrence(schedule, first + Math.floor((second - first - 1) * share))).toBe(second);
      },
    ),
    { numRuns: 200 },
  );
});
