import { gunzipSync, gzipSync } from 'node:zlib';
import type { InstanceType } from '../../../core/model/catalog.ts';
import { spotShortages, type SpotShortage, type SpotStorm } from '../../../core/offerings/spot-storms.ts';
import type { Catalogs, RefusedOffering } from '../../../ports/cloud.ts';
import { RetryableError } from '../../../ports/errors.ts';
import type { NodeClass } from '../../../ports/kubernetes.ts';
import type { Blobs } from '../../../ports/blobs.ts';
import { once } from '../../once.ts';
import { toRetryable } from '../calls/azure-error.ts';
import type { Clients } from '../calls/clients.ts';
import { evictionsPerHour, readEvictionRates } from './eviction-rates.ts';
import { type InstanceTypeSettings, toInstanceTypeNames, toInstanceTypes } from './instance-types.ts';
import { type KeptRates, parseKeptRates, refreshKeptRates } from './kept-eviction-rates.ts';
import { sharedQuotas } from './kept-quotas.ts';
import { type Quotas, isBeyondQuota, isRestored, quotaUse } from './quotas.ts';
import { type Refusal, isCovered, mergeRefusals, spotRefusals, toRefusal } from './refusals.ts';
import { offeringStorm, sharedSpotMemory, shortageStorm } from './kept-spot-storms.ts';
import { readRetailPrices } from './retail-prices.ts';
import { sharedBlob, updateBlob } from './shared-blob.ts';
import { type Sku, toSku } from './sku.ts';

export interface CatalogParts {
  readonly cluster: string;
  readonly subscription: string;
  readonly clients: Clients;
  readonly blobs: Blobs;
  readonly settings: InstanceTypeSettings;
  readonly pricesEndpoint: string | undefined;
  /** What prices are in (ISO 4217). */
  readonly currency: string;
  readonly now: () => number;
}

/** Azure's catalogs, with what only this adapter's neighbours ask of them. */
export interface AzureCatalogs extends Catalogs {
  readonly sku: (name: string) => Promise<Sku | null>;
}

interface SkuCatalog {
  readonly version: 2;
  readonly builtAtMs: number;
  readonly skus: ReadonlyArray<Sku>;
}

/** Sizes and prices change within days; Karpenter asks twice a day. */
const STALE_MS = 12 * 60 * 60_000;

export function createCatalogs(parts: CatalogParts): AzureCatalogs {
  const { cluster, subscription, clients, blobs, settings, currency, now } = parts;
  // Prices of another currency are another catalog's, so that a change of the setting holds at once.
  const catalogBlob = `${settings.location}.${currency}.json.gz`;
  const refusalsBlob = `${cluster}/refused.json`;
  // The region's, not the cluster's.
  const ratesBlob = `${settings.location}.eviction-rates.json`;
  const refusals = sharedBlob(parts, refusalsBlob, (bytes): ReadonlyArray<Refusal> =>
    mergeRefusals(bytes === null ? [] : parseRefusals(bytes), [], now()),
  );
  const spot = sharedSpotMemory(parts);
  const quotas = sharedQuotas(parts);
  const rates = sharedBlob(parts, ratesBlob, (bytes) => parseKeptRates(bytes, now()));
  const built = new Map<string, ReadonlyArray<InstanceType>>();

  const refresh = async (): Promise<SkuCatalog> => {
    const fresh: SkuCatalog = { version: 2, builtAtMs: now(), skus: await readSkus(parts) };
    // An empty answer is a fault of the source, not a region without machines.
    if (fresh.skus.length === 0) throw new RetryableError(`Azure lists no VM sizes for ${settings.location}`);
    await blobs.write(catalogBlob, gzipSync(JSON.stringify(fresh)), 'any');
    built.clear();
    return fresh;
  };
  const load = async (): Promise<SkuCatalog> => {
    const blob = await blobs.read(catalogBlob);
    const stored = blob === null ? null : parseCatalog(blob.bytes);
    return stored !== null && now() - stored.builtAtMs < 2 * STALE_MS ? stored : refresh();
  };
  let catalog = once(load);
  const current = async (): Promise<SkuCatalog> => {
    const asked = catalog;
    const known = await asked();
    if (now() - known.builtAtMs < 2 * STALE_MS) return known;
    // All who find it old share what is loaded next.
    if (catalog === asked) catalog = once(load);
    return catalog();
  };
  const sku = async (name: string): Promise<Sku | null> => find(await current(), name);

  return {
    currency,
    sku,
    refresh: async () => {
      const fresh = await refresh();
      catalog = () => Promise.resolve(fresh);
    },
    instanceTypes: async (nodeClass) => {
      const refusing = refusals.read();
      const [known, refused, storms, rows, kept] = await Promise.all([
        current(),
        refusing,
        spot.storms(),
        quotas.readFor(refusing),
        rates.read(),
      ]);
      const offered = {
        refused: refused.filter((one) => !isRestored(rows, one)),
        storms,
        shortages: spotShortages(spotRefusals(refused), now()),
      };
      const key = JSON.stringify([known.builtAtMs, nodeClass.spec, offered, [...rows.rows], kept.atMs]);
      const cached = built.get(key);
      if (cached !== undefined) return cached;
      const types = build(known, nodeClass, { ...offered, quotas: rows.rows, kept }, parts);
      // One entry per class is enough: a new state of refusals replaces the old.
      if (built.size >= BUILT_MAX) built.clear();
      built.set(key, types);
      return types;
    },
    instanceTypeNames: async (nodeClass) => toInstanceTypeNames((await current()).skus, nodeClass),
    refreshQuotas: quotas.refresh,
    refreshEvictionRates: () =>
      refreshKeptRates(blobs, ratesBlob, now(), () =>
        readEvictionRates(clients, { subscription, location: settings.location }),
      ),
    refuse: async (added) => {
      const rows = await Promise.all(
        added.map(async (one) => toRefusal(one, await sku(one.offering.instanceType), now())),
      );
      const merge = (bytes: Uint8Array | null): ReadonlyArray<Refusal> =>
        mergeRefusals(bytes === null ? [] : parseRefusals(bytes), rows, now());
      refusals.put(await updateBlob(blobs, refusalsBlob, merge, renderRefusals));
    },
    evicted: async (machines) => spot.note(machines, (await current()).skus),
    nextRetryMs: async () => firstEnd(await refusals.read()),
  };
}

/** When the first of them ends, milliseconds since the epoch; null where there is none. */
function firstEnd(all: ReadonlyArray<Refusal>): number | null {
  return all.length === 0 ? null : Math.min(...all.map(({ untilMs }) => untilMs));
}

function renderRefusals(all: ReadonlyArray<Refusal>): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(all));
}

function find({ skus }: SkuCatalog, size: string): Sku | null {
  return skus.find(({ name }) => name === size) ?? null;
}

/** Classes times recent states of refusals. */
const BUILT_MAX = 16;

/** What all instances share about offerings. */
interface Known {
  readonly refused: ReadonlyArray<Refusal>;
  readonly storms: ReadonlyArray<SpotStorm>;
  readonly shortages: ReadonlyArray<SpotShortage>;
  readonly quotas: Quotas;
  readonly kept: KeptRates;
}

function build(
  { skus }: SkuCatalog,
  nodeClass: NodeClass,
  { refused, storms, shortages, quotas, kept }: Known,
  { settings, now }: CatalogParts,
): ReadonlyArray<InstanceType> {
  const nowMs = now();
  return toInstanceTypes(
    skus,
    nodeClass,
    settings,
    (sku, zone, capacityType) =>
      isBeyondQuota(quotas, sku, capacityType) || isCovered(refused, sku, zone, capacityType, nowMs),
    {
      useOfQuota: (sku, capacityType) => quotaUse(quotas, sku, capacityType),
      evictionsPerHour: (sku) => evictionsPerHour(kept.rates, sku),
      stormOf: (sku, zone) => offeringStorm(storms, sku.quotaFamily, zone) ?? shortageStorm(shortages, zone),
    },
  );
}

async function readSkus({ clients, settings, currency, pricesEndpoint }: CatalogParts): Promise<ReadonlyArray<Sku>> {
  const { location } = settings;
  const [raw, prices] = await Promise.all([
    readSkuList(clients, location),
    readRetailPrices({ location, currency }, pricesEndpoint),
  ]);
  return raw.flatMap((entry) => {
    const sku = toSku(entry, location);
    return sku === null ? [] : [{ ...sku, ...(prices.get(sku.name) ?? UNPRICED) }];
  });
}

const UNPRICED = { onDemandMicroUsd: null, spotMicroUsd: null } as const;

async function readSkuList(clients: Clients, location: string): Promise<ReadonlyArray<Parameters<typeof toSku>[0]>> {
  try {
    const compute = await clients.compute();
    return await Array.fromAsync(compute.resourceSkus.list({ filter: `location eq '${location}'` }));
  } catch (error) {
    throw toRetryable(`listing VM sizes of ${location}`, error);
  }
}

/** Null for a catalog that cannot be read: it is then built again. */
function parseCatalog(bytes: Uint8Array): SkuCatalog | null {
  try {
    const value = JSON.parse(gunzipSync(bytes).toString('utf8')) as SkuCatalog;
    return value.version === 2 && Array.isArray(value.skus) ? value : null;
  } catch {
    return null;
  }
}

/** Nothing for a blob that cannot be read: refusals are learned again. */
function parseRefusals(bytes: Uint8Array): ReadonlyArray<Refusal> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return Array.isArray(value) ? (value as ReadonlyArray<Refusal>) : [];
  } catch {
    return [];
  }
}

export type { RefusedOffering };
