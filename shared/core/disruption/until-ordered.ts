import type { ClusterCost, DisruptionStep, PlannedReplacement } from './plan/disruption-plan.ts';
import { offeringsIn, readRound, type Course, type Round } from './read-round.ts';
import { searchToRest, takeOneByOne } from './search-to-rest.ts';
import type { Slot } from './search/arena.ts';
import { costAfter } from './steps/cluster-cost.ts';
import { NO_ENDS, type Ends } from './steps/ends.ts';
import { replayOf } from './steps/replay.ts';
import { sequence } from './steps/sequence.ts';
import { toSteps } from './steps/to-steps.ts';

/** Ends in the steps that lead to them, carried out in the arena of the round. */
export interface Ordered {
  readonly round: Round;
  readonly steps: ReadonlyArray<DisruptionStep>;
  /** Those that a step creates. */
  readonly replacements: ReadonlyArray<PlannedReplacement>;
  /** Slots that no order of steps could take away under the rules. */
  readonly dropped: ReadonlyArray<Slot>;
  readonly after: ClusterCost;
}

/** Cuts what goes into steps. `round`: the cluster as it is now, in which nothing has moved. */
export function order({ pools }: Course, round: Round, ends: Ends): Ordered {
  const replay = replayOf(round.arena, offeringsIn(round), ends);
  const { steps: raw, dropped } = sequence(replay, pools);
  const steps = toSteps(raw, replay, ends);
  const created = new Set(steps.flatMap(({ create }) => create));
  const replacements = [...ends.created.values()].filter(({ name }) => created.has(name));
  return { round, steps, replacements, dropped, after: costAfter(round.nodes, steps, replacements) };
}

/**
 * Where no order of steps leads to all of an end, the search goes on from what can be reached: else the plan after this
 * one would find what was left. So often it is tried.
 */
const MOST_ORDERS = 6;

/**
 * The cheapest that can be reached from `first`: there is an order of steps to all of it, or to more no search has
 * found a way. It is tried `most` times.
 */
export function untilOrdered(course: Course, first: Ordered, most = MOST_ORDERS): Ordered {
  let best = first;
  // Stryker disable next-line ConditionalExpression,EqualityOperator: a shortcut, all that the search found goes
  let goesOn = best.dropped.length > 0;
  for (let again = 0; goesOn && again < most; again++) {
    const searched = cheaperFrom(course, best, searchToRest);
    const next = searched ?? cheaperFrom(course, best, takeOneByOne);
    if (next === null) break;
    // What was found one by one, a search may still do better.
    goesOn = searched === null || next.dropped.length > 0;
    best = next;
  }
  return best;
}

/** What `find` comes to from where the steps of `best` lead; null where that is not cheaper. */
function cheaperFrom(
  course: Course,
  best: Ordered,
  find: (course: Course, start: Ends) => Ends | null,
): Ordered | null {
  const ends = find(course, reachedBy(best));
  if (ends === null) return null;
  const found = order(course, readRound(course, NO_ENDS), ends);
  return found.after.cost < best.after.cost ? found : null;
}

/** The ends that the steps come to. */
function reachedBy({ steps, replacements }: Ordered): Ends {
  return {
    gone: new Set(steps.flatMap(({ remove }) => remove)),
    created: new Map(replacements.map((one) => [one.name, one])),
    homes: new Map(steps.flatMap(({ moves }) => moves.map(({ uid, to }) => [uid, to.name] as const))),
  };
}
