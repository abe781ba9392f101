import type { Instant } from '../quantity/units.ts';
import { offeredInput } from '../offerings/offered-input.ts';
import { lowerBoundOf } from './bound/lower-bound.ts';
import { judgeNodes } from './candidates/judge-nodes.ts';
import type { JudgedNode } from './candidates/judged-node.ts';
import { applyEnds } from './apply-ends.ts';
import { poolsFor, type Pools } from './candidates/pools.ts';
import { awaitedOn, withAwaited, type Awaited } from './candidates/awaited-pods.ts';
import { withNodeBudgets } from './candidates/with-node-budgets.ts';
import type { DisruptionInput } from '../model/disruption-input.ts';
import type { DisruptionPlan } from './plan/disruption-plan.ts';
import type { Arena } from './search/arena.ts';
import { arenaFor } from './search/read-arena.ts';
import { endsOf, NO_ENDS, type Ends } from './steps/ends.ts';
import { fixedPools, successorsOf, type SuccessorOf } from './search/fixed-pools.ts';
import { allOfferings, fixedOfferingsOf, offeringsOf, type PoolOffering, type Offerings } from './search/pool-offerings.ts';
import { mayDiscountIn, moveShares, settleDisruptionCosts } from './search/disruption-costs.ts';
import { search } from './search/search.ts';
import type { Means } from './search/take-away.ts';
import { undoTo } from './search/trail.ts';
import { replayOf } from './steps/replay.ts';
import { sequence } from './steps/sequence.ts';
import { toPlan } from './to-plan.ts';

/**
 * Decides which nodes go, what comes in their place, where each pod goes and in which steps; and why every other node stays.
 * Pure: the same input gives the same plan, whatever the order of its lists.
 */
export function planDisruption(given: DisruptionInput, now: Instant): DisruptionPlan {
  const provisioning = offeredInput(given.provisioning);
  const pools = poolsFor(provisioning.cluster, now);
  const input: PlanInput = { ...given, provisioning, awaited: awaitedOn(given.provisioning, now) };
  const first = readRound(input, now, pools);
  const lowerBound = lowerBoundOf(first.arena, [...allOfferings(first.offerings), ...first.fixed]);
  const planFor = (ends: Ends, { nodes, arena, offerings, fixed }: Round): DisruptionPlan => {
    const replay = replayOf(arena, [...allOfferings(offerings), ...fixed], ends);
    const ordered = sequence(replay, pools);
    settleDisruptionCosts(arena, moveShares(input.policy, pools));
    return toPlan({ nodes, ends, replay, ordered, lowerBound });
  };
  let plan = planFor(endsAtRest(input, now, pools, { ends: NO_ENDS, round: first }), first);
  let isAtRest = !hasNoOrder(plan);
  for (let again = 0; again < MOST_ORDERS && !isAtRest; again++) {
    const reached = reachedBy(plan);
    const from = (find: typeof endsAtRest): DisruptionPlan => {
      const further = find(input, now, pools, { ends: reached, round: null });
      return further === reached ? plan : planFor(further, readRound(input, now, pools));
    };
    const found = from(endsAtRest);
    const isBetter = found.after.cost < plan.after.cost;
    const next = isBetter ? found : from(endsOneByOne);
    if (next.after.cost >= plan.after.cost) break;
    // What was found one by one, a search may still do better.
    isAtRest = isBetter && !hasNoOrder(next);
    plan = next;
  }
  return plan;
}

function hasNoOrder({ kept }: DisruptionPlan): boolean {
  return kept.some(({ reason }) => reason.kind === 'no-order');
}

/**
 * Where no order of steps leads to all of an end, the search goes on from what can be reached: else the plan after this one would
 * find what was left. So often it is tried.
 */
const MOST_ORDERS = 6;

/** The end that the steps of a plan come to. */
function reachedBy({ steps, replacements }: DisruptionPlan): Ends {
  return {
    gone: new Set(steps.flatMap(({ remove }) => remove)),
    created: new Map(replacements.map((one) => [one.name, one])),
    homes: new Map(steps.flatMap(({ moves }) => moves.map(({ uid, to }) => [uid, to.name] as const))),
  };
}

/** A cluster comes to rest in two or three rounds; one that does not has nothing left that is worth another. */
const MOST_ROUNDS = 6;

/**
 * Searches again and again, each time in the cluster as it would be then, until there is nothing to do: so that a plan that has been
 * carried out is followed by an empty one. What a pod does in several rounds is one move, to where it is last.
 */
function endsAtRest(input: PlanInput, now: Instant, pools: Pools, start: Start): Ends {
  let { ends } = start;
  const { provisioning } = input;
  for (let number = 0; number < MOST_ROUNDS; number++) {
    const known = number === 0 ? start.round : null;
    const round = known ?? readRound({ ...input, provisioning: applyEnds(provisioning, ends) }, now, pools);
    const { arena, nodes } = round;
    const trail = search(arena, meansOf(input.policy, round, pools), moveShares(input.policy, pools));
    const found = endsOf(arena, namesIn(nodes, input));
    if (round === known) undoTo(trail, 0);
    if (found.gone.size === 0) break;
    ends = afterEach(ends, found);
  }
  return ends;
}

function meansOf(policy: DisruptionInput['policy'], { offerings, successorOf }: Round, pools: Pools): Means {
  return { offerings, successorOf, spotToSpot: policy.spotToSpot, mayDiscount: mayDiscountIn(policy, pools) };
}

/** Where a search begins. `round`: the cluster as it is then, if it has been read; it is left as it was. */
interface Start {
  readonly ends: Ends;
  readonly round: Round | null;
}

/**
 * Takes nodes away one after another, each of which the rules let go by itself when its turn comes: dearer than what a search finds, and
 * there is an order that leads to it, the one in which they were taken.
 */
function endsOneByOne(input: PlanInput, now: Instant, pools: Pools, { ends }: Start): Ends {
  const policy = { ...input.policy, searchSteps: 0 };
  const round = readRound({ ...input, policy, provisioning: applyEnds(input.provisioning, ends) }, now, pools);
  const { arena, nodes } = round;
  search(arena, meansOf(policy, round, pools), moveShares(policy, pools));
  const found = endsOf(arena, namesIn(nodes, input));
  return found.gone.size === 0 ? ends : afterEach(ends, found);
}

/** `later` as an end of the cluster from which `ends` starts. */
function afterEach(ends: Ends, later: Ends): Ends {
  const created = new Map([...ends.created, ...later.created].filter(([name]) => !later.gone.has(name)));
  const gone = new Set([...ends.gone, ...[...later.gone].filter((name) => !ends.created.has(name))]);
  const homes = new Map([...ends.homes, ...later.homes]);
  return { gone, created, homes };
}

interface PlanInput extends DisruptionInput {
  readonly awaited: Awaited;
}

interface Round {
  readonly nodes: ReadonlyArray<JudgedNode>;
  readonly arena: Arena;
  readonly offerings: Offerings;
  /** Of pools with a fixed number of nodes. */
  readonly fixed: ReadonlyArray<PoolOffering>;
  readonly successorOf: SuccessorOf;
}

function readRound(input: PlanInput, now: Instant, pools: Pools): Round {
  const { provisioning, policy, awaited } = input;
  const nodes = withNodeBudgets(withAwaited(judgeNodes(input, now), awaited, provisioning.cluster), pools);
  const arena = arenaFor({ provisioning, nodes, awaited: awaited.pods, searchSteps: policy.searchSteps });
  const names = fixedPools(provisioning);
  const fixed = fixedOfferingsOf(arena.workspace, names);
  const successorOf = successorsOf(provisioning, fixed);
  return { nodes, arena, offerings: offeringsOf(arena.workspace, names), fixed, successorOf };
}

function namesIn(nodes: ReadonlyArray<JudgedNode>, { provisioning }: DisruptionInput): ReadonlySet<string> {
  return new Set([
    ...nodes.map(({ name }) => name),
    ...provisioning.cluster.nodeClaims.map(({ metadata }) => metadata.name),
  ]);
}
