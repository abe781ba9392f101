declare const unit: unique symbol;
type Unit<Name extends string> = number & { readonly [unit]: Name };

/** CPU in thousandths of a core. Integer, ≥ 0. */
export type Millicores = Unit<'millicores'>;

/** Memory or storage in bytes. Integer, 0 … 2^53 − 1. */
export type Bytes = Unit<'bytes'>;

/**
 * A price in millionths of the currency of prices per hour: US dollars, unless the deployment says otherwise. Integer, so that equal
 * prices compare equal; rounded up from the source. Nothing that is decided depends on which currency it is.
 */
export type MicroUsdPerHour = Unit<'micro-usd-per-hour'>;

/** A point in time in milliseconds since the Unix epoch, UTC. Integer. */
export type Instant = Unit<'instant'>;

/** A length of time in milliseconds. Integer, ≥ 0. */
export type Duration = Unit<'duration'>;

/** Throws RangeError unless `count` is a non-negative safe integer, as all constructors here do. */
export function millicores(count: number): Millicores {
  return natural(count) as Millicores;
}

export function bytes(count: number): Bytes {
  return natural(count) as Bytes;
}

export function microUsdPerHour(count: number): MicroUsdPerHour {
  return natural(count) as MicroUsdPerHour;
}

export function instant(count: number): Instant {
  return natural(count) as Instant;
}

export function duration(count: number): Duration {
  return natural(count) as Duration;
}

function natural(value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`expected a non-negative integer, got ${value}`);
  return value;
}
