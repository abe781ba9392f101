import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { instant, microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import type { Plan } from '../../../shared/core/model/plan.ts';
import type { ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { inputs, inputsWithReservations, plainInputs } from './arbitrary.ts';

const runs = { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 100) };
/** Of the currencies that Azure lists prices in, the won is the smallest. */
const WON_PER_DOLLAR = 1_400;

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

/** Equals may be chosen otherwise, as sums in floating point are others: what they cost, and how many they are, may not. */
function decided({ cost, claims, left }: Plan, units: number): unknown {
  const pods = claims.reduce((count, claim) => count + claim.pods.length, 0);
  return { cost: cost / units, nodes: claims.length, pods, left: left.length };
}

test(
  'a plan costs as much in a currency of which a dollar is a thousand, with as many nodes and pods',
  { timeout: 120_000 },
  () => {
    fc.assert(
      fc.property(fc.oneof(inputs, inputsWithReservations, plainInputs), (given) => {
        const dollars = decided(planProvisioning(given, instant(0)), 1);
        expect(decided(planProvisioning(inCurrency(given, WON_PER_DOLLAR), instant(0)), WON_PER_DOLLAR)).toEqual(
          dollars,
        );
      }),
      runs,
    );
  },
);
