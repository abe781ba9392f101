import type { CapacityType, QuotaUse } from '../../../core/model/catalog.ts';
import type { QuotaInUse } from '../../../ports/cloud.ts';
import type { Clients } from '../calls/clients.ts';
import type { Sku } from './sku.ts';

/** One quota of the region, in cores. */
export interface Quota {
  readonly limit: number;
  readonly used: number;
}

/** By name in lower case: the families' own, `cores` of all on-demand VMs, `lowprioritycores` of all spot VMs. */
export type Quotas = ReadonlyMap<string, Quota>;

/** Nothing is known. */
export const NO_QUOTAS: Quotas = new Map();

/** Quotas with when they were read, milliseconds since the epoch. */
export interface KeptQuotas {
  readonly atMs: number;
  readonly rows: Quotas;
}

/** Reads all quotas of the region. Throws what the client throws. */
export async function readQuotas(clients: Clients, location: string): Promise<Quotas> {
  const compute = await clients.compute();
  const rows = await Array.fromAsync(compute.usage.list(location));
  return new Map(
    rows.flatMap(({ name, currentValue, limit }) =>
      name?.value === undefined || limit < 0
        ? []
        : [[name.value.toLowerCase(), { limit, used: currentValue }] as const],
    ),
  );
}

/**
 * Those of cores that something counts against. Azure lists VMs, disks and others beside them, which plans do not ask
 * about.
 */
export function quotasInUse(quotas: Quotas): ReadonlyArray<QuotaInUse> {
  return [...quotas].flatMap(([name, { used, limit }]) =>
    used > 0 && (name.endsWith('family') || name.endsWith('cores')) ? [{ name, used, limit }] : [],
  );
}

/** Which quotas a VM of the size counts against: a spot VM against one of all spot VMs alone. */
function quotasOf(quotas: Quotas, sku: Sku, capacityType: CapacityType): ReadonlyArray<readonly [string, Quota]> {
  return namesOf(sku.quotaFamily.toLowerCase(), capacityType).flatMap((name) => {
    const quota = quotas.get(name);
    return quota === undefined ? [] : [[name, quota] as const];
  });
}

/** What a VM of the size takes; null where no quota of it is known. */
export function quotaUse(quotas: Quotas, sku: Sku, capacityType: CapacityType): QuotaUse | null {
  const own = quotasOf(quotas, sku, capacityType);
  if (own.length === 0) return null;
  return { cores: sku.vCpus, of: own.map(([name, { limit, used }]) => ({ name, left: limit - used })) };
}

/**
 * Azure's list of what is in use lags behind what it has just refused: sooner after a refusal it says nothing about it.
 */
const LISTED_AFTER_MS = 30_000;

/** Why quotas refuse; of what else is refused they say nothing. */
const QUOTA_REACHED: ReadonlySet<string> = new Set(['SubscriptionQuotaReached', 'RegionalQuotaReached']);

/**
 * Has a quota that refused a size room for it by now? It may have been raised, or nodes have gone: whoever waits would
 * wait until the refusal ends, for up to an hour. Where the list is wrong, Azure refuses once more.
 */
export function isRestored({ atMs, rows }: KeptQuotas, refusal: QuotaRefusal): boolean {
  if (!isQuotaReached(refusal, atMs)) return false;
  const { capacityType, family, vCpus } = refusal;
  const own = namesOf(family, capacityType).map((name) => rows.get(name));
  return own.every((quota) => quota !== undefined && quota.limit - quota.used >= vCpus);
}

/** Does a quota refuse, and would a list of that time, milliseconds since the epoch, say whether it still does? */
export function isQuotaReached({ reason, atMs }: Pick<QuotaRefusal, 'reason' | 'atMs'>, listedMs: number): boolean {
  return QUOTA_REACHED.has(reason) && atMs !== undefined && listedMs >= atMs + LISTED_AFTER_MS;
}

/** Is a quota of all VMs of a kind in use, and has no room? One that allows nothing from the first is none. */
export function isFull({ rows }: Pick<KeptQuotas, 'rows'>): boolean {
  const ofRegion = ['cores', 'lowprioritycores'].map((name) => rows.get(name));
  return ofRegion.some((quota) => quota !== undefined && quota.used > 0 && quota.used >= quota.limit);
}

/** What a refusal says of the size that it is about. */
export interface QuotaRefusal {
  readonly reason: string;
  readonly capacityType: CapacityType;
  /** In lower case. */
  readonly family: string;
  readonly vCpus: number;
  readonly atMs?: number;
}

function namesOf(family: string, capacityType: CapacityType): ReadonlyArray<string> {
  return capacityType === 'spot' ? ['lowprioritycores'] : [family, 'cores'];
}

/** Is a quota so small that not even one VM of the size is allowed, whatever is there? Often a family's is 0. */
export function isBeyondQuota(quotas: Quotas, sku: Sku, capacityType: CapacityType): boolean {
  return quotasOf(quotas, sku, capacityType).some(([, { limit }]) => sku.vCpus > limit);
}
