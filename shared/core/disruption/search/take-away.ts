import type { Need } from '../../placing/state/compile-shape.ts';
import { allowsNode } from '../../placing/state/existing-nodes.ts';
import { guardFor } from '../../placing/one-by-one/place.ts';
import { admits, ANYWHERE } from './reschedule.ts';
import type { Draw } from '../../quantity/draw.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import { factsOf, type Arena, type Slot } from './arena.ts';
import type { SuccessorOf } from './fixed-pools.ts';
import { cheapestOffering, countCheaper, freeOf, type PoolOffering, type Offerings } from './pool-offerings.ts';
import { addNeed } from './own-pods.ts';
import { record } from './slots.ts';
import { changeOffering, close, isTaken, open, take, undoTo, type Trail } from './trail.ts';

/** What a search knows beside the arena. */
export interface Means {
  readonly offerings: Offerings;
  readonly spotToSpot: boolean;
  readonly successorOf: SuccessorOf;
  /** May moves in the pool be asked for less than their disruption cost? */
  readonly mayDiscount: (pool: string) => boolean;
}

/**
 * Where pods may go, and how exactly room is judged, as in `Rescheduling`; `among` grows by the nodes that are created.
 */
export interface Within {
  readonly among: Array<Slot> | null;
  readonly noise: Draw | null;
}

export const ALL: Within = { among: null, noise: null };

/** May the slot be taken away now? One that pods have come to may not: no pod moves twice. */
export function mayGo(slot: Slot): boolean {
  return slot.isCandidate && slot.state === 'there' && slot.received === 0 && slot.node?.verdict.kind === 'may';
}

/** Takes nodes away one by one, as long as each saves more than it costs; answers how many went. */
export function takeAwaySimply(trail: Trail, slots: ReadonlyArray<Slot>, within: Within): number {
  let gone = 0;
  for (const slot of slots) {
    if (trail.arena.work.left <= 0) break;
    if (mayGo(slot) && slot.price > slot.disruptionCost && isTaken(take(trail, slot, { ...ANYWHERE, ...within })))
      gone++;
  }
  return gone;
}

/**
 * Tries to put new nodes, one of each offering, in the place of `group`, which are there: true where that saves more
 * than it costs. Pods fill the first of them first.
 */
export function replace(
  trail: Trail,
  group: ReadonlyArray<Slot>,
  offerings: ReadonlyArray<PoolOffering>,
  means: Means,
  within: Within,
): boolean {
  const [start, before] = [trail.done.length, trail.costChange];
  const fresh = offerings.map((offering) => open(trail, offering));
  within.among?.push(...fresh);
  const first = fresh[0] ?? null;
  for (const slot of group) if (mayGo(slot)) take(trail, slot, { ...ANYWHERE, ...within, first });
  for (const slot of fresh) settleNew(trail, slot, means);
  const isLasting = fresh.every((slot) => slot.state === 'absent' || isFair(trail.arena, slot, means));
  if (trail.costChange < before - 1 && isLasting) return true;
  undoTo(trail, start);
  return false;
}

/** A new node becomes the cheapest that holds what has come to it; without pods it is none. */
export function settleNew(trail: Trail, slot: Slot, means: Means): void {
  if (slot.state !== 'there' || slot.offering === null) return;
  if (slot.received === 0) return close(trail, slot);
  // It is what provisioning makes of the pool, whatever would hold its pods.
  if (slot.offering.isFixed) return;
  const { arena } = trail;
  const needs = needsOn(arena, slot);
  const demand = { needs, load: loadOf(arena, slot), zone: slot.offering.zone, below: slot.price, mayBeSpot: true };
  const better = cheapestOffering(arena.workspace, means.offerings, demand);
  if (better === null) return;
  const start = trail.done.length;
  changeOffering(trail, slot, better);
  if (!isLawful(arena, slot)) undoTo(trail, start);
}

/**
 * Karpenter's: one spot node is followed by another only where so many sizes are cheaper, or each would be followed
 * again.
 */
const LEAST_CHEAPER_SIZES = 15;

/**
 * A spot node may take the place of spot nodes only where that is switched on, and of a single one only while many
 * sizes are cheaper than it; else it must cost less than the other nodes alone whose pods it takes.
 */
export function isFair(arena: Arena, slot: Slot, { offerings, spotToSpot }: Means): boolean {
  const { offering, sources, price } = slot;
  if (offering?.isSpot !== true) return true;
  const from = [...sources].flatMap((source) => arena.slots[source] ?? []);
  const others = from.filter((one) => !isSpotNode(one)).reduce((sum, one) => sum + one.price, 0);
  if (others > price) return true;
  if (!spotToSpot) return false;
  if (from.length > 1) return true;
  const below = from.reduce((sum, one) => sum + one.price, 0);
  const demand = { needs: needsOn(arena, slot), load: loadOf(arena, slot), zone: null, below, mayBeSpot: true };
  return countCheaper(arena.workspace, offerings, offering, demand) >= LEAST_CHEAPER_SIZES;
}

/** Is the node spot? */
export function isSpotNode({ room }: Slot): boolean {
  return room.capacity.labels[labelKey.capacityType] === 'spot';
}

function needsOn(arena: Arena, { content }: Slot): ReadonlySet<Need> {
  const needs = new Set<Need>();
  for (const [shape, count] of content ?? []) if (count > 0) addNeed(arena, needs, shape);
  return needs;
}

/** What its pods take together. */
function loadOf({ worth }: Arena, { offering, room }: Slot): Float64Array {
  return offering === null
    ? new Float64Array(worth.length)
    : freeOf(offering, worth.length).map((all, k) => all - (room.free[k] ?? 0));
}

/** Do its pods keep their rules there, one like the other? */
function isLawful(arena: Arena, slot: Slot): boolean {
  for (const [shape, count] of slot.content ?? []) {
    if (count === 0) continue;
    const { isRuled, least } = factsOf(arena, shape);
    if (!admits(arena, least, slot)) return false;
    if (!isRuled) continue;
    record(arena, slot, shape, -1);
    const allowed = allowsNode(guardFor(arena.workspace, least, true), slot.room);
    record(arena, slot, shape, 1);
    if (!allowed) return false;
  }
  return true;
}
