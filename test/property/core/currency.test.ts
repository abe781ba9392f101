import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { instant, microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import type { Plan } from '../../../shared/core/model/plan.ts';
import type { ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { drawsOf } from '../../setup/draws.ts';
import { inputs, inputsWithReservations, plainInputs } from './kit/arbitrary.ts';

const runs = { numRuns: drawsOf(100) };
/**
 * A dollar is some 1,400 won. A power of two, by which sums in floating point are the same, so that equals are chosen
 * alike.
 */
const UNITS = 1_024;

/** The same catalog in a currency of which a dollar is so many. */
function inCurrency(given: ProvisioningInput, units: number): ProvisioningInput {
  const catalog = new Map(
    [...given.catalog].map(([name, types]) => [
      name,
      types.map((type) => ({
        ...type,
        offerings: type.offerings.map((one) => ({ ...one, price: microUsdPerHour(one.price * units) })),
      })),
    ]),
  );
  return { ...given, catalog };
}

function decided({ claims, left }: Plan): unknown {
  return {
    claims: claims.map(({ nodePool, offering: { instanceType, zone, capacityType }, pods }) => {
      return { nodePool, instanceType, zone, capacityType, pods };
    }),
    left: left.map(({ pod }) => pod),
  };
}

test('the same nodes are chosen in a currency of which a dollar is a thousand', { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(fc.oneof(inputs, inputsWithReservations, plainInputs), (given) => {
      const dollars = decided(planProvisioning(given, instant(0)));
      expect(decided(planProvisioning(inCurrency(given, UNITS), instant(0)))).toEqual(dollars);
    }),
    runs,
  );
});
