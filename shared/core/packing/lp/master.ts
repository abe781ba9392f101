import { doubleAt, intAt } from '../../quantity/at.ts';
import type { Work } from '../problem/work.ts';

/**
 * A linear program that grows by columns: pay as little as possible so that every row has at least its demand. The
 * first `covering` rows may get more than they ask for, the others must come out exactly, their own variable taking the
 * rest.
 */
export interface Master {
  readonly rows: number;
  readonly covering: number;
  readonly demand: Float64Array;
  /** As the simplex sees it: moved a little, so that ties do not make it turn in circles. */
  readonly shifted: Float64Array;
  readonly columns: Array<Column>;
  /** Per row: the column that is basic there; −1 − row for the row's own variable, −1 − rows − row for its surplus. */
  readonly basis: Int32Array;
  /** Row × row. */
  readonly inverse: Float64Array;
  readonly amounts: Float64Array;
  readonly duals: Float64Array;
  /** What a unit of each row's own variable costs. */
  readonly ownCost: Float64Array;
  readonly direction: Float64Array;
  pivots: number;
}

/** What one unit of the column adds to some rows, and costs. */
export interface Column {
  readonly cost: number;
  readonly rows: Int32Array;
  readonly amounts: Float64Array;
}

const EPSILON = 1e-9;
const PIVOT = 1e-9;
const SHIFT = 1e-7;
/**
 * Rounding errors are looked for after so many pivots. They end the search: in 120 workloads, and in 1,000 pods of 200
 * kinds, they stay a hundred thousand times below.
 */
const CHECK_EVERY = 100;
const DRIFT = 1e-6;
/** Operations that a look at a column, and a number of the inverse that changes, count for. */
const WORK_PER_COLUMN = 5;
const WORK_PER_CHANGE = 0.5;

function shift(demand: Float64Array): Float64Array {
  return demand.map((amount, row) => amount + (amount + 0.1) * SHIFT * (1 + ((row * 61) % 97) / 97));
}

/** The master with the basis that it has, for other demand: some amounts may be less than 0 then. */
export function withDemand(master: Master, demand: Float64Array): Master {
  const { rows, inverse } = master;
  const shifted = shift(demand);
  const amounts = new Float64Array(rows);
  for (let row = 0; row < rows; row++) {
    let sum = 0;
    for (let k = 0; k < rows; k++) sum += doubleAt(inverse, row * rows + k) * doubleAt(shifted, k);
    amounts[row] = sum;
  }
  return {
    ...master,
    demand,
    shifted,
    columns: [...master.columns],
    basis: master.basis.slice(),
    inverse: inverse.slice(),
    amounts,
    duals: master.duals.slice(),
    ownCost: master.ownCost.slice(),
    direction: new Float64Array(rows),
  };
}

/** A master without columns: every row served by its own variable, at `ownCost`. */
export function createMaster(demand: Float64Array, covering: number, ownCost: Float64Array): Master {
  const rows = demand.length;
  const shifted = shift(demand);
  const inverse = new Float64Array(rows * rows);
  for (let row = 0; row < rows; row++) inverse[row * rows + row] = 1;
  return {
    rows,
    covering,
    demand,
    shifted,
    columns: [],
    basis: Int32Array.from({ length: rows }, (_, row) => -1 - row),
    inverse,
    amounts: Float64Array.from(shifted),
    duals: Float64Array.from(ownCost),
    ownCost,
    direction: new Float64Array(rows),
    pivots: 0,
  };
}

/**
 * Pivots until no column lowers the cost. False where work runs out before, or rounding errors have grown; prices and
 * amounts are then those of a solution on the way.
 */
export function optimize(master: Master, work: Work): boolean {
  const { rows, columns } = master;
  // Work bounds the loop: every turn takes some.
  while (work.left > 0) {
    const entering = mostReducing(master);
    work.left -= columns.length * WORK_PER_COLUMN + rows;
    if (entering === null) return true;
    const leaving = leavingRow(master, entering);
    if (leaving === -1) return true;
    const { amounts, direction } = master;
    const moved = Math.max(0, doubleAt(amounts, leaving)) / doubleAt(direction, leaving);
    work.left -= pivot(master, { entering, leaving, moved });
    if (master.pivots % CHECK_EVERY === 0 && drift(master) >= DRIFT) return false;
  }
  return false;
}

/** The cost of the solution at hand, for the demand as given. */
export function costOf({ rows, demand, duals }: Master): number {
  let cost = 0;
  for (let row = 0; row < rows; row++) cost += doubleAt(duals, row) * doubleAt(demand, row);
  return cost;
}

/** What a unit of the column would add to the cost; negative: it would lower it. */
export function reducedCost({ duals }: Master, { cost, rows, amounts }: Column): number {
  let reduced = cost;
  for (let i = 0; i < rows.length; i++) reduced -= doubleAt(duals, intAt(rows, i)) * doubleAt(amounts, i);
  return reduced;
}

/** The same of a row's own variable or its surplus, by its number in the basis. */
export function reducedOfRow({ rows, duals, ownCost }: Master, variable: number): number {
  if (variable >= -rows) return doubleAt(ownCost, -1 - variable) - doubleAt(duals, -1 - variable);
  return doubleAt(duals, -1 - rows - variable);
}

function mostReducing({ columns, covering, duals, ownCost, rows }: Master): number | null {
  let [best, least]: [number | null, number] = [null, -EPSILON];
  for (let index = 0; index < columns.length; index++) {
    const column = columns[index];
    if (column === undefined) continue;
    let reduced = column.cost;
    const own = column.rows;
    for (let i = 0; i < own.length; i++) reduced -= doubleAt(duals, intAt(own, i)) * doubleAt(column.amounts, i);
    const relative = reduced / (column.cost > 0 ? Math.max(1, column.cost) : weightOf(duals, column));
    if (relative < least) [best, least] = [index, relative];
  }
  if (best !== null) return best;
  for (let row = 0; row < covering; row++) if (doubleAt(duals, row) < -EPSILON) return -1 - rows - row;
  for (let row = 0; row < rows; row++)
    if (doubleAt(duals, row) > doubleAt(ownCost, row) * (1 + EPSILON) + EPSILON) return -1 - row;
  return null;
}

/**
 * What goes into the reduced cost of a column that costs nothing, so that its rounding errors can be told from a gain.
 */
function weightOf(duals: Float64Array, { rows, amounts }: Column): number {
  let weight = 1;
  for (let i = 0; i < rows.length; i++) weight += Math.abs(doubleAt(duals, intAt(rows, i)) * doubleAt(amounts, i));
  return weight;
}

/** Fills in how much of each basic variable a unit of what enters takes. */
export function directionOf({ rows, columns, inverse, direction }: Master, entering: number): void {
  direction.fill(0);
  if (entering < 0) {
    const isOwn = entering >= -rows;
    const row = isOwn ? -1 - entering : -1 - rows - entering;
    for (let r = 0; r < rows; r++) direction[r] = (isOwn ? 1 : -1) * doubleAt(inverse, r * rows + row);
    return;
  }
  const column = columns[entering];
  if (column === undefined) return;
  for (let r = 0; r < rows; r++) {
    let sum = 0;
    for (let i = 0; i < column.rows.length; i++)
      sum += doubleAt(inverse, r * rows + intAt(column.rows, i)) * doubleAt(column.amounts, i);
    direction[r] = sum;
  }
}

/** The row whose basic variable comes to nothing first; of several, the one with the largest pivot. */
function leavingRow(master: Master, entering: number): number {
  directionOf(master, entering);
  const { rows, amounts, direction } = master;
  let [leaving, least, largest] = [-1, Infinity, 0];
  for (let row = 0; row < rows; row++) {
    const slope = doubleAt(direction, row);
    if (slope <= PIVOT) continue;
    const ratio = Math.max(0, doubleAt(amounts, row)) / slope;
    if (ratio < least - 1e-12 || (ratio <= least && slope > largest)) [leaving, least, largest] = [row, ratio, slope];
  }
  return leaving;
}

/** What comes into the basis, the row that it takes, and how much of it. */
export interface Pivot {
  readonly entering: number;
  readonly leaving: number;
  readonly moved: number;
}

/** Changes the basis; `direction` must be that of what enters. Returns the operations that it took. */
export function pivot(master: Master, { entering, leaving, moved }: Pivot): number {
  const { rows, columns, inverse, amounts, duals, direction, basis } = master;
  const column = columns[entering];
  const reduced = column === undefined ? reducedOfRow(master, entering) : reducedCost(master, column);
  const divisor = doubleAt(direction, leaving);
  const from = leaving * rows;
  for (let k = 0; k < rows; k++) {
    const value = doubleAt(inverse, from + k) / divisor;
    inverse[from + k] = value;
    duals[k] = doubleAt(duals, k) + reduced * value;
  }
  let changed = 1;
  for (let row = 0; row < rows; row++) {
    const factor = doubleAt(direction, row);
    if (row === leaving || factor === 0) continue;
    changed++;
    amounts[row] = doubleAt(amounts, row) - factor * moved;
    const to = row * rows;
    for (let k = 0; k < rows; k++) inverse[to + k] = doubleAt(inverse, to + k) - factor * doubleAt(inverse, from + k);
  }
  amounts[leaving] = moved;
  basis[leaving] = entering;
  master.pivots++;
  return changed * rows * WORK_PER_CHANGE;
}

/** To be called when `ownCost` has changed. */
export function recalculateDuals(master: Master): void {
  const { rows, inverse, duals, ownCost } = master;
  duals.fill(0);
  for (let row = 0; row < rows; row++) {
    const cost = costOfBasic(master, row, ownCost);
    if (cost !== 0)
      for (let k = 0; k < rows; k++) duals[k] = doubleAt(duals, k) + cost * doubleAt(inverse, row * rows + k);
  }
}

function costOfBasic({ basis, columns, rows }: Master, row: number, ownCost: Float64Array): number {
  const variable = intAt(basis, row);
  if (variable >= 0) return columns[variable]?.cost ?? 0;
  return variable >= -rows ? doubleAt(ownCost, -1 - variable) : 0;
}

/** The largest share by which a row misses its demand. */
function drift({ rows, columns, basis, amounts, shifted }: Master): number {
  const rest = Float64Array.from(shifted);
  for (let row = 0; row < rows; row++) {
    const variable = intAt(basis, row);
    const column = columns[variable];
    const amount = doubleAt(amounts, row);
    if (column !== undefined)
      column.rows.forEach((r, i) => (rest[r] = doubleAt(rest, r) - amount * doubleAt(column.amounts, i)));
    else if (variable >= -rows) rest[-1 - variable] = doubleAt(rest, -1 - variable) - amount;
    else rest[-1 - rows - variable] = doubleAt(rest, -1 - rows - variable) + amount;
  }
  return rest.reduce((most, one, row) => Math.max(most, Math.abs(one) / Math.max(1, doubleAt(shifted, row))), 0);
}
