import { describe, expect, test } from 'vitest';
import type { PlannedReplacement } from '../../../../../shared/core/disruption/plan/disruption-plan.ts';
import { poolTotals } from '../../../../../shared/core/disruption/steps/score.ts';
import type { Arena, Slot } from '../../../../../shared/core/disruption/search/arena.ts';
import { offering, onDemand, requirement, shape, size, spec } from '../../../../kit/core/build.ts';
import { disruptable, keptFor, machine, on, plan, removed } from '../../../../kit/core/build-disruption.ts';

/** How what goes is cut into steps. */

const drifted = { type: 'Drifted', status: 'True', lastTransitionTime: '1970-01-02T00:00:00Z' };
const within = (nodes: string, policy: object = {}) => [disruptable('general', { budgets: [{ nodes }], ...policy })];

test('a step has a hundred nodes at most, as in Karpenter, and the next has the rest', () => {
  const names = Array.from({ length: 101 }, (_, index) => `n${String(index).padStart(3, '0')}`);
  const { steps } = plan({ machines: names.map((name) => machine(name, { cpu: 2 })), shapes: [], pods: [] });
  expect(steps.map(({ reason, remove }) => [reason, remove.length])).toEqual([
    ['Empty', 100],
    ['Empty', 1],
  ]);
});

describe('several nodes that become one which costs as much as two of them', () => {
  /** Three nodes of 200,000 whose pods fit on one of 400,000. */
  const within3 = (nodes: string) =>
    plan({
      machines: ['a', 'b', 'c'].map((name) => machine(name)),
      shapes: [shape(spec('2200m', '4Gi'))],
      pods: ['a', 'b', 'c'].flatMap((name) => on(name, 0, 1)),
      nodePools: within(nodes),
      disruption: { searchSteps: 400_000, moveCost: 0 },
    });

  test('go in one step, which saves the third', () => {
    expect(within3('3').steps).toMatchObject([{ remove: ['a', 'b', 'c'], create: ['general-1'], saved: 200_000 }]);
  });

  test.each(['1', '2'])('stay where a budget lets %s go at once: no step may buy for nothing', (nodes) => {
    const made = within3(nodes);
    expect([made.steps, keptFor(made, 'a')]).toEqual([[], 'no-order']);
  });
});

test('of nodes that share what replaces them the dearest goes first, where a budget lets one go at a time', () => {
  const made = plan({
    machines: [machine('a', { cpu: 2, conditions: [drifted] }), machine('b', { cpu: 8, conditions: [drifted] })],
    shapes: [shape(spec('1500m', '1Gi'))],
    pods: [...on('a', 0, 1), ...on('b', 0, 1)],
    nodePools: [
      disruptable(
        'general',
        { consolidateAfter: 'Never', budgets: [{ nodes: '1' }] },
        { requirements: [onDemand, requirement('karpenter.azure.com/sku-cpu', 'In', '4')] },
      ),
    ],
  });
  expect(made.steps.map(({ remove, create }) => [remove, create])).toEqual([
    [['b'], ['general-1']],
    [['a'], []],
  ]);
});

describe('what a NodePool has in all', () => {
  const slot = (parts: object): Slot =>
    ({
      pool: 'general',
      state: 'there',
      offering: null,
      received: 0,
      receivedCost: 0,
      node: { disruption: 2, price: { plain: 100 } },
      room: { capacity: { initialized: true } },
      ...parts,
    }) as never;
  const totals = (...slots: ReadonlyArray<Slot>) => poolTotals({ slots } as unknown as Arena).get('general');
  const fresh = (received: number): Slot =>
    slot({
      node: null,
      offering: { plainPrice: 50 } as unknown as PlannedReplacement,
      received,
      receivedCost: 3 * received,
      room: { capacity: { initialized: false } },
    });

  test('counts a new node that pods have come to, with what it costs and what its pods count as', () => {
    expect(totals(slot({}), fresh(2))).toEqual({ nodes: 2, cost: 150, disruption: 2 + (1 + 6) });
  });

  test('does not count a new one that none has come to, one that is gone, or one of nobody’s', () => {
    expect(totals(slot({}), fresh(0), slot({ state: 'gone' }), slot({ pool: null }))).toEqual({
      nodes: 1,
      cost: 100,
      disruption: 2,
    });
  });

  test('counts what a node costs that is not initialized, and not as one that budgets count', () => {
    expect(totals(slot({ room: { capacity: { initialized: false } } }))).toEqual({
      nodes: 0,
      cost: 100,
      disruption: 2,
    });
  });
});

describe('why a node stays', () => {
  const small = shape(spec('500m', '1Gi'));

  test('is that nothing is cheaper, where it costs nothing and its pods could go elsewhere', () => {
    const made = plan({
      machines: [machine('a'), machine('b', { cpu: 8, conditions: [] })],
      shapes: [small],
      pods: [...on('a', 0, 2), ...on('b', 0, 1)],
      types: [size('Standard_D4s_v5', 4, 16, 0), size('Standard_D8s_v5', 8, 32, 400_000)],
      disruption: { moveCost: 0 },
    });
    expect([removed(made), keptFor(made, 'a')]).toEqual([[], 'nothing-cheaper']);
  });
});

test('a Balanced NodePool is not left a step whose plain price is too little for its pods, whatever evictions cost', () => {
  const risky = size('Standard_D2s_v5', 2, 8, 100_000, {
    offerings: [{ ...offering('westeurope-1', 'spot', 20_000), evictionsPerHour: 0.9 }],
  });
  const pod = shape(spec('20m', '16Mi'));
  const made = (policy: string, ...others: ReadonlyArray<string>): ReturnType<typeof plan> =>
    plan({
      machines: [
        machine('a', { cpu: 2, capacityType: 'spot' }),
        machine('b', { cpu: 8, conditions: [] }),
        machine('c', { cpu: 8, conditions: [] }),
        ...others.map((name) => machine(name, { cpu: 8, nodePool: 'other' })),
      ],
      types: [risky, size('Standard_D8s_v5', 8, 32, 400_000)],
      shapes: [pod],
      pods: [...on('a', 0, 20), ...on('b', 0, 10), ...on('c', 0, 10), ...others.flatMap((name) => on(name, 0, 1))],
      nodePools: ['general', 'other'].map((name) =>
        disruptable(name, { consolidationPolicy: policy }, { requirements: [] }),
      ),
      evictionCostMs: new Map(['general', 'other'].map((name) => [name, 24 * 3_600_000])),
      disruption: { moveCost: 0 },
    });
  expect([removed(made('WhenEmptyOrUnderutilized')), keptFor(made('Balanced'), 'a')]).toEqual([['a'], 'no-order']);
  // What the nodes of another pool save is not its own.
  expect([removed(made('Balanced', 'e')), keptFor(made('Balanced', 'e'), 'a')]).toEqual([['e'], 'no-order']);
});

test('a share of a pool is of all its nodes, those that drain too, and these are taken from it: half of three is two', () => {
  const draining = machine('d', { nodeParts: { deletionTimestamp: '1970-01-02T11:00:00Z' } });
  const claim = {
    ...draining.claim,
    metadata: { ...draining.claim.metadata, deletionTimestamp: '1970-01-02T11:00:00Z' },
  };
  const made = plan({
    machines: [machine('a'), machine('b'), { ...draining, claim }],
    shapes: [],
    pods: [],
    nodePools: within('50%'),
  });
  expect(made.steps.map(({ remove }) => remove)).toEqual([['b']]);
});
