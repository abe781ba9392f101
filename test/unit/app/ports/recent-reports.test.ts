import { expect, test } from 'vitest';
import { createRecentReports } from '../../../../shared/app/ports/recent-reports.ts';

test('what has been told is no news until its period is over, and others are news of their own', () => {
  const told = createRecentReports();
  expect(told.isNews('a', 0, 1_000)).toBe(true);
  expect(told.isNews('a', 999, 1_000)).toBe(false);
  expect(told.isNews('b', 999, 1_000)).toBe(true);
  expect(told.isNews('a', 1_000, 1_000)).toBe(true);
  expect(told.isNews('b', 1_500, 1_000)).toBe(false);
});
