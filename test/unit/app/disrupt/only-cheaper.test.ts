import { describe, expect, test } from 'vitest';
import { onlyCheaper } from '../../../../shared/app/disrupt/only-cheaper.ts';
import type { Plan, PlannedClaim } from '../../../../shared/core/model/plan.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import type { Requirement } from '../../../../shared/kubernetes/manifest.ts';
import { input, offering, plannedClaim, pool, requirement, size, zones } from '../../../kit/core/build.ts';

const TYPE = 'node.kubernetes.io/instance-type';
const ZONE = 'topology.kubernetes.io/zone';
const CAPACITY = 'karpenter.sh/capacity-type';
const FAMILY = 'karpenter.azure.com/sku-family';

const types = [
  size('Standard_D2_v5', 2, 8, 100_000),
  size('Standard_E2_v5', 2, 16, 130_000),
  size('Standard_D4_v5', 4, 16, 200_000),
];
const names = types.map(({ name }) => name);
const given = input({ types, nodePools: [pool('general')] });

const priced = (name: string, price: number, capacityType: 'spot' | 'on-demand' = 'on-demand') => {
  return { instanceType: name, zone: zones[0], capacityType, price: microUsdPerHour(price) };
};

/** A claim for the smallest size that may be any of the three in two zones, spot or on demand. */
function claim(...more: ReadonlyArray<Requirement>): PlannedClaim {
  const stated = new Map(
    [
      requirement(TYPE, 'In', ...names),
      requirement(ZONE, 'In', ...zones.slice(0, 2)),
      requirement(CAPACITY, 'In', 'on-demand', 'spot'),
      ...more,
    ].map((one) => [one.key, one]),
  );
  return plannedClaim(priced('Standard_D2_v5', 100_000), {
    fallbacks: [
      priced('Standard_E2_v5', 130_000),
      priced('Standard_D4_v5', 200_000),
      priced('Standard_D2_v5', 25_000, 'spot'),
    ],
    requirements: [...stated.values()],
  });
}

function planOf(...claims: ReadonlyArray<PlannedClaim>): Plan {
  const cost = microUsdPerHour(100_000 * claims.length);
  const none = microUsdPerHour(0);
  return {
    claims,
    nominations: [],
    left: [],
    buffers: [],
    devices: [],
    cost,
    lowerBound: none,
    weighed: { cost, lowerBound: none },
  };
}

const listed = (plan: Plan | null, key = TYPE) =>
  plan?.claims.map(({ requirements }) => requirements.find((one) => one.key === key)?.values);

describe('what a claim may be launched as', () => {
  test('costs less than what goes, as its fallbacks do, and is of the capacity type that was planned', () => {
    const made = onlyCheaper(planOf(claim()), given, 200_000);
    expect([listed(made), listed(made, CAPACITY)]).toEqual([[names.slice(0, 2)], [['on-demand']]]);
    expect(made?.claims[0]?.fallbacks).toEqual([priced('Standard_E2_v5', 130_000)]);
    expect(listed(onlyCheaper(planOf(claim()), given, 200_001))).toEqual([names]);
  });

  test('is what was planned at least', () => {
    expect(listed(onlyCheaper(planOf(claim()), given, 100_001))).toEqual([['Standard_D2_v5']]);
  });

  test('may cost its share of the saving more, where several claims come together', () => {
    expect(listed(onlyCheaper(planOf(claim(), claim()), given, 260_000))).toEqual([
      ['Standard_D2_v5'],
      ['Standard_D2_v5'],
    ]);
    expect(listed(onlyCheaper(planOf(claim(), claim()), given, 260_001))).toEqual([
      names.slice(0, 2),
      names.slice(0, 2),
    ]);
  });

  test('costs so little in every zone of the claim, wherever else it is dearer', () => {
    const uneven = (dearest: number) =>
      size('Standard_E2_v5', 2, 16, 130_000, {
        offerings: zones.map((zone, index) => offering(zone, 'on-demand', index === dearest ? 500_000 : 130_000)),
      });
    const among = (dearest: number) => {
      const sizes = types.map((type) => (type.name === 'Standard_E2_v5' ? uneven(dearest) : type));
      return listed(onlyCheaper(planOf(claim()), input({ types: sizes, nodePools: [pool('general')] }), 200_000));
    };
    expect([among(1), among(2)]).toEqual([[['Standard_D2_v5']], [names.slice(0, 2)]]);
  });

  test('is not a size that is not sold in the capacity type that was planned', () => {
    const spotOnly = size('Standard_E2_v5', 2, 16, 1, { offerings: zones.map((zone) => offering(zone, 'spot', 1)) });
    const sizes = types.map((type) => (type.name === 'Standard_E2_v5' ? spotOnly : type));
    const made = onlyCheaper(planOf(claim()), input({ types: sizes, nodePools: [pool('general')] }), 200_000);
    expect(listed(made)).toEqual([['Standard_D2_v5']]);
  });
});

describe('minValues', () => {
  test.each<[string, Requirement, boolean]>([
    ['two sizes, which are left', { ...requirement(TYPE, 'In', ...names), minValues: 2 }, true],
    ['three sizes', { ...requirement(TYPE, 'In', ...names), minValues: 3 }, false],
    ['two families, which are left', { ...requirement(FAMILY, 'Exists'), minValues: 2 }, true],
    ['three families', { ...requirement(FAMILY, 'Exists'), minValues: 3 }, false],
    ['two zones, which it leaves alone', { ...requirement(ZONE, 'In', ...zones.slice(0, 2)), minValues: 2 }, true],
    ['two capacity types', { ...requirement(CAPACITY, 'In', 'on-demand', 'spot'), minValues: 2 }, false],
  ])('of %s: %s', (_, stated, isMade) => {
    expect(onlyCheaper(planOf(claim(stated)), given, 200_000) !== null).toBe(isMade);
  });
});

test('a plan without claims stays as it is', () => {
  const plan = planOf();
  expect(onlyCheaper(plan, given, 0)).toEqual(plan);
});
