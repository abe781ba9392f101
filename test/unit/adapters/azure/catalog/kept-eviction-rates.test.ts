import { describe, expect, test } from 'vitest';
import { MemoryBlobs } from '../../../../simulation/world/memory-blobs.ts';
import type { RatesReading } from '../../../../../shared/adapters/azure/catalog/eviction-rates.ts';
import { parseKeptRates, refreshKeptRates } from '../../../../../shared/adapters/azure/catalog/kept-eviction-rates.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = 1_000_000_000;
const rates = new Map([['standard_d4s_v5', 0.025]]);
const read: RatesReading = { kind: 'read', rates, unreadable: ['odd'] };
const unknown: RatesReading = { kind: 'unknown', why: 'no rates', fix: 'give a role' };

/** A blob that is refreshed again and again, and how often Azure was asked. */
function keeping() {
  const blobs = new MemoryBlobs();
  const state = { asked: 0 };
  const refresh = (nowMs: number, reading: RatesReading | Error = read) =>
    refreshKeptRates(blobs, 'rates', nowMs, () => {
      state.asked += 1;
      return reading instanceof Error ? Promise.reject(reading) : Promise.resolve(reading);
    });
  const known = (nowMs: number) => parseKeptRates(blobs.readNow('rates')?.bytes ?? null, nowMs);
  return { blobs, state, refresh, known };
}

const none = { atMs: null, rates: new Map() };

describe('rates', () => {
  test('are asked for once an hour, and told with what nobody could read of them', async () => {
    const { state, refresh, known } = keeping();
    expect(await refresh(START)).toEqual({ kind: 'read', unreadable: ['odd'] });
    expect(await refresh(START + HOUR - 1)).toEqual({ kind: 'recent' });
    expect(known(START + HOUR)).toEqual({ atMs: START, rates });
    await refresh(START + HOUR);
    expect(state.asked).toBe(2);
  });

  test('that Azure did not give are asked for again in ten minutes, and what was known stays', async () => {
    const { state, refresh, known } = keeping();
    await refresh(START);
    expect(await refresh(START + HOUR, unknown)).toEqual(unknown);
    expect(known(START + HOUR)).toEqual({ atMs: START, rates });
    expect(await refresh(START + HOUR + 10 * MINUTE - 1, unknown)).toEqual({ kind: 'recent' });
    expect(await refresh(START + HOUR + 10 * MINUTE)).toMatchObject({ kind: 'read' });
    expect(state.asked).toBe(3);
    expect(known(START + 2 * HOUR).atMs).toBe(START + HOUR + 10 * MINUTE);
  });

  test('that were never read are none', async () => {
    const { refresh, known } = keeping();
    expect(known(START)).toEqual(none);
    await refresh(START, unknown);
    expect(known(START)).toEqual(none);
  });

  test('are in force for two days', async () => {
    const { refresh, known } = keeping();
    await refresh(START);
    expect(known(START + 48 * HOUR - 1)).toEqual({ atMs: START, rates });
    expect(known(START + 48 * HOUR)).toEqual(none);
  });

  test('whose reading breaks stop nothing, and are asked for by the next sweep', async () => {
    const { state, refresh, blobs } = keeping();
    expect(await refresh(START, new Error('reset'))).toEqual({ kind: 'unknown', why: 'reset', fix: null });
    expect(blobs.readNow('rates')).toBeNull();
    await refresh(START + 1);
    expect(state.asked).toBe(2);
  });

  test.for(['{', 'null', '{"version":2,"askedAtMs":1000000000,"readAtMs":1000000000,"rates":[["a",1]]}'])(
    'of which the record says %s are asked for anew',
    async (text) => {
      const { state, refresh, blobs, known } = keeping();
      blobs.writeNow('rates', new TextEncoder().encode(text), 'any');
      expect(known(START)).toEqual(none);
      await refresh(START);
      expect([state.asked, known(START)]).toEqual([1, { atMs: START, rates }]);
    },
  );
});
