import { expect, test } from 'vitest';
import { calmMs, endTroubles, newBook } from '../../soak/book.ts';

const calm = (troubles: ReadonlyArray<readonly [from: number, to: number | null]>): number =>
  calmMs(
    troubles.map(([fromMs, endedMs]) => ({ fromMs, endedMs })),
    { fromMs: 100_000, toMs: 200_000 },
  );

test('time in which something is broken does not count, nor the half minute after it', () => {
  expect(calm([])).toBe(100_000);
  expect(calm([[110_000, 120_000]])).toBe(60_000);
  expect(calm([[50_000, 60_000]])).toBe(100_000);
  expect(calm([[50_000, 80_000]])).toBe(90_000);
  expect(calm([[190_000, null]])).toBe(90_000);
  expect(calm([[250_000, 260_000]])).toBe(100_000);
});

test('troubles that overlap are not counted twice', () => {
  const overlapping = [
    [130_000, 135_000],
    [110_000, 120_000],
    [112_000, 115_000],
  ] as const;
  expect(calm(overlapping)).toBe(10_000 + 35_000);
  expect(calm([[0, null]])).toBe(0);
});

test('a trouble ends once, when it is due', async () => {
  const book = newBook();
  const ended: Array<string> = [];
  const trouble = (what: string, dueMs: number): void =>
    void book.troubles.push({
      what,
      fromMs: 0,
      dueMs,
      endedMs: null,
      end: () => Promise.resolve(void ended.push(what)),
    });
  trouble('short', 10);
  trouble('long', 30);
  await endTroubles(book, 20);
  await endTroubles(book, 25);
  expect(ended).toEqual(['short']);
  expect(book.troubles.map(({ endedMs }) => endedMs)).toEqual([20, null]);
});
