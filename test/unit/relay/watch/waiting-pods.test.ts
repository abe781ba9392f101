import { describe, expect, test } from 'vitest';
import { createWaitingPods, type WaitingPods } from '../../../../relay/watch/waiting-pods.ts';
import type { PodState } from '../../../../shared/contract/snapshot/pod-table.ts';

const pod = (name: string, provisionable: boolean): PodState => ({
  key: `default/${name}`,
  nodeName: null,
  provisionable,
  placedByOwner: false,
  deleting: false,
});
const unseen = (waiting: WaitingPods, name: string, atMs: number): void =>
  waiting.apply({ kind: 'pod', before: null, after: pod(name, true) }, atMs);
const begins = (waiting: WaitingPods, name: string, atMs: number): void =>
  waiting.apply({ kind: 'pod', before: pod(name, false), after: pod(name, true) }, atMs);
const ends = (waiting: WaitingPods, name: string, atMs: number): void =>
  waiting.apply({ kind: 'pod', before: pod(name, true), after: pod(name, false) }, atMs);

describe('a pod waits', () => {
  test('from when it could not be placed until it has a place, and the wait is told once', () => {
    const waiting = createWaitingPods();
    begins(waiting, 'a', 1_000);
    expect([...waiting.list()]).toEqual([{ key: 'default/a', sinceMs: 1_000, isSinceKnown: true }]);
    begins(waiting, 'a', 5_000);
    expect([...waiting.list()]).toEqual([{ key: 'default/a', sinceMs: 1_000, isSinceKnown: true }]);
    expect(waiting.size()).toBe(1);
    ends(waiting, 'a', 7_000);
    expect([waiting.size(), waiting.takeEnded(Infinity)]).toEqual([0, [{ sinceMs: 1_000, untilMs: 7_000 }]]);
    expect(waiting.takeEnded(Infinity)).toEqual([]);
  });

  test('until it is gone', () => {
    const waiting = createWaitingPods();
    begins(waiting, 'a', 1_000);
    waiting.apply({ kind: 'pod', before: pod('a', true), after: null }, 2_000);
    expect([waiting.size(), waiting.takeEnded(Infinity)]).toEqual([0, [{ sinceMs: 1_000, untilMs: 2_000 }]]);
  });

  test('for longer than we know when it waited already as we first saw it: of its wait nothing is told', () => {
    const waiting = createWaitingPods();
    unseen(waiting, 'a', 1_000);
    expect([...waiting.list()]).toEqual([{ key: 'default/a', sinceMs: 1_000, isSinceKnown: false }]);
    ends(waiting, 'a', 7_000);
    expect([waiting.size(), waiting.takeEnded(Infinity)]).toEqual([0, []]);
  });

  test('not when it never did, and nothing but pods waits', () => {
    const waiting = createWaitingPods();
    ends(waiting, 'a', 1_000);
    waiting.apply({ kind: 'same' }, 1_000);
    waiting.apply({ kind: 'malformed' }, 1_000);
    expect([waiting.size(), waiting.takeEnded(Infinity)]).toEqual([0, []]);
  });
});

test('a wait that has ended stays until somebody takes those that began when it did', () => {
  const waiting = createWaitingPods();
  for (const [index, atMs] of [1_000, 3_000, 2_000].entries()) begins(waiting, `p-${index}`, atMs);
  for (const index of [0, 1, 2]) ends(waiting, `p-${index}`, 4_000);
  expect(waiting.takeEnded(999)).toEqual([]);
  expect(waiting.takeEnded(2_000).map(({ sinceMs }) => sinceMs)).toEqual([1_000, 2_000]);
  expect(waiting.takeEnded(3_000).map(({ sinceMs }) => sinceMs)).toEqual([3_000]);
});

test('of ended waits that nobody asks for the last ten thousand are kept', () => {
  const waiting = createWaitingPods();
  for (let index = 0; index < 10_005; index++) {
    begins(waiting, `p-${index}`, 1_000 + index);
    ends(waiting, `p-${index}`, 20_000);
  }
  const taken = waiting.takeEnded(Infinity).map(({ sinceMs }) => sinceMs);
  expect([taken.length, taken[0], taken.at(-1)]).toEqual([10_000, 1_005, 11_004]);
  begins(waiting, 'late', 1_000);
  ends(waiting, 'late', 3_000);
  expect(waiting.takeEnded(Infinity)).toEqual([{ sinceMs: 1_000, untilMs: 3_000 }]);
});
