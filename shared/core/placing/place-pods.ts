import type { Pod } from '../model/cluster.ts';
import type { Work } from '../packing/problem/work.ts';
import { areHostsEven, crowdByInput, evenedCrowds } from './crowding/crowd-hosts.ts';
import { atRealPrices } from './fewest/at-real-prices.ts';
import { findFewestLeft } from './fewest/fewest-left.ts';
import { compareLeft, leftByPriority, placeableShapes, type LeftByPriority } from './one-by-one/left-pods.ts';
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
import { costOf, workspaceFor, type CompiledInput, type Workspace } from './state/workspace.ts';
import { balanceZones } from './together/balance-zones.ts';
import type { SolvedProblem } from './together/bulk.ts';
import { mergeClaims } from './together/merge-claims.ts';

/**
 * Of all the work that is allowed, what packing may take where pods are placed one by one too: there are two orders
 * then.
 */
const MIXED_SHARE = 0.3;

/** Of many pods, what packing may take: the last tenths of a per cent take as long as all before. */
const MANY_PODS = 300;
const MANY_SHARE = 0.65;

/** However much work packing took, the proof may take this share of all that is allowed. */
const PROOF_SHARE = 0.2;

/** Up to so many claims the bound counts whole nodes. */
export const FEW_CLAIMS = 30;
/** The same of a plan of so few: there, work gains most. */
const PROOF_SHARE_OF_FEW = 0.5;

/**
 * Two plans for more pods than this cost more time than the second is likely to save: 2,000 mixed ones take a second.
 */
const BOTH_ORDERS_MAX = 2_000;

/** Where pods went, before it is told: only the better of two is worked out to a plan with its reasons. */
export interface PlacedPods {
  readonly workspace: Workspace;
  readonly left: ReadonlyArray<Pod>;
  readonly isMixed: boolean;
  /** What the proof of the bound starts from, and the work that it may take. */
  readonly solved: ReadonlyArray<SolvedProblem>;
  readonly proof: Work;
}

/**
 * Finds a place for the pods of `compiled`: that leaves as few as can be, and of those the cheapest found. Where hosts
 * go, pods that spread over them are as many on one as they were, if all that stay are even then; else as if none went.
 */
export function placePods(compiled: CompiledInput): PlacedPods {
  const { crowds, ...input } = compiled.input;
  const crowded = placeOnHosts(compiled);
  if (crowds === undefined || areHostsEven(crowded.workspace)) return crowded;
  const evened = placeOnHosts({ ...compiled, input: { ...input, crowds: evenedCrowds(crowded.workspace, crowds) } });
  return areHostsEven(evened.workspace) ? evened : placeOnHosts({ ...compiled, input });
}

function placeOnHosts(compiled: CompiledInput): PlacedPods {
  const first = placeInOrder(compiled, 'one-by-one-first');
  const isOne = !first.isMixed || compiled.pods.length > BOTH_ORDERS_MAX;
  const cheapest = isOne ? first : cheaper(first, placeInOrder(compiled, 'packed-first'));
  return cheapest.left.length === 0 ? cheapest : withFewestLeft(compiled, cheapest);
}

/** The one that leaves less; of two that leave as much, the cheaper; then the one with fewer nodes; else the first. */
function cheaper(first: PlacedPods, second: PlacedPods): PlacedPods {
  const difference = compareLeft(leftOf(second), leftOf(first));
  if (difference !== 0) return difference < 0 ? second : first;
  const [one, other] = [first.workspace.claims, second.workspace.claims];
  const more = costOf(other) - costOf(one) || other.length - one.length;
  return more < 0 ? second : first;
}

function leftOf({ workspace, left }: PlacedPods): LeftByPriority {
  return leftByPriority(workspace, left);
}

/** What looking for places for pods that the cheapest plan left may take of all the work that is allowed. */
const FEWEST_SHARE = 0.1;

/** And what packing may take then, each time. */
const AGAIN_SHARE = 0.2;

/**
 * Where the cheapest plan left pods that others' room would hold: the least that can be left, whatever it costs; and
 * that planned once more, so that it costs no more than it must and heeds preferences.
 */
function withFewestLeft(compiled: CompiledInput, cheapest: PlacedPods): PlacedPods {
  if (cheapest.workspace.devices !== null) return cheapest;
  const work = { left: compiled.input.work.operations * FEWEST_SHARE };
  const found = findFewestLeft(compiled, leftOf(cheapest), work);
  if (found === null) return cheapest;
  const workspace = atRealPrices(compiled, found);
  const left = placeByTerm(workspace, placeAll(workspace, found.left));
  balanceZones(workspace);
  const fewest = { ...cheapest, workspace, left, solved: [] };
  const orders: ReadonlyArray<Order> = cheapest.isMixed ? ORDERS : [ORDERS[0]];
  const again = orders
    .map((order) => placeInOrder(compiled, order, { pods: new Set(left), share: AGAIN_SHARE }))
    .reduce((a, b) => cheaper(a, b));
  const difference = compareLeft(leftOf(again), leftOf(fewest));
  if (difference !== 0) return difference < 0 ? again : fewest;
  return !found.needsNoOrder || needsNoOrder(again.workspace, lastComers(again.workspace)) ? again : fewest;
}

/** Pods that come after all others, and what packing the others may take of all the work that is allowed. */
interface LaterPods {
  readonly pods: ReadonlySet<Pod>;
  readonly share: number;
}

const NONE_LATER: LaterPods = { pods: new Set(), share: 1 };

function placeInOrder(compiled: CompiledInput, order: Order, later = NONE_LATER): PlacedPods {
  const { input, pods } = compiled;
  const workspace = workspaceFor(compiled);
  crowdByInput(workspace);
  const holdable = placeableShapes(workspace);
  // What nothing can hold is no reason to try harder for the others, or to do without what is done once all are placed.
  const [waiting, hopeless] = partition(keepPromises(workspace, pods), ({ shape }) => holdable.has(shape));
  const [after, open] = partition(largestFirst(workspace, waiting), (pod) => later.pods.has(pod));
  const rules = rulesFor(workspace);
  const isMixed = open.some((pod) => isBulk(rules, pod)) && open.some((pod) => !isBulk(rules, pod));
  const solved: Array<SolvedProblem> = [];
  const share = later.share * (isMixed ? MIXED_SHARE : 1) * (open.length > MANY_PODS ? MANY_SHARE : 1);
  const work = { left: input.work.operations * share };
  const placed = placeClasses(workspace, { rules, order, work, solved }, priorityClasses(workspace, open));
  const left = placeByTerm(workspace, after.length === 0 ? placed : placeAll(workspace, [...placed, ...after]));
  if (left.length === 0) mergeClaims(workspace);
  balanceZones(workspace);
  const proofShare = workspace.claims.length <= FEW_CLAIMS ? PROOF_SHARE_OF_FEW : PROOF_SHARE;
  const proof = { left: input.work.operations * proofShare };
  return { workspace, left: [...left, ...hopeless], isMixed, solved, proof };
}
