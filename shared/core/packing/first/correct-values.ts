import { packSeeded } from './pack-seeded.ts';
import type { FlatProblem } from '../problem/fill.ts';
import type { Packing } from '../problem/problem.ts';
import type { Work } from '../problem/work.ts';

/** How far a round moves what an item is worth towards what its nodes cost. */
const STEP = 0.3;
/** Rounds without a better packing after which it stops: later ones hardly ever find one. */
const PATIENCE = 40;

/** What is packed, what pods are worth at the fluid prices, and the work that may be spent. */
export interface Correction {
  /** Pods per item. */
  readonly demand: Float64Array;
  readonly fluid: Float64Array;
  readonly work: Work;
  /** Is given every packing on the way. */
  readonly keep: (packing: Packing) => void;
}

/**
 * Better packings, by packing again and again: items whose nodes cost more than they hold are worth more the next
 * time, so that they are packed earlier.
 */
export function correctValues(flat: FlatProblem, first: Packing, { demand, fluid, work, keep }: Correction): Packing {
  keep(first);
  let best = first;
  let last = first;
  let worth = fluid;
  for (let round = 0, idle = 0; work.left > 0 && idle < PATIENCE; round++) {
    worth = corrected(flat, { worth, fluid }, last, 1 + (round % 3));
    const next = packSeeded(flat, { demand, worth, work });
    if (next === null) break;
    last = next;
    keep(last);
    idle = last.cost < best.cost ? 0 : idle + 1;
    if (last.cost < best.cost) best = last;
  }
  return best;
}

/** Items on nodes that cost more than they hold are worth more, so that the next packing takes them first. */
function corrected(
  flat: FlatProblem,
  { worth, fluid }: { readonly worth: Float64Array; readonly fluid: Float64Array },
  { nodes }: Packing,
  power: number,
): Float64Array {
  const weighted = new Float64Array(flat.items);
  const pods = new Float64Array(flat.items);
  for (const { bin, counts, times } of nodes) {
    let held = 0;
    counts.forEach((count, item) => (held += count * (fluid[item] ?? 0)));
    const ratio = ((flat.prices[bin] ?? 0) / Math.max(held, 1e-9)) ** power;
    counts.forEach((count, item) => {
      weighted[item] = (weighted[item] ?? 0) + count * times * ratio;
      pods[item] = (pods[item] ?? 0) + count * times;
    });
  }
  return worth.map((old, item) => {
    const mean = (pods[item] ?? 0) > 0 ? (weighted[item] ?? 0) / (pods[item] ?? 1) : 1;
    return old * (1 - STEP) + STEP * (fluid[item] ?? 0) * mean;
  });
}
