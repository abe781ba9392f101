import { doubleAt } from '../../quantity/at.ts';
import type { PackingBin, PackingItem } from '../problem/problem.ts';
import { createMaster, optimize, type Column } from './master.ts';

/** Simplex pivots at most: of few resources a handful is enough. */
const MAX_PIVOTS = 400;
/** A resource by itself costs so many times what the dearest way to get it from bins would. */
const MISSING = 10;

/**
 * What a unit of each resource is worth when nodes and pods may be cut to any fraction: a master with a row per
 * resource and a column per bin. Doubles: certify before relying on them.
 */
function resourcePrices(
  items: ReadonlyArray<PackingItem>,
  bins: ReadonlyArray<PackingBin>,
  width: number,
): Float64Array {
  const total = demandOf(items, width);
  const asked = Int32Array.from(total.keys()).filter((resource) => doubleAt(total, resource) > 0);
  const rows = Int32Array.from(asked.keys());
  const columns = bins.map(({ price, usable }) => ({
    cost: price,
    rows,
    amounts: Float64Array.from(asked, (resource) => doubleAt(usable, resource) / doubleAt(total, resource)),
  }));
  const own = new Float64Array(asked.length).fill(MISSING * Math.max(1, ...columns.map(dearestWay)));
  const master = createMaster(new Float64Array(asked.length).fill(1), asked.length, own);
  master.columns.push(...columns);
  optimize(master, { left: MAX_PIVOTS * (4 * bins.length + asked.length ** 2) });
  const prices = new Float64Array(width);
  asked.forEach(
    (resource, row) => (prices[resource] = Math.max(0, doubleAt(master.duals, row)) / doubleAt(total, resource)),
  );
  return prices;
}

/** What all of the resource costs that the bin has least of. */
function dearestWay({ cost, amounts }: Column): number {
  return cost / amounts.reduce((low, amount) => (amount > 0 ? Math.min(low, amount) : low), Infinity);
}

/** Of the cheapest bin's price: less than this no item is worth. */
const LEAST_WORTH = 0.001;

/** What a pod of each item is worth in the fluid sense; micro-USD per hour. */
export function fluidWorth(
  items: ReadonlyArray<PackingItem>,
  bins: ReadonlyArray<PackingBin>,
  width: number,
): Float64Array {
  const prices = resourcePrices(items, bins, width);
  // What takes only resources that are plentiful is worth nothing in the fluid sense, and must be packed all the same.
  const least = LEAST_WORTH * bins.reduce((low, { price }) => Math.min(low, Math.max(1, price)), Infinity);
  return Float64Array.from(items, ({ requests }) => Math.max(least, worthOf(requests, prices)));
}

function worthOf(amounts: Float64Array, prices: Float64Array): number {
  let worth = 0;
  amounts.forEach((amount, k) => (worth += amount * (prices[k] ?? 0)));
  return worth;
}

/** Total requests per resource. */
function demandOf(items: ReadonlyArray<PackingItem>, width: number): Float64Array {
  const demand = new Float64Array(width);
  for (const { requests, count } of items) {
    for (let k = 0; k < width; k++) demand[k] = (demand[k] ?? 0) + count * (requests[k] ?? 0);
  }
  return demand;
}
