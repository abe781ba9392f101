import { at } from '../../quantity/at.ts';
import { cheapestHolding } from '../first/construct.ts';
import { MANY_PODS, packSeeded, podsOf } from '../first/pack-seeded.ts';
import type { FlatProblem } from '../problem/fill.ts';
import { generateColumns, type Relaxation } from '../columns/generate-columns.ts';
import { type Pattern, type PatternPool } from '../columns/patterns.ts';
import type { PackedNode, Packing } from '../problem/problem.ts';
import type { Work } from '../problem/work.ts';

export interface Dive {
  readonly flat: FlatProblem;
  /** Pods per item. */
  readonly demand: Float64Array;
  readonly pool: PatternPool;
  /** What is to be undercut. */
  readonly incumbent: Packing;
  readonly work: Work;
  /** Which of the largest fractions is rounded up where none is whole: 0 the largest. Tells one dive from the next. */
  readonly turn: number;
}

/** A fraction this close to the next whole number is taken for it. */
const WHOLE = 1e-5;
/** More would leave fewer turns, and gain less than these. */
const ROUNDS_PER_TURN = 5;
/**
 * Of many pods, the rest is packed for itself once so much of them, or of the work, is left: before, that takes most of
 * it.
 */
const LATE = 0.5;
/** Of the fractions in a solution, those that are rounded up before the rest is relaxed again. */
const TAKEN_TOGETHER = 0.15;

/**
 * A packing from the relaxation: takes what is whole in its solution, relaxes the rest again, rounds some fractions up
 * where nothing is whole, and so on. In every turn the rest is also packed for itself, by the relaxation's values. The
 * best of all those; the incumbent when none is cheaper.
 */
export function dive({ flat, demand, pool, incumbent, work, turn }: Dive, root: Relaxation): Packing {
  const left = demand.slice();
  const nodes: Array<PackedNode> = [];
  const granted = work.left;
  const pods = podsOf(left);
  const isMany = pods > MANY_PODS;
  let best = incumbent;
  let cost = 0;
  let relaxation = root;
  // Every turn packs at least one pod.
  while (work.left > 0) {
    const isWhole = takeWhole(flat, relaxation, left, nodes);
    const taken = isWhole || takeFractions(flat, relaxation, { left, nodes, turn });
    cost = nodes.reduce((sum, { bin, times }) => sum + times * at(flat.prices, bin), 0);
    const isLate = work.left < granted * LATE || podsOf(left) < pods * LATE;
    const completed = isLate || !isMany || !taken ? complete(flat, left, relaxation.values, work) : null;
    if (completed !== null && cost + completed.cost < best.cost) {
      best = { nodes: [...nodes, ...completed.nodes], cost: cost + completed.cost, left: completed.left };
    }
    if (!taken || !left.some((count) => count > 0)) return best;
    relaxation = generateColumns(flat, {
      pool,
      demand: left,
      guess: relaxation.values,
      gifts: null,
      from: relaxation,
      maxRounds: ROUNDS_PER_TURN,
      thorough: false,
      work,
    });
    if (cost + Math.ceil(relaxation.bound - WHOLE) >= best.cost) return best;
  }
  return best;
}

function complete(flat: FlatProblem, demand: Float64Array, values: Float64Array, work: Work): Packing | null {
  const worth = values.map((value) => Math.max(value, 1e-3));
  return packSeeded(flat, { demand, worth, work });
}

/** Takes every pattern as often as the solution has it wholly; false when none is whole. */
function takeWhole(flat: FlatProblem, relaxation: Relaxation, left: Float64Array, nodes: Array<PackedNode>): boolean {
  let taken = false;
  for (const { pattern, amount } of solutionOf(relaxation)) {
    const times = Math.floor(amount + WHOLE);
    if (times >= 1) taken = takePattern(flat, pattern, times, { left, nodes }) || taken;
  }
  return taken;
}

/**
 * Rounds the largest fractions up, those after `turn` of them; after the first, only what is left wholly. False when
 * there are none.
 */
function takeFractions(
  flat: FlatProblem,
  relaxation: Relaxation,
  { left, nodes, turn }: { left: Float64Array; nodes: Array<PackedNode>; turn: number },
): boolean {
  const fractions = solutionOf(relaxation);
  const from = Math.min(turn, fractions.length - 1);
  const several = Math.max(1, Math.floor(fractions.length * TAKEN_TOGETHER));
  let taken = false;
  for (const { pattern } of fractions.slice(Math.max(0, from), from + several)) {
    const isLeft = pattern.rows.every((item, i) => at(left, item) >= at(pattern.amounts, i));
    if (!taken || isLeft) taken = takePattern(flat, pattern, 1, { left, nodes }) || taken;
  }
  return taken;
}

interface Amount {
  readonly pattern: Pattern;
  readonly amount: number;
}

/** The patterns in the solution, largest amount first. */
function solutionOf({ master, patterns }: Relaxation): ReadonlyArray<Amount> {
  const amounts: Array<Amount> = [];
  master.basis.forEach((variable, row) => {
    const pattern = patterns[variable];
    const amount = at(master.amounts, row);
    if (pattern !== undefined && amount > WHOLE) amounts.push({ pattern, amount });
  });
  return amounts.toSorted((a, b) => b.amount - a.amount || a.pattern.bin - b.pattern.bin);
}

/**
 * Takes the pattern so often, with fewer pods of an item once few are left; nodes that hold less go on the cheapest
 * size.
 */
function takePattern(
  flat: FlatProblem,
  { bin, rows, amounts }: Pattern,
  times: number,
  { left, nodes }: { left: Float64Array; nodes: Array<PackedNode> },
): boolean {
  let still = times;
  // Every turn but the last uses up an item.
  while (still > 0) {
    const counts = new Int32Array(flat.items);
    let [whole, isFull] = [still, true];
    rows.forEach((item, i) => {
      const count = Math.min(at(amounts, i), at(left, item));
      counts[item] = count;
      isFull &&= count === at(amounts, i);
      if (count > 0) whole = Math.min(whole, Math.floor(at(left, item) / count));
    });
    if (counts.every((count) => count === 0)) break;
    rows.forEach((item) => (left[item] = at(left, item) - whole * at(counts, item)));
    const cheapest = isFull ? bin : cheapestHolding(flat, counts);
    nodes.push({ bin: cheapest === -1 ? bin : cheapest, counts, times: whole });
    still -= whole;
  }
  return still < times;
}
