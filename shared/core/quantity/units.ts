declare const unit: unique symbol;
type Unit<Name extends string> = number & { readonly [unit]: Name };

/**
 * A price in millionths of the currency of prices per hour: US dollars, unless the deployment says otherwise. Integer,
 * so that equal prices compare equal; rounded up from the source. Nothing that is decided depends on which currency it
 * is.
 */
export type MicroUsdPerHour = Unit<'micro-usd-per-hour'>;

/** A point in time in milliseconds since the Unix epoch, UTC. Integer. */
export type Instant = Unit<'instant'>;

/** Throws RangeError unless `count` is a non-negative safe integer, as all constructors here do. */
export function microUsdPerHour(count: number): MicroUsdPerHour {
  return natural(count) as MicroUsdPerHour;
}

export function instant(count: number): Instant {
  return natural(count) as Instant;
}

function natural(value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`expected a non-negative integer, got ${value}`);
  return value;
}
