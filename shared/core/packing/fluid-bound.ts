import { boundOf, cutOf } from './cuts.ts';
import { flatten } from './fill.ts';
import { fluidWorth } from './fluid.ts';
import { partsOf } from './problem-parts.ts';
import { undominated, type PackingProblem } from './problem.ts';
import { tighten } from './tighten.ts';
import { withShare, type Work } from './work.ts';

/**
 * What no packing of all pods costs less than, from fluid prices alone: a small part of the time that packing takes, and
 * close to the best bound where there are many nodes. Micro-USD per hour.
 */
export function fluidBound(whole: PackingProblem, work: Work): number {
  const parts = partsOf(whole);
  const bounds = parts.map(({ problem }, index) =>
    withShare(work, 1 / (parts.length - index), (own) => boundOfPart(problem, own)),
  );
  return bounds.reduce((sum, bound) => sum + bound, 0);
}

function boundOfPart({ items, bins: all, width }: PackingProblem, work: Work): number {
  const tightened = tighten(items, all, width);
  const bins = undominated(tightened).flatMap((index) => tightened[index] ?? []);
  const flat = flatten({ width, items, bins });
  const demand = Float64Array.from(items, ({ count }) => count);
  const cut = cutOf(flat, { values: fluidWorth(items, bins, width), demand, prices: flat.prices }, work);
  return cut === null ? 0 : boundOf(cut, flat);
}
