import { readRound, type Course, type Round } from './read-round.ts';
import { mayDiscountIn, moveShares } from './search/disruption-costs.ts';
import { search } from './search/search.ts';
import { undoTo, type Trail } from './search/trail.ts';
import { endsOf, type Ends } from './steps/ends.ts';

/** A cluster comes to rest in two or three rounds; one that does not has nothing left that is worth another. */
const MOST_ROUNDS = 6;

/**
 * Searches again and again, each time in the cluster as it would be then, until there is nothing to do: so that a plan
 * that has been carried out is followed by an empty one. What a pod does in several rounds is one move, to where it is
 * last. Null where nothing goes beyond `start`. `first`: the cluster at `start`, where it has been read; it is left as
 * it was. `most`: rounds.
 */
export function searchToRest(course: Course, start: Ends, first: Round | null = null, most = MOST_ROUNDS): Ends | null {
  let ends: Ends | null = null;
  let round = first;
  for (let number = 0; number < most; number++) {
    round ??= readRound(course, ends ?? start);
    const trail = searchIn(course, round);
    const found = foundIn(course, round);
    undoTo(trail, 0);
    if (found === null) break;
    ends = afterEach(ends ?? start, found);
    round = null;
  }
  return ends;
}

/**
 * Takes nodes away one after another, each of which the rules let go by itself when its turn comes: dearer than what a
 * search finds, and there is an order that leads to it, the one in which they were taken. Null where none goes beyond
 * `start`.
 */
export function takeOneByOne(course: Course, start: Ends): Ends | null {
  const { input } = course;
  const simply = { ...course, input: { ...input, policy: { ...input.policy, searchSteps: 0 } } };
  const round = readRound(simply, start);
  searchIn(simply, round);
  const found = foundIn(course, round);
  return found === null ? null : afterEach(start, found);
}

function searchIn({ input: { policy }, pools }: Course, { arena, offerings, successorOf }: Round): Trail {
  const means = { offerings, successorOf, spotToSpot: policy.spotToSpot, mayDiscount: mayDiscountIn(policy, pools) };
  return search(arena, means, moveShares(policy, pools));
}

/** What a search has come to in the arena of the round; null where no node has gone. */
function foundIn({ input }: Course, { arena, nodes }: Round): Ends | null {
  const claims = input.provisioning.cluster.nodeClaims.map(({ metadata }) => metadata.name);
  const found = endsOf(arena, new Set([...nodes.map(({ name }) => name), ...claims]));
  // Stryker disable next-line ConditionalExpression: a shortcut, where nothing has gone nothing costs less
  return found.gone.size === 0 ? null : found;
}

/** `later` as an end of the cluster from which `ends` starts. */
function afterEach(ends: Ends, later: Ends): Ends {
  const created = new Map([...ends.created, ...later.created].filter(([name]) => !later.gone.has(name)));
  const gone = new Set([...ends.gone, ...[...later.gone].filter((name) => !ends.created.has(name))]);
  const homes = new Map([...ends.homes, ...later.homes]);
  return { gone, created, homes };
}
