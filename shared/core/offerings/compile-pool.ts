import { at } from '../quantity/at.ts';
import type { NodePool, Taint } from '../../kubernetes/manifest.ts';
import { labelKey, normalizeKey } from '../../kubernetes/labels.ts';
import { parseAmounts, type Amounts } from '../../kubernetes/text/quantity.ts';
import { marketLabels, isDecidedByType, type CompiledCatalog } from './compile-types.ts';
import {
  ABSENT,
  addRule,
  admits,
  ANYTHING,
  byCodeUnit,
  intersect,
  isEmpty,
  oneOf,
  onlyValue,
  overlaps,
  PRESENT,
  toRules,
} from '../rules/label-rule.ts';
import type { LabelRule, LabelRules } from '../rules/label-rule.ts';
import { isShunned } from './shunned-sizes.ts';

/** A NodePool joined with the instance types it may use. */
export interface CompiledPool {
  readonly name: string;
  readonly weight: number;
  readonly manifest: NodePool;
  readonly taints: ReadonlyArray<Taint>;
  /** The template's requirements and labels together, with the labels that every node of the pool gets. */
  readonly rules: LabelRules;
  readonly limits: Amounts;
  readonly catalog: CompiledCatalog;
  /** Per type of the catalog: the offerings that the pool allows and that are available. 0: not a type of this pool. */
  readonly offered: Int32Array;
  /**
   * Types of the pool in the order in which they are tried: those not shunned first, then by weighed price, then by
   * name.
   */
  readonly order: Int32Array;
  /**
   * Per type that the pool allows, available or not: 1 for burstable sizes and retired generations that it does not
   * name.
   */
  readonly shunned: Uint8Array;
  /** Per type: the lowest weighed price among `offered`. */
  readonly lowestWeighed: Float64Array;
}

/** A pool whose requirements no available offering meets has an empty `order`. */
export function compilePool(manifest: NodePool, catalog: CompiledCatalog): CompiledPool {
  const { template, limits, weight } = manifest.spec;
  const rules = toRules(template.spec.requirements);
  for (const [key, value] of Object.entries(fixedLabels(manifest))) addRule(rules, normalizeKey(key), oneOf([value]));
  const listed = allowedBy(rules, catalog, listedIn(catalog));
  const available = availableTo(manifest, catalog);
  const offered = listed.map((mask, index) => mask & at(available, index));
  const shunned = Uint8Array.from(listed, (mask, type) =>
    Number(mask !== 0 && isShunned(catalog.types[type]?.name ?? '', (key) => catalog.labels.ruleOf(type, key), rules)),
  );
  const lowestWeighed = Float64Array.from(catalog.types, (type, index) =>
    lowestWeighedOf(type.weighedPrices, offered[index] ?? 0),
  );
  const order = Int32Array.from(
    catalog.types
      .map((_, index) => index)
      .filter((index) => offered[index] !== 0)
      .toSorted((a, b) => at(shunned, a) - at(shunned, b) || at(lowestWeighed, a) - at(lowestWeighed, b) || a - b),
  );
  return {
    name: manifest.metadata.name,
    weight: weight ?? 0,
    manifest,
    taints: template.spec.taints ?? [],
    rules,
    limits: parseAmounts(limits, 'down'),
    catalog,
    offered,
    order,
    shunned,
    lowestWeighed,
  };
}

/** Per type: all offerings, those that are not available now among them. */
export function listedIn({ types }: CompiledCatalog): Int32Array {
  return Int32Array.from(types, ({ offered, unavailable }) => offered | unavailable);
}

/** Is there no offering of any type? */
export function isNone(offered: Int32Array): boolean {
  return offered.every((mask) => mask === 0);
}

/** Per type: the offerings that are available to nodes of the pool, whatever it requires of their labels. */
export function availableTo(manifest: NodePool, { types, reservedBits }: CompiledCatalog): Int32Array {
  // One node of a reservation is of one size, so that a choice of several, which minValues asks for, is none of them.
  const usable = hasMinValues(manifest) ? ~reservedBits : -1;
  return Int32Array.from(types, ({ offered }) => offered & usable);
}

function hasMinValues({ spec }: NodePool): boolean {
  return spec.template.spec.requirements.some(({ minValues }) => minValues !== undefined);
}

/** Can nodes of the pool be taken from a reservation? */
export function takesReserved({ catalog, offered }: CompiledPool): boolean {
  return catalog.reservedBits !== 0 && offered.some((mask) => (mask & catalog.reservedBits) !== 0);
}

/** Does risk make any offering of the pool count as more than its price? */
export function weighsRisk({ catalog, offered }: CompiledPool): boolean {
  return catalog.types.some(({ weighedPrices, plainPrices }, type) => {
    if (weighedPrices === plainPrices) return false;
    for (let left = at(offered, type); left !== 0; left &= left - 1) {
      const bit = lowestBit(left);
      if (at(weighedPrices, bit) !== at(plainPrices, bit)) return true;
    }
    return false;
  });
}

/** Labels of the NodeClaim and Node of every claim of the pool. */
export function fixedLabels({ metadata, spec }: NodePool): Readonly<Record<string, string>> {
  const { group, kind, name } = spec.template.spec.nodeClassRef;
  return {
    ...spec.template.metadata?.labels,
    [labelKey.nodePool]: metadata.name,
    [`${group}/${kind.toLowerCase()}`]: name,
  };
}

/** Labels that a node of ours gets later but that daemonsets and pods may already select on. */
const LIFECYCLE_LABELS: ReadonlyMap<string, LabelRule> = new Map([
  [labelKey.registered, oneOf(['true'])],
  [labelKey.initialized, oneOf(['true'])],
]);

/**
 * A rule of a pool on a label that neither type nor offering decides, and that is not settled: the claim's pods choose.
 */
export function isOpenKey(pool: CompiledPool, key: string): boolean {
  if (pool.catalog.marketKeys.has(key) || isDecidedByType(pool.catalog, key)) return false;
  const rule = pool.rules.get(key);
  return rule !== undefined && onlyValue(rule) === null;
}

/** What a node of the pool may have for a key that neither type nor offering decides. */
export function poolRule(pool: CompiledPool, key: string): LabelRule {
  if (key === labelKey.hostname) return PRESENT;
  return pool.rules.get(key) ?? LIFECYCLE_LABELS.get(key) ?? ABSENT;
}

/** Per type: the offerings among `base` under which a node can satisfy `rules`. Open keys only need to overlap. */
export function offeringsMeeting(pool: CompiledPool, rules: LabelRules, base: Int32Array): Int32Array {
  const { catalog } = pool;
  const met = Int32Array.from(base);
  for (const [key, rule] of rules) {
    if (catalog.marketKeys.has(key)) maskAll(met, marketMask(catalog, key, rule));
    else if (isDecidedByType(catalog, key)) maskTypes(met, catalog, key, intersectPool(pool, key, rule));
    else if (!meetsPool(pool, key, rule)) return met.fill(0);
  }
  return met;
}

/** Which markets accept the rule: the offering's own label, by bit. */
export function marketMask(catalog: CompiledCatalog, key: string, rule: LabelRule): number {
  let mask = 0;
  catalog.markets.forEach((market, bit) => {
    if (admits(rule, marketLabels(market)[key])) mask |= 1 << bit;
  });
  return mask;
}

function meetsPool(pool: CompiledPool, key: string, rule: LabelRule): boolean {
  // A new node's name is not known, so a rule that names hosts cannot be promised; one that only excludes some can.
  if (key === labelKey.hostname) return rule.complement;
  return overlaps(poolRule(pool, key), rule);
}

function intersectPool(pool: CompiledPool, key: string, rule: LabelRule): LabelRule {
  const own = pool.rules.get(key);
  return own === undefined ? rule : intersect(own, rule);
}

/** Per type: the offerings among `base` that a pool with these rules allows. */
export function allowedBy(rules: LabelRules, catalog: CompiledCatalog, base: ArrayLike<number>): Int32Array {
  const offered = Int32Array.from(base);
  for (const [key, rule] of rules) {
    if (catalog.marketKeys.has(key)) maskAll(offered, marketMask(catalog, key, rule));
    else if (isDecidedByType(catalog, key)) maskTypes(offered, catalog, key, rule);
    else if (isEmpty(rule)) offered.fill(0);
  }
  return offered;
}

function maskAll(offered: Int32Array, mask: number): void {
  for (let index = 0; index < offered.length; index++) offered[index] = at(offered, index) & mask;
}

function maskTypes(offered: Int32Array, catalog: CompiledCatalog, key: string, rule: LabelRule): void {
  const isMet = catalog.labels.test(key, (own = ABSENT) => overlaps(own, rule));
  for (let type = 0; type < offered.length; type++) if (offered[type] !== 0 && !isMet(type)) offered[type] = 0;
}

/** The lowest price of the offerings of `mask`; Infinity for none. */
export function lowestWeighedOf(prices: Float64Array, mask: number): number {
  let lowest = Infinity;
  for (let left = mask; left !== 0; left &= left - 1) lowest = Math.min(lowest, at(prices, lowestBit(left)));
  return lowest;
}

/** The offering of `mask` with the lowest of these prices; the lowest bit of equals. */
export function cheapestBit(prices: Float64Array, mask: number): number {
  let best = lowestBit(mask);
  for (let left = mask; left !== 0; left &= left - 1) {
    if (at(prices, lowestBit(left)) < at(prices, best)) best = lowestBit(left);
  }
  return best;
}

/** What a size has; nothing for one that is not there. */
export function capacityOf({ catalog }: CompiledPool, type: number): Amounts {
  return catalog.types[type]?.amounts().capacity ?? NOTHING;
}

/** What of it is for pods and daemons. */
export function allocatableOf({ catalog }: CompiledPool, type: number): Amounts {
  return catalog.types[type]?.amounts().allocatable ?? NOTHING;
}

const NOTHING: Amounts = new Map();

/** The place of the lowest bit that is set. */
export function lowestBit(mask: number): number {
  return 31 - Math.clz32(mask & -mask);
}

/** Higher weight first; pools of one weight are equals, told apart by name only. */
export function byWeight(a: CompiledPool, b: CompiledPool): number {
  return b.weight - a.weight || byCodeUnit(a.name, b.name);
}

/** The rule of an open key before any pod narrowed it. */
export function openRule(pool: CompiledPool, key: string): LabelRule {
  return pool.rules.get(key) ?? ANYTHING;
}
