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
export interface PoolOffering {
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

/**
 * What can be bought, by pool, the heaviest pool first; within one the cheapest first. Nodes of reservations are not
 * bought.
 */
export type Offerings = ReadonlyArray<OfferingsOfPool>;

interface RankedOfferings {
  readonly list: ReadonlyArray<PoolOffering>;
  /** By resource and position in the list: the most that any offering before there has. */
  readonly most: ReadonlyArray<Float64Array>;
  /** By position in the list: the highest price before there. */
  readonly dearest: Float64Array;
}

interface OfferingsOfPool extends RankedOfferings {
  /**
   * Those of one zone, or of any (''), with spot and without: `partKey`. A search asks for one part at a time,
   * thousands of times.
   */
  readonly parts: ReadonlyMap<string, RankedOfferings>;
  /** Those that it has an offering in, the one with the cheapest first. */
  readonly zones: ReadonlyArray<string>;
}

/** The zones that any pool has an offering in: of each pool the one with the cheapest first. */
export function zonesOf(offerings: Offerings): ReadonlyArray<string> {
  return [...new Set(offerings.flatMap(({ zones }) => zones))];
}

/** Those of all pools. */
export function allOfferings(offerings: Offerings): ReadonlyArray<PoolOffering> {
  return offerings.flatMap(({ list }) => list);
}

/** Is it this offering of the pool? */
export function isOfferingOf(
  { state, type, bit }: PoolOffering,
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
export function offeringsOf({ pools, dimensions }: Workspace, fixed: ReadonlySet<string> = new Set()): Offerings {
  return pools
    .filter(({ pool }) => !fixed.has(pool.name))
    .map((state) => inParts(offeringsIn(state, false), dimensions.names.length));
}

/** What nodes of these pools can be. */
export function fixedOfferingsOf({ pools }: Workspace, fixed: ReadonlySet<string>): ReadonlyArray<PoolOffering> {
  return pools.flatMap((state) => (fixed.has(state.pool.name) ? offeringsIn(state, true) : []));
}

/** All of one pool, the cheapest first. */
function offeringsIn(state: PoolState, isFixed: boolean): ReadonlyArray<PoolOffering> {
  const { pool } = state;
  const offerings: Array<PoolOffering> = [];
  for (const type of pool.order) {
    const compiled = pool.catalog.types[type];
    for (let left = at(pool.offered, type) & ~pool.catalog.reservedBits; left !== 0; left &= left - 1) {
      const bit = lowestBit(left);
      const market = pool.catalog.markets[bit];
      if (compiled === undefined || market === undefined) continue;
      offerings.push({
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
  return offerings.toSorted(
    (a, b) => Number(a.isShunned) - Number(b.isShunned) || a.price - b.price || a.type - b.type || a.bit - b.bit,
  );
}

function inParts(list: ReadonlyArray<PoolOffering>, width: number): OfferingsOfPool {
  const parts = new Map<string, RankedOfferings>();
  const zones = [...new Set(list.map((offering) => offering.zone))];
  for (const zone of [null, ...zones]) {
    for (const mayBeSpot of [true, false]) {
      const part = list.filter(
        (offering) => (zone === null || offering.zone === zone) && (mayBeSpot || !offering.isSpot),
      );
      parts.set(partKey(zone, mayBeSpot), withReach(part, width));
    }
  }
  return { ...withReach(list, width), parts, zones };
}

function partKey(zone: string | null, mayBeSpot: boolean): string {
  return `${mayBeSpot ? 'any' : 'on-demand'}/${zone ?? ''}`;
}

function withReach(list: ReadonlyArray<PoolOffering>, width: number): RankedOfferings {
  const most = Array.from({ length: width }, () => new Float64Array(list.length + 1));
  const dearest = new Float64Array(list.length + 1);
  for (const [index, offering] of list.entries()) {
    const free = freeOf(offering, width);
    dearest[index + 1] = Math.max(at(dearest, index), offering.price);
    for (const [k, amounts] of most.entries()) amounts[index + 1] = Math.max(at(amounts, index), at(free, k));
  }
  return { list, most, dearest };
}

/**
 * How many offerings at the start of the list all have too little of something. A shortcut: looking at each would find
 * that none of them holds the load.
 */
function beyondReach({ list, most }: RankedOfferings, load: Float64Array): number {
  let start = 0;
  // Stryker disable next-line BlockStatement: the shortcut, those that are not passed here are looked at
  for (const [k, amounts] of most.entries()) {
    let [low, high] = [start, list.length];
    // Ends: every turn halves what is left.
    // Stryker disable next-line ConditionalExpression: the shortcut, those that are not passed here are looked at
    while (low < high) {
      const middle = (low + high) >> 1;
      // Stryker disable next-line ConditionalExpression: the shortcut, those that are not passed here are looked at
      if (at(amounts, middle + 1) < at(load, k)) low = middle + 1;
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

/** The cheapest offering that holds it all, of the heaviest pool that has one at any price; null for none. */
export function cheapestOffering(workspace: Workspace, offerings: Offerings, demand: Demand): PoolOffering | null {
  for (const [rank, ofPool] of offerings.entries()) {
    const [first] = ofPool.list;
    if (first === undefined) continue;
    const masks = Array.from(demand.needs, (need) => masksOf(workspace, first.state, need));
    const found = cheapestOf(ofPool, masks, demand);
    if (found !== null) return found;
    // A lighter pool is not asked for what a heavier one can hold at any price.
    // Stryker disable next-line ConditionalExpression,EqualityOperator,ArithmeticOperator: a shortcut, none comes after it
    const isLast = rank === offerings.length - 1;
    if (isLast || cheapestOf(ofPool, masks, { ...demand, zone: null, below: Infinity, mayBeSpot: true }) !== null)
      return null;
  }
  return null;
}

function cheapestOf(ofPool: OfferingsOfPool, masks: ReadonlyArray<Int32Array>, demand: Demand): PoolOffering | null {
  const part = ofPool.parts.get(partKey(demand.zone, demand.mayBeSpot));
  if (part === undefined) return null;
  const { list: offerings, dearest } = part;
  const start = beyondReach(part, demand.load);
  if (at(dearest, start) >= demand.below) return null;
  // Stryker disable next-line EqualityOperator: beyond the last there is none
  for (let index = start; index < offerings.length; index++) {
    const offering = offerings[index];
    if (offering === undefined || offering.price >= demand.below) break;
    if (!holds(offering, demand.load) || !isInAll(masks, offering)) continue;
    const { state, type } = offering;
    if (!meetsMinValuesBelow(ofPool.list, masks, demand)) return null;
    // Stryker disable next-line ConditionalExpression: a shortcut, any size is within no limits
    if (state.remaining.size === 0 || withinLimits(state.remaining, capacityOf(state.pool, type), null))
      return offering;
  }
  return null;
}

/**
 * Are there, among what may be bought instead, as many different values as the pool's minValues ask for? Never waived
 * here.
 */
function meetsMinValuesBelow(
  offerings: ReadonlyArray<PoolOffering>,
  masks: ReadonlyArray<Int32Array>,
  demand: Demand,
): boolean {
  const [first] = offerings;
  // Stryker disable next-line ConditionalExpression,LogicalOperator: a shortcut, where none are wanted there are enough
  if (first === undefined || !wantsMinValues(first.state)) return true;
  const types = typesBelow(offerings, masks, demand);
  const least = minValuesOf(first.state);
  return [...least].every(([key, count]) => valuesAmong(first.state, [...types], key).size >= count);
}

/** The sizes that would do, at less than what is wanted. */
function typesBelow(
  offerings: ReadonlyArray<PoolOffering>,
  masks: ReadonlyArray<Int32Array>,
  demand: Demand,
): ReadonlySet<number> {
  const fitting = offerings.filter(
    (offering) =>
      offering.price < demand.below &&
      (!offering.isSpot || demand.mayBeSpot) &&
      holds(offering, demand.load) &&
      isInAll(masks, offering),
  );
  return new Set(fitting.map(({ type }) => type));
}

/** How many sizes of the offering's pool and capacity type, in any zone, would hold what is wanted at less. */
export function countCheaper(
  workspace: Workspace,
  offerings: Offerings,
  offering: PoolOffering,
  demand: Demand,
): number {
  const own = allOfferings(offerings).filter(
    ({ state, isSpot }) => state === offering.state && isSpot === offering.isSpot,
  );
  const masks = Array.from(demand.needs, (need) => masksOf(workspace, offering.state, need));
  return typesBelow(own, masks, demand).size;
}

function isInAll(masks: ReadonlyArray<Int32Array>, { type, bit }: PoolOffering): boolean {
  for (let index = 0; index < masks.length; index++)
    if (((at(masks[index] ?? NOTHING, type) >> bit) & 1) === 0) return false;
  return true;
}

function masksOf(workspace: Workspace, state: PoolState, need: Need): Int32Array {
  const options = optionsFor(workspace, state, need);
  const [first] = options;
  if (first === undefined) return NOTHING;
  // Stryker disable next-line ConditionalExpression,EqualityOperator: a shortcut, of one it is that one
  if (options.length === 1) return first.offered;
  return first.offered.map((mask, type) => options.reduce((all, { offered }) => all | at(offered, type), mask));
}

const NOTHING = new Int32Array();

/** Has a node of the offering, beside its daemons, room for the load? */
export function holds({ state, type, bit }: PoolOffering, load: Float64Array): boolean {
  const offset = (type * MARKETS_MAX + bit) * load.length;
  // Stryker disable next-line EqualityOperator: beyond its end nothing is asked for
  for (let k = 0; k < load.length; k++) if (at(load, k) > at(state.usable, offset + k)) return false;
  return true;
}

/** What pods can have on a node of the offering, beside its daemons. */
export function freeOf({ state, type, bit }: PoolOffering, width: number): Float64Array {
  const offset = (type * MARKETS_MAX + bit) * width;
  return state.usable.slice(offset, offset + width);
}

/** The node that the offering would be, complete and ready. */
export function capacityOfOffering(offering: PoolOffering, name: string): ExistingCapacity {
  const { state, type, bit } = offering;
  const { pool } = state;
  const labels = { ...offering.labels(), [labelKey.hostname]: name, [NODE_NAME_FIELD]: name };
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
