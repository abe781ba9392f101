import { at } from '../../quantity/at.ts';
import type { Arena, Place } from './arena.ts';

/**
 * The places that take pods, in the order in which pods try them: fullest first, candidates last. Kept from pod to pod, so that in a
 * large cluster a pod need not look at every place. Brought up to date when it is asked: see `orderOf`.
 */
export interface Order {
  /** Indices of places, sorted by key, then by index; so many of them. */
  sorted: Int32Array;
  count: number;
  /** By index of place: where it is sorted in; NaN where it is not. */
  keys: Float64Array;
  /** By index of place and resource: what is free there. */
  free: Float64Array;
  /** Changed since it was last brought up to date. */
  readonly changed: Set<Place>;
  /** Has any place ever had less than nothing of a resource? Then what it has in all says nothing of what fits. */
  hasDebt: boolean;
}

export function newOrder(): Order {
  return {
    sorted: new Int32Array(),
    count: 0,
    keys: new Float64Array(),
    free: new Float64Array(),
    changed: new Set(),
    hasDebt: false,
  };
}

/** Beyond all that may be left free, which together is worth as many as there are resources. */
const FAR = 1e3;

/** A candidate that no pod has come to takes pods last: those that save much for their pods after the others. */
export function farOf({ isCandidate, received, reluctance }: Place): number {
  return isCandidate && received === 0 ? FAR + reluctance : 0;
}

/** When more than this share of the places have changed, sorting all is quicker than moving each. */
const SORT_BEYOND = 1 / 16;

/** The first place in order that has room for the requests and that `takes` answers true for; null for none. */
export function firstInOrder(arena: Arena, requests: Float64Array, takes: (place: Place) => boolean): Place | null {
  const { sorted, count, free } = upToDate(arena);
  const width = arena.worth.length;
  for (let position = startFor(arena, requests); position < count; position++) {
    const index = at(sorted, position);
    if (!isRoomy(free, index * width, requests)) continue;
    const place = arena.places[index];
    if (place !== undefined && takes(place)) return place;
  }
  return null;
}

function isRoomy(free: Float64Array, offset: number, requests: Float64Array): boolean {
  for (let k = 0; k < requests.length; k++) {
    const asked = at(requests, k);
    if (asked > 0 && at(free, offset + k) < asked) return false;
  }
  return true;
}

/** No place before it has as much free in all as is asked for. */
function startFor({ order, worth }: Arena, requests: Float64Array): number {
  if (order.hasDebt) return 0;
  let sum = 0;
  for (let k = 0; k < requests.length; k++) sum += at(requests, k) * at(worth, k);
  return positionOf(order, sum * (1 - ROUNDING), -1);
}

/** Errors of sums of a few numbers are far smaller. */
const ROUNDING = 1e-9;

function upToDate(arena: Arena): Order {
  const { order, places } = arena;
  if (order.changed.size === 0) return order;
  if (places.length > order.keys.length || order.changed.size > places.length * SORT_BEYOND) sortAll(arena);
  else for (const place of order.changed) move(arena, place);
  order.changed.clear();
  return order;
}

/** Room for new nodes, so that not each makes all be sorted anew. */
const SPARE = 256;

function sortAll(arena: Arena): void {
  const { order, places, worth } = arena;
  if (places.length > order.keys.length) {
    order.keys = new Float64Array(places.length + SPARE).fill(Number.NaN);
    order.free = new Float64Array(order.keys.length * worth.length);
    order.sorted = new Int32Array(order.keys.length);
  }
  for (const place of places) order.keys[place.index] = readPlace(arena, place);
  const { keys, sorted } = order;
  const there = places.filter(({ index }) => !Number.isNaN(at(keys, index))).map(({ index }) => index);
  sorted.set(there.toSorted((a, b) => at(keys, a) - at(keys, b) || a - b));
  order.count = there.length;
}

function move(arena: Arena, place: Place): void {
  const { order } = arena;
  const { index } = place;
  const before = at(order.keys, index);
  const key = readPlace(arena, place);
  if (key === before) return;
  if (!Number.isNaN(before)) {
    const position = positionOf(order, before, index);
    order.sorted.copyWithin(position, position + 1, order.count--);
  }
  order.keys[index] = key;
  if (Number.isNaN(key)) return;
  const position = positionOf(order, key, index);
  order.sorted.copyWithin(position + 1, position, order.count++);
  order.sorted[position] = index;
}

/** How many places come before such a key and index. */
function positionOf({ sorted, count, keys }: Order, key: number, index: number): number {
  let [low, high] = [0, count];
  // Ends: every turn halves what is left.
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = at(sorted, middle);
    const there = at(keys, other);
    if (there < key || (there === key && other < index)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Notes what is free on the place; answers its key. */
function readPlace({ worth, order }: Arena, place: Place): number {
  if (place.state !== 'there' || !place.takesPods) return Number.NaN;
  const { free } = place.room;
  let key = farOf(place);
  for (let k = 0; k < free.length; k++) {
    const amount = at(free, k);
    if (amount < 0) order.hasDebt = true;
    order.free[place.index * worth.length + k] = amount;
    key += amount * at(worth, k);
  }
  return key;
}
