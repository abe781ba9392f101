import { doubleAt, intAt } from '../../quantity/at.ts';
import type { Work } from '../problem/work.ts';
import { directionOf, pivot, reducedCost, reducedOfRow, withDemand, type Column, type Master } from './master.ts';

const PIVOT = 1e-9;
/** So far below 0 an amount is one, and no rounding error. */
const NEGATIVE = 1e-9;
/** With more pivots per row than this, a start from nothing is as quick. */
const MOST_PIVOTS_PER_ROW = 2;
/** Operations that a look at a column counts for: its price and its part of one row. */
const WORK_PER_COLUMN = 6;

/**
 * The master for other demand, from the basis that it ended with: what was cheapest is so still, and only where there
 * is less than nothing of a column another takes its place (the dual simplex). Null where that takes too long, or work
 * ends. The master given stays as it is.
 */
export function resume(given: Master, demand: Float64Array, work: Work): Master | null {
  const master = withDemand(given, demand);
  const { rows, columns, amounts, direction } = master;
  work.left -= rows * rows;
  for (let turn = 0; turn <= MOST_PIVOTS_PER_ROW * rows && work.left > 0; turn++) {
    const leaving = mostNegative(amounts);
    if (leaving === -1) return master;
    work.left -= columns.length * WORK_PER_COLUMN + 2 * rows;
    const entering = cheapestFor(master, leaving);
    if (entering === null) return null;
    directionOf(master, entering);
    const divisor = doubleAt(direction, leaving);
    if (divisor > -PIVOT) return null;
    work.left -= pivot(master, { entering, leaving, moved: doubleAt(amounts, leaving) / divisor });
  }
  return null;
}

/** The row with the least amount below 0; −1 for none. */
function mostNegative(amounts: Float64Array): number {
  let [row, least] = [-1, -NEGATIVE];
  amounts.forEach((amount, index) => {
    if (amount < least) [row, least] = [index, amount];
  });
  return row;
}

/** The variable that lifts the row's amount at the least cost; of several, the one with the largest pivot. */
function cheapestFor(master: Master, leaving: number): number | null {
  const { rows, covering, columns, inverse } = master;
  let [best, least, largest]: [number | null, number, number] = [null, Infinity, 0];
  const consider = (variable: number, slope: number, reduced: number): void => {
    if (slope >= -PIVOT) return;
    const ratio = Math.max(0, reduced) / -slope;
    if (ratio > least || (ratio === least && -slope <= largest)) return;
    [best, least, largest] = [variable, ratio, -slope];
  };
  columns.forEach((column, index) => {
    const slope = slopeOf(master, leaving, column);
    if (slope < -PIVOT) consider(index, slope, reducedCost(master, column));
  });
  for (let row = 0; row < rows; row++) {
    const own = doubleAt(inverse, leaving * rows + row);
    consider(-1 - row, own, reducedOfRow(master, -1 - row));
    if (row < covering) consider(-1 - rows - row, -own, reducedOfRow(master, -1 - rows - row));
  }
  return best;
}

/** How much of the row's basic variable a unit of the column takes. */
function slopeOf({ rows: width, inverse }: Master, leaving: number, { rows, amounts }: Column): number {
  let slope = 0;
  for (let i = 0; i < rows.length; i++) {
    slope += doubleAt(inverse, leaving * width + intAt(rows, i)) * doubleAt(amounts, i);
  }
  return slope;
}
