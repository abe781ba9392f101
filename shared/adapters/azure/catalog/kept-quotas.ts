import { setTimeout as sleep } from 'node:timers/promises';
import type { Catalogs } from '../../../ports/cloud.ts';
import { readAzureError } from '../calls/azure-error.ts';
import type { Blobs } from '../../../ports/blobs.ts';
import type { Clients } from '../calls/clients.ts';
import {
  NO_QUOTAS,
  type KeptQuotas,
  type Quota,
  type QuotaRefusal,
  isFull,
  isQuotaReached,
  quotasInUse,
  readQuotas,
} from './quotas.ts';
import { sharedBlob } from './shared-blob.ts';

/** What all instances know of the region's quotas. */
export interface SharedQuotas {
  /** Reads them from Azure: the sweep does so every minute. */
  readonly refresh: Catalogs['refreshQuotas'];
  /**
   * As they are known; as they are now where one of them has refused a size, or one of the region is full: a node that
   * goes makes room, and what waits for that does not wait for the next sweep. `refusing` is read meanwhile.
   */
  readonly readFor: (refusing: Promise<ReadonlyArray<QuotaRefusal>>) => Promise<KeptQuotas>;
}

interface Parts {
  readonly cluster: string;
  readonly clients: Clients;
  readonly blobs: Blobs;
  readonly settings: { readonly location: string };
  readonly now: () => number;
}

interface StoredQuotas {
  readonly version: 1;
  readonly atMs: number;
  readonly rows: ReadonlyArray<readonly [string, Quota]>;
}

/**
 * Where the sweep could not read them, what is left may be anything by now, and pods would wait for a quota that has
 * room again: without them Azure refuses what is too much.
 */
const STALE_MS = 100_000;

/** While one of them has no room they are read for plans too: so often at most, and a plan waits for them so long. */
const AGAIN_MS = 15_000;
const PATIENCE_MS = 1_000;

const NONE_KEPT: KeptQuotas = { atMs: 0, rows: NO_QUOTAS };

export function sharedQuotas(parts: Parts): SharedQuotas {
  const { cluster, clients, blobs, settings, now } = parts;
  const name = `${cluster}/quotas.json`;
  const known = sharedBlob(parts, name, (bytes) => (bytes === null ? NONE_KEPT : parse(bytes, now())));
  let askedMs = -Infinity;
  const refresh: SharedQuotas['refresh'] = async () => {
    askedMs = now();
    try {
      const kept: KeptQuotas = { atMs: now(), rows: await readQuotas(clients, settings.location) };
      const stored: StoredQuotas = { version: 1, atMs: kept.atMs, rows: [...kept.rows] };
      await blobs.write(name, new TextEncoder().encode(JSON.stringify(stored)), 'any');
      known.put(kept);
      return { kind: 'read', inUse: quotasInUse(kept.rows) };
    } catch (error) {
      return { kind: 'unknown', why: readAzureError(error).message };
    }
  };
  return {
    refresh,
    readFor: async (refusing) => {
      const [kept, refused] = await Promise.all([known.read(), refusing]);
      const isOld = now() >= Math.max(kept.atMs, askedMs) + AGAIN_MS;
      const mayHaveRoom = isFull(kept) || refused.some((one) => isQuotaReached(one, now()));
      if (!isOld || !mayHaveRoom) return kept;
      // What comes later the next plan has.
      await Promise.race([refresh(), sleep(PATIENCE_MS, null, { ref: false })]);
      return known.read();
    },
  };
}

/** Nothing for a blob that cannot be read, or is old. */
function parse(bytes: Uint8Array, nowMs: number): KeptQuotas {
  try {
    const { version, atMs, rows } = JSON.parse(new TextDecoder().decode(bytes)) as StoredQuotas;
    return version === 1 && nowMs - atMs < STALE_MS ? { atMs, rows: new Map(rows) } : NONE_KEPT;
  } catch {
    return NONE_KEPT;
  }
}
