import { describe, expect, test } from 'vitest';
import type { InstanceType, Offering } from '../../../shared/core/model/catalog.ts';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import type { Plan } from '../../../shared/core/model/plan.ts';
import { renderCheaper } from '../../../shared/core/telling/cheaper/render-cheaper.ts';
import { instant, microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { input, node, pods, pool, requirement, shape, size, spec, zones } from '../../kit/core/build.ts';

const capacityType = 'karpenter.sh/capacity-type';
const spotOnly = requirement(capacityType, 'In', 'spot');
const HOUR_MS = 3_600_000;

/** A size that costs `price` as spot and is evicted at `rate`, and `onDemand` on demand. */
function risky(name: string, price: number, rate: number, onDemand = 1_000_000): InstanceType {
  const plain = size(name, 4, 16, onDemand);
  const offerings = plain.offerings.map((one): Offering => {
    return one.capacityType === 'spot' ? { ...one, price: microUsdPerHour(price), evictionsPerHour: rate } : one;
  });
  return { ...plain, offerings };
}

const D = (price: number, rate: number): InstanceType => risky('Standard_D4s_v5', price, rate);
const E = (price: number, rate: number): InstanceType => risky('Standard_E4s_v5', price, rate);
const shapes = [shape(spec('3', '8Gi'))];
const nodePools = [pool('a', { requirements: [spotOnly] })];

type Parts = Parameters<typeof input>[0];

/** The plan for one pod that fills a node of any size, unless the parts say else. Audited. */
function planOf(types: ReadonlyArray<InstanceType>, parts: Parts = {}): Plan {
  const given = input({ types, nodePools, shapes, pods: pods(0, 1), ...parts });
  const plan = planProvisioning(given, instant(0));
  expect(auditPlan(plan, given)).toEqual([]);
  return plan;
}

function chosen({ claims }: Plan): ReadonlyArray<string> {
  return claims.map(
    ({ offering }) => `${offering.instanceType.slice(9, 10)} ${offering.capacityType} ${offering.price}`,
  );
}

function said({ claims }: Plan): ReadonlyArray<string> {
  return (claims[0]?.cheaper ?? []).map(
    ({ offerings, example, reason }) =>
      `${offerings} as ${example.instanceType.slice(9)} ${example.price}: ${renderCheaper(reason, 'USD')}`,
  );
}

describe('an offering counts as its price and what its evictions cost', () => {
  test('of two spot sizes the slightly cheaper one that is evicted far more often is passed over, and the plan says why', () => {
    const plan = planOf([D(50_000, 0.225), E(52_000, 0.025)]);
    expect(chosen(plan)).toEqual(['E spot 52000']);
    expect(said(plan)).toEqual([
      '3 as D4s_v5 50000: evicted with a chance of 22.5 % an hour, so that it counts as $0.055625, and the choice as $0.05265',
    ]);
    expect(plan.claims[0]?.offering.risk).toEqual({ evictionsPerHour: 0.025, weighedPrice: 52_650 });
    expect(plan.claims[0]?.runnerUp).toMatchObject({ instanceType: 'Standard_E4s_v5', price: 52_000 });
  });

  test('of two alike in their risk the cheaper one is taken, and of a size without evictions nothing is said', () => {
    expect(chosen(planOf([D(50_000, 0.225), E(52_000, 0.225)]))).toEqual(['D spot 50000']);
    const plan = planOf([D(50_000, 0), E(52_000, 0)]);
    expect(chosen(plan)).toEqual(['D spot 50000']);
    expect(plan.claims[0]?.offering).not.toHaveProperty('risk');
    expect(plan.weighed).toEqual({ cost: plan.cost, lowerBound: plan.lowerBound });
  });

  test('spot with a high rate loses against on-demand only when it counts as more', () => {
    const both = { nodePools: [pool('a', { requirements: [] })] };
    expect(chosen(planOf([risky('Standard_D4s_v5', 89_000, 0.225, 100_000)], both))).toEqual(['D spot 89000']);
    const plan = planOf([risky('Standard_D4s_v5', 90_000, 0.225, 100_000)], both);
    expect(chosen(plan)).toEqual(['D on-demand 100000']);
    expect(said(plan)).toEqual([
      '3 as D4s_v5 90000: evicted with a chance of 22.5 % an hour, so that it counts as $0.100125, and the choice as $0.1',
    ]);
  });

  test('the runner-up is the next by what offerings count as, whatever they cost', () => {
    const F = risky('Standard_F4s_v5', 49_000, 0.225);
    const [claim] = planOf([D(50_000, 0.075), E(60_000, 0), F], { nodePools: [zonal('a')] }).claims;
    expect([claim?.offering.instanceType, claim?.runnerUp?.instanceType]).toEqual([
      'Standard_D4s_v5',
      'Standard_F4s_v5',
    ]);
    expect(claim?.fallbacks.map(({ price }) => price)).toEqual([49_000, 60_000]);
  });

  test('a weighed price is rounded up', () => {
    const [claim] = planOf([D(33, 0.075)]).claims;
    expect(claim?.offering.risk?.weighedPrice).toBe(33 + Math.ceil(33 * 0.0375));
  });

  test('of zones in which a size is evicted more and less often those with less are planned', () => {
    const plain = D(50_000, 0.225);
    const offerings = plain.offerings.map((one) => (one.zone === zones[1] ? { ...one, evictionsPerHour: 0.025 } : one));
    const plan = planOf([{ ...plain, offerings }], { pods: pods(0, 3) });
    expect(plan.claims.map(({ offering }) => offering.zone)).toEqual([zones[1], zones[1], zones[1]]);
  });
});

function zonal(name: string) {
  return pool(name, { requirements: [spotOnly, requirement('topology.kubernetes.io/zone', 'In', zones[0])] });
}

describe('what an eviction costs', () => {
  const types = [D(50_000, 0.225), E(52_000, 0.025)];

  test('is said of a pool by its annotation: 0s lets price alone decide, and a longer time weighs more', () => {
    const plan = planOf(types, { evictionCostMs: new Map([['a', 0]]) });
    expect(chosen(plan)).toEqual(['D spot 50000']);
    expect(plan.claims[0]?.offering).not.toHaveProperty('risk');
    const dearer = [D(50_000, 0.225), E(70_000, 0.025)];
    expect(chosen(planOf(dearer))).toEqual(['D spot 50000']);
    expect(chosen(planOf(dearer, { evictionCostMs: new Map([['a', 3 * HOUR_MS]]) }))).toEqual(['E spot 70000']);
  });

  test('is each pool’s own, though they share their sizes', () => {
    const own = (name: string) => shape(spec('3', '8Gi', { nodeSelector: { 'karpenter.sh/nodepool': name } }));
    const plan = planOf(types, {
      nodePools: [pool('a', { requirements: [spotOnly] }), pool('b', { requirements: [spotOnly] })],
      shapes: [own('a'), own('b')],
      pods: [...pods(0, 1), ...pods(1, 1)],
      evictionCostMs: new Map([['b', 0]]),
    });
    expect(plan.claims.map(({ nodePool, offering }) => `${nodePool} ${offering.price}`).toSorted()).toEqual([
      'a 52000',
      'b 50000',
    ]);
  });
});

describe('cost and bound', () => {
  test('are those of prices, and those with risk are told beside them', () => {
    const plan = planOf([D(50_000, 0.225), E(52_000, 0.025)], { pods: pods(0, 4) });
    expect([plan.cost, plan.lowerBound]).toEqual([208_000, 200_000]);
    expect(plan.weighed).toEqual({ cost: 210_600, lowerBound: 210_600 });
  });

  test('of what is cheapest with and without risk are both proved', () => {
    const plan = planOf([D(50_000, 0.225), E(60_000, 0.225)], { pods: pods(0, 4) });
    expect([plan.cost, plan.lowerBound]).toEqual([200_000, 200_000]);
    expect(plan.weighed).toEqual({ cost: 222_500, lowerBound: 222_500 });
  });

  test('of a pool whose own offerings have no risk are the same', () => {
    const plan = planOf([risky('Standard_D4s_v5', 50_000, 0.225, 100_000)], {
      nodePools: [pool('a')],
      pods: pods(0, 2),
    });
    expect([plan.cost, plan.lowerBound]).toEqual([200_000, 200_000]);
    expect(plan.weighed).toEqual({ cost: 200_000, lowerBound: 200_000 });
  });

  test('beside existing nodes, which cost nothing, know of prices and of risk too', () => {
    const plan = planOf([D(50_000, 0.225), E(52_000, 0.025)], { pods: pods(0, 3), nodes: [node('there', 4, 16)] });
    expect(plan.nominations.map(({ target }) => target.name)).toEqual(['there']);
    expect(chosen(plan)).toEqual(['E spot 52000', 'E spot 52000']);
    expect(plan.lowerBound).toBeLessThanOrEqual(100_000);
    expect(plan.lowerBound).toBeGreaterThan(0);
    expect(plan.weighed.lowerBound).toBeLessThanOrEqual(105_300);
    expect(plan.weighed.lowerBound).toBeGreaterThanOrEqual(plan.lowerBound);
  });
});

describe('where other rules meet risk', () => {
  const types = [D(50_000, 0.225), E(52_000, 0.025)];

  test('a static pool takes what counts as least, and its bound is that of the cheapest', () => {
    const fixed = pool('a', { requirements: [spotOnly] });
    const plan = planOf(types, { nodePools: [{ ...fixed, spec: { ...fixed.spec, replicas: 2 } }], pods: [] });
    expect(chosen(plan)).toEqual(['E spot 52000', 'E spot 52000']);
    expect([plan.cost, plan.lowerBound]).toEqual([104_000, 100_000]);
    expect(plan.weighed).toEqual({ cost: 105_300, lowerBound: 105_300 });
  });

  test('a node of a reservation, which nobody evicts, comes first, and what it has no room for goes by risk', () => {
    const plain = D(50_000, 0.225);
    const reserved: Offering = {
      zone: zones[0],
      capacityType: 'reserved',
      price: microUsdPerHour(0),
      available: true,
      labels: {},
      reservation: { id: 'r', remaining: 1 },
    };
    const plan = planOf([{ ...plain, offerings: [...plain.offerings, reserved] }, E(52_000, 0.025)], {
      nodePools: [pool('a', { requirements: [requirement(capacityType, 'In', 'spot', 'reserved')] })],
      pods: pods(0, 2),
    });
    expect(chosen(plan).toSorted()).toEqual(['D reserved 0', 'E spot 52000']);
    expect(plan.lowerBound).toBeLessThanOrEqual(50_000);
  });

  test('risk counts on the price that an overlay sets', () => {
    const overlaid = (price: string): Plan =>
      planOf(types, {
        nodeOverlays: [
          {
            metadata: { name: 'discount' },
            spec: { requirements: [requirement('node.kubernetes.io/instance-type', 'In', 'Standard_D4s_v5')], price },
          },
        ],
      });
    expect(chosen(overlaid('0.048'))).toEqual(['E spot 52000']);
    const plan = overlaid('0.047');
    expect(chosen(plan)).toEqual(['D spot 47000']);
    expect(plan.claims[0]?.offering.risk?.weighedPrice).toBe(52_288);
  });

  test('where a limit keeps pods out, as few are left as without risk, each node as little as the limit lets it count', () => {
    const plan = planOf(types, {
      nodePools: [pool('a', { requirements: [spotOnly], limits: { cpu: '8' } })],
      pods: pods(0, 3),
    });
    expect(plan.left).toHaveLength(1);
    expect(chosen(plan)).toEqual(['E spot 52000', 'E spot 52000']);
  });

  test('where quota has no room for the choice, the next by risk is planned, and what it is compared with is that', () => {
    const quota = { cores: 4, of: [{ name: 'familyE', left: 4 }] };
    const limited = E(52_000, 0.025);
    const withQuota = { ...limited, offerings: limited.offerings.map((one) => ({ ...one, quota })) };
    const F = risky('Standard_F4s_v5', 51_000, 0.2);
    const plan = planOf([D(50_000, 0.225), withQuota, F], { pods: pods(0, 2) });
    expect(chosen(plan).toSorted()).toEqual(['D spot 50000', 'E spot 52000']);
    expect(plan.weighed.cost).toBe(52_650 + 55_625);
    const changed = plan.claims.find(({ offering }) => offering.price === 50_000);
    expect(changed?.cheaper).toEqual([]);
    expect(changed?.runnerUp).toMatchObject({ price: 50_000 });
  });

  test('pods that look at each other are placed by risk too', () => {
    const apart = {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'x' } } },
        ],
      },
    };
    const plan = planOf(types, {
      shapes: [shape(spec('1', '1Gi', { affinity: apart }), { app: 'x' })],
      pods: pods(0, 2),
    });
    expect(chosen(plan)).toEqual(['E spot 52000', 'E spot 52000']);
    expect(plan.lowerBound).toBeLessThanOrEqual(100_000);
  });
});

describe('the audit finds', () => {
  const types = [D(50_000, 0.225), E(52_000, 0.025)];
  const given = input({ types, nodePools, shapes, pods: pods(0, 1) });
  const plan = planProvisioning(given, instant(0));
  const rulesOf = (changed: Plan): ReadonlyArray<string> => auditPlan(changed, given).map(({ rule }) => rule);

  test('a plan that says a wrong cost or bound with risk', () => {
    const { weighed } = plan;
    expect(rulesOf({ ...plan, weighed: { ...weighed, cost: plan.cost } })).toContain('risk');
    const above = microUsdPerHour(weighed.cost + 1);
    expect(rulesOf({ ...plan, weighed: { ...weighed, lowerBound: above } })).toEqual(['bound']);
    expect(rulesOf({ ...plan, weighed: { ...weighed, lowerBound: microUsdPerHour(0) } })).toEqual(['bound']);
  });

  test('an offering that counts as something else than its rate says', () => {
    const claims = plan.claims.map((claim) => {
      const { risk: _, ...offering } = claim.offering;
      return { ...claim, offering };
    });
    expect(rulesOf({ ...plan, claims })).toEqual(['risk']);
  });

  test('a plan whose pool says another cost of evictions', () => {
    const other = { ...given, evictionCostMs: new Map([['a', HOUR_MS]]) };
    expect(auditPlan(plan, other).map(({ rule }) => rule)).toContain('risk');
  });
});
