import { describe, expect, test } from 'vitest';
import { LEAST_SCORE, poolTotals, scoreOf } from '../../../../shared/core/disruption/steps/score.ts';
import type { Arena, Slot } from '../../../../shared/core/disruption/search/arena.ts';
import { shape, spec } from '../../../kit/core/build.ts';
import { disruptable, keptFor, machine, on, plan, removed } from '../../../kit/core/build-disruption.ts';

/** What a pool with the policy Balanced approves. */

/** As much of a place as a score looks at. */
const slot = (disruption: number, plain: number, pool = 'general'): Slot =>
  ({
    pool,
    state: 'there',
    offering: null,
    received: 0,
    receivedCost: 0,
    node: { disruption, price: { plain } },
    room: { capacity: { initialized: true } },
  }) as never;
const totalsOf = (slots: ReadonlyArray<Slot>) =>
  poolTotals({ slots } as unknown as Arena).get('general') ?? { nodes: 0, cost: 0, disruption: 0 };

describe('the score of a removal', () => {
  const nodes = [slot(2, 100), slot(6, 300), slot(4, 100)];

  test('is what is saved as a share of the pool’s cost, over what is disrupted as a share of the pool’s [L13]', () => {
    // 100 of 500 for 2 of 12.
    expect(scoreOf(100, nodes.slice(0, 1), totalsOf(nodes))).toBeCloseTo(0.2 / (2 / 12), 9);
  });

  test('does not change with the currency, nor with what a disruption counts as [L13]', () => {
    const scaled = (prices: number, costs: number) => {
      const all = nodes.map(({ node }) => slot((node?.disruption ?? 0) * costs, (node?.price?.plain ?? 0) * prices));
      return scoreOf(100 * prices, all.slice(0, 1), totalsOf(all));
    };
    expect(scaled(1000, 1)).toBeCloseTo(scaled(1, 1), 9);
    expect(scaled(1, 7)).toBeCloseTo(scaled(1, 1), 9);
  });

  test.each([1, 2, 5])(
    'is 1 where %i of nodes that are all alike go, and a half where half of their price is saved [L13]',
    (count) => {
      const alike = Array.from({ length: 5 }, () => slot(3, 100));
      expect(scoreOf(100 * count, alike.slice(0, count), totalsOf(alike))).toBeCloseTo(1, 9);
      expect(scoreOf(50 * count, alike.slice(0, count), totalsOf(alike))).toBeCloseTo(LEAST_SCORE, 9);
    },
  );

  test.each([
    ['nothing is saved', 0, nodes],
    ['it costs more', -50, nodes],
    ['the pool costs nothing', 10, nodes.map(() => slot(2, 0))],
    ['nothing could be disrupted', 10, nodes.map(() => slot(0, 100))],
  ])('is 0 where %s, and a number always [L13]', (_, saved, all) => {
    expect(scoreOf(saved, all.slice(0, 1), totalsOf(all))).toBe(0);
  });

  test('counts what a node without a price costs as nothing [L13]', () => {
    const unknown = { ...slot(2, 0), node: { disruption: 2, price: null } } as never;
    expect(totalsOf([unknown, slot(2, 100)])).toEqual({ nodes: 2, cost: 100, disruption: 4 });
  });

  test('asks for a half: Karpenter’s k is 2 [L13]', () => {
    expect(LEAST_SCORE).toBe(0.5);
  });
});

describe('a plan', () => {
  const pod = shape(spec('100m', '128Mi'));
  test.each([
    ['more than half', 8, ['a']],
    ['no more than half', 4, []],
  ] as const)('replaces the only node of a pool where that saves %s of its price [L13]', (_, cpu, gone) => {
    const nodePools = [disruptable('general', { consolidationPolicy: 'Balanced' })];
    const made = plan({ machines: [machine('a', { cpu })], nodePools, shapes: [pod], pods: on('a', 0, 5) });
    expect(removed(made)).toEqual(gone);
  });

  test('asks each Balanced pool for itself, and the others for none of it [L13]', () => {
    const machines = [
      machine('b-small', { cpu: 2, nodePool: 'balanced' }),
      machine('b-large', { cpu: 8, nodePool: 'balanced', conditions: [] }),
      machine('p-small', { cpu: 2, nodePool: 'plain' }),
      machine('p-large', { cpu: 8, nodePool: 'plain', conditions: [] }),
    ];
    const tied = ['balanced', 'plain'].map((name) =>
      shape(spec('50m', '64Mi', { nodeSelector: { 'karpenter.sh/nodepool': name } })),
    );
    const made = plan({
      machines,
      shapes: tied,
      pods: [...on('b-small', 0, 20), ...on('b-large', 0, 1), ...on('p-small', 1, 20), ...on('p-large', 1, 1)],
      nodePools: [
        disruptable('balanced', { consolidationPolicy: 'Balanced' }),
        disruptable('plain', { consolidationPolicy: 'WhenEmptyOrUnderutilized' }),
      ],
      disruption: { moveCost: 0 },
    });
    expect([removed(made), keptFor(made, 'b-small')]).toEqual([['p-small'], 'not-worth']);
  });

  test('takes away what is empty in a Balanced pool without asking for a score [L13]', () => {
    const machines = [machine('e'), machine('f', { conditions: [] })];
    const nodePools = [disruptable('general', { consolidationPolicy: 'Balanced' })];
    expect(plan({ machines, nodePools, shapes: [pod], pods: on('f', 0, 3) }).steps).toMatchObject([
      { reason: 'Empty', remove: ['e'] },
    ]);
  });
});
