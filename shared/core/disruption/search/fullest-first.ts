import type { Arena, Place } from './arena.ts';

/**
 * The places that take pods, in the order in which pods try them: fullest first, candidates last. Kept from pod to pod, so that in a
 * large cluster a pod need not look at every place. Brought up to date when it is asked: see `orderOf`.
 */
export interface Order {
  /** Sorted by key, then by index. */
  places: Array<Place>;
  /** By index of place: where it is sorted in; NaN where it is not. */
  keys: Array<number>;
  /** Changed since it was last brought up to date. */
  readonly changed: Set<Place>;
  /** Has any place ever had less than nothing of a resource? Then what it has in all says nothing of what fits. */
  hasDebt: boolean;
}

export function newOrder(): Order {
  return { places: [], keys: [], changed: new Set(), hasDebt: false };
}

/** Beyond all that may be left free, which together is worth as many as there are resources. */
const FAR = 1e3;

/** A candidate that no pod has come to takes pods last: those that save much for their pods after the others. */
export function farOf({ isCandidate, received, reluctance }: Place): number {
  return isCandidate && received === 0 ? FAR + reluctance : 0;
}

/** When more than this share of the places have changed, sorting all is quicker than moving each. */
const SORT_BEYOND = 1 / 16;

/** The order as things stand. */
export function orderOf(arena: Arena): Order {
  const { order, places } = arena;
  if (order.changed.size === 0) return order;
  if (order.changed.size > places.length * SORT_BEYOND) sortAll(arena);
  else for (const place of order.changed) move(arena, place);
  order.changed.clear();
  return order;
}

/** The first place of the order that may have room for what is worth so much. */
export function startFor({ places, keys, hasDebt }: Order, worth: number): number {
  return hasDebt ? 0 : positionOf(places, keys, worth * (1 - ROUNDING), -1);
}

/** Errors of sums of a few numbers are far smaller. */
const ROUNDING = 1e-9;

function sortAll(arena: Arena): void {
  const { order } = arena;
  order.keys = arena.places.map((place) => keyOf(arena, place));
  const { keys } = order;
  order.places = arena.places
    .filter(({ index }) => !Number.isNaN(keys[index]))
    .sort((a, b) => (keys[a.index] ?? 0) - (keys[b.index] ?? 0) || a.index - b.index);
}

function move(arena: Arena, place: Place): void {
  const { order } = arena;
  const { places, keys } = order;
  const before = keys[place.index] ?? Number.NaN;
  const key = keyOf(arena, place);
  if (key === before) return;
  if (!Number.isNaN(before)) places.splice(positionOf(places, keys, before, place.index), 1);
  keys[place.index] = key;
  if (!Number.isNaN(key)) places.splice(positionOf(places, keys, key, place.index), 0, place);
}

/** How many places come before such a key and index. */
function positionOf(places: ReadonlyArray<Place>, keys: ReadonlyArray<number>, key: number, index: number): number {
  let [low, high] = [0, places.length];
  // Ends: every turn halves what is left.
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = places[middle]?.index ?? 0;
    const at = keys[other] ?? 0;
    if (at < key || (at === key && other < index)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function keyOf({ worth, order }: Arena, place: Place): number {
  if (place.state !== 'there' || !place.takesPods) return Number.NaN;
  const { free } = place.bin;
  let key = farOf(place);
  for (let k = 0; k < free.length; k++) {
    const amount = free[k] ?? 0;
    if (amount < 0) order.hasDebt = true;
    key += amount * (worth[k] ?? 0);
  }
  return key;
}
