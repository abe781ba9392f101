import { expect, test } from 'vitest';
import { isAhead, parsePast, parseUntil } from '../../../../shared/core/quantity/told-time.ts';
import { renderTimestamp } from '../../../../shared/core/quantity/utc-time.ts';

const NOW = Date.UTC(2026, 11, 1);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const at = (ms: number): string => renderTimestamp(NOW + ms);

test.each<[string, string | undefined, number | null]>([
  ['long ago', at(-HOUR), NOW - HOUR],
  ['a little ahead, as clocks are', at(5 * MINUTE), NOW + 5 * MINUTE],
  ['further ahead than clocks are apart', at(5 * MINUTE + 1000), null],
  ['in a year', at(365 * 24 * HOUR), null],
  ['that nobody can read', 'soon', null],
  ['that nobody has said', undefined, null],
])('a moment that has been, %s', (_, text, expected) => {
  expect(parsePast(text, NOW)).toBe(expected);
});

test.each<[string, string, number | null]>([
  ['a time within it', at(HOUR), NOW + HOUR],
  ['a time past it by no more than clocks are apart', at(HOUR + 5 * MINUTE), NOW + HOUR + 5 * MINUTE],
  ['a time further ahead', at(HOUR + 5 * MINUTE + 1000), null],
  ['nothing that can be read', '', null],
])('of what is put off for an hour at most: %s', (_, text, expected) => {
  expect(parseUntil(text, NOW, HOUR)).toBe(expected);
});

test('a moment is ahead when no two right clocks are so far apart', () => {
  expect([isAhead(NOW + 5 * MINUTE, NOW), isAhead(NOW + 5 * MINUTE + 1, NOW)]).toEqual([false, true]);
});
