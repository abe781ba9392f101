import { describe, expect, test } from 'vitest';
import type { InstanceType, Offering, OfferingStorm } from '../../../shared/core/model/catalog.ts';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import type { Plan } from '../../../shared/core/model/plan.ts';
import { renderCheaper } from '../../../shared/core/telling/cheaper/render-cheaper.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { STORM_EVICTIONS_PER_HOUR } from '../../../shared/core/offerings/spot-storms.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { input, pool, pods, requirement, shape, size, spec, zones } from '../../kit/core/build.ts';

const capacityType = 'karpenter.sh/capacity-type';
const spotOnly = requirement(capacityType, 'In', 'spot');
const storm: OfferingStorm = {
  evicted: 4,
  of: 9,
  evictionsPerHour: STORM_EVICTIONS_PER_HOUR,
  until: '2026-03-01T12:30:00Z',
};

/** The size with spot in a storm in `inStorm`; its spot costs a tenth of `price`, Azure's deepest discount. */
function stormy(name: string, price: number, inStorm: ReadonlyArray<string>): InstanceType {
  const plain = size(name, 4, 16, price);
  const offerings = plain.offerings.map((one): Offering => {
    if (one.capacityType !== 'spot') return one;
    const spot = { ...one, price: (price / 10) as Offering['price'] };
    return inStorm.includes(one.zone) ? { ...spot, storm } : spot;
  });
  return { ...plain, offerings };
}

const everywhere = [...zones];
const D = stormy('Standard_D4s_v5', 100_000, everywhere);
const shapes = [shape(spec('3', '8Gi'))];

type Parts = Parameters<typeof input>[0];

/** The plan for one pod that fills a node. Audited. */
function planOf(types: ReadonlyArray<InstanceType>, parts: Parts = {}): Plan {
  const given = input({ types, nodePools: [pool('a', { requirements: [] })], shapes, pods: pods(0, 1), ...parts });
  const plan = planProvisioning(given, instant(0));
  expect(auditPlan(plan, given)).toEqual([]);
  expect(plan.left).toEqual([]);
  return plan;
}

const chosen = ({ claims }: Plan): ReadonlyArray<string> =>
  claims.map(({ offering: one }) => `${one.instanceType.slice(9, 10)} ${one.zone} ${one.capacityType} ${one.price}`);

describe('while spot storms', () => {
  test('new nodes are on demand, even where spot costs a tenth, and the plan says why with its numbers', () => {
    const plan = planOf([D]);
    expect(chosen(plan)).toEqual([`D ${zones[0]} on-demand 100000`]);
    expect(
      plan.claims[0]?.cheaper.map(({ offerings, reason }) => `${offerings}: ${renderCheaper(reason, 'USD')}`),
    ).toEqual([
      `${zones.length}: Azure evicted 4 of 9 spot VMs like it within ten minutes, so that until 2026-03-01T12:30:00Z it counts as $0.11, and the choice as $0.1`,
    ]);
  });

  test('spot of another family is taken where that is cheaper', () => {
    expect(chosen(planOf([D, stormy('Standard_E4s_v5', 130_000, [])]))).toEqual([`E ${zones[0]} spot 13000`]);
  });

  test('spot in another zone is taken where pods may go there', () => {
    expect(chosen(planOf([stormy('Standard_D4s_v5', 100_000, [zones[0]])]))).toEqual([`D ${zones[1]} spot 10000`]);
  });

  test('a pool that allows only spot gets it elsewhere first, and in the storm where there is nothing else', () => {
    const only = { nodePools: [pool('a', { requirements: [spotOnly] })] };
    const calmer = stormy('Standard_E4s_v5', 1_000_000, everywhere.slice(0, -1));
    expect(chosen(planOf([D, calmer], only))).toEqual([`E ${zones.at(-1) ?? ''} spot 100000`]);
    const plan = planOf([D], only);
    expect(chosen(plan)).toEqual([`D ${zones[0]} spot 10000`]);
    expect(plan.claims[0]?.offering.risk).toEqual({
      evictionsPerHour: STORM_EVICTIONS_PER_HOUR,
      weighedPrice: 110_000,
    });
  });

  test('a pod that asks for spot gets it', () => {
    const asks = [shape(spec('3', '8Gi', { nodeSelector: { [capacityType]: 'spot' } }))];
    expect(chosen(planOf([D], { shapes: asks }))).toEqual([`D ${zones[0]} spot 10000`]);
  });

  test('a pool that says that evictions cost nothing is left with spot', () => {
    expect(chosen(planOf([D], { evictionCostMs: new Map([['a', 0]]) }))).toEqual([`D ${zones[0]} spot 10000`]);
  });

  test('a rate that is worse than the storm counts as it is, and one that is better does not', () => {
    const rated = (evictionsPerHour: number): InstanceType => {
      const offerings = D.offerings.map((one) => (one.capacityType === 'spot' ? { ...one, evictionsPerHour } : one));
      return { ...D, offerings };
    };
    const only = { nodePools: [pool('a', { requirements: [spotOnly] })] };
    const weighed = (rate: number) => planOf([rated(rate)], only).claims[0]?.offering.risk?.weighedPrice;
    expect([weighed(0.1), weighed(30)]).toEqual([110_000, 160_000]);
  });
});
