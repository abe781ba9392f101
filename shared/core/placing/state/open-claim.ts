import type { Pod } from '../../model/cluster.ts';
import type { Amounts } from '../../../kubernetes/quantity.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import { at, capacityOf, openRule } from '../../offerings/compile-pool.ts';
import { holdingBits, type Ask, type CompiledShape, type PoolOption } from './compile-shape.ts';
import { portsConflict, type HostPort } from '../../rules/host-ports.ts';
import {
  ABSENT,
  admits,
  ANYTHING,
  chooseValue,
  intersect,
  isEmpty,
  oneOf,
  onlyValue,
  type LabelRule,
  type LabelRules,
} from '../../rules/label-rule.ts';
import { bitsWith, restrictTo, sourceFor, type KeySource } from '../../offerings/key-source.ts';
import { bookingFor, wantsMinValues } from '../../offerings/min-values.ts';
import { bookCapacity, MARKETS_MAX, withinLimits, type PoolState } from '../../offerings/pool-state.ts';
import { bitsWithRoom, moveReservation } from '../../offerings/reservations.ts';
import { addVector } from '../../quantity/resource-table.ts';
import {
  allowsDomain,
  allowsHost,
  crowdingAt,
  guardOf,
  NO_RULES,
  offeringsUnder,
  type Guard,
} from './topology-guard.ts';

/** One offering of one size of a pool. */
export interface ChosenOffering {
  readonly type: number;
  readonly bit: number;
  /** What it counts as, risk included. */
  readonly price: number;
  readonly shunned: boolean;
}

/** A node this plan will create. What it can still become shrinks with every pod. */
export interface OpenClaim {
  readonly state: PoolState;
  /** Its place among the open claims while pods are placed one by one. */
  number: number;
  /** Per type: the offerings that meet the rules of all its pods, whether they hold them or not. Shared: never changed. */
  offered: Int32Array;
  /** The offerings that topology has left of all types. */
  bits: number;
  /** Types before this one in the pool's order hold the pods no more. */
  from: number;
  open: LabelRules;
  readonly load: Float64Array;
  readonly pods: Array<Pod>;
  readonly ports: Array<HostPort>;
  /** By index of a counter of hosts: pods here that it counts. */
  readonly onHost: Array<number>;
  /** The cheapest it can be. Null while it has no pod. */
  chosen: ChosenOffering | null;
  /** What limits count for it; null while it has no pod. */
  booked: Amounts | null;
  /** True once minValues of the pool were waived for it. */
  minValuesRelaxed: boolean;
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

/** A pod that wants to join, and what the topology allows it. */
export interface Applicant {
  readonly ask: Ask;
  readonly guard: Guard;
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

/** The cheapest way for a pod to join the claim, or null. */
export function joiningOf(claim: OpenClaim, applicant: Applicant, options: ReadonlyArray<PoolOption>): Joining | null {
  if (options.length === 0 || !mayMeet(claim, applicant)) return null;
  let best: Joining | null = null;
  for (const option of options) {
    const joining = joiningBy(claim, applicant, option, claim.bits);
    if (joining !== null && (best === null || isCheaper(joining.chosen, best.chosen))) best = joining;
  }
  return best;
}

/** Do host ports and rules about hosts let the pod onto the claim's node? */
export function mayMeet(claim: OpenClaim, { ask, guard }: Applicant): boolean {
  return !portsConflict(claim.ports, ask.shape.ports) && allowsHost(guard, claim);
}

/** The way by one option, where the claim were of these offerings only; null for none. That `mayMeet` is true is taken for granted. */
export function joiningBy(
  claim: OpenClaim,
  { ask, guard }: Applicant,
  option: PoolOption,
  within: number,
): Joining | null {
  const { state } = claim;
  const narrowed = narrowOpen(claim, option.open);
  if (narrowed === null) return null;
  const open = settleOpen(claim, narrowed, guard, ask);
  if (open === null) return null;
  const allowed = offeringsUnder(guard, state);
  const bits = within & allowed.bits;
  if (bits === 0) return null;
  const met = bothOffered(state, claim.offered, option.allowed);
  const offered = allowed.types === null ? met : met.map((mask, type) => mask & at(allowed.types ?? [], type));
  const search = { offered, bits, from: claim.from, load: claim.load, more: ask.shape.requests };
  const found = cheapestOffering(claim, search, guard);
  if (found === null) return null;
  const settled = settledOffers(state, { offered, bits }, ask.settled, found.chosen);
  const booked = bookedFor(claim, { ...search, ...settled }, found.chosen);
  if (booked === null) return null;
  const { chosen, from } = found;
  return { claim, ...settled, from, open, chosen, booked, added: chosen.price - (claim.chosen?.price ?? 0) };
}

/** What both allow, per type. Answers one of the two where it can, and the same array for the same two. */
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

/** Puts the pod there. */
export function join(joining: Joining, shape: CompiledShape, pod: Pod): void {
  const { claim, booked } = joining;
  const { remaining } = claim.state;
  if (remaining.size > 0) {
    if (claim.booked !== null) bookCapacity(remaining, claim.booked, -1);
    bookCapacity(remaining, booked, 1);
  }
  claim.booked = booked;
  claim.offered = joining.offered;
  claim.bits = joining.bits;
  claim.from = joining.from;
  claim.open = joining.open;
  moveReservation(
    claim.state.reservationsLeft,
    reservationOf(claim, claim.chosen),
    reservationOf(claim, joining.chosen),
  );
  claim.chosen = joining.chosen;
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

/** Offerings not shunned come first, then the price decides; the types' order breaks ties. */
export function isCheaper(a: ChosenOffering, b: ChosenOffering): boolean {
  return a.shunned === b.shunned ? a.price < b.price : !a.shunned;
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

/** Keeps, in place, the claim at the values that it has now for what a pod of the ask settles: pods placed later look at them. */
export function settleAsChosen(claim: OpenClaim, { settled, filtered }: Ask): void {
  const { state, chosen } = claim;
  const keys = [...settled, ...filtered];
  if (keys.length === 0 || chosen === null) return;
  const { offered, bits } = settledOffers(state, claim, settled, chosen);
  claim.offered = offered;
  claim.bits = bits;
  const open = new Map(claim.open);
  for (const key of keys.filter((one) => sourceFor(state, one).kind === 'open')) {
    const value = chooseValue(open.get(key) ?? openRule(state.pool, key));
    open.set(key, value === null ? ABSENT : oneOf([value]));
  }
  claim.open = open;
}

interface Offers {
  readonly offered: Int32Array;
  readonly bits: number;
}

/** Only what has the chosen's value for every key that must have one value now. */
function settledOffers(state: PoolState, given: Offers, keys: ReadonlyArray<string>, chosen: ChosenOffering): Offers {
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

function bookedFor(claim: OpenClaim, search: Search, chosen: ChosenOffering): Amounts | null {
  const { state } = claim;
  if (!wantsMinValues(state) || claim.minValuesRelaxed) return capacityOf(state.pool, chosen.type);
  const { offered, bits, load, more } = search;
  const holding = new Int32Array(offered.length);
  for (const type of state.pool.order) {
    holding[type] = holdingBits(state, type, at(offered, type) & bits, load, more);
  }
  return bookingFor(state, holding, { chosen: chosen.type, instead: claim.booked, relaxed: false });
}

function narrowOpen(claim: OpenClaim, more: LabelRules): LabelRules | null {
  if (more.size === 0) return claim.open;
  const open = new Map<string, LabelRule>(claim.open);
  for (const [key, rule] of more) {
    const present = open.get(key) ?? claim.state.pool.rules.get(key);
    const narrowed = present === undefined ? rule : intersect(present, rule);
    if (isEmpty(narrowed)) return null;
    open.set(key, narrowed);
  }
  return open;
}

/** Open labels that topology looks at get one value now: the first that is allowed. */
function settleOpen(
  { state }: OpenClaim,
  open: LabelRules,
  guard: Guard,
  { settled, filtered }: Ask,
): LabelRules | null {
  const isOpen = (key: string): boolean => sourceFor(state, key).kind === 'open';
  if (![guard.rules.keys, settled, filtered].some((own) => own.some(isOpen))) return open;
  const keys = [...new Set([...guard.rules.keys, ...settled, ...filtered])].filter(isOpen);
  const narrowed = new Map(open);
  for (const key of keys) {
    const rule = open.get(key) ?? openRule(state.pool, key);
    const settledTo = statesOf(rule, guard.rules.byKey.get(key)?.known ?? []).find(({ value }) =>
      allowsDomain(guard, key, value),
    );
    if (settledTo === undefined) return null;
    narrowed.set(key, settledTo.value === undefined ? ABSENT : oneOf([settledTo.value]));
  }
  return narrowed;
}

/** What an open label may come to be, first what it would be if nothing looked at it: nothing, or the smallest value. */
function statesOf(
  rule: LabelRule,
  known: ReadonlyArray<string>,
): ReadonlyArray<{ readonly value: string | undefined }> {
  const values = rule.complement
    ? new Set([chooseValue({ ...rule, absent: false }), ...known.filter((value) => admits(rule, value))])
    : [...rule.values].toSorted();
  const states = [...values].filter((value) => value !== null).map((value) => ({ value }));
  return rule.absent ? [{ value: undefined }, ...states] : states;
}

interface Search extends Offers {
  readonly from: number;
  readonly load: Float64Array;
  readonly more: Float64Array;
}

/**
 * Among offerings the pool's limits allow; where prices are equal, in the least crowded domain. Null: there is none.
 * `from`: the first type in order that holds the pods at all.
 */
function cheapestOffering(
  claim: OpenClaim,
  { offered, bits, from, load, more }: Search,
  guard: Guard,
): { readonly chosen: ChosenOffering; readonly from: number } | null {
  const { state, booked } = claim;
  const { pool, remaining } = state;
  const roomy = bitsWithRoom(pool.catalog, state.reservationsLeft, reservationOf(claim, claim.chosen));
  let best: ChosenOffering | null = null;
  let first = -1;
  for (let position = from; position < pool.order.length; position++) {
    const type = at(pool.order, position);
    const shunned = pool.shunned[type] === 1;
    if (best !== null && (best.shunned !== shunned || at(pool.lowestWeighed, type) >= best.price)) break;
    const held = holdingBits(state, type, at(offered, type) & bits, load, more);
    if (held !== 0 && first === -1) first = position;
    const mask = held & roomy;
    if (mask === 0) continue;
    const compiled = pool.catalog.types[type];
    if (compiled === undefined) continue;
    if (remaining.size > 0 && !withinLimits(remaining, compiled.amounts().capacity, booked)) continue;
    const bit = cheapestBit(compiled.weighedPrices, mask, state, guard);
    const price = at(compiled.weighedPrices, bit);
    if (best === null || price < best.price) best = { type, bit, price, shunned };
  }
  return best === null ? null : { chosen: best, from: first };
}

/** The cheapest that the claim can be with the pods that it has, as limits and reservations are now; null when it has none. */
export function cheapestNow(claim: OpenClaim): { readonly chosen: ChosenOffering; readonly booked: Amounts } | null {
  const { state, offered, bits, load } = claim;
  const search = { offered, bits, from: 0, load, more: state.nothing };
  const found = cheapestOffering(claim, search, UNGUARDED);
  const booked = found === null ? null : bookedFor(claim, search, found.chosen);
  return found === null || booked === null ? null : { chosen: found.chosen, booked };
}

const UNGUARDED: Guard = guardOf(NO_RULES, () => ({ domain: null, certain: true, possible: true }), false);

/** What one more pod adds to the claim's price at least, rules about other pods and limits aside; Infinity: no room. */
export function leastAdded(claim: OpenClaim, requests: Float64Array, options: ReadonlyArray<PoolOption>): number {
  let least = Infinity;
  for (const { allowed } of options) least = Math.min(least, leastAddedBy(claim, requests, allowed));
  return least;
}

/** More than any price, 34,000 dollars an hour: what is shunned comes after all that is not. */
export const SHUNNED_ADDS = 2 ** 35;

function leastAddedBy(
  { state, offered, bits, from, load, chosen }: OpenClaim,
  more: Float64Array,
  allowed: Int32Array,
): number {
  const { pool } = state;
  let best = Infinity;
  for (let position = from; position < pool.order.length; position++) {
    const type = at(pool.order, position);
    const shunned = pool.shunned[type] === 1 ? SHUNNED_ADDS : 0;
    if (at(pool.lowestWeighed, type) + shunned >= best) break;
    const mask = holdingBits(state, type, at(offered, type) & at(allowed, type) & bits, load, more);
    if (mask !== 0)
      best = Math.min(best, shunned + lowestWeighed(pool.catalog.types[type]?.weighedPrices ?? NO_PRICES, mask));
  }
  return best - (chosen?.price ?? 0);
}

const NO_PRICES = new Float64Array();

function lowestWeighed(prices: Float64Array, mask: number): number {
  let lowest = Infinity;
  for (let bit = 0; bit < MARKETS_MAX && mask >> bit !== 0; bit++) {
    if ((mask >> bit) & 1) lowest = Math.min(lowest, at(prices, bit));
  }
  return lowest;
}

/** The lowest bit wins what is still a tie: markets are in order of preference. */
function cheapestBit(prices: Float64Array, mask: number, state: PoolState, guard: Guard): number {
  let best = -1;
  let crowd = 0;
  for (let bit = 0; bit < MARKETS_MAX && mask >> bit !== 0; bit++) {
    if (((mask >> bit) & 1) === 0) continue;
    if (best !== -1 && at(prices, bit) > at(prices, best)) continue;
    const crowding = crowdingAt(guard, state, bit);
    if (best !== -1 && at(prices, bit) === at(prices, best) && crowding >= crowd) continue;
    best = bit;
    crowd = crowding;
  }
  return best;
}
