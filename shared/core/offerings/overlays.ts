import type { Catalog, InstanceType, Offering } from '../model/catalog.ts';
import type { NodeOverlay, NodePool, ResourceList } from '../../kubernetes/manifest.ts';
import { labelKey, normalizeKey } from '../../kubernetes/labels.ts';
import { parseQuantity } from '../../kubernetes/text/quantity.ts';
import { microUsdPerHour } from '../quantity/units.ts';
import { fixedLabels } from './compile-pool.ts';
import { ABSENT, byCodeUnit, oneOf, overlaps, toRules, type LabelRule, type LabelRules } from '../rules/label-rule.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';

interface CompiledOverlay {
  readonly rules: LabelRules;
  readonly name: string;
  readonly spec: NodeOverlay['spec'];
  /** What it would change, each as a text that another of the same weight must not have: see `conflictsOf`. */
  readonly changes: Array<string>;
}

/** Per offering the overlays that match it, in the order of the type's offerings. */
type Matches = ReadonlyArray<ReadonlyArray<CompiledOverlay>>;

/**
 * The catalog with prices and capacities as NodeOverlays set them: the heaviest overlay that matches an offering
 * decides its price, and per resource the type's capacity. Of two with one weight that would change the same, the one
 * whose name comes later counts and the other changes nothing at all, as in Karpenter.
 */
export function overlaidCatalog({ cluster, catalog, policy }: ProvisioningInput): Catalog {
  if (!policy.gates.nodeOverlay || cluster.nodeOverlays.length === 0) return catalog;
  const overlays = compiledOverlays(cluster);
  const matched = matchedTypes({ cluster, catalog }, overlays);
  const beaten = conflictsOf(overlays);
  const counting = new Set(overlays.filter((one) => !beaten.has(one)));
  return new Map(
    matched.map(({ name, types }) => [name, types.map(({ type, matching }) => overlay(type, matching, counting))]),
  );
}

/**
 * The overlays that change nothing because another of the same weight changes the same, each by its name with the name
 * of that other. Empty while the gate is closed.
 */
export function overlayConflicts({ cluster, catalog, policy }: ProvisioningInput): ReadonlyMap<string, string> {
  if (!policy.gates.nodeOverlay) return new Map();
  const overlays = compiledOverlays(cluster);
  matchedTypes({ cluster, catalog }, overlays);
  return new Map([...conflictsOf(overlays)].map(([one, other]) => [one.name, other.name]));
}

/** The heaviest first, as they count. */
function compiledOverlays({ nodeOverlays }: ProvisioningInput['cluster']): ReadonlyArray<CompiledOverlay> {
  return nodeOverlays
    .toSorted((a, b) => (b.spec.weight ?? 0) - (a.spec.weight ?? 0) || byCodeUnit(b.metadata.name, a.metadata.name))
    .map(({ metadata: { name }, spec }) => ({ rules: toRules(spec.requirements), name, spec, changes: [] }));
}

interface MatchedType {
  readonly type: InstanceType;
  readonly matching: Matches;
}

/** The types of each pool with the overlays that match them; the overlays get their changes. */
function matchedTypes(
  { cluster, catalog }: Pick<ProvisioningInput, 'cluster' | 'catalog'>,
  overlays: ReadonlyArray<CompiledOverlay>,
): ReadonlyArray<{ readonly name: string; readonly types: ReadonlyArray<MatchedType> }> {
  const pools = new Map(cluster.nodePools.map((pool) => [pool.metadata.name, pool]));
  return [...catalog].map(([name, types]) => {
    const pool = pools.get(name);
    return { name, types: types.map((type) => ({ type, matching: matchesOf(type, pool, overlays) })) };
  });
}

function matchesOf(type: InstanceType, pool: NodePool | undefined, overlays: ReadonlyArray<CompiledOverlay>): Matches {
  if (pool === undefined) return [];
  const where = `${pool.metadata.name} ${type.name}`;
  return type.offerings.map((offering, index) => {
    const labels = labelsOf(type, pool, offering);
    const own = overlays.filter(({ rules }) => matches(rules, labels));
    for (const { spec, changes } of own) {
      const weight = spec.weight ?? 0;
      if (isPricing(spec)) changes.push(`${weight} ${where} ${index}`);
      for (const resource of Object.keys(spec.capacity ?? {})) changes.push(`${weight} ${where} ${resource}`);
    }
    return own;
  });
}

/** Those that change what one before them of the same weight changes, with that one. */
function conflictsOf(overlays: ReadonlyArray<CompiledOverlay>): ReadonlyMap<CompiledOverlay, CompiledOverlay> {
  const taken = new Map<string, CompiledOverlay>();
  const beaten = new Map<CompiledOverlay, CompiledOverlay>();
  for (const one of overlays) {
    const other = one.changes.map((change) => taken.get(change)).find((found) => found !== undefined);
    if (other === undefined) for (const change of one.changes) taken.set(change, one);
    else beaten.set(one, other);
  }
  return beaten;
}

function isPricing({ price, priceAdjustment }: NodeOverlay['spec']): boolean {
  return price !== undefined || priceAdjustment !== undefined;
}

function overlay(type: InstanceType, matching: Matches, counting: ReadonlySet<CompiledOverlay>): InstanceType {
  const applied = [...counting].filter((one) => matching.some((own) => own.includes(one)));
  if (applied.length === 0) return type;
  const capacity: ResourceList = Object.assign(
    {},
    type.capacity,
    ...applied.toReversed().map(({ spec }) => spec.capacity ?? {}),
  );
  const offerings = type.offerings.map((offering, index) => {
    const pricing = matching[index]?.find((one) => counting.has(one) && isPricing(one.spec));
    return pricing === undefined ? offering : { ...offering, price: adjusted(offering.price, pricing.spec) };
  });
  return { ...type, capacity, offerings };
}

function labelsOf(type: InstanceType, pool: NodePool, offering: Offering): ReadonlyMap<string, LabelRule> {
  const labels = new Map<string, LabelRule>();
  for (const [key, values] of Object.entries(type.labels)) labels.set(normalizeKey(key), oneOf(values));
  for (const [key, value] of Object.entries({ ...offering.labels, ...fixedLabels(pool) })) {
    labels.set(normalizeKey(key), oneOf([value]));
  }
  return labels
    .set(labelKey.instanceType, oneOf([type.name]))
    .set(labelKey.zone, oneOf([offering.zone]))
    .set(labelKey.capacityType, oneOf([offering.capacityType]));
}

function matches(rules: LabelRules, labels: ReadonlyMap<string, LabelRule>): boolean {
  return [...rules].every(([key, rule]) => overlaps(labels.get(key) ?? ABSENT, rule));
}

/** A price per hour as text, absolute or as a change in its currency or percent; exact, never below 0, rounded up. */
function adjusted(
  price: Offering['price'],
  { price: absolute, priceAdjustment }: NodeOverlay['spec'],
): Offering['price'] {
  if (absolute !== undefined) return toPrice(parseQuantity(absolute, MICRO, 'up') ?? price);
  const [, sign, amount, percent] = /^([+-])(\d+(?:\.\d+)?)(%?)$/.exec(priceAdjustment ?? '') ?? [];
  if (amount === undefined) return price;
  // What is taken off is rounded down, so that what remains is rounded up.
  const change = parseQuantity(amount, MICRO, sign === '-' ? 'down' : 'up') ?? 0;
  if (percent !== '%') return toPrice(sign === '-' ? price - change : price + change);
  const hundred = BigInt(100 * MICRO);
  const share = sign === '-' ? hundred - BigInt(change) : hundred + BigInt(change);
  return toPrice(Number((BigInt(price) * share + hundred - 1n) / hundred));
}

const MICRO = 1_000_000;

function toPrice(amount: number): Offering['price'] {
  return microUsdPerHour(Math.max(0, amount));
}
