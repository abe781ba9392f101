import type { InstanceType, Offering } from '../model/catalog.ts';
import { isTypeLevelKey, labelKey, normalizeKey, REGIONAL_ZONE } from '../model/labels.ts';
import { addAmounts, parseAmounts, type Amounts } from '../quantity/quantity.ts';
import { byCodeUnit, oneOf, type LabelRule, type LabelRules } from './label-rule.ts';

/** A zone with a capacity type and whatever else an offering says about itself: one bit of a type's offering mask. */
export interface Combo {
  readonly zone: string;
  readonly capacityType: Offering['capacityType'];
  readonly labels: Readonly<Record<string, string>>;
  /** The reservation that it is of; its id is among the labels too. */
  readonly reservation: string | null;
}

/** One InstanceType with its numbers read. */
export interface CompiledType {
  readonly name: string;
  readonly rules: LabelRules;
  readonly capacity: Amounts;
  readonly allocatable: Amounts;
  /** Bit i set: combo i is offered and available. */
  readonly offered: number;
  /** What each combo counts as in every choice, risk included; Infinity where not offered. */
  readonly prices: Float64Array;
  /** Bit i set: combo i is offered in principle, and not available now. */
  readonly unavailable: number;
  /** As `prices`, with those of combos that are not available. */
  readonly listPrices: Float64Array;
  /** The same two without risk, as people see them. The same arrays where no risk counts. */
  readonly plainPrices: Float64Array;
  readonly plainListPrices: Float64Array;
  /** Chance of an eviction within an hour, per combo; null where nothing is known of any. */
  readonly evictions: Float64Array | null;
}

/** The instance types of a catalog list, sorted by name. Shared by all pools that share the list. */
export interface CompiledCatalog {
  readonly types: ReadonlyArray<CompiledType>;
  readonly combos: ReadonlyArray<Combo>;
  /** Keys that instance types decide: a type that lacks one has no such label. */
  readonly typeKeys: ReadonlySet<string>;
  /** Keys that offerings decide. */
  readonly comboKeys: ReadonlySet<string>;
  /** Bit i set: combo i is of a reservation. */
  readonly reservedBits: number;
  /** By id: how many more nodes each reservation holds. */
  readonly reservations: ReadonlyMap<string, number>;
}

/**
 * A bit mask holds so many combinations of zone, capacity type and reservation. A region has at most 4 zones (none included)
 * × 2 capacity types × few labels: 16 today. Of a catalog with more, reservations are left out first.
 */
export const MAX_COMBOS = 31;

export function compileCatalog(instanceTypes: ReadonlyArray<InstanceType>): CompiledCatalog {
  const { found, places } = findCombos(instanceTypes);
  const combos = listCombos(found);
  const bitOf = found.map((combo) => combos.indexOf(combo));
  const bits = places.map((place) => bitOf[place] ?? -1);
  const comboKeys = new Set<string>([labelKey.zone, labelKey.capacityType]);
  for (const { labels } of combos) for (const key of Object.keys(labels)) comboKeys.add(key);
  const ruleFor = sharingRules();
  let read = 0;
  const compiled = instanceTypes.map((type) => {
    read += type.offerings.length;
    return compileType(type, bits.subarray(read - type.offerings.length, read), ruleFor);
  });
  const types = compiled.toSorted((a, b) => byCodeUnit(a.name, b.name));
  const typeKeys = new Set<string>();
  for (const { rules } of types) for (const key of rules.keys()) if (!comboKeys.has(key)) typeKeys.add(key);
  const reservedBits = combos.reduce((sum, { reservation }, bit) => (reservation === null ? sum : sum | (1 << bit)), 0);
  return { types, combos, typeKeys, comboKeys, reservedBits, reservations: reservationsOf(instanceTypes, found) };
}

function reservationsOf(
  instanceTypes: ReadonlyArray<InstanceType>,
  found: ReadonlyArray<Combo>,
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
  return catalog.typeKeys.has(key) || (isTypeLevelKey(key) && !catalog.comboKeys.has(key));
}

/** The labels that an offering gives a node. */
export function comboLabels(combo: Combo): Readonly<Record<string, string>> {
  return { ...combo.labels, [labelKey.zone]: combo.zone, [labelKey.capacityType]: combo.capacityType };
}

/** All combos, in the order in which they come up, and the place of each offering's among them, type after type. */
interface FoundCombos {
  readonly found: ReadonlyArray<Combo>;
  readonly places: Int32Array;
}

function findCombos(instanceTypes: ReadonlyArray<InstanceType>): FoundCombos {
  const found: Array<Combo> = [];
  const places = new Int32Array(instanceTypes.reduce((sum, { offerings }) => sum + offerings.length, 0));
  const plain = new Map<string, Map<string, number>>();
  const others = new Map<string, number>();
  // Nearly all have no labels, and there are thousands: for those no text is made.
  const known = (offering: Offering, combo: () => Combo): number => {
    const isPlain = offering.reservation === undefined && Object.keys(offering.labels).length === 0;
    const alike = isPlain ? (plain.get(offering.zone) ?? new Map<string, number>()) : others;
    if (isPlain) plain.set(offering.zone, alike);
    const id = isPlain ? offering.capacityType : comboId(combo());
    const place = alike.get(id) ?? found.push(combo()) - 1;
    alike.set(id, place);
    return place;
  };
  let next = 0;
  for (const { offerings } of instanceTypes) {
    for (const offering of offerings) places[next++] = known(offering, () => comboOf(offering));
  }
  return { found, places };
}

/** Order of offerings of equal price: with a zone before without, then by zone, capacity type and labels. */
function listCombos(found: ReadonlyArray<Combo>): ReadonlyArray<Combo> {
  const regional = ({ zone }: Combo): number => Number(zone === REGIONAL_ZONE);
  const inOrder = (a: Combo, b: Combo): number => regional(a) - regional(b) || byCodeUnit(comboId(a), comboId(b));
  const all = found.toSorted(inOrder);
  const reserved = all.filter(({ reservation }) => reservation !== null);
  const others = all.filter(({ reservation }) => reservation === null);
  return [...others, ...reserved].slice(0, MAX_COMBOS).toSorted(inOrder);
}

function comboOf({ zone, capacityType, labels, reservation }: Offering): Combo {
  const own = normalizeKeys(labels);
  if (reservation === undefined) return { zone, capacityType, labels: own, reservation: null };
  return {
    zone,
    capacityType,
    labels: { ...own, [labelKey.reservation]: reservation.id },
    reservation: reservation.id,
  };
}

/** Tells combos apart. */
function comboId({ zone, capacityType, labels }: Combo): string {
  return JSON.stringify([zone, capacityType, Object.entries(labels).toSorted((a, b) => byCodeUnit(a[0], b[0]))]);
}

type RuleFor = (values: ReadonlyArray<string>) => LabelRule;

/** Sizes have the same few values for most labels: what is equal is one rule. */
function sharingRules(): RuleFor {
  const known = new Map<string, LabelRule>();
  return (values) => {
    const [only = ''] = values;
    if (values.length !== 1) return oneOf(values);
    const rule = known.get(only) ?? oneOf(values);
    known.set(only, rule);
    return rule;
  };
}

/** `bits`: by place of an offering, its combo; −1 for one that is left out. */
function compileType(type: InstanceType, bits: Int32Array, ruleFor: RuleFor): CompiledType {
  const prices = new Float64Array(MAX_COMBOS).fill(Infinity);
  const listPrices = type.offerings.every(({ available }) => available) ? prices : Float64Array.from(prices);
  let [offered, unavailable] = [0, 0];
  for (let place = 0; place < bits.length; place++) {
    const { price = Infinity, available = false } = type.offerings[place] ?? {};
    const bit = bits[place] ?? -1;
    if (bit === -1) continue;
    listPrices[bit] = Math.min(listPrices[bit] ?? Infinity, price);
    if (available) prices[bit] = Math.min(prices[bit] ?? Infinity, price);
    if (available) offered |= 1 << bit;
    else unavailable |= 1 << bit;
  }
  unavailable &= ~offered;
  const rules = new Map<string, LabelRule>();
  for (const key of Object.keys(type.labels)) rules.set(normalizeKey(key), ruleFor(type.labels[key] ?? []));
  rules.set(labelKey.instanceType, oneOf([type.name]));
  const capacity = parseAmounts(type.capacity, 'down');
  const allocatable = subtractOverhead(capacity, type);
  const evictions = evictionsOf(type, bits);
  const plain = { plainPrices: prices, plainListPrices: listPrices };
  return {
    name: type.name,
    rules,
    capacity,
    allocatable,
    offered,
    prices,
    unavailable,
    listPrices,
    ...plain,
    evictions,
  };
}

/** Per combo; of two statements about one place the worse counts. */
function evictionsOf({ offerings }: InstanceType, bits: Int32Array): Float64Array | null {
  let evictions: Float64Array | null = null;
  for (let place = 0; place < bits.length; place++) {
    const rate = offerings[place]?.evictionsPerHour;
    const bit = bits[place] ?? -1;
    if (rate === undefined || bit === -1) continue;
    evictions ??= new Float64Array(MAX_COMBOS);
    evictions[bit] = Math.max(evictions[bit] ?? 0, rate);
  }
  return evictions;
}

function subtractOverhead(capacity: Amounts, type: InstanceType): Amounts {
  const allocatable = addAmounts(new Map(), capacity);
  for (const [name, amount] of parseAmounts(type.overhead, 'up')) {
    allocatable.set(name, Math.max(0, (allocatable.get(name) ?? 0) - amount));
  }
  return allocatable;
}

function normalizeKeys(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const keys = Object.keys(labels);
  return keys.length === 0 ? labels : Object.fromEntries(keys.map((key) => [normalizeKey(key), labels[key] ?? '']));
}
