import { expect, test } from 'vitest';
import { compareLeft } from '../../../../../shared/core/placing/one-by-one/left-pods.ts';

test.each([
  [
    'as many of each priority are equal',
    [
      [10, 1],
      [0, 3],
    ],
    [
      [10, 1],
      [0, 3],
    ],
    0,
  ],
  ['nothing is less than one of the lowest priority', [], [[-5, 1]], -1],
  ['of one priority fewer are less', [[0, 2]], [[0, 3]], -1],
  ['one of a higher priority is more than any number of a lower one', [[10, 1]], [[0, 100]], 1],
  [
    'where the highest is equal the next decides',
    [
      [10, 1],
      [0, 2],
    ],
    [
      [10, 1],
      [5, 1],
    ],
    -1,
  ],
] as const)('of pods left, %s', (_, a, b, sign) => {
  expect(Math.sign(compareLeft(a, b))).toBe(sign);
  expect(Math.sign(compareLeft(b, a))).toBe(sign === 0 ? 0 : -sign);
});
