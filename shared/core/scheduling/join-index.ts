import type { PoolOption } from './compile-shape.ts';
import { leastAdded, type OpenClaim } from './open-claim.ts';
import type { PoolState } from './pool-state.ts';

/**
 * Open claims in the order of what one more pod of a kind would add to their price at least: those that cannot hold it
 * are not in it. Claims are known by their number, their place in the list of open claims, which only grows meanwhile.
 */
export interface JoinIndex {
  readonly requests: Float64Array;
  readonly optionsOn: (state: PoolState) => ReadonlyArray<PoolOption>;
  /** Numbers of claims, least added first, then in the order of opening. */
  order: Int32Array;
  /** What each of `order` adds. */
  keys: Float64Array;
  length: number;
  /** By number of claim: its key; Infinity when it is not in the order. */
  keyOf: Array<number>;
}

export function emptyIndex(requests: Float64Array, optionsOn: JoinIndex['optionsOn']): JoinIndex {
  return { requests, optionsOn, order: new Int32Array(64), keys: new Float64Array(64), length: 0, keyOf: [] };
}

/** The index of all `claims`. */
export function indexAll(index: JoinIndex, claims: ReadonlyArray<OpenClaim>): void {
  index.keyOf = claims.map((claim) => keyFor(index, claim));
  const { keyOf } = index;
  const joinable = claims.map(({ number }) => number).filter((number) => keyOf[number] !== Infinity);
  const sorted = joinable.toSorted((a, b) => (keyOf[a] ?? 0) - (keyOf[b] ?? 0) || a - b);
  index.order = Int32Array.from({ length: 2 * sorted.length + 64 }, (_, at) => sorted[at] ?? 0);
  index.keys = Float64Array.from({ length: 2 * sorted.length + 64 }, (_, at) => keyOf[sorted[at] ?? 0] ?? 0);
  index.length = sorted.length;
}

/** Notes that the claim is new or has changed. */
export function reindex(index: JoinIndex, claim: OpenClaim): void {
  const { number } = claim;
  const before = index.keyOf[number] ?? Infinity;
  const key = keyFor(index, claim);
  if (key === before) return;
  if (before !== Infinity) removeAt(index, placeOf(index, before, number));
  if (key !== Infinity) insertAt(index, placeOf(index, key, number), key, number);
  index.keyOf[number] = key;
}

function keyFor({ requests, optionsOn }: JoinIndex, claim: OpenClaim): number {
  return leastAdded(claim, requests, optionsOn(claim.state));
}

/** The first place whose entry does not come before this one. */
function placeOf({ keys, order, length }: JoinIndex, key: number, number: number): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = keys[middle] ?? 0;
    const isBefore = other < key || (other === key && (order[middle] ?? 0) < number);
    if (isBefore) low = middle + 1;
    else high = middle;
  }
  return low;
}

function removeAt(index: JoinIndex, place: number): void {
  index.order.copyWithin(place, place + 1, index.length);
  index.keys.copyWithin(place, place + 1, index.length);
  index.length--;
}

function insertAt(index: JoinIndex, place: number, key: number, number: number): void {
  if (index.length === index.order.length) grow(index);
  index.order.copyWithin(place + 1, place, index.length);
  index.keys.copyWithin(place + 1, place, index.length);
  index.order[place] = number;
  index.keys[place] = key;
  index.length++;
}

function grow(index: JoinIndex): void {
  const order = new Int32Array(2 * index.length);
  const keys = new Float64Array(2 * index.length);
  order.set(index.order);
  keys.set(index.keys);
  index.order = order;
  index.keys = keys;
}
