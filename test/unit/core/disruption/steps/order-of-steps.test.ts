import { expect, test } from 'vitest';
import type { DisruptionPlan } from '../../../../../shared/core/disruption/plan/disruption-plan.ts';
import { plan } from '../../../../kit/core/build-disruption.ts';
import { spreadCluster } from '../../../../kit/core/spread-cluster.ts';

function withoutOrder({ kept }: DisruptionPlan): number {
  return kept.filter(({ reason }) => reason.kind === 'no-order').length;
}

test('nodes whose spreads would stand in each other’s way go in the order in which the search took them', () => {
  const cluster = spreadCluster({ seed: 40, nodes: 45, apps: 20, maxSkew: 2, budget: '60%' });
  const made = plan({ ...cluster, disruption: { searchSteps: 0 } });
  expect(withoutOrder(made)).toBe(0);
  expect(made.steps).toHaveLength(9);
});

test('where the end that was found cannot be reached step by step, nodes go one after another, as far as spreads let them', () => {
  const made = plan(spreadCluster({ seed: 24, nodes: 60, apps: 30, maxSkew: 1, budget: '30%' }));
  expect(withoutOrder(made)).toBe(0);
  expect(made.after.nodes).toBeLessThan(25);
});

test('what spreads do not let go all at once goes in few steps, as many nodes in each as may go together', () => {
  const cluster = spreadCluster({ seed: 2, nodes: 24, apps: 10, maxSkew: 1, budget: '50%' });
  const made = plan({ ...cluster, disruption: { searchSteps: 20_000 } });
  expect([made.steps.length, withoutOrder(made), made.after.nodes]).toEqual([2, 0, 9]);
});

/** Of most of these no order of steps leads to what the first search finds. */
test.each([
  { seed: 8, nodes: 12, apps: 6, maxSkew: 1, budget: '30%', searchSteps: 0, steps: 3, cost: 2_000_000 },
  { seed: 4, nodes: 9, apps: 5, maxSkew: 1, budget: '30%', searchSteps: 20_000, steps: 2, cost: 1_400_000 },
  { seed: 2, nodes: 12, apps: 6, maxSkew: 1, budget: '30%', searchSteps: 20_000, steps: 3, cost: 1_600_000 },
  { seed: 4, nodes: 12, apps: 6, maxSkew: 1, budget: '30%', searchSteps: 20_000, steps: 4, cost: 1_700_000 },
  { seed: 2, nodes: 18, apps: 8, maxSkew: 2, budget: '30%', searchSteps: 20_000, steps: 4, cost: 2_600_000 },
  { seed: 8, nodes: 18, apps: 8, maxSkew: 2, budget: '30%', searchSteps: 20_000, steps: 3, cost: 2_600_000 },
  { seed: 0, nodes: 30, apps: 15, maxSkew: 1, budget: '30%', searchSteps: 20_000, steps: 3, cost: 4_400_000 },
  { seed: 4, nodes: 18, apps: 8, maxSkew: 2, budget: '60%', searchSteps: 20_000, steps: 2, cost: 2_800_000 },
])(
  'the search goes on from what steps can reach, so that nothing is left for want of an order: seed $seed, $nodes nodes',
  ({ searchSteps, steps, cost, ...drawn }) => {
    const made = plan({ ...spreadCluster(drawn), disruption: { searchSteps } });
    expect([withoutOrder(made), made.steps.length, made.after.cost]).toEqual([0, steps, cost]);
  },
);
