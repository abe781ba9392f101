import { expect, test } from 'vitest';
import { type Action, drawActions, isLeftOut, leavable } from '../../soak/draw-actions.ts';
import { apps } from '../../soak/workloads.ts';

const HOUR_MS = 3_600_000;
const seeds = ['s-1', 's-2', 's-3', 's-4', 's-5'];

/** Actions of one kind. */
function of<Kind extends Action['kind']>(seed: string, kind: Kind): ReadonlyArray<Extract<Action, { kind: Kind }>> {
  return drawActions(seed, HOUR_MS)
    .map(({ action }) => action)
    .filter((action): action is Extract<Action, { kind: Kind }> => action.kind === kind);
}

test('a seed draws the same actions at the same times, and another seed others', () => {
  expect(drawActions('s-1', HOUR_MS)).toEqual(drawActions('s-1', HOUR_MS));
  expect(drawActions('s-1', HOUR_MS)).not.toEqual(drawActions('s-2', HOUR_MS));
});

test('a kind is left out as a whole, or one sort of it', () => {
  const all = drawActions('s-1', HOUR_MS).map(({ action }) => action);
  const leftOut = (without: ReadonlyArray<string>): ReadonlyArray<Action> =>
    all.filter((action) => isLeftOut(action, new Set(without)));
  expect(leftOut([])).toEqual([]);
  expect(new Set(leftOut(['kill', 'freeze']).map(({ kind }) => kind))).toEqual(new Set(['kill', 'freeze']));
  expect(new Set(leftOut(['kill-functions-host']).map((one) => one.kind === 'kill' && one.part))).toEqual(
    new Set(['functions host']),
  );
  const unannounced = leftOut(['evict-unannounced']);
  expect(unannounced.length).toBeGreaterThan(0);
  expect(unannounced.every((one) => one.kind === 'evict' && one.noticeSeconds === 0)).toBe(true);
  expect(leavable).toEqual(expect.arrayContaining(['evict-unannounced', 'kill-service-bus']));
});

test('a longer churn begins as a shorter one', () => {
  const short = drawActions('s-1', 420_000);
  expect(drawActions('s-1', HOUR_MS).slice(0, short.length)).toEqual(short);
});

test.each(seeds)('ten minutes have every kind of action (seed %s)', (seed) => {
  const kinds = new Set(drawActions(seed, 0.7 * 600_000).map(({ action }) => action.kind));
  const common = ['scale', 'job', 'evict', 'delete', 'azure', 'kill', 'add-pool', 'drift', 'freeze'] as const;
  expect(common.filter((kind) => !kinds.has(kind))).toEqual([]);
});

test.each(seeds)('actions come in order, within the time, two to twelve seconds apart (seed %s)', (seed) => {
  const times = drawActions(seed, HOUR_MS).map(({ atMs }) => atMs);
  const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0));
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(2_000);
  expect(Math.max(...pauses)).toBeLessThan(12_000);
  expect(times.at(-1)).toBeLessThan(HOUR_MS);
});

test.each(seeds)(
  'Azure has one fault at a time, of half a minute to a minute, and each kind in turn (seed %s)',
  (seed) => {
    const faults = drawActions(seed, HOUR_MS).flatMap(({ atMs, action }) =>
      action.kind === 'azure' ? [{ atMs, ...action }] : [],
    );
    for (const [index, { atMs, seconds }] of faults.entries()) {
      expect(seconds).toBeGreaterThanOrEqual(30);
      expect(seconds).toBeLessThanOrEqual(60);
      expect(faults[index + 1]?.atMs ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(atMs + 1_000 * seconds);
    }
    expect(new Set(faults.slice(0, 7).map(({ fault }) => fault)).size).toBe(7);
  },
);

test('actions come at the pace that is asked for', () => {
  for (const pauseS of [3, 7, 10.8]) {
    const mean = HOUR_MS / drawActions('s-1', HOUR_MS, pauseS).length / 1_000;
    expect(mean).toBeGreaterThan(0.9 * pauseS);
    expect(mean).toBeLessThan(1.1 * pauseS);
  }
});

test.each(seeds)('a pool is removed or limited only while it is there, and two at most are (seed %s)', (seed) => {
  const there = new Set<string>();
  for (const { action } of drawActions(seed, HOUR_MS)) {
    if (action.kind === 'add-pool') there.add(action.name);
    if (action.kind === 'limit-pool' || action.kind === 'remove-pool') expect(there).toContain(action.name);
    if (action.kind === 'remove-pool') there.delete(action.name);
    expect(there.size).toBeLessThanOrEqual(2);
  }
});

test.each(seeds)('replicas stay within what their app may have, and all processes are killed (seed %s)', (seed) => {
  for (const { app, replicas } of of(seed, 'scale')) {
    const { most } = apps.find(({ name }) => name === app)?.replicas ?? { most: -1 };
    expect(replicas).toBeLessThanOrEqual(most);
  }
  expect(new Set(of(seed, 'kill').map(({ part }) => part)).size).toBe(3);
});

test.each(seeds)('machines are evicted with and without notice, one and three at once (seed %s)', (seed) => {
  const evictions = of(seed, 'evict');
  expect(new Set(evictions.map(({ noticeSeconds }) => noticeSeconds))).toEqual(new Set([0, 30]));
  expect(new Set(evictions.map(({ count }) => count))).toEqual(new Set([1, 3]));
});
