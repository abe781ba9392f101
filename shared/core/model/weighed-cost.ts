import { microUsdPerHour, type MicroUsdPerHour } from '../quantity/units.ts';
import type { PlannedOffering } from './plan.ts';

/** What an offering counts as where choices are made: its price, and what its evictions cost. */
export function weighedPriceOf({ price, risk }: Pick<PlannedOffering, 'price' | 'risk'>): MicroUsdPerHour {
  return risk?.weighedPrice ?? price;
}

type Claims = ReadonlyArray<{ readonly offering: PlannedOffering }>;

/** The same of claims together. */
export function weighedCostOf(claims: Claims): MicroUsdPerHour {
  return microUsdPerHour(claims.reduce((sum, { offering }) => sum + weighedPriceOf(offering), 0));
}

/** What claims cost together, without risk. */
export function plainCostOf(claims: Claims): MicroUsdPerHour {
  return microUsdPerHour(claims.reduce((sum, { offering }) => sum + offering.price, 0));
}
