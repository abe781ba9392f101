import { expect, test } from 'vitest';
import { approximateQuantity } from '../../../../relay/measure/approximate-quantity.ts';

test.each([
  ['4', 4],
  [4, 4],
  ['+1.5', 1.5],
  ['-2', -2],
  ['100m', 0.1],
  ['250u', 0.00025],
  ['5n', 5e-9],
  ['2k', 2_000],
  ['2M', 2e6],
  ['2G', 2e9],
  ['2T', 2e12],
  ['2P', 2e15],
  ['2E', 2e18],
  ['2Ki', 2_048],
  ['2Mi', 2 * 2 ** 20],
  ['2Gi', 2 * 2 ** 30],
  ['2Ti', 2 * 2 ** 40],
  ['2Pi', 2 * 2 ** 50],
  ['2Ei', 2 * 2 ** 60],
  ['1e3', 1_000],
  ['1E3', 1_000],
  ['1e-3', 0.001],
  ['1e+12', 1e12],
])('the quantity %s is shown as %s', (text, value) => {
  expect(approximateQuantity(text)).toBeCloseTo(value, 12);
});

test.each(['', 'x', '1.2.3', '1 Gi', ' 1', '1Gb', '1K', '1mi', '1e1000', '1e', 'Ki', '--1'])(
  'what is no quantity is shown as nothing: %j',
  (text) => {
    expect(approximateQuantity(text)).toBe(0);
  },
);
