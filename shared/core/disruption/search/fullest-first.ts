import { at } from '../../quantity/at.ts';
import type { Arena, Order, Slot } from './arena.ts';

export function newOrder(): Order {
  return {
    sorted: new Int32Array(),
    count: 0,
    keys: new Float64Array(),
    free: new Float64Array(),
    changed: new Set(),
    // Stryker disable next-line BooleanLiteral: a shortcut, looking from the first on finds the same
    hasDebt: false,
  };
}

/** Beyond all that may be left free, which together is worth as many as there are resources. */
const FAR = 1e3;

/** A candidate that no pod has come to takes pods last: those that save much for their pods after the others. */
export function farOf({ isCandidate, received, reluctance }: Slot): number {
  return isCandidate && received === 0 ? FAR + reluctance : 0;
}

/** When more than this share of the slots have changed, sorting all is quicker than moving each. */
// Stryker disable next-line ArithmeticOperator: both ways bring the order up to date
const SORT_BEYOND = 1 / 16;

/** The first slot in order that has room for the requests and that `takes` answers true for; null for none. */
export function firstInOrder(arena: Arena, requests: Float64Array, takes: (slot: Slot) => boolean): Slot | null {
  const { sorted, count, free } = upToDate(arena);
  const width = arena.worth.length;
  for (let position = startFor(arena, requests); position < count; position++) {
    const index = at(sorted, position);
    if (!isRoomy(free, index * width, requests)) continue;
    const slot = arena.slots[index];
    if (slot !== undefined && takes(slot)) return slot;
  }
  return null;
}

function isRoomy(free: Float64Array, offset: number, requests: Float64Array): boolean {
  // Stryker disable next-line EqualityOperator: beyond its end nothing is asked for
  for (let k = 0; k < requests.length; k++) {
    const asked = at(requests, k);
    if (asked > 0 && at(free, offset + k) < asked) return false;
  }
  return true;
}

/** No slot before it has as much free in all as is asked for. */
function startFor({ order, worth }: Arena, requests: Float64Array): number {
  if (order.hasDebt) return 0;
  let sum = 0;
  // Stryker disable next-line AssignmentOperator,ConditionalExpression,EqualityOperator: looking from sooner finds the same
  for (let k = 0; k < requests.length; k++) sum += at(requests, k) * at(worth, k);
  const least = sum * (1 - ROUNDING);
  // Stryker disable next-line UnaryOperator: no slot has this very key
  return positionOf(order, least, -1);
}

/** Errors of sums of a few numbers are far smaller. */
const ROUNDING = 1e-9;

function upToDate(arena: Arena): Order {
  const { order, slots } = arena;
  // Stryker disable next-line ConditionalExpression: a shortcut, where nothing has changed nothing moves
  if (order.changed.size === 0) return order;
  const isBeyond = slots.length > order.keys.length;
  // Stryker disable next-line ArithmeticOperator,ConditionalExpression,EqualityOperator: both ways bring it up to date
  const isMuch = order.changed.size > slots.length * SORT_BEYOND;
  if (isBeyond || isMuch) sortAll(arena);
  else for (const slot of order.changed) move(arena, slot);
  // Stryker disable next-line CallExpression: what has not changed since stays where it is
  order.changed.clear();
  return order;
}

/** Room for new nodes, so that not each makes all be sorted anew. */
const SPARE = 256;

function sortAll(arena: Arena): void {
  const { order, slots, worth } = arena;
  if (slots.length > order.keys.length) {
    order.keys = new Float64Array(slots.length + SPARE).fill(Number.NaN);
    order.free = new Float64Array(order.keys.length * worth.length);
    order.sorted = new Int32Array(order.keys.length);
  }
  for (const slot of slots) order.keys[slot.index] = readSlot(arena, slot);
  const { keys, sorted } = order;
  const there = slots.filter(({ index }) => !Number.isNaN(at(keys, index))).map(({ index }) => index);
  const byKey = (a: number, b: number): number =>
    at(keys, a) - at(keys, b) ||
    // Stryker disable next-line ArithmeticOperator: they come in this order, and who is alike stays in it
    a - b;
  sorted.set(there.toSorted(byKey));
  order.count = there.length;
}

function move(arena: Arena, slot: Slot): void {
  const { order } = arena;
  const { index } = slot;
  const before = at(order.keys, index);
  const key = readSlot(arena, slot);
  // Stryker disable next-line ConditionalExpression: a shortcut, it would come back to where it was
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

/** How many slots come before such a key and index. */
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

/** Notes what is free on the slot; answers its key. */
function readSlot({ worth, order }: Arena, slot: Slot): number {
  if (slot.state !== 'there' || !slot.takesPods) return Number.NaN;
  const { free } = slot.room;
  let key = farOf(slot);
  for (let k = 0; k < free.length; k++) {
    const amount = at(free, k);
    if (amount < 0) order.hasDebt = true;
    order.free[slot.index * worth.length + k] = amount;
    key += amount * at(worth, k);
  }
  return key;
}
