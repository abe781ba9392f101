import type { Amounts } from '../../../kubernetes/text/quantity.ts';
import { at } from '../../quantity/at.ts';
import { capacityOf, lowestWeighedOf, openRule } from '../../offerings/compile-pool.ts';
import { sourceFor } from '../../offerings/key-source.ts';
import { bookingFor, wantsMinValues } from '../../offerings/min-values.ts';
import { MARKETS_MAX } from '../../offerings/compile-types.ts';
import { holdingBits, withinLimits, type PoolState } from '../../offerings/pool-state.ts';
import { bitsWithRoom } from '../../offerings/reservations.ts';
import { portsConflict } from '../../rules/host-ports.ts';
import {
  ABSENT,
  admits,
  chooseValue,
  intersect,
  isEmpty,
  oneOf,
  type LabelRule,
  type LabelRules,
} from '../../rules/label-rule.ts';
import type { Need, PoolOption } from './compile-shape.ts';
import {
  bothOffered,
  NO_PRICES,
  reservationOf,
  settledOffers,
  type ChosenOffering,
  type Joining,
  type Offers,
  type OpenClaim,
  type SettledOffering,
} from './open-claim.ts';
import {
  allowsDomain,
  allowsHost,
  crowdingAt,
  guardOf,
  NO_RULES,
  offeringsUnder,
  type Guard,
} from './topology-guard.ts';

/** A pod that wants to join, and what the topology allows it. */
export interface Applicant {
  readonly need: Need;
  readonly guard: Guard;
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
export function mayMeet(claim: OpenClaim, { need, guard }: Applicant): boolean {
  return !portsConflict(claim.ports, need.shape.ports) && allowsHost(guard, claim);
}

/**
 * The way by one option, where the claim were of these offerings only; null for none. That `mayMeet` is true is taken
 * for granted.
 */
export function joiningBy(
  claim: OpenClaim,
  { need, guard }: Applicant,
  option: PoolOption,
  within: number,
): Joining | null {
  const { state } = claim;
  const narrowed = narrowOpen(claim, option.open);
  if (narrowed === null) return null;
  const open = settleOpen(claim, narrowed, guard, need);
  if (open === null) return null;
  const allowed = offeringsUnder(guard, state);
  const bits = within & allowed.bits;
  if (bits === 0) return null;
  const met = bothOffered(state, claim.offered, option.allowed);
  const offered = allowed.types === null ? met : met.map((mask, type) => mask & at(allowed.types ?? [], type));
  const loaded = { offered, bits, from: claim.from, load: claim.load, more: need.shape.requests };
  const found = cheapestOffering(claim, loaded, guard);
  if (found === null) return null;
  const settled = settledOffers(state, { offered, bits }, need.settled, found.chosen);
  const booked = bookedFor(claim, { ...loaded, ...settled }, found.chosen);
  if (booked === null) return null;
  const { chosen, from } = found;
  return { claim, ...settled, from, open, chosen, booked, added: chosen.price - (claim.chosen?.price ?? 0) };
}

/** Offerings not shunned come first, then the price decides; the types' order breaks ties. */
export function isCheaper(a: ChosenOffering, b: ChosenOffering): boolean {
  return a.shunned === b.shunned ? a.price < b.price : !a.shunned;
}

function bookedFor(claim: OpenClaim, loaded: LoadedOffers, chosen: ChosenOffering): Amounts | null {
  const { state } = claim;
  if (!wantsMinValues(state) || claim.minValuesRelaxed) return capacityOf(state.pool, chosen.type);
  const { offered, bits, load, more } = loaded;
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
  { settled, filtered }: Need,
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

/**
 * What an open label may come to be, first what it would be if nothing looked at it: nothing, or the smallest value.
 */
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

interface LoadedOffers extends Offers {
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
  { offered, bits, from, load, more }: LoadedOffers,
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

/**
 * The cheapest that the claim can be with the pods that it has, as limits and reservations are now; null when it has
 * none.
 */
export function cheapestNow(claim: OpenClaim): SettledOffering | null {
  const { state, offered, bits, load } = claim;
  const loaded = { offered, bits, from: 0, load, more: state.nothing };
  const found = cheapestOffering(claim, loaded, UNGUARDED);
  const booked = found === null ? null : bookedFor(claim, loaded, found.chosen);
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
      best = Math.min(best, shunned + lowestWeighedOf(pool.catalog.types[type]?.weighedPrices ?? NO_PRICES, mask));
  }
  return best - (chosen?.price ?? 0);
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
