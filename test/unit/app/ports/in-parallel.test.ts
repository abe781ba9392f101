import { expect, test } from 'vitest';
import { alone, eachAlone, inParallel } from '../../../../shared/app/ports/in-parallel.ts';
import { RetryableError, TerminalError } from '../../../../shared/ports/errors.ts';

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('answers come in the order of the items, whichever is ready first', async () => {
  const answers = await inParallel([3, 1, 2], 3, async (turns) => {
    for (let turn = 0; turn < turns; turn++) await pause();
    return turns * 10;
  });
  expect(answers).toEqual([30, 10, 20]);
});

test('never more than the limit run at once, and all of the limit is used', async () => {
  let [running, most] = [0, 0];
  await inParallel(
    Array.from({ length: 20 }, (_, index) => index),
    4,
    async () => {
      running += 1;
      most = Math.max(most, running);
      await pause();
      running -= 1;
    },
  );
  expect(most).toBe(4);
});

test('after a failure nothing new starts, what runs ends first, and the failure is thrown', async () => {
  const [started, ended]: [Array<number>, Array<number>] = [[], []];
  const run = inParallel([0, 1, 2, 3, 4], 2, async (item) => {
    started.push(item);
    await pause();
    if (item === 0) throw new Error('item 0 failed');
    await pause();
    ended.push(item);
  });
  await expect(run).rejects.toThrow('item 0 failed');
  expect([started, ended]).toEqual([[0, 1], [1]]);
});

test('no items, no answers', async () => {
  expect(await inParallel([], 4, () => Promise.reject(new Error('never called')))).toEqual([]);
});

test('each alone: what fails of one keeps no other from its turn, and answers come in the order of the items', async () => {
  const settled = await eachAlone([0, 1, 2, 3], 2, async (item, index) => {
    await pause();
    if (item === 0) throw new RetryableError('later');
    if (item === 2) throw new TerminalError('never');
    return item * 10 + index;
  });
  expect(settled.map((one) => (one.kind === 'done' ? one.answer : one.error.message))).toEqual([
    'later',
    11,
    'never',
    33,
  ]);
});

test('a fault of ours is no item’s outcome', async () => {
  await expect(eachAlone([0], 1, () => Promise.reject(new TypeError('ours')))).rejects.toThrow('ours');
  await expect(alone(() => Promise.reject(new TypeError('ours')))).rejects.toThrow('ours');
});
