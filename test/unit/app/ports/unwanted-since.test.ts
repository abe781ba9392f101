import { expect, test } from 'vitest';
import { createUnwantedSince } from '../../../../shared/app/ports/unwanted-since.ts';

test('what is unwanted without a break is so since it was first seen', () => {
  const unwanted = createUnwantedSince();
  unwanted.note(['a'], 1_000);
  expect(unwanted.note(['a', 'b'], 2_000)).toEqual(
    new Map([
      ['a', 1_000],
      ['b', 2_000],
    ]),
  );
});

test('what was wanted in between is so since it was seen again', () => {
  const unwanted = createUnwantedSince();
  unwanted.note(['a'], 1_000);
  unwanted.note([], 2_000);
  expect(unwanted.note(['a'], 3_000)).toEqual(new Map([['a', 3_000]]));
});
