import { expect, test } from 'vitest';
import { pauseOf } from '../../../../../shared/adapters/azure/calls/pause-of.ts';

const NOW = Date.parse('2026-11-24T12:00:00Z');
const headers = (given: Readonly<Record<string, string>>) => ({ get: (name: string) => given[name] });

test.for([
  [{ 'retry-after': '7' }, '', 7_000],
  [{ 'retry-after': 'Tue, 24 Nov 2026 12:01:30 GMT' }, '', 90_000],
  [{ 'retry-after-ms': '1500', 'retry-after': '7' }, '', 1_500],
  [{ 'x-ms-retry-after-ms': '2500', 'retry-after': '7' }, '', 2_500],
  [{}, "Please try again after '372' seconds.", 372_000],
  [{ 'retry-after': '7' }, "Please try again after '372' seconds.", 7_000],
] as const)('%j with "%s" asks for a pause of %s ms', ([given, message, ms]) => {
  expect(pauseOf(headers(given), message, NOW)).toBe(ms);
});

test.for([
  [{}, ''],
  [{ 'retry-after': '0' }, ''],
  [{ 'retry-after': '-3' }, ''],
  [{ 'retry-after': 'soon' }, ''],
  [{ 'retry-after': 'Tue, 24 Nov 2026 11:59:00 GMT' }, ''],
  [{}, 'Try again later.'],
] as const)('%j with "%s" asks for none', ([given, message]) => {
  expect(pauseOf(headers(given), message, NOW)).toBeNull();
});

test('an answer that never came asks for none', () => {
  expect(pauseOf(undefined, '', NOW)).toBeNull();
});
