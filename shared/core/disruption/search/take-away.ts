import type { Need } from '../../placing/state/compile-shape.ts';
import { allowsNode } from '../../placing/state/existing-nodes.ts';
import { guardFor } from '../../placing/one-by-one/place.ts';
import { admits, ANYWHERE } from './pour.ts';
import { record, type Arena, type Place } from './arena.ts';
import type { SuccessorOf } from './fixed-pools.ts';
import { cheapestOffer, countCheaper, freeOf, type Offer, type Offers } from './offers.ts';
import { addNeed } from './own-pods.ts';
import { close, open, recast, take, undoTo, type Trail } from './trail.ts';

/** What a search knows beside the arena. */
export interface Means {
  readonly offers: Offers;
  readonly spotToSpot: boolean;
  readonly successorOf: SuccessorOf;
  /** May moves in the pool be asked for less than their toll? */
  readonly mayEase: (pool: string) => boolean;
}

/** May the place be taken away now? One that pods have come to may not: no pod moves twice. */
export function mayGo(place: Place): boolean {
  return place.isCandidate && place.state === 'there' && place.received === 0 && place.node?.verdict.kind === 'may';
}

/** Takes nodes away one by one, as long as each saves more than it costs; answers how many went. */
export function takeAwaySimply(trail: Trail, places: ReadonlyArray<Place>): number {
  let gone = 0;
  for (const place of places) {
    if (trail.arena.work.left <= 0) break;
    if (mayGo(place) && place.price > place.toll && take(trail, place, ANYWHERE)) gone++;
  }
  return gone;
}

/** Tries to put new nodes in the place of `group`, which are there: true where that saves more than it costs. */
export function replace(trail: Trail, group: ReadonlyArray<Place>, offer: Offer, means: Means): boolean {
  const [start, before] = [trail.done.length, trail.change];
  const fresh = open(trail, offer);
  for (const place of group) if (mayGo(place)) take(trail, place, { ...ANYWHERE, first: fresh });
  settleNew(trail, fresh, means);
  if (trail.change < before - 1 && (fresh.state === 'absent' || isFair(trail.arena, fresh, means))) return true;
  undoTo(trail, start);
  return false;
}

/** A new node becomes the cheapest that holds what has come to it; without pods it is none. */
export function settleNew(trail: Trail, place: Place, means: Means): void {
  if (place.state !== 'there' || place.offer === null) return;
  if (place.received === 0) return close(trail, place);
  // It is what provisioning makes of the pool, whatever would hold its pods.
  if (place.offer.isFixed) return;
  const { arena } = trail;
  const needs = needsOn(arena, place);
  const demand = { needs, load: loadOf(arena, place), zone: place.offer.zone, below: place.price, mayBeSpot: true };
  const better = cheapestOffer(arena.workspace, means.offers, demand);
  if (better === null) return;
  const start = trail.done.length;
  recast(trail, place, better);
  if (!isLawful(arena, place)) undoTo(trail, start);
}

/** Karpenter's: one spot node is followed by another only where so many sizes are cheaper, or each would be followed again. */
const LEAST_CHEAPER_SIZES = 15;

/**
 * A spot node may take the place of spot nodes only where that is switched on, and of a single one only while many sizes are
 * cheaper than it; else it must cost less than the other nodes alone whose pods it takes.
 */
export function isFair(arena: Arena, place: Place, { offers, spotToSpot }: Means): boolean {
  const { offer, sources, price } = place;
  if (offer?.isSpot !== true) return true;
  const from = [...sources].flatMap((source) => arena.places[source] ?? []);
  const others = from.filter((one) => !isSpotNode(one)).reduce((sum, one) => sum + one.price, 0);
  if (others > price) return true;
  if (!spotToSpot) return false;
  if (from.length > 1) return true;
  const below = from.reduce((sum, one) => sum + one.price, 0);
  const demand = { needs: needsOn(arena, place), load: loadOf(arena, place), zone: null, below, mayBeSpot: true };
  return countCheaper(arena.workspace, offers, offer, demand) >= LEAST_CHEAPER_SIZES;
}

function isSpotNode({ room }: Place): boolean {
  return room.capacity.labels['karpenter.sh/capacity-type'] === 'spot';
}

function needsOn(arena: Arena, { content }: Place): ReadonlySet<Need> {
  const needs = new Set<Need>();
  for (const [shape, count] of content ?? []) if (count > 0) addNeed(arena, needs, shape);
  return needs;
}

/** What its pods take together. */
function loadOf({ worth }: Arena, { offer, room }: Place): Float64Array {
  return offer === null
    ? new Float64Array(worth.length)
    : freeOf(offer, worth.length).map((all, k) => all - (room.free[k] ?? 0));
}

/** Do its pods keep their rules there, one like the other? */
function isLawful(arena: Arena, place: Place): boolean {
  for (const [shape, count] of place.content ?? []) {
    const facts = arena.shapes.get(shape);
    const need = facts?.needs.at(-1);
    if (count === 0 || need === undefined) continue;
    if (!admits(arena, need, place)) return false;
    if (facts?.isRuled !== true) continue;
    record(arena, place, shape, -1);
    const allowed = allowsNode(guardFor(arena.workspace, need, true), place.room);
    record(arena, place, shape, 1);
    if (!allowed) return false;
  }
  return true;
}
