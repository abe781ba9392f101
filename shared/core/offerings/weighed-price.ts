import type { Offering } from '../model/catalog.ts';
import type { PlannedOffering } from '../model/plan.ts';
import { microUsdPerHour, type MicroUsdPerHour } from '../quantity/units.ts';

/**
 * What an eviction costs where nobody says: half an hour of the node. The start of its replacement is paid while no pod
 * runs on it, some minutes; the rest is work that its pods do again.
 */
export const DEFAULT_EVICTION_COST_MS = 30 * 60_000;

const MILLION = 1_000_000;
const HOUR_MS = 3_600_000;

/** How often a new machine is evicted, per hour: in a storm by what that says, where it is worse. */
export function rateOf({ evictionsPerHour = 0, storm }: Pick<Offering, 'evictionsPerHour' | 'storm'>): number {
  return Math.max(evictionsPerHour, storm?.evictionsPerHour ?? 0);
}

/**
 * What evictions add to a price, in millionths of it: the chance of one within an hour times what one costs, in hours
 * of the node. Rounded up. `costMs`: whole milliseconds.
 */
export function riskOf(evictionsPerHour: number, costMs: number): number {
  return Math.ceil((Math.round(evictionsPerHour * MILLION) * costMs) / HOUR_MS);
}

/**
 * The price with `risk` millionths of it on top, in micro-USD per hour, rounded up. In whole numbers, so that it is
 * exact.
 */
export function withRisk(price: number, risk: number): number {
  if (risk === 0 || price === Infinity) return price;
  const dollars = Math.floor(price / MILLION);
  return price + dollars * risk + Math.ceil(((price - dollars * MILLION) * risk) / MILLION);
}

/** What risk has to say of an offering; nothing where it adds nothing to the price. */
export function riskFields(
  price: MicroUsdPerHour,
  evictionsPerHour: number,
  weighed: number,
): Pick<PlannedOffering, 'risk'> {
  return weighed === price ? {} : { risk: { evictionsPerHour, weighedPrice: microUsdPerHour(weighed) } };
}
