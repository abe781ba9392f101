import type { InstanceType, Offering } from '../model/catalog.ts';
import { labelKey } from '../../kubernetes/labels.ts';

/**
 * The labels a node will have because of its size and offering: those with one possible value, and the offering's own.
 * An offering's `zone` and `capacityType` become labels. `price` and `available` play no part.
 */
export function nodeLabels(
  type: InstanceType,
  offering: Pick<Offering, 'zone' | 'capacityType'>,
): Readonly<Record<string, string>> {
  const single = Object.entries(type.labels).flatMap(([key, values]) => {
    const [only] = values;
    return only !== undefined && values.length === 1 ? [[key, only] as const] : [];
  });
  const match = type.offerings.find(
    ({ zone, capacityType }) => zone === offering.zone && capacityType === offering.capacityType,
  );
  return {
    ...Object.fromEntries(single),
    ...match?.labels,
    [labelKey.instanceType]: type.name,
    [labelKey.zone]: offering.zone,
    [labelKey.capacityType]: offering.capacityType,
  };
}
