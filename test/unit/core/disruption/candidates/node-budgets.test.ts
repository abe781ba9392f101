import { describe, expect, test } from 'vitest';
import { nodeBudgets } from '../../../../../shared/core/disruption/candidates/node-budgets.ts';
import { instant } from '../../../../../shared/core/quantity/units.ts';
import type { Disruption } from '../../../../kit/core/build-disruption.ts';
import { disruptable, NOW } from '../../../../kit/core/build-disruption.ts';

type Budgets = NonNullable<Disruption['budgets']>;

/** What the budgets of a pool say at noon: how many of ten nodes may go, and what is wrong with them. */
const judged = (budgets: Budgets, reason = 'Empty', nodes = 10) => {
  const read = nodeBudgets(disruptable('general', { budgets }), instant(NOW));
  return [read.allowed(reason, nodes), read.error];
};

describe('the number of nodes that a budget lets go', () => {
  test.each([
    ['3', 10, 3],
    ['25', 10, 25],
    ['0', 10, 0],
    ['10%', 1, 1],
    ['25%', 10, 3],
    ['5%', 10, 1],
    ['99%', 100, 99],
    ['100%', 10, 10],
    ['0%', 10, 0],
  ])('%s of %d nodes is %d: a share is rounded up', (nodes, all, most) => {
    expect(judged([{ nodes }], 'Empty', all)).toEqual([most, null]);
  });

  test.each(['101%', '200%', '1000%', '-1', '1.5', '%', '', 'x', 'x1', '1x', '5 %', '5%%', 'x10%'])(
    'cannot be read from %j: then none goes',
    (nodes) => {
      expect(judged([{ nodes }])).toEqual([0, `nodes ${nodes}`]);
      expect(judged([{ nodes: '5' }, { nodes }]), 'whatever another says').toEqual([0, `nodes ${nodes}`]);
    },
  );

  test('is the least of those that know the reason, and none is no limit', () => {
    const budgets: Budgets = [{ nodes: '6' }, { nodes: '2', reasons: ['Drifted', 'Empty'] }];
    expect([judged(budgets), judged(budgets, 'Drifted'), judged(budgets, 'Underutilized')]).toEqual([
      [2, null],
      [2, null],
      [6, null],
    ]);
    expect(judged([])).toEqual([Infinity, null]);
    expect(judged([{ nodes: '1', reasons: [] }])).toEqual([Infinity, null]);
  });

  test.each(['Expired', 'Unhealthy', 'StaticSurplus'])(
    'is no matter for %s, even where it cannot be read',
    (reason) => {
      expect(judged([{ nodes: '0' }], reason)).toEqual([Infinity, null]);
      expect(judged([{ nodes: 'x' }], reason)[0]).toBe(Infinity);
    },
  );

  test('is a tenth where a pool says nothing', () => {
    const { budgets: _, ...unsaid } = disruptable().spec.disruption ?? {};
    const plain = disruptable();
    for (const spec of [{ ...plain.spec, disruption: unsaid }, { template: plain.spec.template }]) {
      const read = nodeBudgets({ ...plain, spec }, instant(NOW));
      expect([read.allowed('Empty', 30), read.error]).toEqual([3, null]);
    }
  });
});

describe('a budget with a schedule', () => {
  test.each<[string, string, number]>([
    ['0 11 * * *', '90m', 0],
    ['0 11 * * *', '1h1m', 0],
    ['0 11 * * *', '1h', Infinity],
    ['0 12 * * *', '1m', 0],
    ['1 12 * * *', '24h', 0],
    ['1 12 * * *', '23h', Infinity],
  ])('that strikes at %s holds for %s from then on: at noon it lets %d go', (schedule, duration, most) => {
    expect(judged([{ nodes: '0', schedule, duration }])).toEqual([most, null]);
  });

  test.each<[string, Budgets[number], string]>([
    ['a duration and no schedule', { nodes: '5', duration: '1h' }, 'duration 1h without schedule'],
    ['a schedule and no duration', { nodes: '5', schedule: '@daily' }, 'duration missing'],
    ['a duration that cannot be read', { nodes: '5', schedule: '@daily', duration: 'long' }, 'duration long'],
    ['a schedule that cannot be read', { nodes: '5', schedule: '@often', duration: '1h' }, 'schedule @often'],
  ])('lets none go with %s, and says so', (_, budget, error) => {
    expect(judged([budget])).toEqual([0, error]);
  });
});
