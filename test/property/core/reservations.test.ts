import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { InstanceType, Offering } from '../../../shared/core/model/catalog.ts';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { parseAmounts } from '../../../shared/kubernetes/text/quantity.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { podRequests } from '../../../shared/core/rules/pod-requests.ts';
import type { ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import { inputsWithReservations, tinyInputsWithReservations } from './kit/arbitrary.ts';
import { drawsOf } from '../../setup/draws.ts';

/** A law is a few hundred plans: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };

const now = instant(0);
const runs = { numRuns: drawsOf(100) };

test('every plan with reservations passes its audit, and costs no less than its bound', slow, () => {
  fc.assert(
    fc.property(inputsWithReservations, (given) => {
      const plan = planProvisioning(given, now);
      expect(auditPlan(plan, given).filter(({ severity }) => severity === 'fatal')).toEqual([]);
      expect(plan.lowerBound).toBeLessThanOrEqual(plan.cost);
    }),
    runs,
  );
});

test('the order in which offerings are listed does not change the plan', slow, () => {
  fc.assert(
    fc.property(inputsWithReservations, (given) => {
      const turned = (type: InstanceType): InstanceType => ({ ...type, offerings: type.offerings.toReversed() });
      const catalog = new Map([...given.catalog].map(([pool, types]) => [pool, types.map(turned)]));
      expect(planProvisioning({ ...given, catalog }, now)).toEqual(planProvisioning(given, now));
    }),
    runs,
  );
});

test('with reservations the bound is never above the cheapest of all plans, and no plan is below it', slow, () => {
  fc.assert(
    fc.property(tinyInputsWithReservations, (given) => {
      const plan = planProvisioning(given, now);
      fc.pre(plan.left.length === 0);
      const cheapest = cheapestOf(given);
      expect(plan.lowerBound).toBeLessThanOrEqual(cheapest);
      expect(plan.cost).toBeGreaterThanOrEqual(cheapest);
    }),
    { numRuns: 3 * runs.numRuns },
  );
});

/** The cost of the cheapest plan, found by trying every way to group the pods and every offering for every group. */
function cheapestOf({ cluster, catalog }: ProvisioningInput): number {
  // A burstable size is never needed here, and a plan takes one only where it is.
  const types = ([...catalog.values()][0] ?? []).filter(({ name }) => !name.startsWith('Standard_B'));
  const requests = cluster.pods.map(({ shape }) => podRequests(cluster.shapes[shape]?.spec ?? { containers: [] }));
  const choicesFor = (group: ReadonlyArray<number>): ReadonlyArray<Offering> =>
    types.filter((type) => holds(type, group)).flatMap(({ offerings }) => offerings.filter(isUsable));
  const holds = (type: InstanceType, group: ReadonlyArray<number>): boolean => {
    const has = parseAmounts(type.capacity, 'down');
    return ['cpu', 'memory', 'pods'].every(
      (name) => group.reduce((sum, pod) => sum + (requests[pod]?.get(name) ?? 0), 0) <= (has.get(name) ?? 0),
    );
  };
  const costOf = (groups: ReadonlyArray<ReadonlyArray<number>>, taken: ReadonlyMap<string, number>): number => {
    const [first, ...others] = groups;
    if (first === undefined) return 0;
    let least = Infinity;
    for (const { price, reservation } of choicesFor(first)) {
      const used = reservation === undefined ? 0 : (taken.get(reservation.id) ?? 0) + 1;
      if (reservation !== undefined && used > reservation.remaining) continue;
      const more = reservation === undefined ? taken : new Map([...taken, [reservation.id, used]]);
      if (price < least) least = Math.min(least, price + costOf(others, more));
    }
    return least;
  };
  let cheapest = Infinity;
  const group = (pod: number, groups: ReadonlyArray<ReadonlyArray<number>>): void => {
    if (pod === requests.length) {
      cheapest = Math.min(cheapest, costOf(groups, new Map()));
      return;
    }
    groups.forEach((own, index) => group(pod + 1, groups.with(index, [...own, pod])));
    group(pod + 1, [...groups, [pod]]);
  };
  group(0, []);
  return cheapest;
}

/** In the cheapest zone and of the types that the pool allows; all zones cost the same on demand. */
function isUsable({ capacityType, zone, reservation }: Offering): boolean {
  return reservation !== undefined || (capacityType === 'on-demand' && zone.endsWith('-1'));
}
