import type { Pod } from '../model/cluster.ts';
import type { Work } from '../packing/problem/work.ts';
import { atRealPrices } from './fewest/at-real-prices.ts';
import { findFewestLeft } from './fewest/fewest-left.ts';
import { compareLeft, leftByPriority, type LeftByPriority } from './one-by-one/left-pods.ts';
import { lastComers, needsNoOrder } from './one-by-one/needs-no-order.ts';
import { placeByTerm } from './one-by-one/place-by-term.ts';
import { keepPromises } from './one-by-one/promises.ts';
import {
  isBulk,
  ORDERS,
  partition,
  placeAll,
  placeClasses,
  priorityClasses,
  rulesFor,
  type Order,
} from './place-classes.ts';
import { largestFirst } from './state/pod-order.ts';
import { costOf, workspaceFor, type Reading, type Workspace } from './state/workspace.ts';
import { balanceZones } from './together/balance-zones.ts';
import type { SolvedProblem } from './together/bulk.ts';
import { mergeClaims } from './together/merge-claims.ts';

/** Of all the work that is allowed, what packing may take where pods are placed one by one too: there are two orders then. */
const MIXED_SHARE = 0.3;

/** However much work packing took, the proof may take this share of all that is allowed. */
const PROOF_SHARE = 0.2;

/** Two plans for more pods than this cost more time than the second is likely to save: 2,000 mixed ones take a second. */
const BOTH_ORDERS_MAX = 2_000;

/** Where pods went, before it is told: only the better of two is worked out to a plan with its reasons. */
export interface Placed {
  readonly workspace: Workspace;
  readonly left: ReadonlyArray<Pod>;
  readonly isMixed: boolean;
  /** What the proof of the bound starts from, and the work that it may take. */
  readonly solved: ReadonlyArray<SolvedProblem>;
  readonly proof: Work;
}

/** Finds a place for the pods of `reading`: that leaves as few as can be, and of those the cheapest found. */
export function placePods(reading: Reading): Placed {
  const first = placeInOrder(reading, 'one-by-one-first');
  const isOne = !first.isMixed || reading.pods.length > BOTH_ORDERS_MAX;
  const cheapest = isOne ? first : cheaper(first, placeInOrder(reading, 'packed-first'));
  return cheapest.left.length === 0 ? cheapest : withFewestLeft(reading, cheapest);
}

/** The one that leaves less; of two that leave as much, the cheaper; then the one with fewer nodes; else the first. */
function cheaper(first: Placed, second: Placed): Placed {
  const difference = compareLeft(leftOf(second), leftOf(first));
  if (difference !== 0) return difference < 0 ? second : first;
  const [one, other] = [first.workspace.claims, second.workspace.claims];
  const more = costOf(other) - costOf(one) || other.length - one.length;
  return more < 0 ? second : first;
}

function leftOf({ workspace, left }: Placed): LeftByPriority {
  return leftByPriority(workspace, left);
}

/** What looking for places for pods that the cheapest plan left may take of all the work that is allowed. */
const FEWEST_SHARE = 0.1;

/** And what packing may take then, each time. */
const AGAIN_SHARE = 0.2;

/**
 * Where the cheapest plan left pods that others' room would hold: the least that can be left, whatever it costs; and that
 * planned once more, so that it costs no more than it must and heeds preferences.
 */
function withFewestLeft(reading: Reading, cheapest: Placed): Placed {
  if (cheapest.workspace.devices !== null) return cheapest;
  const work = { left: reading.input.work.steps * FEWEST_SHARE };
  const found = findFewestLeft(reading, leftOf(cheapest), work);
  if (found === null) return cheapest;
  const workspace = atRealPrices(reading, found);
  const left = placeByTerm(workspace, placeAll(workspace, found.left));
  balanceZones(workspace);
  const fewest = { ...cheapest, workspace, left, solved: [] };
  const orders: ReadonlyArray<Order> = cheapest.isMixed ? ORDERS : [ORDERS[0]];
  const again = orders
    .map((order) => placeInOrder(reading, order, { pods: new Set(left), share: AGAIN_SHARE }))
    .reduce((a, b) => cheaper(a, b));
  const difference = compareLeft(leftOf(again), leftOf(fewest));
  if (difference !== 0) return difference < 0 ? again : fewest;
  return !found.needsNoOrder || needsNoOrder(again.workspace, lastComers(again.workspace)) ? again : fewest;
}

/** Pods that come after all others, and what packing the others may take of all the work that is allowed. */
interface Later {
  readonly pods: ReadonlySet<Pod>;
  readonly share: number;
}

const NONE_LATER: Later = { pods: new Set(), share: 1 };

function placeInOrder(reading: Reading, order: Order, later = NONE_LATER): Placed {
  const { input, pods } = reading;
  const workspace = workspaceFor(reading);
  const [after, open] = partition(largestFirst(workspace, keepPromises(workspace, pods)), (pod) => later.pods.has(pod));
  const rules = rulesFor(workspace);
  const isMixed = open.some((pod) => isBulk(rules, pod)) && open.some((pod) => !isBulk(rules, pod));
  const solved: Array<SolvedProblem> = [];
  const work = { left: input.work.steps * later.share * (isMixed ? MIXED_SHARE : 1) };
  const placed = placeClasses(workspace, { rules, order, work, solved }, priorityClasses(workspace, open));
  const left = placeByTerm(workspace, after.length === 0 ? placed : placeAll(workspace, [...placed, ...after]));
  if (left.length === 0) mergeClaims(workspace);
  balanceZones(workspace);
  const proof = { left: input.work.steps * PROOF_SHARE };
  return { workspace, left, isMixed, solved, proof };
}
