import { describe, expect, test } from 'vitest';
import { readCourse, readRound } from '../../../../../shared/core/disruption/read-round.ts';
import { NO_ENDS } from '../../../../../shared/core/disruption/steps/ends.ts';
import { mayDiscountIn, moveShares } from '../../../../../shared/core/disruption/search/disruption-costs.ts';
import { search } from '../../../../../shared/core/disruption/search/search.ts';
import { instant } from '../../../../../shared/core/quantity/units.ts';
import { offering, onDemand, shape, size, spec, zones } from '../../../../kit/core/build.ts';
import {
  disruptable,
  disruptionInput,
  machine,
  NOW,
  on,
  plan,
  removed,
  types,
} from '../../../../kit/core/build-disruption.ts';
import { mixedCluster } from '../../../../kit/core/mixed-cluster.ts';
import { spreadCluster } from '../../../../kit/core/spread-cluster.ts';

type Parts = Parameters<typeof disruptionInput>[0];

/** The arena as one search leaves it, and what the search says that it has changed. */
function searched(parts: Parts) {
  const course = readCourse(disruptionInput(parts), instant(NOW));
  const { arena, offerings, successorOf } = readRound(course, NO_ENDS);
  const { policy } = course.input;
  const mayDiscount = mayDiscountIn(policy, course.pools);
  const means = { offerings, successorOf, spotToSpot: policy.spotToSpot, mayDiscount };
  return { slots: arena.slots, trail: search(arena, means, moveShares(policy, course.pools)) };
}

const drifted = (lastTransitionTime: string) => ({ type: 'Drifted', status: 'True', lastTransitionTime });

/** What goes of two half empty nodes and one without pods, where a move costs that share. */
function removedAt(share: number): ReadonlyArray<string> {
  return removed(
    plan({
      machines: [machine('a'), machine('b'), machine('empty')],
      shapes: [shape(spec('500m', '1Gi'))],
      pods: [...on('a', 0, 2), ...on('b', 0, 2)],
      disruption: { moveCostOf: new Map([['general', share]]) },
    }),
  );
}

test('a node whose moves cost more than it does stays, also where one goes that moves nothing', () => {
  expect([0.8, 0.9, 1.1].map(removedAt)).toEqual([['a', 'b', 'empty'], ['b', 'empty'], ['empty']]);
});

test('a search without work asks of moves all that they cost, as it could take back nothing', () => {
  const goes = (searchSteps: number) =>
    removed(
      plan({
        machines: ['a', 'b', 'c', 'empty'].map((name) => machine(name)),
        shapes: [shape(spec('500m', '1Gi'))],
        pods: [...on('a', 0, 2), ...on('b', 0, 2), ...on('c', 0, 3)],
        disruption: { moveCost: 0.7, searchSteps },
      }),
    );
  expect([0, 100_000].map(goes)).toEqual([['empty'], ['a', 'b', 'empty']]);
});

test('two new nodes come in the place of one whose pods need what is dear beside others that do not', () => {
  const both = (price: number) =>
    zones.flatMap((zone) => [offering(zone, 'on-demand', price), offering(zone, 'spot', price / 5)]);
  const made = plan({
    machines: [machine('full'), machine('mixed')],
    types: [
      size('Standard_D2s_v5', 2, 8, 0, { offerings: both(100_000) }),
      size('Standard_D4s_v5', 4, 16, 0, { offerings: both(200_000) }),
    ],
    nodePools: [disruptable('general', {}, { requirements: [] })],
    shapes: [
      shape(spec('1300m', '2Gi', { nodeSelector: { 'karpenter.sh/capacity-type': 'on-demand' } })),
      shape(spec('250m', '5Gi')),
    ],
    pods: [...on('full', 0, 3), ...on('mixed', 0, 1), ...on('mixed', 1, 2)],
    disruption: { searchSteps: 12_000_000 },
  });
  expect([made.before.cost, made.after.cost, removed(made)]).toEqual([400_000, 320_000, ['mixed']]);
});

test('a cluster no single node of which can go is rearranged where that saves a hundredth of what it costs', () => {
  /** Three nodes of 200,000 whose pods fit on one of 400,000, beside a full one that costs as much. */
  const rearranged = (price: number): ReadonlyArray<string> => {
    const inZones = [offering(zones[0], 'on-demand', 400_000), offering(zones[1], 'on-demand', price)];
    return removed(
      plan({
        machines: [...['a', 'b', 'c'].map((name) => machine(name)), machine('dear', { cpu: 8, zone: zones[1] })],
        types: [...types.slice(0, 2), size('Standard_D8s_v5', 8, 32, 0, { offerings: inZones })],
        shapes: [
          shape(spec('2200m', '4Gi')),
          shape(spec('8', '1Gi', { nodeSelector: { 'topology.kubernetes.io/zone': zones[1] } })),
        ],
        pods: [...['a', 'b', 'c'].flatMap((name) => on(name, 0, 1)), ...on('dear', 1, 1)],
        disruption: { searchSteps: 400_000, moveCost: 0 },
      }),
    );
  };
  expect([19_400_000, 19_400_100].map(rearranged)).toEqual([['a', 'b', 'c'], []]);
});

/** Its node that must go is of a pool with a fixed number, and what would follow it holds none of its pods. */
function followedInVain(): Parts {
  const fixed = disruptable('fixed', {}, { requirements: [onDemand] });
  return {
    machines: [
      machine('a', { nodePool: 'fixed', conditions: [drifted('1970-01-02T00:00:00Z')] }),
      machine('b', { nodePool: 'fixed', cpu: 8 }),
    ],
    shapes: [shape(spec('3', '1Gi'))],
    pods: [...on('a', 0, 1), ...on('b', 0, 1)],
    nodePools: [{ ...fixed, spec: { ...fixed.spec, replicas: 2 } }],
  };
}

/** Its nodes that must go need two others each, and the pool may have three more. */
function replacedInVain(): Parts {
  return {
    machines: ['a', 'b'].map((name) => machine(name, { conditions: [drifted('1970-01-02T00:00:00Z')] })),
    shapes: [shape(spec('1500m', '1Gi'))],
    pods: ['a', 'b'].flatMap((name) => on(name, 0, 2)),
    types: types.slice(0, 1),
    nodePools: [disruptable('general', {}, { limits: { cpu: '14' } })],
  };
}

describe('what a search says that it has changed', () => {
  const drawn: ReadonlyArray<readonly [string, Parts]> = [
    ...[3, 5, 11, 14, 17, 20].map((seed) => [`mixed ${seed}`, mixedCluster(seed)] as const),
    ['where one is followed in vain', followedInVain()],
    ['where one is replaced in vain', replacedInVain()],
    ...[1, 2, 3, 4].map(
      (seed) =>
        [
          `spread ${seed}`,
          {
            ...spreadCluster({ seed, nodes: 10, apps: 8, maxSkew: 1, budget: '100%', cpus: [8, 2] }),
            disruption: { searchSteps: 5_000 },
          },
        ] as const,
    ),
  ];

  test.each(drawn)('is what nodes cost less, and what moves cost: cluster %s', (_, parts) => {
    const { slots, trail } = searched(parts);
    const gone = slots.filter(({ state, node }) => state === 'gone' && node !== null);
    const come = slots.filter(({ state, node }) => state === 'there' && node === null);
    const saved = gone.reduce((sum, { price, disruptionCost }) => sum + price - disruptionCost, 0);
    expect(gone.length).toBeGreaterThan(0);
    expect(come.filter(({ received }) => received === 0)).toEqual([]);
    expect(-trail.costChange).toBeCloseTo(saved - come.reduce((sum, { price }) => sum + price, 0), 3);
  });
});

test('of nodes that must go the one goes that has had to for longest, where there is room for the pods of one', () => {
  const goes = (a: string, b: string) =>
    removed(
      plan({
        machines: [
          machine('a', { conditions: [drifted(a)] }),
          machine('b', { conditions: [drifted(b)] }),
          machine('z', { conditions: [] }),
        ],
        shapes: [shape(spec('3', '1Gi'))],
        pods: [...on('a', 0, 1), ...on('b', 0, 1)],
        types: types.slice(0, 1),
      }),
    );
  const [first, then] = ['1970-01-02T00:00:00Z', '1970-01-02T01:00:00Z'];
  expect([goes(first, then), goes(then, first)]).toEqual([['a'], ['b']]);
});
