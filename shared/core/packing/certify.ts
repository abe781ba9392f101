import { demandOf } from './fluid.ts';
import type { PackingBin, PackingItem } from './problem.ts';

/** Prices per resource are counted in 2^-48 micro-USD: a byte of memory is worth about 1e-6 micro-USD an hour. */
const SHIFT = 48n;

/**
 * A cost that no set of bins holding all items can undercut, proved in integers: whatever the prices are, they are first
 * lowered until no bin holds more worth than it costs. `given`: what free capacity there is, which costs nothing.
 */
export function certifiedBound(
  prices: Float64Array,
  items: ReadonlyArray<PackingItem>,
  bins: ReadonlyArray<PackingBin>,
  given: Float64Array,
): number {
  const exact = certifiedPrices(prices, bins);
  const demand = demandOf(items, prices.length);
  let worth = 0n;
  exact.forEach((price, at) => {
    worth += price * (BigInt(demand[at] ?? 0) - BigInt(Math.max(0, given[at] ?? 0)));
  });
  if (worth <= 0n) return 0;
  return Number((worth + (1n << SHIFT) - 1n) >> SHIFT);
}

/** The prices in fixed point, scaled down as far as needed that no bin is worth more than it costs. */
function certifiedPrices(prices: Float64Array, bins: ReadonlyArray<PackingBin>): ReadonlyArray<bigint> {
  let exact: ReadonlyArray<bigint> = Array.from(prices, toFixedPoint);
  for (const { usable, price } of bins) exact = lowerTo(exact, usable, BigInt(price) << SHIFT);
  return exact;
}

/** The prices scaled down, if need be, so that `usable` is worth at most `price`. */
function lowerTo(prices: ReadonlyArray<bigint>, usable: Float64Array, price: bigint): ReadonlyArray<bigint> {
  let worth = 0n;
  prices.forEach((one, at) => (worth += one * BigInt(Math.max(0, usable[at] ?? 0))));
  return worth <= price ? prices : prices.map((one) => (one * price) / worth);
}

function toFixedPoint(price: number): bigint {
  const scaled = Math.floor(price * 2 ** Number(SHIFT));
  return Number.isFinite(scaled) && scaled > 0 ? BigInt(scaled) : 0n;
}

/** The certified prices as doubles, each at most a rounding error off: for searches that leave a margin. */
export function safePrices(prices: Float64Array, bins: ReadonlyArray<PackingBin>): Float64Array {
  return Float64Array.from(certifiedPrices(prices, bins), (price) => Number(price) / 2 ** Number(SHIFT));
}
