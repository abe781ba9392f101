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
  const nodes = new Map<NodePool, Map<InstanceType, Map<Offering, OfferedNode>>>();
  const nodeOf = (pool: NodePool, place: OfferingPlace): OfferedNode => {
    const type = typeOf(pool.metadata.name, place.instanceType);
    const offering = type?.offerings.find((one) => isPlace(one, place));
    if (type === undefined || offering === undefined) return offeredNode(pool, place, type, offering);
    const ofPool = nodes.get(pool) ?? new Map<InstanceType, Map<Offering, OfferedNode>>();
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    nodes.set(pool, ofPool);
    const ofType = ofPool.get(type) ?? new Map<Offering, OfferedNode>();
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    ofPool.set(type, ofType);
    const node = ofType.get(offering) ?? offeredNode(pool, place, type, offering);
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

function offeredNode(
  pool: NodePool,
  place: OfferingPlace,
  type: InstanceType | undefined,
  offering: Offering | undefined,
): OfferedNode {
  return {
    labels: labelsOf(pool, place, type, offering),
    contradictsTemplate: contradictsTemplate(pool, place, type, offering),
  };
}

function labelsOf(
  { metadata, spec: { template } }: NodePool,
  { instanceType, zone, capacityType, reservationId }: OfferingPlace,
  type: InstanceType | undefined,
  offering: Offering | undefined,
): PossibleLabels {
  const { group, kind, name } = template.spec.nodeClassRef;
  const fixed = {
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
  };
  return new Map([...ownLabels(type), ...normalized(fixed)]);
}

function contradictsTemplate(
  pool: NodePool,
  { instanceType, zone, capacityType }: OfferingPlace,
  type: InstanceType | undefined,
  offering: Offering | undefined,
): boolean {
  const own = new Map([...ownLabels(type), ...normalized(offering?.labels ?? {})]);
  own.set(labelKey.instanceType, [instanceType]).set(labelKey.zone, [zone]).set(labelKey.capacityType, [capacityType]);
  return Object.entries(pool.spec.template.metadata?.labels ?? {}).some(
    ([key, value]) => own.get(normalizeKey(key))?.includes(value) === false,
  );
}

type LabelEntry = readonly [string, ReadonlyArray<string>];

function ownLabels(type: InstanceType | undefined): ReadonlyArray<LabelEntry> {
  return Object.entries(type?.labels ?? {}).map(([key, values]) => [normalizeKey(key), values]);
}

function normalized(labels: Readonly<Record<string, string>>): ReadonlyArray<LabelEntry> {
  return Object.entries(labels).map(([key, value]) => [normalizeKey(key), [value]]);
}
