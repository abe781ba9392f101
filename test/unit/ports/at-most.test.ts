import { expect, test } from 'vitest';
import { atMost } from '../../../shared/ports/at-most.ts';

test('no more than the limit runs at once, all have their turn in order, and a failure gives its place back', async () => {
  const inTurn = atMost(2);
  const begun: Array<number> = [];
  const ends: Array<(succeeds: boolean) => void> = [];
  const tasks = Array.from({ length: 5 }, (_, index) =>
    inTurn(() => {
      begun.push(index);
      return new Promise<number>((resolve, reject) => {
        ends.push((succeeds) => (succeeds ? resolve(index) : reject(new Error('fails'))));
      });
    }).catch(() => -1),
  );
  const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  await settled();
  expect(begun).toEqual([0, 1]);
  ends[1]?.(false);
  await settled();
  expect(begun).toEqual([0, 1, 2]);
  for (const index of [0, 2, 3, 4]) {
    ends[index]?.(true);
    await settled();
  }
  expect(await Promise.all(tasks)).toEqual([0, -1, 2, 3, 4]);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});
