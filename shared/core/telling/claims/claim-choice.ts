import type { Requirement } from '../../../kubernetes/manifest.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import { MAX_FALLBACKS, type PlannedOffering } from '../../model/plan.ts';
import { microUsdPerHour } from '../../quantity/units.ts';
import { at } from '../../quantity/at.ts';
import { capacityOf, lowestBit } from '../../offerings/compile-pool.ts';
import { chooseFallbacks } from './fallbacks.ts';
import { addRule, byCodeUnit, oneOf, toExpressions, toRules } from '../../rules/label-rule.ts';
import { cutTo, minValuesOf, takesNoMore, valuesAmong } from '../../offerings/min-values.ts';
import { offeringsAt, offeringsOf, type OpenClaim } from '../../placing/state/open-claim.ts';
import { MARKETS_MAX } from '../../offerings/compile-types.ts';
import type { PoolState } from '../../offerings/pool-state.ts';
import { riskFields } from '../../offerings/weighed-price.ts';

/** Karpenter's bound on how many instance types a NodeClaim lists, kept so that objects stay small. */
const MAX_INSTANCE_TYPES = 600;

/** What a claim is launched as, what else would do, and the requirements that say so. */
export interface ClaimChoice {
  readonly offering: PlannedOffering;
  readonly fallbacks: ReadonlyArray<PlannedOffering>;
  readonly runnerUp: PlannedOffering | null;
  readonly requirements: ReadonlyArray<Requirement>;
}

/** The choices made so far: claims that can still be the same share one. */
export interface ClaimChoices {
  readonly ranked: Map<PoolState, ReadonlyArray<RankedOffering>>;
  /** By what claims are launched as first. */
  readonly made: Map<number, Array<MadeChoice>>;
}

interface MadeChoice {
  readonly claim: OpenClaim;
  readonly offerings: Int32Array;
  readonly choice: ClaimChoice;
}

interface RankedOffering {
  readonly type: number;
  readonly bit: number;
  /** Its weighed price. */
  readonly counts: number;
  /** 1 for burstable sizes and retired generations that the pool does not name. */
  readonly shunned: number;
  readonly planned: PlannedOffering;
}

export function noChoices(): ClaimChoices {
  return { ranked: new Map(), made: new Map() };
}

/** The cheapest offering that holds the claim's pods, with what else would. */
export function chooseFor(choices: ClaimChoices, claim: OpenClaim): ClaimChoice {
  const { state, chosen } = claim;
  const first = chosen === null ? -1 : chosen.type * MARKETS_MAX + chosen.bit;
  const alike = choices.made.get(first) ?? [];
  const known = alike.find((one) => isChosenAlike(one.claim, claim) && canBeAll(claim, one.offerings));
  if (known !== undefined) return known.choice;
  const offerings = offeringsOf(claim);
  const ranked = choices.ranked.get(state) ?? rankOfferings(state);
  choices.ranked.set(state, ranked);
  const choice = choose(claim, offerings, ranked);
  choices.made.set(first, [...alike, { claim, offerings, choice }]);
  return choice;
}

/** Do both come to the same choice where they can still be the same? */
function isChosenAlike(a: OpenClaim, b: OpenClaim): boolean {
  if (a.state !== b.state || a.chosen?.type !== b.chosen?.type || a.chosen?.bit !== b.chosen?.bit) return false;
  return a.booked === b.booked && a.open === b.open && a.minValuesRelaxed === b.minValuesRelaxed;
}

/** Is that what the claim can still be? Most that differ do so early, among the cheapest. */
function canBeAll(claim: OpenClaim, offerings: Int32Array): boolean {
  const { order } = claim.state.pool;
  for (let position = 0; position < order.length; position++) {
    const type = at(order, position);
    const own = position < claim.from ? 0 : offeringsAt(claim, type);
    if (own !== offerings[type]) return false;
  }
  return true;
}

function choose(claim: OpenClaim, offerings: Int32Array, all: ReadonlyArray<RankedOffering>): ClaimChoice {
  const { chosen, state } = claim;
  const own = all.find(({ type, bit }) => type === chosen?.type && bit === chosen.bit);
  if (own === undefined || ((at(offerings, own.type) >> own.bit) & 1) === 0) {
    throw new Error(`a claim of NodePool ${state.pool.name} was planned without an offering`);
  }
  const booked = offerings.map((mask, type) => (mask === 0 || isBooked(claim, type) ? mask : 0));
  // What the claim lists is all that it can be launched as: fallbacks and requirements are both taken from it.
  const listed = listedAmong(state, [own, ...othersAmong(all, booked, own)]);
  const others = listed.filter((one) => one !== own);
  return {
    offering: own.planned,
    fallbacks: fallbacksAmong(own, others),
    // Shunned sizes come last in rank, at whatever price.
    runnerUp: others.find(({ counts }) => counts >= own.counts)?.planned ?? null,
    requirements: requirementsOf(claim, listed),
  };
}

/** Shunned sizes are launched only once all others that there is room for have been refused. */
function fallbacksAmong(own: RankedOffering, others: ReadonlyArray<RankedOffering>): ReadonlyArray<PlannedOffering> {
  const [fine, shunned] = [0, 1].map((kind) =>
    others.filter((one) => one.shunned === kind).map(({ planned }) => planned),
  );
  const first = chooseFallbacks(own.planned, fine ?? [], MAX_FALLBACKS);
  return [...first, ...chooseFallbacks(own.planned, shunned ?? [], MAX_FALLBACKS - first.length)];
}

/** The offerings of as many sizes as a claim lists, best first; those of the first are always among them. */
function listedAmong(state: PoolState, ranked: ReadonlyArray<RankedOffering>): ReadonlyArray<RankedOffering> {
  const types = [...new Set(ranked.map(({ type }) => type))];
  if (types.length <= MAX_INSTANCE_TYPES) return ranked;
  const listed = new Set(cutTo(state, types, MAX_INSTANCE_TYPES));
  return ranked.filter(({ type }) => listed.has(type));
}

/** What is held is one node of one reservation: a launch may not take another, nor one where none is held. */
function othersAmong(
  all: ReadonlyArray<RankedOffering>,
  booked: Int32Array,
  own: RankedOffering,
): ReadonlyArray<RankedOffering> {
  const { reservationId } = own.planned;
  const others: Array<RankedOffering> = [];
  for (let index = 0; index < all.length; index++) {
    const one = all[index] ?? own;
    if (one === own || ((at(booked, one.type) >> one.bit) & 1) === 0) continue;
    if (one.planned.reservationId === reservationId) others.push(one);
  }
  return others;
}

/** All offerings of the pool: those not shunned first, then by weighed price. */
function rankOfferings({ pool }: PoolState): ReadonlyArray<RankedOffering> {
  const ranked: Array<RankedOffering> = [];
  for (const type of pool.order) {
    const compiled = pool.catalog.types[type];
    if (compiled === undefined) continue;
    const { name: instanceType, weighedPrices, plainPrices, evictions } = compiled;
    for (let left = at(pool.offered, type); left !== 0; left &= left - 1) {
      const bit = lowestBit(left);
      const market = pool.catalog.markets[bit];
      if (market === undefined) continue;
      const { zone, capacityType } = market;
      const [counts, price] = [at(weighedPrices, bit), microUsdPerHour(at(plainPrices, bit))];
      const risk = riskFields(price, at(evictions ?? NO_RATES, bit), counts);
      const place = { instanceType, zone, capacityType, price, ...risk };
      const planned = market.reservation === null ? place : { ...place, reservationId: market.reservation };
      ranked.push({ type, bit, counts, shunned: at(pool.shunned, type), planned });
    }
  }
  return ranked.toSorted((a, b) => a.shunned - b.shunned || a.counts - b.counts || a.type - b.type || a.bit - b.bit);
}

const NO_RATES = new Float64Array();

/**
 * Nothing that is launched instead takes more of the pool's limits than was booked, so that no launch can break them.
 */
function isBooked({ state, booked }: OpenClaim, type: number): boolean {
  return booked !== null && takesNoMore(state, capacityOf(state.pool, type), booked);
}

/**
 * The pool's requirements with minValues kept, narrowed to the instance types, zones and capacity types that the claim
 * lists.
 */
function requirementsOf(
  { state, open, minValuesRelaxed }: OpenClaim,
  listed: ReadonlyArray<RankedOffering>,
): ReadonlyArray<Requirement> {
  const { pool } = state;
  const types = [...new Set(listed.map(({ type }) => type))];
  const bits = listed.reduce((sum, { bit }) => sum | (1 << bit), 0);
  const markets = pool.catalog.markets.filter((_, bit) => ((bits >> bit) & 1) === 1);
  const rules = toRules(pool.manifest.spec.template.spec.requirements);
  for (const [key, rule] of open) addRule(rules, key, rule);
  rules.set(labelKey.instanceType, oneOf(types.map((type) => pool.catalog.types[type]?.name ?? '')));
  rules.set(labelKey.zone, oneOf(markets.map(({ zone }) => zone)));
  rules.set(labelKey.capacityType, oneOf(markets.map(({ capacityType }) => capacityType)));
  rules.set(labelKey.nodePool, oneOf([pool.name]));
  // All are of one reservation, or none is of any.
  const reservationId = listed[0]?.planned.reservationId;
  if (reservationId !== undefined) rules.set(labelKey.reservation, oneOf([reservationId]));
  const minValues = minValuesOf(state);
  // What was waived is written as what is left, so that the claim says what a launch may count on.
  const leastOf = (key: string): number | undefined => {
    const wanted = minValues.get(key);
    if (wanted === undefined || !minValuesRelaxed) return wanted;
    return Math.min(wanted, valuesAmong(state, types, key).size);
  };
  return [...rules]
    .toSorted(([a], [b]) => byCodeUnit(a, b))
    .flatMap(([key, rule]) => {
      const least = leastOf(key);
      return toExpressions(key, rule).map((expression) =>
        least === undefined ? expression : { ...expression, minValues: least },
      );
    });
}
