import { describe, expect, test } from 'vitest';
import type { CapacityType, InstanceType } from '../../../shared/core/model/catalog.ts';
import type { NodeClaim } from '../../../shared/kubernetes/manifest.ts';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import type { Plan } from '../../../shared/core/model/plan.ts';
import { instant, microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { input, pods, pool, requirement, shape, size, spec } from '../../kit/core/build.ts';

type Left = Readonly<Record<string, number>>;

/**
 * A size whose on-demand nodes count against its family and the region, and its spot nodes against those of the region.
 */
function counted(name: string, cores: number, price: number, left: Left): InstanceType {
  const plain = size(name, cores, cores * 4, price);
  const family = `family${name.charAt(9)}`;
  const namesFor = (capacityType: CapacityType) => (capacityType === 'spot' ? ['spot'] : [family, 'cores']);
  const offerings = plain.offerings.map((one) => {
    const of = namesFor(one.capacityType).map((quota) => ({ name: quota, left: left[quota] ?? 1_000 }));
    return { ...one, quota: { cores, of } };
  });
  return { ...plain, offerings };
}

const onDemand = requirement('karpenter.sh/capacity-type', 'In', 'on-demand');
const shapes = [shape(spec('3', '8Gi'))];

/** D is cheaper than E; each pod needs a node of its own. */
function given(left: Left, parts: Parameters<typeof input>[0]): ReturnType<typeof input> {
  const types = [counted('Standard_D4_v5', 4, 200_000, left), counted('Standard_E4_v5', 4, 260_000, left)];
  return input({ types, nodePools: [pool('general', { requirements: [onDemand] })], shapes, ...parts });
}

/** The plan, audited. */
function planOf(cluster: ReturnType<typeof input>): Plan {
  const plan = planProvisioning(cluster, instant(0));
  expect(auditPlan(plan, cluster)).toEqual([]);
  return plan;
}

function sizesOf({ claims }: Plan): ReadonlyArray<string> {
  return claims.map(({ offering }) => `${offering.instanceType} ${offering.capacityType}`).toSorted();
}

const [D, E] = ['Standard_D4_v5 on-demand', 'Standard_E4_v5 on-demand'];

describe('where quota is known', () => {
  test('a plan asks for no more of a family than is left, and takes the next cheapest for the rest', () => {
    const plan = planOf(given({ familyD: 8 }, { pods: pods(0, 3) }));
    expect(sizesOf(plan)).toEqual([D, D, E]);
    expect(plan.cost).toBe(660_000);
    const changed = plan.claims.find(({ offering }) => offering.instanceType === 'Standard_E4_v5');
    expect(changed?.fallbacks.at(-1)?.instanceType).toBe('Standard_D4_v5');
    expect(changed?.cheaper.at(-1)).toMatchObject({ reason: { kind: 'unavailable' }, offerings: 3, instanceTypes: 1 });
  });

  test('claims on their way count, until their machine is made and Azure counts it', () => {
    const claim = (status: NodeClaim['status']): NodeClaim => ({
      metadata: { name: 'general-1', labels: { 'karpenter.sh/nodepool': 'general' } },
      spec: {
        nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
        requirements: [],
        resources: { requests: {} },
      },
      ...(status === undefined ? {} : { status }),
    });
    const planned = { instanceType: 'Standard_D4_v5', zone: 'westeurope-1', capacityType: 'on-demand' } as const;
    const inFlight = new Map([['general-1', { pods: [], ...planned }]]);
    const parts = { pods: pods(0, 3), inFlight };
    // It holds one of the three pods, and takes four of the eight cores.
    expect(sizesOf(planOf(given({ familyD: 8 }, { ...parts, nodeClaims: [claim(undefined)] })))).toEqual([D, E]);
    const full = { cpu: '1', memory: '1Gi', pods: '30' };
    const made = claim({ providerID: 'azure:///1', capacity: full, allocatable: full });
    expect(sizesOf(planOf(given({ familyD: 8 }, { ...parts, nodeClaims: [made] })))).toEqual([D, D, E]);
  });

  test('all families together keep within the quota of the region, as far as there is another choice', () => {
    const nodePools = [pool('general', { requirements: [] })];
    const types = [
      counted('Standard_D4_v5', 4, 200_000, { spot: 4 }),
      counted('Standard_E4_v5', 4, 260_000, { spot: 4 }),
    ];
    const plan = planOf(input({ types, nodePools, shapes, pods: pods(0, 2) }));
    expect(sizesOf(plan)).toEqual([D, 'Standard_D4_v5 spot']);
  });

  test('spot in a storm is told to count as more than what is taken for want of quota', () => {
    const storm = { evicted: 3, of: 4, evictionsPerHour: 20, until: '2026-03-01T12:30:00Z' };
    const plain = counted('Standard_D4_v5', 4, 200_000, { familyD: 4 });
    const inStorm = (price: number) => ({
      ...plain,
      offerings: plain.offerings.map((one) =>
        one.capacityType === 'spot' ? { ...one, storm, price: microUsdPerHour(price) } : one,
      ),
    });
    const other = counted('Standard_E4_v5', 4, 260_000, {});
    const onlyPaid = { ...other, offerings: other.offerings.filter((one) => one.capacityType === 'on-demand') };
    const nodePools = [pool('general', { requirements: [] })];
    const told = (price: number) => {
      const plan = planOf(input({ types: [inStorm(price), onlyPaid], nodePools, shapes, pods: pods(0, 2) }));
      const changed = plan.claims.find(({ offering }) => offering.instanceType === 'Standard_E4_v5');
      return changed?.cheaper.filter(({ reason }) => reason.kind === 'spot-storm').map(({ reason }) => reason);
    };
    expect(told(50_000)).toEqual([
      {
        kind: 'spot-storm',
        evicted: 3,
        of: 4,
        refusedSizes: 0,
        until: storm.until,
        weighedPrice: 550_000,
        chosenWeighedPrice: 260_000,
      },
    ]);
  });

  test('a claim for which nothing has room stays as it is: the count may be old, and Azure decides', () => {
    expect(sizesOf(planOf(given({ cores: 4 }, { pods: pods(0, 2) })))).toEqual([D, D]);
  });

  test('two pools count together', () => {
    const pools = ['a', 'b'].map((name) => pool(name, { requirements: [onDemand] }));
    const on = (name: string) => shape(spec('3', '8Gi', { nodeSelector: { 'karpenter.sh/nodepool': name } }));
    const plan = planOf(
      given({ familyD: 4 }, { nodePools: pools, shapes: [on('a'), on('b')], pods: [...pods(0, 1), ...pods(1, 1)] }),
    );
    expect(sizesOf(plan)).toEqual([D, E]);
  });
});

test('where quota is not known, nothing is counted', () => {
  const types = [size('Standard_D4_v5', 4, 16, 200_000), size('Standard_E4_v5', 4, 16, 260_000)];
  const plan = planOf(
    input({ types, nodePools: [pool('general', { requirements: [onDemand] })], shapes, pods: pods(0, 3) }),
  );
  expect(sizesOf(plan)).toEqual([D, D, D]);
});
