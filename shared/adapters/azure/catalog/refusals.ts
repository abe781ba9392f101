import type { CapacityType } from '../../../core/model/catalog.ts';
import type { SpotRefusal } from '../../../core/offerings/spot-storms.ts';
import type { RefusedOffering } from '../../../ports/cloud.ts';
import type { Sku } from './sku.ts';

/** A refusal as the shared blob keeps it. `family` and `vCpus` are the refused size's, for scope `family`. */
export interface Refusal {
  readonly scope: RefusedOffering['scope'];
  readonly size: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly family: string;
  readonly vCpus: number;
  readonly untilMs: number;
  readonly reason: string;
  /** When it was refused; absent in what earlier versions wrote. */
  readonly atMs?: number;
}

export function toRefusal(
  { scope, offering, untilMs, reason }: RefusedOffering,
  sku: Sku | null,
  nowMs: number,
): Refusal {
  const { instanceType, zone, capacityType } = offering;
  const [family, vCpus] = [sku?.quotaFamily.toLowerCase() ?? '', sku?.vCpus ?? 0];
  return { scope, size: instanceType, zone, capacityType, family, vCpus, untilMs, reason, atMs: nowMs };
}

/** `known` and `added` without what has ended; of refusals of the same thing the one that lasts longest. */
export function mergeRefusals(
  known: ReadonlyArray<Refusal>,
  added: ReadonlyArray<Refusal>,
  nowMs: number,
): ReadonlyArray<Refusal> {
  const byKey = new Map<string, Refusal>();
  for (const refusal of [...known, ...added]) {
    if (refusal.untilMs <= nowMs) continue;
    const key = [refusal.scope, refusal.size, refusal.zone, refusal.capacityType].join('/');
    const previous = byKey.get(key);
    if (previous === undefined || previous.untilMs < refusal.untilMs) byKey.set(key, refusal);
  }
  return [...byKey.values()];
}

/**
 * What is about capacity, and not about a size that cannot be spot, a quota, a boot or an eviction: Karpenter's words
 * for what the request was refused with, and Azure's codes for what a machine failed with afterwards.
 */
const NO_CAPACITY: ReadonlySet<string> = new Set([
  'SkuNotAvailable',
  'ZonalAllocationFailed',
  'AllocationFailed',
  'OverconstrainedZonalAllocationRequest',
  'OverconstrainedAllocationRequest',
  'SKUNotAvailable',
  'ZonalAllocationFailure',
  'AllocationFailure',
  'OverconstrainedZonalAllocationFailure',
  'OverconstrainedAllocationFailure',
]);

/** Spot that there was none of, by size and zone that was asked for. */
export function spotRefusals(refusals: ReadonlyArray<Refusal>): ReadonlyArray<SpotRefusal> {
  return refusals.flatMap(({ capacityType, reason, size, family, zone, atMs }) =>
    capacityType === 'spot' && NO_CAPACITY.has(reason) && atMs !== undefined ? [{ size, family, zone, atMs }] : [],
  );
}

/** Does any refusal in force cover this offering? */
export function isCovered(
  refusals: ReadonlyArray<Refusal>,
  sku: Sku,
  zone: string,
  capacityType: CapacityType,
  nowMs: number,
): boolean {
  return refusals.some((refusal) => refusal.untilMs > nowMs && covers(refusal, sku, zone, capacityType));
}

function covers(refusal: Refusal, sku: Sku, zone: string, capacityType: CapacityType): boolean {
  const sameType = refusal.capacityType === capacityType;
  switch (refusal.scope) {
    case 'region':
      return sameType;
    case 'spot':
      return capacityType === 'spot';
    case 'family':
      return sameType && refusal.family === sku.quotaFamily.toLowerCase() && sku.vCpus >= refusal.vCpus;
    case 'size':
      return sameType && refusal.size === sku.name;
    case 'zone':
      return refusal.size === sku.name && refusal.zone === zone;
    case 'offering':
      return sameType && refusal.size === sku.name && refusal.zone === zone;
    default:
      return refusal.scope satisfies never;
  }
}
