import type { Catalog, InstanceType, Offering } from '../../model/catalog.ts';
import type { NodePool } from '../../../kubernetes/manifest.ts';
import { labelKey, normalizeKey } from '../../../kubernetes/labels.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import type { PlannedClaim } from '../../model/plan.ts';
import type { PossibleLabels } from './matching.ts';

/** What tells an offering from the others of a pool. */
export type OfferingPlace = Pick<PlannedClaim['offering'], 'instanceType' | 'zone' | 'capacityType' | 'reservationId'>;

/** Is the size's offering the one that is meant? */
export function isPlace({ zone, capacityType, reservation }: Offering, place: OfferingPlace): boolean {
  return zone === place.zone && capacityType === place.capacityType && reservation?.id === place.reservationId;
}

/** Where the size's offering is. */
export function placeOf(instanceType: string, { zone, capacityType, reservation }: Offering): OfferingPlace {
  const place = { instanceType, zone, capacityType };
  return reservation === undefined ? place : { ...place, reservationId: reservation.id };
}

/** A node of a size, zone and capacity type in a pool, before what the plan itself says. */
export interface OfferedNode {
  readonly labels: PossibleLabels;
  /** Is there a label of the pool's template that such a node would not have by itself? */
  readonly contradictsTemplate: boolean;
}

/** The catalog as it is asked: each size found by its name, each offering read once per pool. */
export interface Sizes {
  readonly typeOf: (pool: string, name: string) => InstanceType | undefined;
  /** Also where there is no such offering: a plan may state anything. */
  readonly nodeOf: (pool: NodePool, place: OfferingPlace) => OfferedNode;
}

/** An input of the audit with its sizes, which are those of its catalog. */
export interface AuditedInput extends ProvisioningInput {
  readonly sizes: Sizes;
}

/** What is asked later is answered from the catalog as it is now. */
export function sizesOf(catalog: Catalog): Sizes {
  // Pools that share a list share its index.
  const byName = new Map<ReadonlyArray<InstanceType>, ReadonlyMap<string, InstanceType>>();
  const typeOf = (pool: string, name: string): InstanceType | undefined => {
    const types = catalog.get(pool);
    if (types === undefined) return undefined;
    const known = byName.get(types) ?? indexed(types);
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    byName.set(types, known);
    return known.get(name);
  };
  // Pools share sizes, and sizes have many offerings.
  const own = new Map<InstanceType, PossibleLabels>();
  const ownOf = (type: InstanceType | undefined): PossibleLabels => {
    if (type === undefined) return new Map();
    const labels = own.get(type) ?? ownLabels(type);
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    own.set(type, labels);
    return labels;
  };
  const nodes = new Map<NodePool, Map<InstanceType, Map<Offering, OfferedNode>>>();
  const nodeOf = (pool: NodePool, place: OfferingPlace): OfferedNode => {
    const type = typeOf(pool.metadata.name, place.instanceType);
    const offering = type?.offerings.find((one) => isPlace(one, place));
    if (type === undefined || offering === undefined) return offeredNode(pool, place, ownOf(type), offering);
    const ofPool = nodes.get(pool) ?? new Map<InstanceType, Map<Offering, OfferedNode>>();
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    nodes.set(pool, ofPool);
    const ofType = ofPool.get(type) ?? new Map<Offering, OfferedNode>();
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    ofPool.set(type, ofType);
    const node = ofType.get(offering) ?? offeredNode(pool, place, ownOf(type), offering);
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    ofType.set(offering, node);
    return node;
  };
  return { typeOf, nodeOf };
}

/** Of sizes with the same name the first counts. */
function indexed(types: ReadonlyArray<InstanceType>): ReadonlyMap<string, InstanceType> {
  return new Map(types.toReversed().map((type) => [type.name, type]));
}

/** `own`: the labels of the size. */
function offeredNode(
  pool: NodePool,
  place: OfferingPlace,
  own: PossibleLabels,
  offering: Offering | undefined,
): OfferedNode {
  return {
    labels: labelsOf(pool, place, own, offering),
    contradictsTemplate: contradictsTemplate(pool, place, own, offering),
  };
}

function labelsOf(
  { metadata, spec: { template } }: NodePool,
  { instanceType, zone, capacityType, reservationId }: OfferingPlace,
  own: PossibleLabels,
  offering: Offering | undefined,
): PossibleLabels {
  const { group, kind, name } = template.spec.nodeClassRef;
  return withLabels(own, {
    ...offering?.labels,
    ...(reservationId === undefined ? {} : { [labelKey.reservation]: reservationId }),
    ...template.metadata?.labels,
    [labelKey.instanceType]: instanceType,
    [labelKey.zone]: zone,
    [labelKey.capacityType]: capacityType,
    [labelKey.nodePool]: metadata.name,
    [labelKey.registered]: 'true',
    [labelKey.initialized]: 'true',
    [`${group}/${kind.toLowerCase()}`]: name,
  });
}

function contradictsTemplate(
  pool: NodePool,
  { instanceType, zone, capacityType }: OfferingPlace,
  own: PossibleLabels,
  offering: Offering | undefined,
): boolean {
  const template = Object.entries(pool.spec.template.metadata?.labels ?? {});
  // Stryker disable next-line ConditionalExpression: a shortcut, no label contradicts none
  if (template.length === 0) return false;
  const labels = withLabels(withLabels(own, offering?.labels ?? {}), {
    [labelKey.instanceType]: instanceType,
    [labelKey.zone]: zone,
    [labelKey.capacityType]: capacityType,
  });
  return template.some(([key, value]) => labels.get(normalizeKey(key))?.includes(value) === false);
}

function ownLabels({ labels }: InstanceType): PossibleLabels {
  return new Map(Object.entries(labels).map(([key, values]) => [normalizeKey(key), values]));
}

/** A copy, in which each of `more` has that one value. */
function withLabels(labels: PossibleLabels, more: Readonly<Record<string, string>>): PossibleLabels {
  const all = new Map(labels);
  for (const [key, value] of Object.entries(more)) all.set(normalizeKey(key), [value]);
  return all;
}
