import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { InstanceType, Offering } from '../../../shared/core/model/catalog.ts';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { weighedPriceOf } from '../../../shared/core/model/weighed-cost.ts';
import { parseAmounts } from '../../../shared/kubernetes/text/quantity.ts';
import { instant, microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { podRequests } from '../../../shared/core/rules/pod-requests.ts';
import { DEFAULT_WORK, type ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import { input, node, pods, pool, requirement, shape, size, spec } from '../../kit/core/build.ts';
import { inputs, inputsWithReservations } from './kit/arbitrary.ts';
import { committed } from './kit/committed.ts';
import { drawsOf } from '../../setup/draws.ts';

/** A law is a few hundred plans: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };

const now = instant(0);
const runs = { numRuns: drawsOf(100) };
const fewerRuns = { numRuns: Math.ceil(runs.numRuns / 3) };

const HALF_HOUR_MS = 1_800_000;

/** Evictions in a thousand hours, of the sizes in order and of their zones in order; 0: not known. */
const rates = fc.array(fc.array(fc.constantFrom(0, 25, 225, 225, 1_000), { minLength: 3, maxLength: 3 }), {
  minLength: 5,
  maxLength: 5,
});

/** What an eviction costs in each of up to three pools, in half hours; null: not said, which is one. */
const costs = fc.array(fc.constantFrom(null, null, 0, 4, 16), { minLength: 3, maxLength: 3 });

type Rates = ReadonlyArray<ReadonlyArray<number>>;

function rated(type: InstanceType, own: ReadonlyArray<number>): InstanceType {
  const zones = [...new Set(type.offerings.map(({ zone }) => zone))];
  const offerings = type.offerings.map((one): Offering => {
    const rate = own[zones.indexOf(one.zone)] ?? 0;
    return one.capacityType !== 'spot' || rate === 0 ? one : { ...one, evictionsPerHour: rate / 1_000 };
  });
  return { ...type, offerings };
}

function withRates(given: ProvisioningInput, drawn: Rates, halfHours: ReadonlyArray<number | null>): ProvisioningInput {
  const lists = new Map<ReadonlyArray<InstanceType>, ReadonlyArray<InstanceType>>();
  const ratedList = (types: ReadonlyArray<InstanceType>): ReadonlyArray<InstanceType> => {
    const known = lists.get(types) ?? types.map((type, index) => rated(type, drawn[index] ?? []));
    lists.set(types, known);
    return known;
  };
  const evictionCostMs = halfHours.flatMap((cost, index) =>
    cost === null ? [] : [[`pool-${index}`, cost * HALF_HOUR_MS] as const],
  );
  return {
    ...given,
    catalog: new Map([...given.catalog].map(([name, types]) => [name, ratedList(types)])),
    evictionCostMs: new Map(evictionCostMs),
  };
}

const ratedOf = (base: fc.Arbitrary<ProvisioningInput>): fc.Arbitrary<ProvisioningInput> =>
  fc.tuple(base, rates, costs).map(([given, drawn, halfHours]) => withRates(given, drawn, halfHours));

test('with evictions every plan passes its audit, and costs and counts as no less than its bounds', slow, () => {
  fc.assert(
    fc.property(ratedOf(inputsWithReservations), (given) => {
      const plan = planProvisioning(given, now);
      expect(auditPlan(plan, given).filter(({ severity }) => severity === 'fatal')).toEqual([]);
      expect(plan.lowerBound).toBeLessThanOrEqual(plan.cost);
      expect(plan.weighed.lowerBound).toBeLessThanOrEqual(plan.weighed.cost);
      expect(plan.cost).toBeLessThanOrEqual(plan.weighed.cost);
    }),
    runs,
  );
});

test('with evictions the order in which sizes and offerings are listed does not change the plan', slow, () => {
  fc.assert(
    fc.property(ratedOf(inputs), (given) => {
      const turned = [...given.catalog].map(([name, types]) => {
        const own = types.map((type) => ({ ...type, offerings: type.offerings.toReversed() }));
        return [name, own.toReversed()] as const;
      });
      expect(planProvisioning({ ...given, catalog: new Map(turned) }, now)).toEqual(planProvisioning(given, now));
    }),
    fewerRuns,
  );
});

test('with evictions planning again while claims are on their way opens none for a pod that has one', slow, () => {
  fc.assert(
    fc.property(ratedOf(inputs), (given) => {
      const plan = planProvisioning(given, now);
      fc.pre(auditPlan(plan, given).length === 0);
      const again = planProvisioning(committed(given, plan), now);
      const placed = new Set(plan.claims.flatMap(({ pods: own }) => own.map(({ uid }) => uid)));
      expect(again.claims.flatMap(({ pods: own }) => own.filter(({ uid }) => placed.has(uid)))).toEqual([]);
    }),
    fewerRuns,
  );
});

test('rates of 0, or evictions that cost nothing, give the plan without rates', slow, () => {
  fc.assert(
    fc.property(inputs, rates, fc.boolean(), (given, drawn, isFree) => {
      const zero = drawn.map((own) => own.map(() => 0));
      const same = isFree ? withRates(given, drawn, [0, 0, 0]) : statingZero(withRates(given, zero, []));
      expect(planProvisioning(same, now)).toEqual(planProvisioning(given, now));
    }),
    fewerRuns,
  );
});

function statingZero(given: ProvisioningInput): ProvisioningInput {
  const stated = (type: InstanceType): InstanceType => ({
    ...type,
    offerings: type.offerings.map((one) => ({ ...one, evictionsPerHour: 0 })),
  });
  return { ...given, catalog: new Map([...given.catalog].map(([name, types]) => [name, types.map(stated)])) };
}

test(
  'what is refused for its risk costs less and counts as no less, and nothing is overlooked unless limits bind',
  slow,
  () => {
    fc.assert(
      fc.property(ratedOf(inputs), (given) => {
        // Where limits or minValues stop nodes of one zone, pods are taken off others again, which keep their size.
        const isFree = given.cluster.nodePools.every(({ spec: { limits, template } }) => {
          return limits === undefined && template.spec.requirements.every(({ minValues }) => minValues === undefined);
        });
        for (const { offering, cheaper } of planProvisioning(given, now).claims) {
          for (const { example, reason } of cheaper) {
            expect(example.price).toBeLessThan(offering.price);
            if (isFree) expect(reason.kind).not.toBe('overlooked');
            if (reason.kind !== 'eviction-risk') continue;
            expect(reason.weighedPrice).toBe(example.risk?.weighedPrice);
            expect(reason.chosenWeighedPrice).toBe(weighedPriceOf(offering));
            expect(reason.weighedPrice).toBeGreaterThanOrEqual(reason.chosenWeighedPrice);
          }
        }
      }),
      runs,
    );
  },
);

const improvements = fc.record({ index: fc.nat(5), rate: fc.constantFrom(0, 25) });

test(
  'a size that is evicted less, or one more, never leaves more pods, and no bound is above the plan before',
  slow,
  () => {
    fc.assert(
      fc.property(ratedOf(inputs), improvements, (drawn, { index, rate }) => {
        const given = { ...drawn, work: DEFAULT_WORK };
        const improved = (types: ReadonlyArray<InstanceType>): ReadonlyArray<InstanceType> =>
          types[index] === undefined
            ? [...types, rated(size('Standard_F6s_v2', 6, 12, 180_000), [25, 225, 1_000])]
            : types.with(index, calmer(types[index], rate / 1_000));
        const catalog = new Map([...given.catalog].map(([name, types]) => [name, improved(types)]));
        const before = planProvisioning(given, now);
        const after = planProvisioning({ ...given, catalog }, now);
        expect(after.left.length).toBeLessThanOrEqual(before.left.length);
        if (
          after.left.length !== before.left.length ||
          after.left.some(({ pod }, at) => pod.uid !== before.left[at]?.pod.uid)
        )
          return;
        expect(after.lowerBound).toBeLessThanOrEqual(before.cost);
        expect(after.weighed.lowerBound).toBeLessThanOrEqual(before.weighed.cost);
      }),
      fewerRuns,
    );
  },
);

function calmer(type: InstanceType | undefined, rate: number): InstanceType {
  if (type === undefined) throw new Error('the index is within the list');
  const offerings = type.offerings.map((one): Offering => {
    return one.evictionsPerHour === undefined
      ? one
      : { ...one, evictionsPerHour: Math.min(one.evictionsPerHour, rate) };
  });
  return { ...type, offerings };
}

/** Few pods that only resources bind, so that every plan can be tried, with a node that has room now and then. */
const tinyInputs: fc.Arbitrary<ProvisioningInput> = fc
  .record({
    requests: fc.array(
      fc.tuple(fc.constantFrom('500m', '1', '1900m', '3', '7'), fc.constantFrom('1Gi', '7Gi', '20Gi')),
      { minLength: 1, maxLength: 5 },
    ),
    prices: fc.array(fc.constantFrom(50_000, 95_000, 100_000, 110_000, 130_001), { minLength: 3, maxLength: 3 }),
    capacityTypes: fc.constantFrom(['spot'], ['on-demand', 'spot']),
    hasNode: fc.boolean(),
    drawn: rates,
    halfHours: costs,
  })
  .map(({ requests, prices, capacityTypes, hasNode, drawn, halfHours }) => {
    const [D2 = 0, D4 = 0, E2 = 0] = prices;
    const sizes = [
      spotAt(size('Standard_D2s_v5', 2, 8, 120_000), D2),
      spotAt(size('Standard_D8s_v5', 8, 32, 400_000), 3 * D4),
      spotAt(size('Standard_E4s_v5', 4, 32, 260_000), 2 * E2),
    ];
    const given = input({
      types: sizes,
      nodePools: [
        pool('pool-0', { requirements: [requirement('karpenter.sh/capacity-type', 'In', ...capacityTypes)] }),
      ],
      nodes: hasNode ? [node('node-0', 2, 8)] : [],
      shapes: requests.map(([cpu, memory]) => shape(spec(cpu, memory))),
      pods: requests.flatMap((_, index) => pods(index, 1)),
      operations: 1_000_000,
    });
    return withRates(given, drawn, halfHours);
  });

function spotAt(type: InstanceType, price: number): InstanceType {
  const offerings = type.offerings.map((one): Offering => {
    return one.capacityType === 'spot' ? { ...one, price: microUsdPerHour(price) } : one;
  });
  return { ...type, offerings };
}

test(
  'no bound is above the cheapest of all plans, of plain prices and of weighed ones, and no plan is below it',
  slow,
  () => {
    fc.assert(
      fc.property(tinyInputs, (given) => {
        const plan = planProvisioning(given, now);
        fc.pre(plan.left.length === 0);
        const plain = cheapestOf(given, ({ price }) => price);
        expect(plan.lowerBound).toBeLessThanOrEqual(plain);
        expect(plan.cost).toBeGreaterThanOrEqual(plain);
        const halfHours = (given.evictionCostMs.get('pool-0') ?? HALF_HOUR_MS) / HALF_HOUR_MS;
        const weighed = cheapestOf(given, ({ price, evictionsPerHour = 0 }) => {
          return price + Math.ceil((price * Math.round(evictionsPerHour * 1_000) * halfHours) / 2_000);
        });
        expect(plan.weighed.lowerBound).toBeLessThanOrEqual(weighed);
        expect(plan.weighed.cost).toBeGreaterThanOrEqual(weighed);
        // Existing capacity aside, so few pods are packed as well as can be.
        if (given.cluster.nodes.length === 0) expect(plan.weighed.cost).toBe(weighed);
      }),
      { numRuns: 3 * runs.numRuns },
    );
  },
);

/**
 * What the cheapest plan costs, found by trying every way to group the pods: on the node, or on one of the new ones.
 */
function cheapestOf({ cluster, catalog }: ProvisioningInput, costOf: (offering: Offering) => number): number {
  const types = [...catalog.values()][0] ?? [];
  const allowed = cluster.nodePools[0]?.spec.template.spec.requirements[0]?.values ?? [];
  const requests = cluster.pods.map(({ shape: index }) =>
    podRequests(cluster.shapes[index]?.spec ?? { containers: [] }),
  );
  const holds = (resources: InstanceType['capacity'], group: ReadonlyArray<number>): boolean => {
    const has = parseAmounts(resources, 'down');
    return ['cpu', 'memory'].every(
      (name) => group.reduce((sum, pod) => sum + (requests[pod]?.get(name) ?? 0), 0) <= (has.get(name) ?? 0),
    );
  };
  const costFor = (group: ReadonlyArray<number>): number => {
    const holding = types.filter(({ capacity }) => holds(capacity, group)).flatMap(({ offerings }) => offerings);
    return Math.min(...holding.filter(({ capacityType }) => allowed.includes(capacityType)).map(costOf));
  };
  const there = cluster.nodes[0]?.status?.allocatable;
  let cheapest = Infinity;
  const visit = (pod: number, onNode: ReadonlyArray<number>, groups: ReadonlyArray<ReadonlyArray<number>>): void => {
    if (pod === requests.length) {
      cheapest = Math.min(
        cheapest,
        groups.reduce((sum, group) => sum + costFor(group), 0),
      );
      return;
    }
    if (there !== undefined && holds(there, [...onNode, pod])) visit(pod + 1, [...onNode, pod], groups);
    groups.forEach((own, index) => visit(pod + 1, onNode, groups.with(index, [...own, pod])));
    visit(pod + 1, onNode, [...groups, [pod]]);
  };
  visit(0, [], []);
  return cheapest;
}
