import { afterEach, expect, test, vi } from 'vitest';
import type { BlobAnswer } from '../../../../relay/azure/blob-client.ts';
import { createFiguresReader } from '../../../../relay/measure/figures-reader.ts';
import { FIGURES_BLOB, NO_FIGURES, parseFigures } from '../../../../shared/contract/figures/plan-figures.ts';

afterEach(() => void vi.restoreAllMocks());

const nothing = new Uint8Array();
const read: BlobAnswer = { status: 200, headers: {}, body: new TextEncoder().encode(JSON.stringify(NO_FIGURES)) };

/** A reader over answers in this order; the last is given again and again. */
function openReader(...answers: ReadonlyArray<() => Promise<BlobAnswer>>) {
  const asked: Array<string> = [];
  const outcomes: Array<string> = [];
  const request = (method: string, path: string): Promise<BlobAnswer> => {
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    asked.push(`${method} ${path}`);
    return answer?.() ?? Promise.reject(new Error('no answer'));
  };
  const reader = createFiguresReader({ request, close: () => {} }, 'group/my cluster', {
    blob: FIGURES_BLOB,
    parse: parseFigures,
    onRead: (outcome) => outcomes.push(outcome),
    longestMs: 20,
  });
  return { reader, asked, outcomes };
}

test('who scrapes twice in a moment costs one read', async () => {
  const { reader, asked } = openReader(() => Promise.resolve(read));
  await Promise.all([reader.refresh(), reader.refresh()]);
  await reader.refresh();
  expect(asked).toEqual(['GET /snapshots/group/my%20cluster/figures']);
  expect(reader.known()).toEqual(NO_FIGURES);
});

test('before the first plan there are none', async () => {
  const { reader, outcomes } = openReader(() => Promise.resolve({ status: 404, headers: {}, body: nothing }));
  await reader.refresh();
  expect([reader.known(), outcomes]).toEqual([null, ['absent']]);
});

test.each([
  ['storage cannot be reached', () => Promise.reject(new Error('no route'))],
  ['storage refuses', () => Promise.resolve({ ...read, status: 403 })],
])('while %s nothing is lost but time: the next scrape tries again', async (_, fail) => {
  const { reader, outcomes } = openReader(fail, () => Promise.resolve(read));
  await reader.refresh();
  expect(reader.known()).toBeNull();
  await reader.refresh();
  expect(reader.known()).toEqual(NO_FIGURES);
  expect(outcomes).toEqual(['failed', 'read']);
});

test('a record that cannot be read is told, and what was known stays', async () => {
  const { reader, outcomes } = openReader(() => Promise.resolve({ ...read, body: new Uint8Array([123]) }));
  await reader.refresh();
  expect([reader.known(), outcomes]).toEqual([null, ['malformed']]);
});

test('a scrape does not wait for storage that never answers', async () => {
  const { reader, asked } = openReader(() => new Promise(() => {}));
  await reader.refresh();
  await reader.refresh();
  expect([reader.known(), asked.length]).toEqual([null, 1]);
});

/** Moves the clock that readers go by. */
function clock(): { nowMs: number } {
  const state = { nowMs: 10_000 };
  vi.spyOn(performance, 'now').mockImplementation(() => state.nowMs);
  return state;
}

test('figures are read again a second later, and not before', async () => {
  const time = clock();
  const { reader, asked } = openReader(() => Promise.resolve(read));
  await reader.refresh();
  time.nowMs += 999;
  await reader.refresh();
  expect(asked).toHaveLength(1);
  time.nowMs += 1;
  await reader.refresh();
  expect(asked).toHaveLength(2);
});

test.each([
  ['cannot be read', { ...read, body: new Uint8Array([123]) }, NO_FIGURES, 'malformed'],
  ['is refused', { ...read, status: 403 }, NO_FIGURES, 'failed'],
  ['is gone', { status: 404, headers: {}, body: nothing }, null, 'absent'],
])('of a record that was known and %s: what stays', async (_, next, known, outcome) => {
  const time = clock();
  const { reader, outcomes } = openReader(
    () => Promise.resolve(read),
    () => Promise.resolve(next),
  );
  await reader.refresh();
  time.nowMs += 1_000;
  await reader.refresh();
  expect([reader.known(), outcomes]).toEqual([known, ['read', outcome]]);
});

test('a scrape that storage answers quickly waits no longer, and leaves no timer', async () => {
  vi.useFakeTimers();
  const { reader } = openReader(() => Promise.resolve(read));
  await reader.refresh();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test('an answer that came too late for its scrape is there for the next', async () => {
  const late = Promise.withResolvers<BlobAnswer>();
  const { reader, asked } = openReader(() => late.promise);
  await reader.refresh();
  expect(reader.known()).toBeNull();
  late.resolve(read);
  await reader.refresh();
  expect([reader.known(), asked.length]).toEqual([NO_FIGURES, 1]);
});
