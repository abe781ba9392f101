import type { MicroUsdPerHour } from '../quantity/units.ts';
import type { ResourceList } from '../../kubernetes/manifest.ts';

export type CapacityType = 'spot' | 'on-demand' | 'reserved';

/** What a node takes of the quotas that hold for it, and what was left of each when the cloud was asked. */
export interface QuotaUse {
  readonly cores: number;
  readonly of: ReadonlyArray<{ readonly name: string; readonly left: number }>;
}

/**
 * So many spot machines like it, of so many, were evicted within a few minutes; or Azure had no spot of many sizes in
 * its zone.
 */
export interface OfferingStorm {
  readonly evicted: number;
  readonly of: number;
  /** Sizes of which there was no spot in its zone; absent where it is about evictions. */
  readonly refusedSizes?: number;
  /** As often as a new one is thought to be evicted; above 1. */
  readonly evictionsPerHour: number;
  /** As Kubernetes writes times. */
  readonly until: string;
}

/** An instance type in one zone with one capacity type. */
export interface Offering {
  /** `westeurope-1`, or `0` for a VM without a zone, as AKS labels it. */
  readonly zone: string;
  readonly capacityType: CapacityType;
  /** Of a reserved one: what a node adds to what the reservation costs anyway. */
  readonly price: MicroUsdPerHour;
  /** False while Azure has refused it lately, or quota does not allow it. Such an offering is never launched. */
  readonly available: boolean;
  /** Further labels that hold for this offering only, such as `karpenter.azure.com/placement-scope`. */
  readonly labels: Readonly<Record<string, string>>;
  /**
   * Of an offering of type `reserved`, and of no other: which reservation it is of, and how many more nodes that holds.
   */
  readonly reservation?: { readonly id: string; readonly remaining: number };
  /** Of a spot VM: the chance that Azure evicts it within an hour, 0 to 1. Absent where it is not known. */
  readonly evictionsPerHour?: number;
  /** Of a spot VM, while others like it are evicted in numbers: what counts for a new one in place of that. */
  readonly storm?: OfferingStorm;
  /** Absent where quota is not known. */
  readonly quota?: QuotaUse;
}

/**
 * A VM size as one NodePool's node class would run it. Allocatable = capacity − overhead, per resource, floored at 0.
 */
export interface InstanceType {
  readonly name: string;
  /** Label key to the values a node of this size may have. One value: a fact. Several: the launch decides. */
  readonly labels: Readonly<Record<string, ReadonlyArray<string>>>;
  readonly capacity: ResourceList;
  readonly overhead: ResourceList;
  readonly offerings: ReadonlyArray<Offering>;
}

/** The instance types each NodePool may use, by the pool's name. Pools that share a node class share the array. */
export type Catalog = ReadonlyMap<string, ReadonlyArray<InstanceType>>;
