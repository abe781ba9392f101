import type { EvictionRatesOutcome } from '../../../ports/cloud.ts';
import type { Blobs } from '../../../ports/blobs.ts';
import { readAzureError } from '../calls/azure-error.ts';
import type { EvictionRates, RatesReading } from './eviction-rates.ts';

/** The rates as the blob keeps them. */
interface StoredRates {
  readonly version: 1;
  /** Of the last attempt. */
  readonly askedAtMs: number;
  /** Of the last attempt that brought rates; null when none did yet. */
  readonly readAtMs: number | null;
  readonly rates: ReadonlyArray<readonly [string, number]>;
}

/** The rates that are in force, and when they were read: null where none are. */
export interface KeptRates {
  readonly atMs: number | null;
  readonly rates: EvictionRates;
}

/** Azure counts over 28 days, so a rate moves once a day at most. */
const RECENT_MS = 60 * 60_000;

/** A right just given shows within minutes, and a refusal does not fill the log with a line a minute. */
const TRY_AGAIN_MS = 10 * 60_000;

/** Of the 28 days that a rate covers two make little difference; by then a day of attempts and another have failed. */
const STALE_MS = 48 * 60 * 60_000;

const NONE: KeptRates = { atMs: null, rates: new Map() };

/**
 * The rates of a blob. None where there is no blob, or one that cannot be read or is old: plans then know nothing of
 * evictions.
 */
export function parseKeptRates(bytes: Uint8Array | null, nowMs: number): KeptRates {
  const { readAtMs = null, rates = [] } = parseStored(bytes) ?? {};
  return readAtMs !== null && nowMs - readAtMs < STALE_MS ? { atMs: readAtMs, rates: new Map(rates) } : NONE;
}

/** Reads the rates from Azure for all instances when those in the blob are no longer recent. Never throws. */
export async function refreshKeptRates(
  blobs: Blobs,
  name: string,
  nowMs: number,
  read: () => Promise<RatesReading>,
): Promise<EvictionRatesOutcome> {
  try {
    const known = parseStored((await blobs.read(name))?.bytes ?? null);
    if (known !== null && nowMs - known.askedAtMs < pauseAfter(known)) return { kind: 'recent' };
    const reading = await read();
    const stored: StoredRates =
      reading.kind === 'read'
        ? { version: 1, askedAtMs: nowMs, readAtMs: nowMs, rates: [...reading.rates] }
        : { version: 1, askedAtMs: nowMs, readAtMs: known?.readAtMs ?? null, rates: known?.rates ?? [] };
    await blobs.write(name, new TextEncoder().encode(JSON.stringify(stored)), 'any');
    return reading.kind === 'read' ? { kind: 'read', unreadable: reading.unreadable } : reading;
  } catch (error) {
    return { kind: 'unknown', why: readAzureError(error).message, fix: null };
  }
}

function pauseAfter({ askedAtMs, readAtMs }: StoredRates): number {
  return readAtMs === askedAtMs ? RECENT_MS : TRY_AGAIN_MS;
}

/** Null for a blob that cannot be read: the rates are then read again. */
function parseStored(bytes: Uint8Array | null): StoredRates | null {
  try {
    const value = JSON.parse(new TextDecoder().decode(bytes ?? undefined)) as StoredRates;
    return value.version === 1 ? value : null;
  } catch {
    return null;
  }
}
