import { parseQuantity, type Rounding } from '../../kubernetes/text/quantity.ts';

/** Capacities and counters are counted in thousandths, so that `500m` is whole and 8 Pi still is exact. */
const PER_UNIT = 1000;

/** A capacity or a counter in thousandths; what cannot be read is `unreadable`. */
export function toAmount(text: string | number, rounding: Rounding): number {
  return parseQuantity(text, PER_UNIT, rounding) ?? (rounding === 'up' ? Number.MAX_SAFE_INTEGER : 0);
}
