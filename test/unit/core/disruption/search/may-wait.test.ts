import { expect, test } from 'vitest';
import type { Arena, Slot } from '../../../../../shared/core/disruption/search/arena.ts';
import { mayWait } from '../../../../../shared/core/disruption/search/own-pods.ts';
import type { PodDisruptionBudget } from '../../../../../shared/kubernetes/manifest.ts';
import { shape, spec } from '../../../../kit/core/build.ts';

/** Pods that wait until their nodes have gone are down as long: their PodDisruptionBudgets have to allow it. */

const budget = (app: string, disruptionsAllowed: number, namespace?: string): PodDisruptionBudget => ({
  metadata: { name: app, ...(namespace === undefined ? {} : { namespace }) },
  spec: { selector: { matchLabels: { app } } },
  status: { disruptionsAllowed },
});

/**
 * Shapes 0 and 1 are of `web` and `db`, and spread over hosts by one; 2 to 4 are of `web`: 2 spreads over zones, 3 by
 * three, 4 over both.
 */
function arena(...podDisruptionBudgets: ReadonlyArray<PodDisruptionBudget>): Arena {
  const by = (host: number, maxSkew: number) => ({ counter: { host }, maxSkew });
  const spreading = (...spread: ReadonlyArray<object>) => ({ least: { terms: { spread } } });
  const shapes = ['web', 'db', 'web', 'web', 'web'].map((app) => shape(spec('1', '1Gi'), { app }));
  return {
    shapes: new Map([
      [0, spreading(by(0, 1))],
      [1, spreading(by(0, 1))],
      [2, spreading(by(-1, 1))],
      [3, spreading(by(0, 3))],
      [4, spreading(by(-1, 1), by(0, 1))],
    ]),
    workspace: { input: { cluster: { shapes, podDisruptionBudgets } } },
  } as never;
}

/** A node whose pods go: so many of each shape, to one target each. */
const going = (...moves: ReadonlyArray<readonly [shape: number, count: number, target: number]>): Slot =>
  ({ moves: moves.map(([index, count, target]) => ({ shape: index, count, target })) }) as never;

test('of three pods on one new host one comes at once, and two wait: as many as their budget must allow', () => {
  const three = [going([0, 3, 9])];
  expect([1, 2].map((allowed) => mayWait(arena(budget('web', allowed)), three))).toEqual([false, true]);
});

test('on two hosts as many come at once on each, whichever nodes they are from', () => {
  const two = [going([0, 2, 8]), going([0, 2, 9])];
  expect([1, 2].map((allowed) => mayWait(arena(budget('web', allowed)), two))).toEqual([false, true]);
});

test('every budget is asked, for its own pods and those of its namespace alone', () => {
  const both = [going([0, 2, 9], [1, 3, 9])];
  expect(mayWait(arena(budget('web', 1), budget('db', 2)), both)).toBe(true);
  expect(mayWait(arena(budget('web', 1), budget('db', 1)), both)).toBe(false);
  expect(mayWait(arena(budget('other', 0), budget('db', 0, 'elsewhere')), both)).toBe(true);
});

test('pods that spread over no hosts wait for nobody, and without budgets all may', () => {
  expect(mayWait(arena(budget('web', 0)), [going([2, 5, 9])])).toBe(true);
  expect(mayWait(arena(), [going([0, 5, 9])])).toBe(true);
});

test('pods that do not spread are none of those that wait, and of two spreads the narrower says how many come at once', () => {
  expect(mayWait(arena(budget('web', 1)), [going([0, 2, 9], [2, 5, 9])])).toBe(true);
  expect([3, 4].map((allowed) => mayWait(arena(budget('web', allowed)), [going([0, 2, 9], [3, 3, 9])]))).toEqual([
    false,
    true,
  ]);
  expect([1, 2].map((allowed) => mayWait(arena(budget('web', allowed)), [going([4, 3, 9])]))).toEqual([false, true]);
});

test('a budget that says nothing lets none wait', () => {
  const { status: _, ...silent } = budget('web', 1);
  expect(mayWait(arena(silent), [going([0, 2, 9])])).toBe(false);
});
