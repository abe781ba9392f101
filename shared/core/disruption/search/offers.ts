import type { ExistingCapacity } from '../../present/existing-capacity.ts';
import { capacityOf, fixedLabels, lowestBit } from '../../offerings/compile-pool.ts';
import { at } from '../../quantity/at.ts';
import { marketLabels } from '../../offerings/compile-types.ts';
import type { Need } from '../../placing/state/compile-shape.ts';
import { chooseValue, onlyValue } from '../../rules/label-rule.ts';
import { minValuesOf, valuesAmong, wantsMinValues } from '../../offerings/min-values.ts';
import { withinLimits, type PoolState } from '../../offerings/pool-state.ts';
import { MARKETS_MAX } from '../../offerings/compile-types.ts';
import { labelKey, NODE_NAME_FIELD } from '../../../kubernetes/labels.ts';
import { optionsFor, type Workspace } from '../../placing/state/workspace.ts';

/** One offering of a pool that a new node can be of. */
export interface Offer {
  readonly state: PoolState;
  readonly type: number;
  readonly bit: number;
  /** What it counts as, risk included, and what Azure asks; in micro-USD per hour. */
  readonly price: number;
  readonly plainPrice: number;
  readonly zone: string;
  readonly isSpot: boolean;
  /** Labels of a node of it, but for its name. */
  readonly labels: () => Readonly<Record<string, string>>;
  /** Of a pool: those that it names no size of, burstable ones and retired generations, come last. */
  readonly isShunned: boolean;
  /** Of a pool with a fixed number of nodes: it comes only in place of one of them. */
  readonly isFixed: boolean;
}

/** What can be bought, by pool, the heaviest pool first; within one the cheapest first. Nodes of reservations are not bought. */
export type Offers = ReadonlyArray<AllOfPool>;

interface PoolOffers {
  readonly list: ReadonlyArray<Offer>;
  /** By resource and place in the list: the most that an offer up to there has; and the highest price. So many need not be looked at. */
  readonly most: ReadonlyArray<Float64Array>;
  readonly dearest: Float64Array;
}

interface AllOfPool extends PoolOffers {
  /** Those of one zone, or of any (''), with spot and without: `partKey`. A search asks for one part at a time, thousands of times. */
  readonly parts: ReadonlyMap<string, PoolOffers>;
  /** Those that it has an offer in, the one with the cheapest first. */
  readonly zones: ReadonlyArray<string>;
}

/** The zones that any pool has an offer in: of each pool the one with the cheapest first. */
export function zonesOf(offers: Offers): ReadonlyArray<string> {
  return [...new Set(offers.flatMap(({ zones }) => zones))];
}

/** Those of all pools. */
export function allOffers(offers: Offers): ReadonlyArray<Offer> {
  return offers.flatMap(({ list }) => list);
}

/** Is it this offering of the pool? */
export function isOfferOf(
  { state, type, bit }: Offer,
  nodePool: string,
  wanted: { readonly instanceType: string; readonly zone: string; readonly capacityType: string },
): boolean {
  const { name, catalog } = state.pool;
  const market = catalog.markets[bit];
  return (
    name === nodePool &&
    catalog.types[type]?.name === wanted.instanceType &&
    market?.zone === wanted.zone &&
    market.capacityType === wanted.capacityType
  );
}

/** What can be bought of all pools but `fixed`, which have a fixed number of nodes. */
export function offersOf({ pools, dimensions }: Workspace, fixed: ReadonlySet<string> = new Set()): Offers {
  return pools
    .filter(({ pool }) => !fixed.has(pool.name))
    .map((state) => inParts(offersIn(state, false), dimensions.names.length));
}

/** What nodes of these pools can be. */
export function fixedOffersOf({ pools }: Workspace, fixed: ReadonlySet<string>): ReadonlyArray<Offer> {
  return pools.flatMap((state) => (fixed.has(state.pool.name) ? offersIn(state, true) : []));
}

/** All of one pool, the cheapest first. */
function offersIn(state: PoolState, isFixed: boolean): ReadonlyArray<Offer> {
  const { pool } = state;
  const offers: Array<Offer> = [];
  for (const type of pool.order) {
    const compiled = pool.catalog.types[type];
    for (let left = at(pool.offered, type) & ~pool.catalog.reservedBits; left !== 0; left &= left - 1) {
      const bit = lowestBit(left);
      const market = pool.catalog.markets[bit];
      if (compiled === undefined || market === undefined) continue;
      offers.push({
        state,
        type,
        bit,
        price: at(compiled.weighedPrices, bit),
        plainPrice: at(compiled.plainPrices, bit),
        zone: market.zone,
        isSpot: market.capacityType === 'spot',
        isShunned: pool.shunned[type] === 1,
        isFixed,
        labels: once(() => labelsOf(state, type, bit)),
      });
    }
  }
  return offers.toSorted(
    (a, b) => Number(a.isShunned) - Number(b.isShunned) || a.price - b.price || a.type - b.type || a.bit - b.bit,
  );
}

function inParts(list: ReadonlyArray<Offer>, width: number): AllOfPool {
  const parts = new Map<string, PoolOffers>();
  const zones = [...new Set(list.map((offer) => offer.zone))];
  for (const zone of [null, ...zones]) {
    for (const mayBeSpot of [true, false]) {
      const part = list.filter((offer) => (zone === null || offer.zone === zone) && (mayBeSpot || !offer.isSpot));
      parts.set(partKey(zone, mayBeSpot), withReach(part, width));
    }
  }
  return { ...withReach(list, width), parts, zones };
}

function partKey(zone: string | null, mayBeSpot: boolean): string {
  return `${mayBeSpot ? 'any' : 'on-demand'}/${zone ?? ''}`;
}

function withReach(list: ReadonlyArray<Offer>, width: number): PoolOffers {
  const most = Array.from({ length: width }, () => new Float64Array(list.length));
  const dearest = new Float64Array(list.length);
  for (const [index, offer] of list.entries()) {
    const free = freeOf(offer, width);
    const before = index - 1;
    dearest[index] = index === 0 ? offer.price : Math.max(at(dearest, before), offer.price);
    for (const [k, amounts] of most.entries()) {
      amounts[index] = index === 0 ? at(free, k) : Math.max(at(amounts, before), at(free, k));
    }
  }
  return { list, most, dearest };
}

/** How many offers at the start of the list all have too little of something. */
function beyondReach({ list, most }: PoolOffers, load: Float64Array): number {
  let start = 0;
  for (let k = 0; k < load.length; k++) {
    const amounts = most[k];
    if (amounts === undefined) continue;
    let [low, high] = [start, list.length];
    // Ends: every turn halves what is left.
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at(amounts, middle) < at(load, k)) low = middle + 1;
      else high = middle;
    }
    start = low;
  }
  return start;
}

/** Works it out when it is first asked for. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

/** What pods that move ask of a new node: which needs it meets, for how much it has room, and what it may cost. */
export interface Demand {
  readonly needs: ReadonlySet<Need>;
  readonly load: Float64Array;
  /** Null: any. */
  readonly zone: string | null;
  /** It must count as less. */
  readonly below: number;
  readonly mayBeSpot: boolean;
}

/** The cheapest offer that holds it all, of the heaviest pool that has one at any price; null for none. */
export function cheapestOffer(workspace: Workspace, offers: Offers, demand: Demand): Offer | null {
  for (const [rank, ofPool] of offers.entries()) {
    const [first] = ofPool.list;
    if (first === undefined) continue;
    const masks = Array.from(demand.needs, (need) => masksOf(workspace, first.state, need));
    const found = cheapestOf(ofPool, masks, demand);
    if (found !== null) return found;
    // A lighter pool is not asked for what a heavier one can hold at any price.
    const isLast = rank === offers.length - 1;
    if (isLast || cheapestOf(ofPool, masks, { ...demand, zone: null, below: Infinity, mayBeSpot: true }) !== null)
      return null;
  }
  return null;
}

function cheapestOf(ofPool: AllOfPool, masks: ReadonlyArray<Int32Array>, demand: Demand): Offer | null {
  const part = ofPool.parts.get(partKey(demand.zone, demand.mayBeSpot));
  if (part === undefined) return null;
  const { list: offers, dearest } = part;
  const start = beyondReach(part, demand.load);
  if (start > 0 && at(dearest, start - 1) >= demand.below) return null;
  for (let index = start; index < offers.length; index++) {
    const offer = offers[index];
    if (offer === undefined || offer.price >= demand.below) break;
    if (!holds(offer, demand.load) || !isInAll(masks, offer)) continue;
    const { state, type } = offer;
    if (!meetsMinValuesBelow(ofPool.list, masks, demand)) return null;
    if (state.remaining.size === 0 || withinLimits(state.remaining, capacityOf(state.pool, type), null)) return offer;
  }
  return null;
}

/** Are there, among what may be bought instead, as many different values as the pool's minValues ask for? Never waived here. */
function meetsMinValuesBelow(offers: ReadonlyArray<Offer>, masks: ReadonlyArray<Int32Array>, demand: Demand): boolean {
  const [first] = offers;
  if (first === undefined || !wantsMinValues(first.state)) return true;
  const types = typesBelow(offers, masks, demand);
  const least = minValuesOf(first.state);
  return [...least].every(([key, count]) => valuesAmong(first.state, [...types], key).size >= count);
}

/** The sizes that would do, at less than what is wanted. */
function typesBelow(
  offers: ReadonlyArray<Offer>,
  masks: ReadonlyArray<Int32Array>,
  demand: Demand,
): ReadonlySet<number> {
  const fitting = offers.filter(
    (offer) =>
      offer.price < demand.below &&
      (!offer.isSpot || demand.mayBeSpot) &&
      holds(offer, demand.load) &&
      isInAll(masks, offer),
  );
  return new Set(fitting.map(({ type }) => type));
}

/** How many sizes of the offer's pool and capacity type, in any zone, would hold what is wanted at less. */
export function countCheaper(workspace: Workspace, offers: Offers, offer: Offer, demand: Demand): number {
  const own = allOffers(offers).filter(({ state, isSpot }) => state === offer.state && isSpot === offer.isSpot);
  const masks = Array.from(demand.needs, (need) => masksOf(workspace, offer.state, need));
  return typesBelow(own, masks, demand).size;
}

function isInAll(masks: ReadonlyArray<Int32Array>, { type, bit }: Offer): boolean {
  for (let index = 0; index < masks.length; index++)
    if (((at(masks[index] ?? NOTHING, type) >> bit) & 1) === 0) return false;
  return true;
}

function masksOf(workspace: Workspace, state: PoolState, need: Need): Int32Array {
  const options = optionsFor(workspace, state, need);
  const [first] = options;
  if (first === undefined) return NOTHING;
  if (options.length === 1) return first.offered;
  return first.offered.map((mask, type) => options.reduce((all, { offered }) => all | at(offered, type), mask));
}

const NOTHING = new Int32Array();

/** Has a node of the offer, beside its daemons, room for the load? */
export function holds({ state, type, bit }: Offer, load: Float64Array): boolean {
  const offset = (type * MARKETS_MAX + bit) * load.length;
  for (let k = 0; k < load.length; k++) if (at(load, k) > at(state.usable, offset + k)) return false;
  return true;
}

/** What pods can have on a node of the offer, beside its daemons. */
export function freeOf({ state, type, bit }: Offer, width: number): Float64Array {
  const offset = (type * MARKETS_MAX + bit) * width;
  return state.usable.slice(offset, offset + width);
}

/** The node that the offer would be, complete and ready. */
export function capacityOfOffer(offer: Offer, name: string): ExistingCapacity {
  const { state, type, bit } = offer;
  const { pool } = state;
  const labels = { ...offer.labels(), [labelKey.hostname]: name, [NODE_NAME_FIELD]: name };
  const { taints } = pool;
  const capacity = capacityOf(pool, type);
  return {
    kind: 'claim',
    name,
    claim: name,
    nodePool: pool.name,
    initialized: true,
    labels,
    taints,
    presentTaints: taints,
    capacity,
    free: new Map(),
    daemonPorts: state.daemonPorts.flatMap(({ ports, offered }) => ((at(offered, type) >> bit) & 1 ? ports : [])),
  };
}

function labelsOf({ pool }: PoolState, type: number, bit: number): Readonly<Record<string, string>> {
  const { catalog } = pool;
  const labels: Record<string, string> = {};
  for (const [key, rule] of pool.rules) {
    const value = catalog.marketKeys.has(key) || catalog.labels.has(key) ? null : chooseValue(rule);
    if (value !== null) labels[key] = value;
  }
  for (const key of catalog.labels.keys()) {
    const rule = catalog.labels.ruleOf(type, key);
    const value = rule === undefined ? null : onlyValue(rule);
    if (value !== null) labels[key] = value;
  }
  const market = catalog.markets[bit];
  return {
    ...labels,
    ...(market === undefined ? {} : marketLabels(market)),
    ...fixedLabels(pool.manifest),
    [labelKey.registered]: 'true',
    [labelKey.initialized]: 'true',
  };
}
