import { expect, test } from 'vitest';
import { createBackoff, pause } from '../../../relay/backoff.ts';

test('delays double up to the longest, and begin anew after a success', () => {
  const longest = createBackoff(100, 1_000, () => 1);
  expect(Array.from({ length: 6 }, () => longest.next(null))).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  longest.reset();
  expect(longest.next(null)).toBe(100);
});

test('a delay is at least half of what it may be, so that clients do not come back at once', () => {
  const shortest = createBackoff(100, 1_000, () => 0);
  expect(Array.from({ length: 5 }, () => shortest.next(null))).toEqual([50, 100, 200, 400, 500]);
  expect(createBackoff(100, 1_000, () => 0.5).next(null)).toBe(75);
});

test('what the other side asks for counts where it is longer, with a little more', () => {
  expect(createBackoff(100, 1_000, () => 0).next(3_000)).toBe(3_000);
  expect(createBackoff(100, 1_000, () => 1).next(3_000)).toBeCloseTo(3_300);
  expect(createBackoff(100, 1_000, () => 1).next(10)).toBe(100);
});

test('a pause ends at once when it is called off, before or within', async () => {
  const off = new AbortController();
  const paused = pause(60_000, off.signal);
  off.abort();
  await paused;
  await pause(60_000, off.signal);
});

test('a pause that is over leaves nothing behind', async () => {
  const { signal } = new AbortController();
  let listeners = 0;
  const counting = Object.assign(Object.create(signal) as AbortSignal, {
    addEventListener: () => (listeners += 1),
    removeEventListener: () => (listeners -= 1),
  });
  Object.defineProperty(counting, 'aborted', { value: false });
  await pause(1, counting);
  expect(listeners).toBe(0);
});
