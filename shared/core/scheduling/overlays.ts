import type { Catalog, InstanceType, Offering } from '../model/catalog.ts';
import type { NodeOverlay, NodePool, ResourceList } from '../model/manifest.ts';
import { labelKey, normalizeKey } from '../model/labels.ts';
import { microUsdPerHour } from '../quantity/units.ts';
import { fixedLabels } from './compile-pool.ts';
import { ABSENT, byCodeUnit, oneOf, overlaps, toRules, type LabelRule, type LabelRules } from './label-rule.ts';
import type { ProvisioningInput } from './provisioning-input.ts';

interface CompiledOverlay {
  readonly rules: LabelRules;
  readonly spec: NodeOverlay['spec'];
}

/**
 * The catalog with prices and capacities as NodeOverlays set them: the heaviest overlay that matches an offering decides
 * its price, and per resource the type's capacity. Of two with one weight the later name wins, where Karpenter reports a
 * conflict and ignores the other.
 */
export function overlaidCatalog({ cluster, catalog, policy }: ProvisioningInput): Catalog {
  if (!policy.gates.nodeOverlay || cluster.nodeOverlays.length === 0) return catalog;
  const overlays = cluster.nodeOverlays
    .toSorted((a, b) => (b.spec.weight ?? 0) - (a.spec.weight ?? 0) || byCodeUnit(b.metadata.name, a.metadata.name))
    .map(({ spec }): CompiledOverlay => ({ rules: toRules(spec.requirements), spec }));
  return new Map(
    [...catalog].map(([name, types]) => {
      const pool = cluster.nodePools.find(({ metadata }) => metadata.name === name);
      return [name, pool === undefined ? types : types.map((type) => overlay(type, pool, overlays))];
    }),
  );
}

function overlay(type: InstanceType, pool: NodePool, overlays: ReadonlyArray<CompiledOverlay>): InstanceType {
  const matching = type.offerings.map((offering) =>
    overlays.filter(({ rules }) => matches(rules, labelsOf(type, pool, offering))),
  );
  const applied = overlays.filter((one) => matching.some((own) => own.includes(one)));
  if (applied.length === 0) return type;
  const capacity: ResourceList = Object.assign(
    {},
    type.capacity,
    ...applied.toReversed().map(({ spec }) => spec.capacity ?? {}),
  );
  const offerings = type.offerings.map((offering, index) => {
    const pricing = matching[index]?.find(({ spec }) => spec.price !== undefined || spec.priceAdjustment !== undefined);
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

/** Dollars per hour as text, absolute or as a change in dollars or percent; never below 0, rounded up. */
function adjusted(
  price: Offering['price'],
  { price: absolute, priceAdjustment }: NodeOverlay['spec'],
): Offering['price'] {
  if (absolute !== undefined) return toPrice(Number(absolute) * 1e6, price);
  const change = /^([+-]\d+(?:\.\d+)?)(%?)$/.exec(priceAdjustment ?? '');
  if (change === null) return price;
  const amount = Number(change[1]);
  return toPrice(change[2] === '%' ? price * (1 + amount / 100) : price + amount * 1e6, price);
}

function toPrice(amount: number, otherwise: Offering['price']): Offering['price'] {
  // A hair below the next integer is rounding noise of the decimal text, not a fraction of a millionth of a dollar.
  const rounded = Math.max(0, Math.ceil(amount - 1e-6));
  return Number.isSafeInteger(rounded) ? microUsdPerHour(rounded) : otherwise;
}
