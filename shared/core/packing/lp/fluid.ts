import type { PackingBin, PackingItem } from '../problem/problem.ts';

/** Simplex steps at most: a dual of few resources needs a handful; the bound only guards against cycling. */
const MAX_PIVOTS = 400;
const EPSILON = 1e-9;

/**
 * What a unit of each resource is worth when nodes and pods may be cut to any fraction: the prices y that make
 * demand · y largest while no bin holds more worth than it costs. Doubles: certify before relying on them.
 */
function resourcePrices(
  items: ReadonlyArray<PackingItem>,
  bins: ReadonlyArray<PackingBin>,
  width: number,
): Float64Array {
  const demand = demandOf(items, width);
  const scale = demand.map((amount) => (amount > 0 ? 1 / amount : 0));
  const rows = bins.length;
  const tableau = bins.map(({ usable }) => Float64Array.from(usable, (amount, at) => amount * (scale[at] ?? 0)));
  const rest = Float64Array.from(bins, ({ price }) => price);
  const gain = Float64Array.from(demand, (amount) => (amount > 0 ? 1 : 0));
  const basis = Int32Array.from({ length: rows }, (_, row) => width + row);
  const free = Int32Array.from({ length: width }, (_, column) => column);
  for (let pivot = 0; pivot < MAX_PIVOTS; pivot++) {
    const column = largestGain(gain);
    const row = column === -1 ? -1 : tightestRow(tableau, rest, column);
    if (row === -1) break;
    pivotOn({ tableau, rest, gain }, row, column);
    const entering = free[column] ?? 0;
    free[column] = basis[row] ?? 0;
    basis[row] = entering;
  }
  const prices = new Float64Array(width);
  basis.forEach((variable, row) => {
    if (variable < width) prices[variable] = Math.max(0, rest[row] ?? 0) * (scale[variable] ?? 0);
  });
  return prices;
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
  amounts.forEach((amount, at) => (worth += amount * (prices[at] ?? 0)));
  return worth;
}

/** Total requests per resource. */
function demandOf(items: ReadonlyArray<PackingItem>, width: number): Float64Array {
  const demand = new Float64Array(width);
  for (const { requests, count } of items) {
    for (let at = 0; at < width; at++) demand[at] = (demand[at] ?? 0) + count * (requests[at] ?? 0);
  }
  return demand;
}

function largestGain(gain: Float64Array): number {
  let best = -1;
  for (let column = 0; column < gain.length; column++) {
    if ((gain[column] ?? 0) > EPSILON && (best === -1 || (gain[column] ?? 0) > (gain[best] ?? 0))) best = column;
  }
  return best;
}

function tightestRow(tableau: ReadonlyArray<Float64Array>, rest: Float64Array, column: number): number {
  let [best, least] = [-1, Infinity];
  tableau.forEach((row, index) => {
    const slope = row[column] ?? 0;
    const ratio = slope > EPSILON ? (rest[index] ?? 0) / slope : Infinity;
    if (ratio < least) [best, least] = [index, ratio];
  });
  return best;
}

interface Dictionary {
  readonly tableau: ReadonlyArray<Float64Array>;
  readonly rest: Float64Array;
  readonly gain: Float64Array;
}

/** Solves the row for the column's variable and substitutes it everywhere else, in place. */
function pivotOn({ tableau, rest, gain }: Dictionary, row: number, column: number): void {
  const pivotRow = tableau[row];
  if (pivotRow === undefined) return;
  const pivot = pivotRow[column] ?? 1;
  for (let at = 0; at < pivotRow.length; at++) pivotRow[at] = (at === column ? 1 : (pivotRow[at] ?? 0)) / pivot;
  rest[row] = (rest[row] ?? 0) / pivot;
  const substitute = (target: Float64Array): number => {
    const factor = target[column] ?? 0;
    target[column] = 0;
    for (let at = 0; at < target.length; at++) target[at] = (target[at] ?? 0) - factor * (pivotRow[at] ?? 0);
    return factor;
  };
  tableau.forEach((other, index) => {
    if (index === row || (other[column] ?? 0) === 0) return;
    rest[index] = (rest[index] ?? 0) - substitute(other) * (rest[row] ?? 0);
  });
  substitute(gain);
}
