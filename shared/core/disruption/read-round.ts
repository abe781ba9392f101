import type { DisruptionInput } from '../model/disruption-input.ts';
import { offeredInput } from '../offerings/offered-input.ts';
import type { Instant } from '../quantity/units.ts';
import { applyEnds } from './apply-ends.ts';
import { awaitedOn, withAwaited, type Awaited } from './candidates/awaited-pods.ts';
import { judgeNodes } from './candidates/judge-nodes.ts';
import type { JudgedNode } from './candidates/judged-node.ts';
import { poolsFor, type Pools } from './candidates/pools.ts';
import { withNodeBudgets } from './candidates/with-node-budgets.ts';
import type { Arena } from './search/arena.ts';
import { fixedPools, successorsOf, type SuccessorOf } from './search/fixed-pools.ts';
import {
  allOfferings,
  fixedOfferingsOf,
  offeringsOf,
  type Offerings,
  type PoolOffering,
} from './search/pool-offerings.ts';
import { arenaFor } from './search/read-arena.ts';
import type { Ends } from './steps/ends.ts';

/** What is the same in every round of one plan. */
export interface Course {
  readonly input: DisruptionInput;
  readonly awaited: Awaited;
  readonly pools: Pools;
  readonly now: Instant;
}

/** A cluster as a search begins with it. */
export interface Round {
  readonly nodes: ReadonlyArray<JudgedNode>;
  readonly arena: Arena;
  readonly offerings: Offerings;
  /** Of pools with a fixed number of nodes. */
  readonly fixed: ReadonlyArray<PoolOffering>;
  readonly successorOf: SuccessorOf;
}

/** Reads what does not change: sizes and prices, budgets of pools, and what is to come to nodes that are there. */
export function readCourse(given: DisruptionInput, now: Instant): Course {
  const provisioning = offeredInput(given.provisioning);
  const pools = poolsFor(provisioning.cluster, now);
  return { input: { ...given, provisioning }, awaited: awaitedOn(given.provisioning, now), pools, now };
}

/** Reads the cluster as it is once all has come to `ends`: which of its nodes may go, and what can be bought. */
export function readRound({ input, awaited, pools, now }: Course, ends: Ends): Round {
  const provisioning = applyEnds(input.provisioning, ends);
  const judged = judgeNodes({ ...input, provisioning }, now);
  const nodes = withNodeBudgets(withAwaited(judged, awaited, provisioning.cluster), pools);
  const arena = arenaFor({ provisioning, nodes, awaited: awaited.pods, searchSteps: input.policy.searchSteps });
  const names = fixedPools(provisioning);
  const fixed = fixedOfferingsOf(arena.workspace, names);
  const successorOf = successorsOf(provisioning, fixed);
  return { nodes, arena, offerings: offeringsOf(arena.workspace, names), fixed, successorOf };
}

/** All that a new node can be, of every pool. */
export function offeringsIn({ offerings, fixed }: Round): ReadonlyArray<PoolOffering> {
  return [...allOfferings(offerings), ...fixed];
}
