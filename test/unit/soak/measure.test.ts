import { expect, test } from 'vitest';
import {
  besideFaults,
  cpuPercent,
  emptyFigures,
  keptFigures,
  longestKept,
  longestWaits,
  memoryFigures,
  readyToRemoved,
  setFigures,
  spreadOf,
  takenBackIn,
  toldToRemoved,
  unusedClaims,
  waitsOf,
} from '../../soak/measure.ts';
import { claim, pod } from './lives.ts';

test('a wait is beside faults of Azure that was over before they began, or began when they were over', () => {
  const troubles = [
    { what: 'Azure: slow', fromMs: 10_000, endedMs: 20_000 },
    { what: 'relay killed', fromMs: 30_000, endedMs: 40_000 },
    { what: 'Azure: errors', fromMs: 50_000, endedMs: null },
  ];
  const of = (seenMs: number, boundMs: number | null) => pod({ name: `${seenMs}-${boundMs}`, seenMs, boundMs });
  const all = [
    of(0, 9_999),
    of(0, 10_000),
    of(19_000, 25_000),
    of(21_000, 49_999),
    of(21_000, 50_000),
    of(60_000, null),
  ];
  expect(besideFaults(all, troubles).map(({ name }) => name)).toEqual(['0-9999', '21000-49999']);
});

test('percentiles are values that occurred, by nearest rank', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(spreadOf(values)).toEqual({ count: 100, p50: 50, p90: 90, p99: 99, most: 100 });
  expect(spreadOf([7])).toEqual({ count: 1, p50: 7, p90: 7, p99: 7, most: 7 });
  expect(spreadOf([])).toBeNull();
});

test('waits are of pods that can run and have a node; the longest are named', () => {
  const pods = [
    pod({ name: 'a', seenMs: 1_000, boundMs: 3_500 }),
    pod({ name: 'b', seenMs: 1_000, boundMs: 11_000, told: ['2.0 Nominated: to x'] }),
    pod({ name: 'c', seenMs: 1_000 }),
    pod({ name: 'd', seenMs: 1_000, boundMs: 99_000, canRun: false }),
  ];
  expect(waitsOf(pods)).toEqual({ count: 2, p50: 2.5, p90: 10, p99: 10, most: 10 });
  expect(longestWaits(pods, 1)).toEqual(['b: 10.0 s, from 1.0 s on\n      2.0 Nominated: to x']);
});

test('sets are counted by reason; those that went tell how long that took, from the mark or from the last replacement on', () => {
  const set = {
    decision: 'd',
    nodes: 1,
    toldMs: 0,
    readyMs: null,
    removedMs: null,
    isTakenBack: false,
    replacements: 0,
    isHeldByPods: false,
  };
  const sets = [
    { ...set, reason: 'Empty', removedMs: 5_000 },
    { ...set, reason: 'Drifted', replacements: 1, readyMs: 10_000, removedMs: 12_000 },
    { ...set, reason: 'Drifted', replacements: 1, readyMs: 10_000, removedMs: 90_000, isHeldByPods: true },
    { ...set, reason: 'Drifted', replacements: 1, readyMs: 10_000, isTakenBack: true },
  ];
  expect(setFigures(sets)).toEqual([
    { reason: 'Drifted', told: 3, takenBack: 1 },
    { reason: 'Empty', told: 1, takenBack: 0 },
  ]);
  expect(readyToRemoved(sets)).toMatchObject({ count: 1, most: 2 });
  expect(toldToRemoved(sets)).toMatchObject({ count: 1, most: 5 });
});

test('node minutes count until a node has gone, and those that it is kept for are part of them', () => {
  const nodes = [
    { seenMs: 0, goneMs: 120_000, keptSinceMs: null, keptMs: 30_000 },
    { seenMs: 60_000, goneMs: null, keptSinceMs: 150_000, keptMs: 0 },
  ];
  expect(keptFigures(nodes, 180_000)).toEqual({ nodeMinutes: 4, keptMinutes: 1 });
});

test('a claim was never used when it was ready, went, and no pod had come', () => {
  const claims = [
    claim({ readyMs: 1, goneMs: 2 }),
    claim({ readyMs: 1, goneMs: 2, isUsed: true, longestEmptyMs: 46_000 }),
    claim({ readyMs: 1, longestEmptyMs: 45_000 }),
    claim({ goneMs: 2 }),
  ];
  expect(emptyFigures(claims)).toEqual({ made: 4, neverUsed: 1, longEmpty: 1 });
});

test('what was for nobody is named: claims without a pod, nodes that were kept, sets that were taken back', () => {
  const claims = [
    claim({ name: 'a', seenMs: 1_000, readyMs: 2_000, goneMs: 3_500, isInterrupted: true }),
    claim({ name: 'b', readyMs: 1, goneMs: 2, isUsed: true }),
  ];
  expect(unusedClaims(claims)).toEqual(['a: made at 1.0 s, ready at 2.0, gone at 3.5, as Azure took it']);
  const node = { seenMs: 0, goneMs: null, keptSinceMs: null };
  const nodes = [
    ['a', { ...node, keptMs: 1_000 }],
    ['b', { ...node, keptSinceMs: 8_000, keptMs: 500 }],
    ['c', { ...node, keptMs: 0 }],
  ] as const;
  expect(longestKept(nodes, 10_000, 2)).toEqual(['b: 2.5 s', 'a: 1.0 s']);
  const facts = { claim: 'a', removal: 'd1', why: 'pods came' };
  const told = [
    { atMs: 9_000, event: 'disruption-taken-back', facts },
    { atMs: 9_500, event: 'disrupted', facts },
  ];
  expect(takenBackIn(told)).toEqual(['9.0 s a (d1): pods came']);
});

/** A sample every ten seconds over `lengthS`, of `rss` MB at a time. */
const life = (lengthS: number, rss: (atS: number) => number, fromS = 0): Parameters<typeof memoryFigures>[0] =>
  Array.from({ length: lengthS / 10 }, (_, index) => ({
    atMs: 1_000 * (fromS + 10 * index),
    rssMb: rss(10 * index),
    cpuS: index,
  }));

test('memory is flat where a warm process takes no more at the end of a long life than at its beginning', () => {
  expect(memoryFigures(life(1_200, (atS) => 500 + (atS % 50)))).toEqual({
    leastMb: 500,
    mostMb: 540,
    liveMb: [],
    grew: false,
  });
  expect(memoryFigures(life(1_200, (atS) => 200 + atS / 2)).grew).toBe(true);
});

test('where it was measured what a process holds without garbage, that says whether it grew', () => {
  const held = (mb: (atS: number) => number) =>
    life(1_200, (atS) => 200 + atS / 2).map((one) =>
      one.atMs % 240_000 > 0 ? one : { ...one, liveMb: mb(one.atMs / 1_000) },
    );
  expect(memoryFigures(held(() => 50))).toMatchObject({ liveMb: [50, 50, 50, 50, 50], grew: false });
  expect(memoryFigures(held((atS) => 50 + atS / 10)).grew).toBe(true);
});

test('a life in which that was measured once, or never, says nothing where another was measured', () => {
  const [one, two] = [life(1_200, (atS) => 200 + atS / 2), life(1_200, (atS) => 200 + atS / 2, 1_200)];
  const measuredAt = (...atS: ReadonlyArray<number>) =>
    [...one, ...two].map((sample) => (atS.includes(sample.atMs / 1_000) ? { ...sample, liveMb: 50 } : sample));
  expect(memoryFigures(measuredAt(500)).grew).toBeNull();
  expect(memoryFigures(measuredAt(500, 1_000)).grew).toBe(false);
  expect(memoryFigures(measuredAt()).grew).toBe(true);
});

test('a short life says nothing of growth, and a process that was replaced begins anew', () => {
  expect(memoryFigures(life(300, (atS) => 200 + atS)).grew).toBeNull();
  const two = [...life(300, () => 400), ...life(300, () => 900, 300)];
  expect(memoryFigures(two)).toEqual({ leastMb: 400, mostMb: 900, liveMb: [], grew: null });
  expect(memoryFigures([])).toEqual({ leastMb: 0, mostMb: 0, liveMb: [], grew: null });
});

test('CPU is told over the time between the samples, and not of a process that was replaced meanwhile', () => {
  const sample = (atMs: number, cpuS: number): { atMs: number; cpuS: number; rssMb: number } => ({
    atMs,
    cpuS,
    rssMb: 1,
  });
  expect(cpuPercent([sample(0, 1), sample(30_000, 2), sample(60_000, 4)])).toBe(5);
  expect(cpuPercent([sample(0, 9), sample(60_000, 4)])).toBeNull();
  expect(cpuPercent([sample(0, 9)])).toBeNull();
});
