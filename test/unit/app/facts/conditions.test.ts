import { expect, test } from 'vitest';
import {
  clearConditions,
  conditionOf,
  isTrue,
  sameConditions,
  setConditions,
  toTimestamp,
} from '../../../../shared/app/facts/conditions.ts';

const createdAt = '2026-01-01T00:00:00Z';
const now = Date.UTC(2026, 0, 1, 0, 1, 0, 999);
const root = { dependents: ['A', 'B'], generation: 3, nowMs: now, createdAt };
const yes = (type: string) => ({ type, status: 'True', reason: type, message: '' }) as const;
const no = (type: string) => ({ type, status: 'False', reason: 'Broken', message: 'it is broken' }) as const;

test('Ready is True when all conditions it depends on are', () => {
  const ready = conditionOf(setConditions([], [yes('A'), yes('B')], root), 'Ready');
  expect(ready).toMatchObject({ status: 'True', reason: 'Ready', observedGeneration: 3 });
});

test('Ready is False when one is, and names it', () => {
  const ready = conditionOf(setConditions([], [yes('A'), no('B')], root), 'Ready');
  expect(ready).toMatchObject({ status: 'False', reason: 'UnhealthyDependents', message: 'B=False' });
});

test('Ready is Unknown while one is undecided, and the undecided one is stated as awaited since the creation', () => {
  const conditions = setConditions(undefined, [yes('A')], root);
  expect(conditionOf(conditions, 'B')).toMatchObject({
    status: 'Unknown',
    reason: 'AwaitingReconciliation',
    lastTransitionTime: createdAt,
  });
  expect(conditionOf(conditions, 'Ready')).toMatchObject({ status: 'Unknown', reason: 'ReconcilingDependents' });
});

test('a transition time moves with the status and with nothing else', () => {
  const before = setConditions([], [no('A')], root);
  const later = { ...root, nowMs: now + 60_000 };
  const reworded = setConditions(before, [{ ...no('A'), message: 'it is still broken' }], later);
  expect(conditionOf(reworded, 'A')?.lastTransitionTime).toBe('2026-01-01T00:01:00Z');
  expect(conditionOf(setConditions(reworded, [yes('A')], later), 'A')?.lastTransitionTime).toBe('2026-01-01T00:02:00Z');
});

test('conditions are the same whatever their order and times, and differ by any word a reader sees', () => {
  const conditions = setConditions([], [yes('A'), no('B')], root);
  expect(sameConditions(conditions.toReversed(), conditions)).toBe(true);
  expect(sameConditions(conditions, setConditions(conditions, [], { ...root, nowMs: now + 5_000 }))).toBe(true);
  expect(sameConditions(conditions, setConditions(conditions, [{ ...no('B'), message: 'x' }], root))).toBe(false);
  expect(sameConditions(undefined, conditions)).toBe(false);
});

test('clearing removes the named conditions only', () => {
  const rest = clearConditions(setConditions([], [yes('A'), yes('B')], root), ['A']);
  expect([isTrue(rest, 'A'), isTrue(rest, 'B')]).toEqual([false, true]);
});

test('times are written in whole seconds, rounded down', () => {
  expect(toTimestamp(now)).toBe('2026-01-01T00:01:00Z');
});

test('a condition without a time moves now, and one that is merely unknown keeps nobody unhealthy', () => {
  const [before] = setConditions([], [no('A')], root);
  if (before === undefined) throw new Error('one');
  const { lastTransitionTime: _, ...timeless } = before;
  const later = { ...root, nowMs: now + 60_000 };
  expect(conditionOf(setConditions([timeless], [no('A')], later), 'A')?.lastTransitionTime).toBe(
    '2026-01-01T00:02:00Z',
  );
  const unknown = { type: 'A', status: 'Unknown', reason: 'x', message: '' } as const;
  const ready = conditionOf(setConditions([], [unknown, yes('B')], root), 'Ready');
  expect(ready).toMatchObject({ status: 'Unknown', message: 'A=Unknown' });
  expect(conditionOf(setConditions([], [unknown, no('B')], root), 'Ready')?.message).toBe('B=False');
});
