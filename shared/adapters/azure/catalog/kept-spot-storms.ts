import type { OfferingStorm } from '../../../core/model/catalog.ts';
import {
  NO_EVICTIONS,
  STORM_EVICTIONS_PER_HOUR,
  shortageIn,
  stormsAt,
  stormsOver,
  withEviction,
  type SpotMemory,
  type SpotShortage,
  type SpotStorm,
} from '../../../core/offerings/spot-storms.ts';
import type { Blobs } from '../../../ports/blobs.ts';
import type { EvictedMachine } from '../../../ports/cloud.ts';
import { sharedBlob, updateBlob } from './shared-blob.ts';
import type { Sku } from './sku.ts';

interface StoredMemory extends SpotMemory {
  readonly version: 1;
}

/** What all instances remember of spot machines that were evicted. */
export interface SharedSpotMemory {
  /** The storms that are on now. */
  storms(): Promise<ReadonlyArray<SpotStorm>>;
  /** Notes them, once per claim. Returns the storms that are on now and that they are part of. */
  note(machines: ReadonlyArray<EvictedMachine>, skus: ReadonlyArray<Sku>): Promise<ReadonlyArray<SpotStorm>>;
}

export function sharedSpotMemory(parts: {
  readonly cluster: string;
  readonly blobs: Blobs;
  readonly now: () => number;
}): SharedSpotMemory {
  const { cluster, blobs, now } = parts;
  const name = `${cluster}/evictions.json`;
  const shared = sharedBlob(parts, name, parseSpotMemory);
  return {
    storms: async () => stormsAt(await shared.read(), now()),
    note: async (machines, skus) => {
      const families = new Map(skus.map((one) => [one.name, one.quotaFamily]));
      const familyOf = (size: string): string => families.get(size) ?? size;
      const remember = (bytes: Uint8Array | null): SpotMemory =>
        machines.reduce((known, machine) => rememberEviction(known, machine, familyOf, now()), parseSpotMemory(bytes));
      const memory = await updateBlob(blobs, name, remember, renderSpotMemory);
      shared.put(memory);
      const on = stormsAt(memory, now());
      return [...new Set(machines.flatMap((one) => stormsOver(on, familyOf(one.instanceType), one.zone)))];
    },
  };
}

/**
 * What the blob remembers of evictions; nothing where there is none, or one that cannot be read: evictions are counted
 * from here on.
 */
function parseSpotMemory(bytes: Uint8Array | null): SpotMemory {
  try {
    const { version, evictions, storms } = JSON.parse(new TextDecoder().decode(bytes ?? undefined)) as StoredMemory;
    return version === 1 ? { evictions, storms } : NO_EVICTIONS;
  } catch {
    return NO_EVICTIONS;
  }
}

function renderSpotMemory({ evictions, storms }: SpotMemory): Uint8Array {
  const stored: StoredMemory = { version: 1, evictions, storms };
  return new TextEncoder().encode(JSON.stringify(stored));
}

/** `familyOf`: the quota family of a size; of a size that nobody knows the size itself. */
export function rememberEviction(
  memory: SpotMemory,
  { claim, instanceType, zone, spotInZone }: EvictedMachine,
  familyOf: (instanceType: string) => string,
  nowMs: number,
): SpotMemory {
  const family = familyOf(instanceType);
  const rows = [...spotInZone];
  const count = (some: typeof rows): number => some.reduce((sum, [, machines]) => sum + machines, 0);
  const ofFamily = count(rows.filter(([size]) => familyOf(size) === family));
  return withEviction(memory, { claim, family, zone, atMs: nowMs, ofFamily, ofZone: count(rows) });
}

/**
 * What spot of this family in this zone has to say of storms: of that which lasts longest; null where there is none.
 */
export function offeringStorm(storms: ReadonlyArray<SpotStorm>, family: string, zone: string): OfferingStorm | null {
  const [longest] = stormsOver(storms, family, zone).toSorted((a, b) => b.untilMs - a.untilMs || b.evicted - a.evicted);
  if (longest === undefined) return null;
  const { evicted, of, untilMs } = longest;
  return { evicted, of, evictionsPerHour: STORM_EVICTIONS_PER_HOUR, until: new Date(untilMs).toISOString() };
}

/**
 * What spot in the zone has to say of shortages: it counts as in a storm, so that it is bought where pods and pools
 * allow nothing else.
 */
export function shortageStorm(shortages: ReadonlyArray<SpotShortage>, zone: string): OfferingStorm | null {
  const shortage = shortageIn(shortages, zone);
  if (shortage === null) return null;
  const { refused: refusedSizes, untilMs } = shortage;
  const until = new Date(untilMs).toISOString();
  return { evicted: 0, of: 0, refusedSizes, evictionsPerHour: STORM_EVICTIONS_PER_HOUR, until };
}
