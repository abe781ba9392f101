import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createBackoff, pause } from '../../../../relay/process/backoff.ts';

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

describe('a pause', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('is as long as it is said to be', async () => {
    let isOver = false;
    void pause(1_000, new AbortController().signal).then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(999);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver).toBe(true);
  });

  test('ends at once when it is called off, before or within, and leaves no timer', async () => {
    const off = new AbortController();
    const paused = pause(60_000, off.signal);
    expect(vi.getTimerCount()).toBe(1);
    off.abort();
    await paused;
    await pause(60_000, off.signal);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('leaves no listener: a signal outlives thousands of them', async () => {
    const { signal } = new AbortController();
    const paused = pause(1_000, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_000);
    await paused;
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});
