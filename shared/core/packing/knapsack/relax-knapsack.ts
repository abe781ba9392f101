import { byteAt, doubleAt, intAt } from '../../quantity/at.ts';

/**
 * One size to be filled with the most valuable pods: `items` kinds of them, `width` resources. Amounts, limits and free
 * capacity are integers held in doubles; values are any numbers.
 */
export interface Knapsack {
  readonly width: number;
  readonly items: number;
  /** Item × resource. */
  readonly requests: Float64Array;
  /** Per item: what one pod is worth. */
  readonly values: Float64Array;
  /** Per item: at most so many. 0 where the size does not admit it. */
  readonly limits: Float64Array;
  /** Per resource. */
  readonly free: Float64Array;
}

const EPSILON = 1e-12;
/** A few more than items that end up at their limits; past it the multipliers are merely not the best. */
const MAX_PIVOTS_PER_ITEM = 4;
const LEAST_PIVOTS = 20;

/**
 * What a unit of each resource is worth inside the knapsack when pods may be cut: multipliers of its linear relaxation,
 * all at least 0. Any multipliers bound the knapsack (`relaxedValue`); these bound it best.
 */
export function relaxKnapsack(knapsack: Knapsack): Float64Array {
  const state = start(knapsack);
  const most = LEAST_PIVOTS + MAX_PIVOTS_PER_ITEM * knapsack.items;
  for (let pivots = 0; pivots < most; pivots++) {
    price(state);
    const entering = mostGaining(state);
    if (entering === -1) break;
    if (!enter(state, entering)) break;
  }
  price(state);
  return state.multipliers.map((one) => Math.max(0, one));
}

/** No filling is worth more than this, whatever the multipliers are. */
export function relaxedValue(
  { width, items, requests, values, limits, free }: Knapsack,
  multipliers: Float64Array,
): number {
  let bound = 0;
  for (let k = 0; k < width; k++) bound += doubleAt(multipliers, k) * doubleAt(free, k);
  for (let item = 0; item < items; item++) {
    let gain = doubleAt(values, item);
    for (let k = 0; k < width; k++) gain -= doubleAt(multipliers, k) * doubleAt(requests, item * width + k);
    if (gain > 0) bound += gain * doubleAt(limits, item);
  }
  return bound * (1 + EPSILON);
}

/** Variables are the items, then one slack per resource. */
interface Simplex {
  readonly knapsack: Knapsack;
  /** Per row: the basic variable, its amount. */
  readonly basis: Int32Array;
  readonly amounts: Float64Array;
  /** Row × row. */
  readonly inverse: Float64Array;
  readonly multipliers: Float64Array;
  /** Per variable: 0 at nothing, 1 at its limit, 2 in the basis. */
  readonly place: Uint8Array;
  readonly direction: Float64Array;
}

/** Working memory, kept from one relaxation to the next. */
let memory: Omit<Simplex, 'knapsack'> = emptySimplex(0, 0);

function emptySimplex(width: number, items: number): Omit<Simplex, 'knapsack'> {
  return {
    basis: new Int32Array(width),
    amounts: new Float64Array(width),
    inverse: new Float64Array(width * width),
    multipliers: new Float64Array(width),
    place: new Uint8Array(items + width),
    direction: new Float64Array(width),
  };
}

function start(knapsack: Knapsack): Simplex {
  const { width, items, free } = knapsack;
  if (memory.basis.length !== width || memory.place.length < items + width) memory = emptySimplex(width, items);
  const { basis, amounts, inverse, place } = memory;
  inverse.fill(0);
  place.fill(0);
  for (let row = 0; row < width; row++) {
    inverse[row * width + row] = 1;
    place[items + row] = 2;
    basis[row] = items + row;
    amounts[row] = doubleAt(free, row);
  }
  return { knapsack, ...memory };
}

function price({ knapsack: { width, items, values }, basis, inverse, multipliers }: Simplex): void {
  multipliers.fill(0);
  for (let row = 0; row < width; row++) {
    const variable = intAt(basis, row);
    const value = variable < items ? doubleAt(values, variable) : 0;
    if (value === 0) continue;
    for (let k = 0; k < width; k++)
      multipliers[k] = doubleAt(multipliers, k) + value * doubleAt(inverse, row * width + k);
  }
}

/** The variable whose move gains most per unit times what it could move; −1 at the optimum. */
function mostGaining({ knapsack, multipliers, place }: Simplex): number {
  const { width, items, values, requests, limits } = knapsack;
  let best = -1;
  let most = 0;
  for (let item = 0; item < items; item++) {
    const where = byteAt(place, item);
    if (where === 2 || doubleAt(limits, item) === 0) continue;
    let gain = doubleAt(values, item);
    for (let k = 0; k < width; k++) gain -= doubleAt(multipliers, k) * doubleAt(requests, item * width + k);
    const way = where === 0 ? gain : -gain;
    if (way <= EPSILON * Math.max(1, doubleAt(values, item))) continue;
    const score = way * doubleAt(limits, item);
    if (score <= most) continue;
    best = item;
    most = score;
  }
  if (best !== -1) return best;
  for (let k = 0; k < width; k++) {
    if (byteAt(place, items + k) !== 2 && doubleAt(multipliers, k) < -EPSILON) return items + k;
  }
  return -1;
}

/** Moves the variable until something is at an end: another leaves the basis, or it reaches its own other end. */
function enter(state: Simplex, entering: number): boolean {
  const { knapsack, place, direction, amounts, basis } = state;
  const { width, items, limits } = knapsack;
  const sign = byteAt(place, entering) === 1 ? -1 : 1;
  directionOf(state, entering);
  let move = entering < items ? doubleAt(limits, entering) : Infinity;
  let leaving = -1;
  let toLimit = false;
  for (let row = 0; row < width; row++) {
    const slope = sign * doubleAt(direction, row);
    const variable = intAt(basis, row);
    if (slope > 1e-11) {
      const room = Math.max(0, doubleAt(amounts, row)) / slope;
      if (room < move) [move, leaving, toLimit] = [room, row, false];
    } else if (slope < -1e-11 && variable < items) {
      const room = Math.max(0, doubleAt(limits, variable) - doubleAt(amounts, row)) / -slope;
      if (room < move) [move, leaving, toLimit] = [room, row, true];
    }
  }
  if (move === Infinity) return false;
  for (let row = 0; row < width; row++) amounts[row] = doubleAt(amounts, row) - sign * move * doubleAt(direction, row);
  if (leaving === -1) {
    place[entering] = sign === 1 ? 1 : 0;
    return true;
  }
  place[intAt(basis, leaving)] = toLimit ? 1 : 0;
  place[entering] = 2;
  basis[leaving] = entering;
  amounts[leaving] = sign === 1 ? move : doubleAt(limits, entering) - move;
  pivot(state, leaving);
  return true;
}

function directionOf({ knapsack: { width, items, requests }, inverse, direction }: Simplex, entering: number): void {
  for (let row = 0; row < width; row++) {
    let sum = 0;
    if (entering >= items) sum = doubleAt(inverse, row * width + entering - items);
    else
      for (let k = 0; k < width; k++)
        sum += doubleAt(inverse, row * width + k) * doubleAt(requests, entering * width + k);
    direction[row] = sum;
  }
}

function pivot({ knapsack: { width }, inverse, direction }: Simplex, leaving: number): void {
  const divisor = doubleAt(direction, leaving);
  for (let k = 0; k < width; k++) inverse[leaving * width + k] = doubleAt(inverse, leaving * width + k) / divisor;
  for (let row = 0; row < width; row++) {
    const factor = doubleAt(direction, row);
    if (row === leaving || factor === 0) continue;
    for (let k = 0; k < width; k++) {
      inverse[row * width + k] = doubleAt(inverse, row * width + k) - factor * doubleAt(inverse, leaving * width + k);
    }
  }
}
