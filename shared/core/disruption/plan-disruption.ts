import type { DisruptionInput } from '../model/disruption-input.ts';
import type { Instant } from '../quantity/units.ts';
import { lowerBoundOf } from './bound/lower-bound.ts';
import type { DisruptionPlan } from './plan/disruption-plan.ts';
import { offeringsIn, readCourse, readRound } from './read-round.ts';
import { searchToRest } from './search-to-rest.ts';
import { NO_ENDS } from './steps/ends.ts';
import { toPlan } from './to-plan.ts';
import { order, untilOrdered } from './until-ordered.ts';

/**
 * Decides which nodes go, what comes in their place, where each pod goes and in which steps; and why every other node
 * stays. Pure: the same input gives the same plan, whatever the order of its lists.
 */
export function planDisruption(given: DisruptionInput, now: Instant): DisruptionPlan {
  // 1. Read: which nodes may go, what is to come to them, and what can be bought.
  const course = readCourse(given, now);
  const round = readRound(course, NO_ENDS);

  // 2. Bound: what no plan for the same cluster can undercut.
  const lowerBound = lowerBoundOf(round.arena, offeringsIn(round));

  // 3. Search: the cheapest cluster in which all pods have a place, moves counted.
  const ends = searchToRest(course, NO_ENDS, round) ?? NO_ENDS;

  // 4. Order: the steps that lead there; where none do, the search goes on from what they reach.
  const ordered = untilOrdered(course, order(course, round, ends));

  // 5. Tell: steps and reasons to stay, as data.
  return toPlan(course, ordered, lowerBound);
}
