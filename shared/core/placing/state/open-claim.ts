import type { Pod } from '../../model/cluster.ts';
import type { Amounts } from '../../../kubernetes/text/quantity.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import { at } from '../../quantity/at.ts';
import { openRule } from '../../offerings/compile-pool.ts';
import { bitsWith, restrictTo, sourceFor } from '../../offerings/key-source.ts';
import { bookCapacity, holdingBits, type KeySource, type PoolState } from '../../offerings/pool-state.ts';
import { moveReservation } from '../../offerings/reservations.ts';
import { addVector } from '../../quantity/resource-table.ts';
import type { HostPort } from '../../rules/host-ports.ts';
import { ABSENT, ANYTHING, chooseValue, oneOf, onlyValue, type LabelRules } from '../../rules/label-rule.ts';

/** One offering of one size of a pool. */
export interface ChosenOffering {
  readonly type: number;
  readonly bit: number;
  /** What it counts as, risk included. */
  readonly price: number;
  readonly shunned: boolean;
}

/**
 * A node this plan will create. What it can still become shrinks with every pod. This file alone changes what it is and
 * keeps the books of that, so that the limits and reservations of its pool always say what is left.
 */
export interface OpenClaim {
  readonly state: PoolState;
  /** Its place among the open claims while pods are placed one by one. */
  number: number;
  /**
   * Per type: the offerings that meet the rules of all its pods, whether they hold them or not. Shared: never changed.
   */
  readonly offered: Int32Array;
  /** The offerings that topology has left of all types. */
  readonly bits: number;
  /** Types before this one in the pool's order hold the pods no more. */
  readonly from: number;
  readonly open: LabelRules;
  readonly load: Float64Array;
  readonly pods: Array<Pod>;
  readonly ports: Array<HostPort>;
  /** By index of a counter of hosts: pods here that it counts. */
  readonly onHost: Array<number>;
  /** The cheapest it can be. Null while it has no pod. */
  readonly chosen: ChosenOffering | null;
  /** What limits count for it; null while it has no pod. */
  readonly booked: Amounts | null;
  /** True once minValues of the pool were waived for it. */
  readonly minValuesRelaxed: boolean;
}

/** An offering for a claim, and what the node takes of its pool's limits then. */
export interface SettledOffering {
  readonly chosen: ChosenOffering;
  readonly booked: Amounts;
}

/** What is left of what a claim can become. */
export type Narrowing = Partial<Pick<OpenClaim, 'offered' | 'bits' | 'from' | 'open'>>;

type Changing = { -readonly [Field in keyof OpenClaim]: OpenClaim[Field] };

/** Narrows, in place, what the claim can still become. */
export function narrow(claim: OpenClaim, narrowing: Narrowing): void {
  Object.assign(claim, narrowing);
}

/**
 * Makes the claim, in place, a node of this offering: what it took of limits and reservations is given back, and taken
 * again.
 */
export function settleOn(claim: OpenClaim, { chosen, booked }: SettledOffering): void {
  const { remaining, reservationsLeft } = claim.state;
  if (remaining.size > 0) {
    if (claim.booked !== null) bookCapacity(remaining, claim.booked, -1);
    bookCapacity(remaining, booked, 1);
  }
  moveReservation(reservationsLeft, reservationOf(claim, claim.chosen), reservationOf(claim, chosen));
  const own: Changing = claim;
  own.chosen = chosen;
  own.booked = booked;
}

/** Gives back, in place, all that the claim took of limits and reservations: it is no node any more. */
export function giveUp(claim: OpenClaim): void {
  const { remaining, reservationsLeft } = claim.state;
  if (claim.booked !== null) bookCapacity(remaining, claim.booked, -1);
  moveReservation(reservationsLeft, reservationOf(claim, claim.chosen), null);
  const own: Changing = claim;
  own.chosen = null;
  own.booked = null;
}

/** The claim in another state of its pool, with the books of that one; null where it has no offering. */
export function movedTo(
  state: PoolState,
  claim: OpenClaim,
  price: Pick<ChosenOffering, 'price' | 'shunned'>,
): OpenClaim | null {
  const { chosen, booked } = claim;
  if (chosen === null || booked === null) return null;
  const moved: OpenClaim = { ...claim, state, onHost: [], from: 0, chosen: null, booked: null };
  settleOn(moved, { chosen: { ...chosen, ...price }, booked });
  return moved;
}

/** How one more pod would join a claim. */
export interface Joining {
  readonly claim: OpenClaim;
  readonly offered: Int32Array;
  readonly bits: number;
  readonly from: number;
  readonly open: LabelRules;
  readonly chosen: ChosenOffering;
  readonly booked: Amounts;
  readonly added: number;
}

/** A claim of the pool that holds nothing yet. */
export function emptyClaim(state: PoolState, width: number, minValuesRelaxed: boolean): OpenClaim {
  return {
    state,
    number: -1,
    offered: state.pool.offered,
    bits: 2 ** state.pool.catalog.markets.length - 1,
    from: 0,
    open: NOTHING_OPEN,
    load: new Float64Array(width),
    pods: [],
    ports: [],
    onHost: [],
    chosen: null,
    booked: null,
    minValuesRelaxed,
  };
}

const NOTHING_OPEN: LabelRules = new Map();

/** The offerings of the type that the claim can still be: they meet the rules of its pods and hold them. */
export function offeringsAt({ state, offered, bits, load }: OpenClaim, type: number): number {
  return holdingBits(state, type, at(offered, type) & bits, load, state.nothing);
}

/** Per type: the offerings that the claim can still be. */
export function offeringsOf(claim: OpenClaim): Int32Array {
  const { order } = claim.state.pool;
  const offerings = new Int32Array(claim.offered.length);
  for (let position = claim.from; position < order.length; position++) {
    const type = at(order, position);
    offerings[type] = offeringsAt(claim, type);
  }
  return offerings;
}

/** What both allow, per type. Returns one of the two where it can, and the same array for the same two. */
export function bothOffered(state: PoolState, a: Int32Array, b: Int32Array): Int32Array {
  if (a === b || b === state.pool.offered) return a;
  if (a === state.pool.offered) return b;
  const known = state.together.get(a)?.get(b);
  if (known !== undefined) return known;
  const both = a.map((mask, type) => mask & at(b, type));
  const ofFirst = state.together.get(a) ?? new Map<Int32Array, Int32Array>();
  state.together.set(a, ofFirst.set(b, both));
  return both;
}

/** Puts the pod there; `shape` is what it brings. */
export function join(
  joining: Joining,
  shape: { readonly ports: ReadonlyArray<HostPort>; readonly requests: Float64Array },
  pod: Pod,
): void {
  const { claim, offered, bits, from, open } = joining;
  const own: Changing = claim;
  own.offered = offered;
  own.bits = bits;
  own.from = from;
  own.open = open;
  settleOn(claim, joining);
  claim.pods.push(pod);
  claim.ports.push(...shape.ports);
  addVector(claim.load, shape.requests, 1);
}

/** The reservation that a node of the claim's pool takes as this offering; null for none. */
export function reservationOf(
  { state }: Pick<OpenClaim, 'state'>,
  chosen: Pick<ChosenOffering, 'bit'> | null,
): string | null {
  return chosen === null ? null : (state.pool.catalog.markets[chosen.bit]?.reservation ?? null);
}

/** What the claim costs as the offering that it is now, without risk, in micro-USD per hour. */
export function plainPriceOf({ state, chosen }: Pick<OpenClaim, 'state' | 'chosen'>): number {
  return chosen === null ? 0 : at(state.pool.catalog.types[chosen.type]?.plainPrices ?? NO_PRICES, chosen.bit);
}

/** The value that a claim has for a key once it is settled; null when its node will have no such label. */
export function settledValue({ state, open, chosen }: OpenClaim, key: string): string | null {
  if (chosen === null || key === labelKey.hostname) return null;
  const source = sourceFor(state, key);
  if (source.kind === 'open') return onlyValue(open.get(key) ?? ANYTHING);
  return valueAt(source, chosen) ?? null;
}

function valueAt(source: KeySource, { type, bit }: ChosenOffering): string | undefined {
  switch (source.kind) {
    case 'offering':
      return source.values[bit];
    case 'type':
      return source.values[type];
    case 'pool':
      return source.value;
    case 'open':
      return undefined;
    default:
      return source satisfies never;
  }
}

/**
 * Keeps, in place, the claim at the values that it has now for what a pod of the need settles: pods placed later look
 * at them.
 */
export function settleAsChosen(
  claim: OpenClaim,
  { settled, filtered }: { readonly settled: ReadonlyArray<string>; readonly filtered: ReadonlyArray<string> },
): void {
  const { state, chosen } = claim;
  const keys = [...settled, ...filtered];
  if (keys.length === 0 || chosen === null) return;
  const { offered, bits } = settledOffers(state, claim, settled, chosen);
  const open = new Map(claim.open);
  for (const key of keys.filter((one) => sourceFor(state, one).kind === 'open')) {
    const value = chooseValue(open.get(key) ?? openRule(state.pool, key));
    open.set(key, value === null ? ABSENT : oneOf([value]));
  }
  narrow(claim, { offered, bits, open });
}

/** Offerings, per type and of all types. */
export interface Offers {
  readonly offered: Int32Array;
  readonly bits: number;
}

/** Only what has the chosen's value for every key that must have one value now. */
export function settledOffers(
  state: PoolState,
  given: Offers,
  keys: ReadonlyArray<string>,
  chosen: ChosenOffering,
): Offers {
  let { offered, bits } = given;
  for (const key of keys) {
    const source = sourceFor(state, key);
    const wanted = valueAt(source, chosen);
    if (source.kind === 'offering') bits &= bitsWith(source.values, wanted);
    if (source.kind !== 'type') continue;
    offered = Int32Array.from(offered);
    restrictTo(offered, source, (value) => value === wanted);
  }
  return { offered, bits };
}

/** Of a type that is not there. */
export const NO_PRICES = new Float64Array();
