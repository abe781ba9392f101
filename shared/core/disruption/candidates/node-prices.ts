import type { Catalog, InstanceType, Offering } from '../../model/catalog.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import { DEFAULT_EVICTION_COST_MS, riskOf, withRisk } from '../../offerings/weighed-price.ts';

type LabelMap = Readonly<Record<string, string>>;

/** What a node costs, in micro-USD per hour. */
export interface PriceOfNode {
  /** What Azure asks. */
  readonly plain: number;
  /** What it counts as with the risk of evictions. */
  readonly weighed: number;
  /** What Azure asks for the same on demand; `plain` where that is not offered. */
  readonly onDemand: number;
}

/** What a node costs by the offering that its labels name; null where the catalog has none such. */
export type NodePrice = (nodePool: string, labels: LabelMap) => PriceOfNode | null;

/**
 * Reads prices of nodes out of the catalog; whether an offering is available now does not matter for a node that is
 * there.
 */
export function nodePrices(catalog: Catalog, evictionCostMs: ReadonlyMap<string, number>): NodePrice {
  const byName = new Map<ReadonlyArray<InstanceType>, ReadonlyMap<string, InstanceType>>();
  const typesOf = (types: ReadonlyArray<InstanceType>): ReadonlyMap<string, InstanceType> => {
    const known = byName.get(types) ?? new Map(types.map((type) => [type.name, type]));
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    byName.set(types, known);
    return known;
  };
  return (nodePool, labels) => {
    const type = typesOf(catalog.get(nodePool) ?? []).get(labels[labelKey.instanceType] ?? '');
    const offering = type?.offerings.find((one) => isOf(one, labels));
    if (offering === undefined) return null;
    const costMs = evictionCostMs.get(nodePool) ?? DEFAULT_EVICTION_COST_MS;
    // Not what a storm says of new ones: a node that it has left alone is not moved for it.
    const risk = riskOf(offering.evictionsPerHour ?? 0, costMs);
    const demanded = type?.offerings.find(
      ({ zone, capacityType }) => zone === offering.zone && capacityType === 'on-demand',
    );
    return {
      plain: offering.price,
      weighed: withRisk(offering.price, risk),
      onDemand: demanded?.price ?? offering.price,
    };
  };
}

function isOf({ zone, capacityType, reservation }: Offering, labels: LabelMap): boolean {
  if (zone !== labels[labelKey.zone] || capacityType !== labels[labelKey.capacityType]) return false;
  return reservation === undefined || reservation.id === labels[labelKey.reservation];
}
