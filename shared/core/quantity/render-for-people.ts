import { isBytes, parseQuantity, unitsOf, type Rounding } from '../../kubernetes/text/quantity.ts';

const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

/**
 * An exact quantity, short enough for a sentence: CPU to a hundredth of a core, bytes with three digits and a binary
 * suffix, all else as it is. What is wanted is rounded up and what is there down, so that the two never look equal.
 */
export function renderForPeople(resource: string, quantity: string, rounding: Rounding): string {
  const isNegative = quantity.startsWith('-');
  const amount = parseQuantity(isNegative ? quantity.slice(1) : quantity, unitsOf(resource), rounding);
  if (amount === null) return quantity;
  const sign = isNegative ? '-' : '';
  if (resource === 'cpu') return `${sign}${rounded(amount, 1000, 100, rounding)}`;
  if (!isBytes(resource)) return `${sign}${amount}`;
  const power = Math.min(BINARY.length - 1, Math.floor(Math.log2(Math.max(1, amount)) / 10));
  const unit = 2 ** (10 * power);
  const digits = amount < 10 * unit ? 100 : amount < 100 * unit ? 10 : 1;
  return `${sign}${rounded(amount, unit, digits, rounding)}${BINARY[power] ?? ''}`;
}

/** `amount` in units of `unit`, to a `per`-th of one. In integers: one byte too many must show. */
function rounded(amount: number, unit: number, per: number, rounding: Rounding): number {
  const [scaled, divisor] = [BigInt(amount) * BigInt(per), BigInt(unit)];
  return Number(rounding === 'up' ? (scaled + divisor - 1n) / divisor : scaled / divisor) / per;
}
