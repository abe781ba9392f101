import { spreadAgain } from '../../placing/crowding/crowd-hosts.ts';
import type { Need } from '../../placing/state/compile-shape.ts';
import { WAITED_FOR } from '../plan/disruption-plan.ts';
import { mayWait } from './own-pods.ts';
import type { Arena, Place } from './arena.ts';
import { easeOf, easeTolls } from './ease.ts';
import { improve, takeAllSingles } from './improve.ts';
import { cheapestOffer, zonesOf, type Offer } from './offers.ts';
import { ANYWHERE, crowd, isAllowed, type Pouring } from './pour.ts';
import { mayGo, settleNew, type Means } from './take-away.ts';
import { settleTolls, type MoveShare } from './tolls.ts';
import { addNeed, ownPods, type OwnPods } from './own-pods.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import { open, take, trailOf, undoTo, type Trail } from './trail.ts';

/**
 * Tolls follow from what pools pay when all is done: a first, simple search tells about what that is. So often it is asked again.
 */
const TOLL_ROUNDS = 3;

/** Looks for the cheapest end of the cluster, moves counted, and leaves the arena in it; undoing the trail takes it back. */
export function search(arena: Arena, means: Means, shareOf: MoveShare): Trail {
  const trail = trailOf(arena);
  for (let round = 0; round < TOLL_ROUNDS; round++) {
    settleTolls(arena, shareOf);
    takeSimply(trail, means);
  }
  settleTolls(arena, shareOf);
  undoTo(trail, 0);
  trail.change = 0;
  takeSimply(trail, means);
  const isAtRest = trail.done.length === 0;
  if (isAtRest) arena.work.left = Math.floor(arena.work.left * SHARE_AT_REST);
  else easeWhereLittleIsSaved(trail, means);
  improve(trail, means);
  takeSimply(trail, means);
  if (isAtRest && -trail.change < LEAST_AT_REST * costOf(arena)) undoTo(trail, 0);
  return trail;
}

/** Of the work allowed, what is spent where no single node can go. */
const SHARE_AT_REST = 0.25;

/**
 * Where no single node can go, a cluster is rearranged only for this share of its cost: else each look at it would find some
 * little thing, and pods would move for ever.
 */
const LEAST_AT_REST = 0.01;

/**
 * A cluster that is disturbed anyway takes smaller savings too where moves save little. Only a plan that full tolls have begun asks for
 * less, so that what it leaves is at rest. Where the work is used up, as in a very large cluster, no time is spent on it.
 */
function easeWhereLittleIsSaved(trail: Trail, means: Means): void {
  const { arena } = trail;
  const { left } = arena.work;
  if (left <= 0) return;
  const tolls = arena.places.map(({ toll }) => toll);
  undoTo(trail, 0);
  trail.change = 0;
  for (const place of arena.places) place.toll = 0;
  takeSimply(trail, means);
  const ease = easeOf(arena, tolls, -trail.change);
  undoTo(trail, 0);
  trail.change = 0;
  easeTolls(arena, tolls, (pool) => (means.mayEase(pool) ? ease : 1));
  // That was a look, which takes nothing from the search.
  arena.work.left = left;
  takeSimply(trail, means);
  arena.work.left = left;
}

function costOf({ places }: Arena): number {
  return places.reduce((sum, { state, price }) => sum + (state === 'gone' || state === 'there' ? price : 0), 0);
}

function takeSimply(trail: Trail, means: Means): void {
  // Pods of nodes that must go may use what is empty, rather than a new node.
  takeForced(trail, means);
  takeEmpty(trail);
  // Ends: every turn takes a node away.
  while (takeAllSingles(trail, means) > 0);
}

/** Nodes without pods that matter go whatever they cost; what pods they have find a place first. */
function takeEmpty(trail: Trail): void {
  for (const place of trail.arena.places) {
    const { verdict } = place.node ?? {};
    if (verdict?.kind === 'may' && verdict.reason === 'Empty' && mayGo(place)) take(trail, place, ANYWHERE);
  }
}

/**
 * Nodes that must go, as in Karpenter those first that nobody has to leave, then the one that has had to for longest: their pods fill what
 * room there is, or new nodes.
 */
function takeForced(trail: Trail, means: Means): void {
  const forced = trail.arena.places.flatMap((place) => {
    const { verdict } = place.node ?? {};
    return verdict?.kind === 'must' && place.state === 'there' ? [{ place, sinceMs: verdict.sinceMs }] : [];
  });
  const ordered = forced.toSorted(
    (a, b) => hasPods(a.place) - hasPods(b.place) || a.sinceMs - b.sinceMs || a.place.index - b.place.index,
  );
  // One whose pods are even only when others have gone comes after these, before each of its pods gets a host of its own.
  const uneven = ordered.filter(({ place }) => !takeEven(trail, place, means));
  for (const { place } of uneven) takeAtAnyPrice(trail, place, means);
}

function takeAtAnyPrice(trail: Trail, place: Place, means: Means): void {
  if (openSuccessor(trail, place, means)) return;
  // As in provisioning, pods give up what they prefer when nothing else holds them.
  if (!takeOrReplace(trail, place, means, ANYWHERE))
    takeOrReplace(trail, place, means, { ...ANYWHERE, mayRelax: true });
}

/** False where the node has pods that spread over hosts and cannot be replaced one for one yet: nothing has changed then. */
function takeEven(trail: Trail, place: Place, means: Means): boolean {
  if (!mayCrowd(trail.arena, place)) {
    takeAtAnyPrice(trail, place, means);
    return true;
  }
  if (openSuccessor(trail, place, means) || take(trail, place, ANYWHERE)) return true;
  return takeCrowded(trail, place, () => take(trail, place, ANYWHERE) || openFor(trail, place, means, ANYWHERE));
}

/** Has the node several pods of a spread over hosts, and must go? */
function mayCrowd(arena: Arena, place: Place): boolean {
  if (place.node?.verdict.kind !== 'must' || !WAITED_FOR.has(place.node.verdict.reason)) return false;
  const crowded = crowd(arena, [place]);
  spreadAgain(crowded);
  return crowded.length > 0;
}

/** Takes a node away, with new ones in its place at any price where its pods find no room; else changes nothing. */
function takeOrReplace(trail: Trail, place: Place, means: Means, pouring: Pouring): boolean {
  if (take(trail, place, pouring)) return true;
  const isCrowded = takeCrowded(
    trail,
    place,
    () => take(trail, place, pouring) || replaceAtAnyPrice(trail, place, means, pouring),
  );
  return isCrowded || replaceAtAnyPrice(trail, place, means, pouring);
}

/**
 * Takes the node away with its pods as many on one host as they are on it, where they spread over hosts: some come when it has gone. Else
 * each would need a host of its own. False, and nothing has changed, where it cannot be, or their budgets do not let as many wait.
 */
function takeCrowded(trail: Trail, place: Place, taking: () => boolean): boolean {
  const { arena } = trail;
  if (!mayCrowd(arena, place)) return false;
  const crowded = crowd(arena, [place]);
  const start = trail.done.length;
  const isTaken = taking() && place.moves.every((move) => isAllowed(arena, move)) && mayWait(arena, [place]);
  if (!isTaken) undoTo(trail, start);
  spreadAgain(crowded);
  return isTaken;
}

/** ... with new nodes in its place. */
function replaceAtAnyPrice(trail: Trail, place: Place, means: Means, pouring: Pouring): boolean {
  const start = trail.done.length;
  for (const replaced of [openFor, openSeveral]) {
    if (replaced(trail, place, means, pouring)) return true;
    undoTo(trail, start);
  }
  return false;
}

function hasPods({ own }: Place): 0 | 1 {
  return own.length > 0 ? 1 : 0;
}

/** A node of a pool with a fixed number is followed by another of the pool: as in Karpenter, and its pods have a place there first. */
function openSuccessor(trail: Trail, place: Place, means: Means): boolean {
  const offer = hasPods(place) === 1 ? means.successorOf(place) : null;
  if (offer === null) return false;
  const start = trail.done.length;
  const first = open(trail, offer);
  const taking = (): boolean => take(trail, place, { ...ANYWHERE, first }) && first.received > 0;
  if (taking()) return true;
  undoTo(trail, start + 1);
  if (takeCrowded(trail, place, taking)) return true;
  undoTo(trail, start);
  return false;
}

/** Takes the node away and puts a new one in its place, at any price. */
function openFor(trail: Trail, place: Place, means: Means, pouring: Pouring): boolean {
  const { arena } = trail;
  const own = ownPods(arena, [place]);
  for (const offer of offersFor(arena, place, means, own)) {
    const start = trail.done.length;
    const fresh = open(trail, offer);
    if (take(trail, place, { ...pouring, first: fresh })) {
      settleNew(trail, fresh, means);
      return true;
    }
    undoTo(trail, start);
  }
  return false;
}

/**
 * The cheapest offer that holds the pods: in the node's own zone, in any, and in each, the cheapest zone first. Which one the rules about
 * other pods leave to them shows when they are there.
 */
function offersFor(arena: Arena, place: Place, { offers }: Means, own: OwnPods): ReadonlySet<Offer> {
  const demand = { ...own, below: Infinity, mayBeSpot: true };
  const zones = [place.room.capacity.labels[labelKey.zone] ?? null, null, ...zonesOf(offers)];
  return new Set(zones.flatMap((zone) => cheapestOffer(arena.workspace, offers, { ...demand, zone }) ?? []));
}

/** Puts several new nodes in its place, where no one size that its pool still allows holds all its pods. As in Karpenter, any number. */
function openSeveral(trail: Trail, place: Place, means: Means, pouring: Pouring): boolean {
  const opened: Array<Place> = [];
  // In vain, and says which pod is stuck.
  take(trail, place, pouring);
  // Ends: every turn finds places for more of its pods.
  while (place.state === 'there') {
    const fresh = openForStuck(trail, place, means, pouring);
    if (fresh === null) return false;
    opened.push(fresh);
  }
  for (const fresh of opened) settleNew(trail, fresh, means);
  return true;
}

/** A new node with which more of the place's pods find room than without; where all do, it is taken away. Null where there is none. */
function openForStuck(trail: Trail, place: Place, means: Means, pouring: Pouring): Place | null {
  const { arena } = trail;
  const { placed } = arena.stuck;
  for (const offer of offersForStuck(arena, place, means)) {
    const start = trail.done.length;
    const fresh = open(trail, offer);
    if (take(trail, place, pouring) || arena.stuck.placed > placed) return fresh;
    undoTo(trail, start);
  }
  return null;
}

/** For as many as one node holds of the place's pods that found no room. */
function offersForStuck(arena: Arena, place: Place, means: Means): ReadonlySet<Offer> {
  const group = place.own.find(({ shape }) => shape === arena.stuck.shape);
  if (group === undefined) return new Set();
  const needs = new Set<Need>();
  addNeed(arena, needs, group.shape);
  const requests = arena.shapes.get(group.shape)?.requests ?? new Float64Array();
  for (let { count } = group; count > 0; count >>= 1) {
    const found = offersFor(arena, place, means, { needs, load: requests.map((amount) => amount * count) });
    if (found.size > 0) return found;
  }
  return new Set();
}
