import { spreadAgain } from '../../placing/crowding/crowd-hosts.ts';
import type { Need } from '../../placing/state/compile-shape.ts';
import { WAITED_FOR } from '../plan/disruption-plan.ts';
import { factsOf, type Arena, type OwnPods, type Slot } from './arena.ts';
import { improve, takeAllSingles } from './improve.ts';
import { cheapestOffering, zonesOf, type PoolOffering } from './pool-offerings.ts';
import { ANYWHERE, crowd, isAllowed, type Rescheduling, type Taken } from './reschedule.ts';
import { setDisruptionCost } from './slots.ts';
import { mayGo, settleNew, type Means } from './take-away.ts';
import { discountCosts, discountOf, settleDisruptionCosts, type MoveShare } from './disruption-costs.ts';
import { addNeed, mayWait, ownPods } from './own-pods.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import { isTaken, open, take, trailOf, undoTo, type Trail } from './trail.ts';

/**
 * Disruption costs follow from what pools pay when all is done: a first, simple search tells about what that is. So
 * often it is asked again.
 */
const COST_ROUNDS = 3;

/**
 * Looks for the cheapest end of the cluster, moves counted, and leaves the arena in it; undoing the trail takes it
 * back.
 */
export function search(arena: Arena, means: Means, shareOf: MoveShare): Trail {
  const trail = trailOf(arena);
  const cost = costOf(arena);
  for (let round = 0; round < COST_ROUNDS; round++) {
    settleDisruptionCosts(arena, shareOf);
    takeSimply(trail, means);
  }
  settleDisruptionCosts(arena, shareOf);
  undoTo(trail, 0);
  trail.costChange = 0;
  takeSimply(trail, means);
  const isAtRest = trail.done.length === 0;
  if (isAtRest) arena.work.left = Math.floor(arena.work.left * SHARE_AT_REST);
  else {
    discountWhereLittleIsSaved(trail, means);
    improveCheaply(trail, means);
  }
  improve(trail, means);
  // Pods that need what is dear beside others that do not: one new node for both saves nothing.
  improve(trail, means, { inPairs: true });
  takeSimply(trail, means);
  if (isAtRest && -trail.costChange < LEAST_AT_REST * cost) undoTo(trail, 0);
  return trail;
}

/** Of the work allowed, what is spent where no single node can go. */
const SHARE_AT_REST = 0.25;

/**
 * Where no single node can go, a cluster is rearranged only for this share of its cost: else each look at it would find
 * some little thing, and pods would move for ever.
 */
const LEAST_AT_REST = 0.01;

/**
 * A cluster that is disturbed anyway takes smaller savings too where moves save little. Only a plan that full
 * disruption costs have begun asks for less, so that what it leaves is at rest. Where the work is used up, as in a very
 * large cluster, no time is spent on it.
 */
function discountWhereLittleIsSaved(trail: Trail, means: Means): void {
  const { arena } = trail;
  const { left } = arena.work;
  if (left <= 0) return;
  const disruptionCosts = arena.slots.map(({ disruptionCost }) => disruptionCost);
  undoTo(trail, 0);
  trail.costChange = 0;
  for (const slot of arena.slots) setDisruptionCost(slot, 0);
  takeSimply(trail, means);
  const discount = discountOf(arena, disruptionCosts, -trail.costChange);
  undoTo(trail, 0);
  trail.costChange = 0;
  discountCosts(arena, disruptionCosts, (pool) => (means.mayDiscount(pool) ? discount : 1));
  // That was a look, which takes nothing from the search.
  arena.work.left = left;
  takeSimply(trail, means);
  arena.work.left = left;
}

/** Moves count so much of their disruption cost at first, for this share of the work. */
const COUNTS_AT_FIRST = 0.4;
const WORK_AT_FIRST = 0.35;

/**
 * Improves with moves that count less than they cost: nodes that are worth it only when others have gone too are not
 * found one at a time. What is not worth its full cost in the end comes back when the search goes on.
 */
function improveCheaply(trail: Trail, means: Means): void {
  const { arena } = trail;
  const allowed = arena.work.left;
  if (allowed <= 0) return;
  const costs = arena.slots.map(({ disruptionCost }) => disruptionCost);
  countMovesAs(trail, costs, COUNTS_AT_FIRST);
  takeSimply(trail, means);
  arena.work.left = WORK_AT_FIRST * allowed;
  improve(trail, means);
  arena.work.left += (1 - WORK_AT_FIRST) * allowed;
  countMovesAs(trail, costs, 1);
}

/** Gives every slot that share of its cost in `costs`, and counts those that are gone with it. New nodes have none. */
function countMovesAs(trail: Trail, costs: ReadonlyArray<number>, share: number): void {
  for (const { state, index, disruptionCost } of trail.arena.slots) {
    if (state === 'gone') trail.costChange += share * (costs[index] ?? 0) - disruptionCost;
  }
  discountCosts(trail.arena, costs, () => share);
}

/** What all nodes cost before anything has moved. */
function costOf({ slots }: Arena): number {
  return slots.reduce((sum, { price }) => sum + price, 0);
}

function takeSimply(trail: Trail, means: Means): void {
  // Pods of nodes that must go may use what is empty, rather than a new node.
  takeForced(trail, means);
  takeEmpty(trail);
  // Ends: every turn takes a node away.
  while (takeAllSingles(trail, means) > 0);
}

/** Nodes without pods that matter go whatever they cost; what pods they have find a slot first. */
function takeEmpty(trail: Trail): void {
  for (const slot of trail.arena.slots) {
    const { verdict } = slot.node ?? {};
    if (verdict?.kind === 'may' && verdict.reason === 'Empty' && mayGo(slot)) take(trail, slot, ANYWHERE);
  }
}

/**
 * Nodes that must go, as in Karpenter those first that nobody has to leave, then the one that has had to for longest:
 * their pods fill what room there is, or new nodes.
 */
function takeForced(trail: Trail, means: Means): void {
  const forced = trail.arena.slots.flatMap((slot) => {
    const { verdict } = slot.node ?? {};
    return verdict?.kind === 'must' && slot.state === 'there' ? [{ slot, sinceMs: verdict.sinceMs }] : [];
  });
  const ordered = forced.toSorted(
    (a, b) => hasPods(a.slot) - hasPods(b.slot) || a.sinceMs - b.sinceMs || a.slot.index - b.slot.index,
  );
  // One whose pods are even only when others have gone comes after these, before each of its pods gets a host of its
  // own.
  const uneven = ordered.filter(({ slot }) => !takeEven(trail, slot, means));
  for (const { slot } of uneven) takeAtAnyPrice(trail, slot, means);
}

function takeAtAnyPrice(trail: Trail, slot: Slot, means: Means): void {
  if (openSuccessor(trail, slot, means)) return;
  // As in provisioning, pods give up what they prefer when nothing else holds them.
  if (!takeOrReplace(trail, slot, means, ANYWHERE)) takeOrReplace(trail, slot, means, { ...ANYWHERE, mayRelax: true });
}

/**
 * False where the node has pods that spread over hosts and cannot be replaced one for one yet: nothing has changed
 * then.
 */
function takeEven(trail: Trail, slot: Slot, means: Means): boolean {
  if (!mayCrowd(trail.arena, slot)) {
    takeAtAnyPrice(trail, slot, means);
    return true;
  }
  if (openSuccessor(trail, slot, means) || isTaken(take(trail, slot, ANYWHERE))) return true;
  return takeCrowded(trail, slot, () => isTaken(take(trail, slot, ANYWHERE)) || openFor(trail, slot, means, ANYWHERE));
}

/** Has the node several pods of a spread over hosts, and must go? */
function mayCrowd(arena: Arena, slot: Slot): boolean {
  if (slot.node?.verdict.kind !== 'must' || !WAITED_FOR.has(slot.node.verdict.reason)) return false;
  const crowded = crowd(arena, [slot]);
  spreadAgain(crowded);
  return crowded.length > 0;
}

/** Takes a node away, with new ones in its place at any price where its pods find no room; else changes nothing. */
function takeOrReplace(trail: Trail, slot: Slot, means: Means, rescheduling: Rescheduling): boolean {
  if (isTaken(take(trail, slot, rescheduling))) return true;
  const isCrowded = takeCrowded(
    trail,
    slot,
    () => isTaken(take(trail, slot, rescheduling)) || replaceAtAnyPrice(trail, slot, means, rescheduling),
  );
  return isCrowded || replaceAtAnyPrice(trail, slot, means, rescheduling);
}

/**
 * Takes the node away with its pods as many on one host as they are on it, where they spread over hosts: some come when
 * it has gone. Else each would need a host of its own. False, and nothing has changed, where it cannot be, or their
 * budgets do not let as many wait.
 */
function takeCrowded(trail: Trail, slot: Slot, taking: () => boolean): boolean {
  const { arena } = trail;
  if (!mayCrowd(arena, slot)) return false;
  const crowded = crowd(arena, [slot]);
  const start = trail.done.length;
  const isGone = taking() && slot.moves.every((move) => isAllowed(arena, move)) && mayWait(arena, [slot]);
  if (!isGone) undoTo(trail, start);
  spreadAgain(crowded);
  return isGone;
}

/** ... with new nodes in its place. */
function replaceAtAnyPrice(trail: Trail, slot: Slot, means: Means, rescheduling: Rescheduling): boolean {
  const start = trail.done.length;
  for (const replaced of [openFor, openSeveral]) {
    if (replaced(trail, slot, means, rescheduling)) return true;
    undoTo(trail, start);
  }
  return false;
}

function hasPods({ own }: Slot): 0 | 1 {
  return own.length > 0 ? 1 : 0;
}

/**
 * A node of a pool with a fixed number is followed by another of the pool: as in Karpenter, and its pods have a place
 * there first.
 */
function openSuccessor(trail: Trail, slot: Slot, means: Means): boolean {
  // Stryker disable next-line ConditionalExpression: a shortcut, to the successor of one without pods none would come
  const offering = hasPods(slot) === 1 ? means.successorOf(slot) : null;
  if (offering === null) return false;
  const start = trail.done.length;
  const first = open(trail, offering);
  const taking = (): boolean => isTaken(take(trail, slot, { ...ANYWHERE, first })) && first.received > 0;
  if (taking()) return true;
  undoTo(trail, start + 1);
  if (takeCrowded(trail, slot, taking)) return true;
  undoTo(trail, start);
  return false;
}

/** Takes the node away and puts a new one in its place, at any price. */
function openFor(trail: Trail, slot: Slot, means: Means, rescheduling: Rescheduling): boolean {
  const { arena } = trail;
  const own = ownPods(arena, [slot]);
  for (const offering of offeringsFor(arena, slot, means, own)) {
    const start = trail.done.length;
    const fresh = open(trail, offering);
    if (isTaken(take(trail, slot, { ...rescheduling, first: fresh }))) {
      settleNew(trail, fresh, means);
      return true;
    }
    undoTo(trail, start);
  }
  return false;
}

/**
 * The cheapest offering that holds the pods: in the node's own zone, in any, and in each, the cheapest zone first.
 * Which one the rules about other pods leave to them shows when they are there.
 */
function offeringsFor(arena: Arena, slot: Slot, { offerings }: Means, own: OwnPods): ReadonlySet<PoolOffering> {
  const demand = { ...own, below: Infinity, mayBeSpot: true };
  const zones = [slot.room.capacity.labels[labelKey.zone] ?? null, null, ...zonesOf(offerings)];
  return new Set(zones.flatMap((zone) => cheapestOffering(arena.workspace, offerings, { ...demand, zone }) ?? []));
}

/**
 * Puts several new nodes in its place, where no one size that its pool still allows holds all its pods. As in
 * Karpenter, any number.
 */
function openSeveral(trail: Trail, slot: Slot, means: Means, rescheduling: Rescheduling): boolean {
  const opened: Array<Slot> = [];
  // In vain, and says which pod is stuck.
  let taken = take(trail, slot, rescheduling);
  // Ends: every turn finds places for more of its pods.
  while (taken.kind === 'stuck') {
    const further = openForStuck(trail, slot, means, { taken, rescheduling });
    if (further === null) return false;
    opened.push(further.fresh);
    taken = further.taken;
  }
  for (const fresh of opened) settleNew(trail, fresh, means);
  return true;
}

type Stuck = Extract<Taken, { kind: 'stuck' }>;

/** What was tried last, and which pod was stuck. */
interface Tried {
  readonly taken: Stuck;
  readonly rescheduling: Rescheduling;
}

/**
 * A new node with which more of the slot's pods find room than without, and whether all do; null where there is none.
 */
function openForStuck(
  trail: Trail,
  slot: Slot,
  means: Means,
  { taken, rescheduling }: Tried,
): { readonly fresh: Slot; readonly taken: Taken } | null {
  for (const offering of offeringsForStuck(trail.arena, slot, means, taken)) {
    const start = trail.done.length;
    const fresh = open(trail, offering);
    const again = take(trail, slot, rescheduling);
    if (again.kind === 'taken' || again.placed > taken.placed) return { fresh, taken: again };
    undoTo(trail, start);
  }
  return null;
}

/** For as many as one node holds of the slot's pods that found no room. */
function offeringsForStuck(arena: Arena, slot: Slot, means: Means, { shape }: Stuck): ReadonlySet<PoolOffering> {
  const group = slot.own.find((one) => one.shape === shape);
  if (group === undefined) return new Set();
  const needs = new Set<Need>();
  addNeed(arena, needs, group.shape);
  const { requests } = factsOf(arena, group.shape);
  for (let { count } = group; count > 0; count >>= 1) {
    const found = offeringsFor(arena, slot, means, { needs, load: requests.map((amount) => amount * count) });
    if (found.size > 0) return found;
  }
  return new Set();
}
