import type { InstanceType, Offering, OfferingStorm } from '../model/catalog.ts';
import { isTypeLevelKey, labelKey, normalizeKey, REGIONAL_ZONE } from '../../kubernetes/labels.ts';
import { parseAmounts, type Amounts } from '../../kubernetes/text/quantity.ts';
import { byCodeUnit } from '../rules/label-rule.ts';
import { rateOf } from './weighed-price.ts';
import { typeLabels, type TypeLabels } from './type-labels.ts';

/** A zone with a capacity type and whatever else an offering says about itself: one bit of a type's offering mask. */
export interface Market {
  readonly zone: string;
  readonly capacityType: Offering['capacityType'];
  readonly labels: Readonly<Record<string, string>>;
  /** The reservation that it is of; its id is among the labels too. */
  readonly reservation: string | null;
}

/** One InstanceType with its offerings read. */
export interface CompiledType {
  readonly name: string;
  /** Read when first asked for: most sizes of a catalog are of no pool. */
  readonly amounts: () => TypeAmounts;
  /** Bit i set: market i is offered and available. */
  readonly offered: number;
  /** What each market counts as in every choice, risk included; Infinity where not offered. */
  readonly weighedPrices: Float64Array;
  /** Bit i set: market i is offered in principle, and not available now. */
  readonly unavailable: number;
  /** As `prices`, with those of markets that are not available. */
  readonly weighedListPrices: Float64Array;
  /** The same two without risk, as people see them. The same arrays where no risk counts. */
  readonly plainPrices: Float64Array;
  readonly plainListPrices: Float64Array;
  /** Chance of an eviction within an hour, per market; null where nothing is known of any. */
  readonly evictions: Float64Array | null;
  /** By market, of those where spot is evicted in numbers: such a rate is among `evictions`. */
  readonly storms: ReadonlyMap<number, OfferingStorm>;
}

/** What a size has, and what of it is for pods and daemons. */
export interface TypeAmounts {
  readonly capacity: Amounts;
  readonly allocatable: Amounts;
}

/** The instance types of a catalog list, sorted by name. Shared by all pools that share the list. */
export interface CompiledCatalog {
  readonly types: ReadonlyArray<CompiledType>;
  readonly markets: ReadonlyArray<Market>;
  /** The labels that instance types decide: a type that lacks one has no such label. */
  readonly labels: TypeLabels;
  /** Keys that offerings decide. */
  readonly marketKeys: ReadonlySet<string>;
  /** Bit i set: market i is of a reservation. */
  readonly reservedBits: number;
  /** By id: how many more nodes each reservation holds. */
  readonly reservations: ReadonlyMap<string, number>;
}

/**
 * A bit mask holds so many combinations of zone, capacity type and reservation. A region has at most 4 zones (none
 * included) × 2 capacity types × few labels: 16 today. Of a catalog with more, reservations are left out first.
 */
export const MARKETS_MAX = 31;

export function compileCatalog(instanceTypes: ReadonlyArray<InstanceType>): CompiledCatalog {
  const { found, places } = findMarkets(instanceTypes);
  const markets = listMarkets(found);
  const bitOf = found.map((market) => markets.indexOf(market));
  const bits = places.map((place) => bitOf[place] ?? -1);
  const marketKeys = new Set<string>([labelKey.zone, labelKey.capacityType]);
  for (const { labels } of markets) for (const key of Object.keys(labels)) marketKeys.add(key);
  const starts = startsOf(instanceTypes);
  const order = [...instanceTypes.keys()].toSorted((a, b) =>
    byCodeUnit(instanceTypes[a]?.name ?? '', instanceTypes[b]?.name ?? ''),
  );
  const sorted = order.flatMap((index) => instanceTypes[index] ?? []);
  const prices = priceRows(sorted.length);
  const types = sorted.map((type, index) => {
    const start = starts[order[index] ?? 0] ?? 0;
    return compileType(type, bits.subarray(start, start + type.offerings.length), prices(index));
  });
  const reservedBits = markets.reduce(
    (sum, { reservation }, bit) => (reservation === null ? sum : sum | (1 << bit)),
    0,
  );
  const labels = typeLabels(sorted, marketKeys);
  return { types, markets, labels, marketKeys, reservedBits, reservations: reservationsOf(instanceTypes, found) };
}

/** Per type: the place of its first offering among those of all types. */
function startsOf(instanceTypes: ReadonlyArray<InstanceType>): Int32Array {
  const starts = new Int32Array(instanceTypes.length);
  let next = 0;
  instanceTypes.forEach(({ offerings }, index) => {
    starts[index] = next;
    next += offerings.length;
  });
  return starts;
}

/** A row of prices for each type, Infinity all over, in one piece of memory. */
function priceRows(types: number): (type: number) => Float64Array {
  const all = new Float64Array(types * MARKETS_MAX).fill(Infinity);
  return (type) => all.subarray(type * MARKETS_MAX, (type + 1) * MARKETS_MAX);
}

function reservationsOf(
  instanceTypes: ReadonlyArray<InstanceType>,
  found: ReadonlyArray<Market>,
): ReadonlyMap<string, number> {
  const reservations = new Map<string, number>();
  if (found.every(({ reservation }) => reservation === null)) return reservations;
  for (const { offerings } of instanceTypes) {
    for (const { reservation } of offerings) {
      if (reservation !== undefined) reservations.set(reservation.id, reservation.remaining);
    }
  }
  return reservations;
}

/** Does an instance type of this catalog decide the key? */
export function isDecidedByType(catalog: CompiledCatalog, key: string): boolean {
  return !catalog.marketKeys.has(key) && (isTypeLevelKey(key) || catalog.labels.has(key));
}

/** The labels that an offering gives a node. */
export function marketLabels(market: Market): Readonly<Record<string, string>> {
  return { ...market.labels, [labelKey.zone]: market.zone, [labelKey.capacityType]: market.capacityType };
}

/** All markets, in the order in which they come up, and the place of each offering's among them, type after type. */
interface FoundMarkets {
  readonly found: ReadonlyArray<Market>;
  readonly places: Int32Array;
}

function findMarkets(instanceTypes: ReadonlyArray<InstanceType>): FoundMarkets {
  const places = new Int32Array(instanceTypes.reduce((sum, { offerings }) => sum + offerings.length, 0));
  const kinds: Array<Offering> = [];
  let [next, kind] = [0, 0];
  // There are thousands, of a few kinds that follow each other in a few ways: no text is made of each.
  for (const { offerings } of instanceTypes) {
    for (let index = 0; index < offerings.length; index++) {
      const offering = offerings[index];
      if (offering !== undefined) kind = kindOf(kinds, offering, kind + 1);
      places[next++] = kind;
    }
  }
  // Kinds may differ in the spelling of a label only.
  const found: Array<Market> = [];
  const byId = new Map<string, number>();
  const marketOfKind = kinds.map((one) => {
    const market = marketOf(one);
    const id = marketId(market);
    const place = byId.get(id) ?? found.push(market) - 1;
    byId.set(id, place);
    return place;
  });
  return { found, places: places.map((place) => marketOfKind[place] ?? 0) };
}

/** Looks at the kinds from `guess` on, all around. A kind that is not there yet is added. */
function kindOf(kinds: Array<Offering>, offering: Offering, guess: number): number {
  for (let step = 0; step < kinds.length; step++) {
    const place = (guess + step) % kinds.length;
    if (isSameKind(kinds[place] ?? offering, offering)) return place;
  }
  return kinds.push(offering) - 1;
}

function isSameKind(a: Offering, b: Offering): boolean {
  if (a.capacityType !== b.capacityType || a.zone !== b.zone || a.reservation?.id !== b.reservation?.id) return false;
  if (a.labels === b.labels) return true;
  let labels = 0;
  for (const key in a.labels) {
    if (a.labels[key] !== b.labels[key]) return false;
    labels++;
  }
  for (const _ in b.labels) labels--;
  return labels === 0;
}

/** Order of offerings of equal price: with a zone before without, then by zone, capacity type and labels. */
function listMarkets(found: ReadonlyArray<Market>): ReadonlyArray<Market> {
  const regional = ({ zone }: Market): number => Number(zone === REGIONAL_ZONE);
  const inOrder = (a: Market, b: Market): number => regional(a) - regional(b) || byCodeUnit(marketId(a), marketId(b));
  const all = found.toSorted(inOrder);
  const reserved = all.filter(({ reservation }) => reservation !== null);
  const others = all.filter(({ reservation }) => reservation === null);
  return [...others, ...reserved].slice(0, MARKETS_MAX).toSorted(inOrder);
}

function marketOf({ zone, capacityType, labels, reservation }: Offering): Market {
  const own = normalizeKeys(labels);
  if (reservation === undefined) return { zone, capacityType, labels: own, reservation: null };
  return {
    zone,
    capacityType,
    labels: { ...own, [labelKey.reservation]: reservation.id },
    reservation: reservation.id,
  };
}

/** Tells markets apart. */
function marketId({ zone, capacityType, labels }: Market): string {
  return JSON.stringify([zone, capacityType, Object.entries(labels).toSorted((a, b) => byCodeUnit(a[0], b[0]))]);
}

/**
 * `bits`: by place of an offering, its market; −1 for one that is left out. `prices`: a row of Infinity to write to.
 */
function compileType(type: InstanceType, bits: Int32Array, weighedPrices: Float64Array): CompiledType {
  const weighedListPrices = type.offerings.every(({ available }) => available)
    ? weighedPrices
    : Float64Array.from(weighedPrices);
  let [offered, unavailable] = [0, 0];
  let isRated = false;
  for (let place = 0; place < bits.length; place++) {
    const { price = Infinity, available = false, evictionsPerHour, storm } = type.offerings[place] ?? {};
    const bit = bits[place] ?? -1;
    if (bit === -1) continue;
    isRated ||= evictionsPerHour !== undefined || storm !== undefined;
    weighedListPrices[bit] = Math.min(weighedListPrices[bit] ?? Infinity, price);
    if (available) weighedPrices[bit] = Math.min(weighedPrices[bit] ?? Infinity, price);
    if (available) offered |= 1 << bit;
    else unavailable |= 1 << bit;
  }
  unavailable &= ~offered;
  let read: TypeAmounts | null = null;
  const amounts = (): TypeAmounts => (read ??= readAmounts(type));
  const plain = { plainPrices: weighedPrices, plainListPrices: weighedListPrices };
  const risk = isRated ? { evictions: evictionsOf(type, bits), storms: stormsOf(type, bits) } : NO_RISK;
  return {
    name: type.name,
    amounts,
    offered,
    weighedPrices,
    unavailable,
    weighedListPrices,
    ...plain,
    ...risk,
  };
}

/** Per market; of two statements about one place the worse counts. */
function evictionsOf({ offerings }: InstanceType, bits: Int32Array): Float64Array {
  const evictions = new Float64Array(MARKETS_MAX);
  for (let place = 0; place < bits.length; place++) {
    const offering = offerings[place];
    const bit = bits[place] ?? -1;
    if (bit !== -1 && offering !== undefined) evictions[bit] = Math.max(evictions[bit] ?? 0, rateOf(offering));
  }
  return evictions;
}

const NO_STORMS: CompiledType['storms'] = new Map();
const NO_RISK = { evictions: null, storms: NO_STORMS };

function stormsOf({ offerings }: InstanceType, bits: Int32Array): CompiledType['storms'] {
  const found = offerings.flatMap(({ storm }, place): ReadonlyArray<readonly [number, OfferingStorm]> => {
    const bit = bits[place] ?? -1;
    return storm === undefined || bit === -1 ? [] : [[bit, storm]];
  });
  return found.length === 0 ? NO_STORMS : new Map(found);
}

function readAmounts(type: InstanceType): TypeAmounts {
  const capacity = parseAmounts(type.capacity, 'down');
  return { capacity, allocatable: subtractOverhead(capacity, type) };
}

function subtractOverhead(capacity: Amounts, type: InstanceType): Amounts {
  const allocatable = new Map(capacity);
  for (const [name, amount] of parseAmounts(type.overhead, 'up')) {
    allocatable.set(name, Math.max(0, (allocatable.get(name) ?? 0) - amount));
  }
  return allocatable;
}

function normalizeKeys(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const keys = Object.keys(labels);
  return keys.length === 0 ? labels : Object.fromEntries(keys.map((key) => [normalizeKey(key), labels[key] ?? '']));
}
