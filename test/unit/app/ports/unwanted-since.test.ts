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

test('what is made after a withdrawal stays for three minutes, in the pool of that, and what was made before does not', () => {
  const unwanted = createUnwantedSince();
  const madeAt = (madeMs: number, nowMs: number, pool = 'a') => unwanted.isKept({ pool, madeMs }, nowMs);
  expect(madeAt(5_000, 6_000)).toBe(false);
  unwanted.noteWithdrawn('a', 10_000);
  unwanted.noteWithdrawn('a', 20_000);
  expect([madeAt(10_000, 30_000), madeAt(10_001, 30_000), madeAt(10_001, 30_000, 'b')]).toEqual([false, true, false]);
  expect([madeAt(10_001, 189_999), madeAt(10_001, 190_000)]).toEqual([true, false]);
  unwanted.noteWithdrawn('a', 700_000);
  expect([madeAt(690_000, 701_000), madeAt(700_001, 701_000)]).toEqual([false, true]);
});
