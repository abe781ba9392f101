import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { riskOf, withRisk } from '../../../../shared/core/offerings/weighed-price.ts';

const HALF_HOUR_MS = 1_800_000;

test.each([
  [0, HALF_HOUR_MS, 0],
  [0.075, HALF_HOUR_MS, 37_500],
  [0.225, HALF_HOUR_MS, 112_500],
  [0.225, 0, 0],
  [1, 24 * 2 * HALF_HOUR_MS, 24_000_000],
  [0.000001, 1, 1],
])('a chance of %d an hour, where an eviction costs %d ms, adds %d millionths', (rate, costMs, risk) => {
  expect(riskOf(rate, costMs)).toBe(risk);
});

test('the price with risk is exact, rounded up, for any price that Azure could ask', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000_000 }), fc.integer({ min: 0, max: 24_000_000 }), (price, risk) => {
      const [exact, million] = [BigInt(price) * BigInt(risk), 1_000_000n];
      expect(withRisk(price, risk)).toBe(price + Number((exact + million - 1n) / million));
    }),
  );
});

test('what is not offered stays so', () => {
  expect(withRisk(Infinity, 37_500)).toBe(Infinity);
});
