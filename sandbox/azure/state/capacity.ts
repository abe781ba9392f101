import type { ArmErrorBody } from '../arm/arm-error.ts';

/** Allocation errors, and when they come: `SkuNotAvailable` at once, the others from the operation. */
export type CapacityError =
  | 'SkuNotAvailable'
  | 'ZonalAllocationFailed'
  | 'AllocationFailed'
  | 'OverconstrainedZonalAllocationRequest'
  | 'OverconstrainedAllocationRequest';

/** What there is no room for. Null in a field means every one. */
export interface Exhaustion {
  readonly size: string | null;
  /** A logical zone; `none` for VMs without a zone. */
  readonly zone: string | null;
  readonly capacityType: 'spot' | 'on-demand' | null;
  readonly code: CapacityError;
  /** How many VMs still fit before the refusals begin. */
  readonly remaining: number;
}

/** What one VM asks of the allocator. */
export interface Placement {
  readonly size: string;
  readonly zone: string | null;
  readonly capacityType: 'spot' | 'on-demand';
}

/** Where the double's region has no room. Everything fits until told otherwise. */
export class Capacity {
  #exhaustions: ReadonlyArray<Exhaustion> = [];
  readonly #failedZones = new Set<string>();

  /** Later words are heard first: a narrower exhaustion may follow a wide one. */
  exhaust(exhaustion: Exhaustion): void {
    this.#exhaustions = [exhaustion, ...this.#exhaustions];
  }

  failZone(zone: string): void {
    this.#failedZones.add(zone);
  }

  /** Ends every exhaustion and every zone failure. */
  restore(): void {
    this.#exhaustions = [];
    this.#failedZones.clear();
  }

  read(): { readonly exhaustions: ReadonlyArray<Exhaustion>; readonly failedZones: ReadonlyArray<string> } {
    return { exhaustions: this.#exhaustions, failedZones: [...this.#failedZones] };
  }

  /** Whether a VM would be refused now. */
  isFull(placement: Placement): boolean {
    const failed = placement.zone !== null && this.#failedZones.has(placement.zone);
    return failed || this.#find(placement, () => true) !== undefined;
  }

  /** The refusal at the time of the PUT, null when there is none. */
  refusalAtOnce(placement: Placement, region: string): ArmErrorBody | null {
    const found = this.#find(placement, (code) => code === 'SkuNotAvailable');
    if (found === undefined) return null;
    return { code: 'SkuNotAvailable', message: messageOf('SkuNotAvailable', placement, region) };
  }

  /** The allocator's refusal, null when there is room; takes the room when there is. */
  allocate(placement: Placement, region: string): ArmErrorBody | null {
    if (placement.zone !== null && this.#failedZones.has(placement.zone))
      return { code: 'ZonalAllocationFailed', message: messageOf('ZonalAllocationFailed', placement, region) };
    const found = this.#find(placement, (code) => code !== 'SkuNotAvailable');
    if (found !== undefined) return { code: found.code, message: messageOf(found.code, placement, region) };
    this.#exhaustions = this.#exhaustions.map((entry) =>
      covers(entry, placement) && entry.remaining > 0 ? { ...entry, remaining: entry.remaining - 1 } : entry,
    );
    return null;
  }

  #find(placement: Placement, wanted: (code: CapacityError) => boolean): Exhaustion | undefined {
    return this.#exhaustions.find((entry) => wanted(entry.code) && entry.remaining <= 0 && covers(entry, placement));
  }
}

function covers(entry: Exhaustion, { size, zone, capacityType }: Placement): boolean {
  return (
    (entry.size === null || entry.size.toLowerCase() === size.toLowerCase()) &&
    (entry.zone === null || entry.zone === (zone ?? 'none')) &&
    (entry.capacityType === null || entry.capacityType === capacityType)
  );
}

/**
 * The words are Azure's, as reported (test/fixtures/azure-recordings, error-vm-and-nic-reported): they name no zone and
 * no capacity type.
 */
function messageOf(code: CapacityError, { size }: Placement, region: string): string {
  if (code === 'SkuNotAvailable') return skuNotAvailable(size, region);
  if (code === 'ZonalAllocationFailed') return noCapacity('zone');
  if (code === 'AllocationFailed') return noCapacity('region');
  return overconstrained(code === 'OverconstrainedAllocationRequest' ? ['VM Size'] : ['Availability Zone', 'VM Size']);
}

/** What Azure says of a size that it has not, for whatever reason. */
export function skuNotAvailable(size: string, region: string): string {
  return (
    `The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: ${size}' is currently not ` +
    `available in location '${region}'. Please try another size or deploy to a different location or different zone. ` +
    'See https://aka.ms/azureskunotavailable for details.'
  );
}

function noCapacity(place: 'zone' | 'region'): string {
  return (
    `Allocation failed. We do not have sufficient capacity for the requested VM size in this ${place}. Read more about ` +
    'improving likelihood of allocation success at http://aka.ms/allocation-guidance'
  );
}

function overconstrained(constraints: ReadonlyArray<string>): string {
  const list = constraints.map((constraint) => `  - ${constraint}\n`).join('');
  return (
    'Allocation failed. VM(s) with the following constraints cannot be allocated, because the condition is too restrictive. ' +
    `Please remove some constraints and try again. Constraints applied are:\n${list}`
  );
}
