import { expect, test } from 'vitest';
import { once } from '../../../shared/adapters/once.ts';

/** Counts how often it was made; the first `failures` attempts fail. */
function making(failures: number): { readonly get: () => Promise<number>; readonly attempts: () => number } {
  let attempts = 0;
  const get = once(() => {
    attempts += 1;
    return attempts <= failures ? Promise.reject(new Error('not now')) : Promise.resolve(attempts);
  });
  return { get, attempts: () => attempts };
}

test('what is made once is made at the first call, for all who ask, also at the same time', async () => {
  const { get, attempts } = making(0);
  expect(attempts()).toBe(0);
  expect(await Promise.all([get(), get()])).toEqual([1, 1]);
  expect(await get()).toBe(1);
  expect(attempts()).toBe(1);
});

test('a failure reaches all who wait for it, and the next who asks gets another try', async () => {
  const { get, attempts } = making(2);
  const waiting = await Promise.allSettled([get(), get()]);
  expect(waiting.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(attempts()).toBe(1);
  await expect(get()).rejects.toThrow('not now');
  expect(await get()).toBe(3);
  expect(await get()).toBe(3);
});
