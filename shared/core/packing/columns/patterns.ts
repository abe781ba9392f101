import { at, doubleAt } from '../../quantity/at.ts';
import type { FlatProblem } from '../problem/fill.ts';
import type { Column } from '../lp/master.ts';
import type { Packing } from '../problem/problem.ts';

/** One way to fill one size. */
export interface Pattern extends Column {
  readonly bin: number;
}

/** The bin of a pattern that stands for a filling of all gifts. */
export const GIFT = -1;

/** Ways to fill that are known, each once. */
export interface PatternPool {
  readonly patterns: Array<Pattern>;
  readonly known: Set<string>;
}

export function emptyPool(): PatternPool {
  return { patterns: [], known: new Set() };
}

/** The pods per item that are on one node of the size. */
export function patternOf({ prices }: FlatProblem, bin: number, counts: Int32Array): Pattern {
  const rows: Array<number> = [];
  const amounts: Array<number> = [];
  counts.forEach((count, item) => {
    if (count === 0) return;
    rows.push(item);
    amounts.push(count);
  });
  return { bin, cost: doubleAt(prices, bin), rows: Int32Array.from(rows), amounts: Float64Array.from(amounts) };
}

/** A filling of all gifts; its last row is the one that says how often they can be filled. */
export function giftPattern({ items }: FlatProblem, counts: ArrayLike<number>): Pattern {
  const held = Array.from({ length: items }, (_, item) => item).filter((item) => at(counts, item) > 0);
  const amounts = Float64Array.from([...held.map((item) => at(counts, item)), 1]);
  return { bin: GIFT, cost: 0, rows: Int32Array.from([...held, items]), amounts };
}

/** Returns whether the pattern was new. */
export function addPattern({ patterns, known }: PatternPool, pattern: Pattern): boolean {
  const id = `${pattern.bin} ${pattern.rows.join(',')} ${pattern.amounts.join(',')}`;
  if (known.has(id)) return false;
  known.add(id);
  patterns.push(pattern);
  return true;
}

/** The fillings of a packing, which is a good start for the relaxation. */
export function addPacking(flat: FlatProblem, pool: PatternPool, { nodes }: Packing): void {
  for (const { bin, counts } of nodes) addPattern(pool, patternOf(flat, bin, counts));
}
