import { annotation, label } from '../../contract/names.ts';
import type { CapacityType, InstanceType, Offering } from '../../core/model/catalog.ts';
import { nodeLabels } from '../../core/launch/node-labels.ts';
import type { Labels, NodeClaim } from '../../kubernetes/manifest.ts';

/** What a machine is, or is to be. */
export type OfferingName = Pick<Offering, 'zone' | 'capacityType'> & { readonly instanceType: string };

/**
 * The labels of a claim with such a machine, of which `own` are its own. Of a size that is not in `types` all but the
 * offering is unknown.
 */
export function labelsWith(types: ReadonlyArray<InstanceType>, offering: OfferingName, own: Labels): Labels {
  const type = types.find(({ name }) => name === offering.instanceType);
  return {
    ...(type === undefined ? {} : nodeLabels(type, offering)),
    ...own,
    [label.instanceType]: offering.instanceType,
    [label.zone]: offering.zone,
    [label.capacityType]: offering.capacityType,
  };
}

/**
 * The claim's labels without those that its creation put there because of what it was planned as: a launch as something
 * else has others.
 */
export function ownLabels({ metadata }: NodeClaim, types: ReadonlyArray<InstanceType>): Labels {
  const { labels = {} } = metadata;
  const planned = plannedOfferingOf({ metadata });
  if (planned === null) return labels;
  const promised = labelsWith(types, planned, {});
  return Object.fromEntries(Object.entries(labels).filter(([key, value]) => promised[key] !== value));
}

/** As the annotation on claims has it. */
export function renderOffering({ instanceType, zone, capacityType }: OfferingName): string {
  return `${instanceType}/${zone}/${capacityType}`;
}

/** What a claim was planned as; null when it was made by somebody else. */
export function plannedOfferingOf({ metadata }: Pick<NodeClaim, 'metadata'>): OfferingName | null {
  const [instanceType, zone, capacityType] = metadata.annotations?.[annotation.plannedOffering]?.split('/') ?? [];
  if (instanceType === undefined || zone === undefined || !isCapacityType(capacityType)) return null;
  return { instanceType, zone, capacityType };
}

function isCapacityType(text: string | undefined): text is CapacityType {
  return text === 'spot' || text === 'on-demand' || text === 'reserved';
}
