import { beforeAll, expect, it } from 'vitest';
import type { Clients } from '../../../../shared/adapters/azure/calls/clients.ts';
import { readEvictionRates, type EvictionRates } from '../../../../shared/adapters/azure/catalog/eviction-rates.ts';

/** A subscription whose spot VMs Azure tells about: the double's, or a real one. */
export interface Subject {
  readonly clients: Pick<Clients, 'compute' | 'graph'>;
  readonly subscription: string;
  readonly region: string;
}

/** Half of what the smallest regions have. */
const SIZES_MIN = 100;

/** What the product takes for granted of the rates in Resource Graph. */
export function holdEvictionRatesContract(start: () => Promise<Subject>): void {
  let subject: Subject;
  let rates: EvictionRates;

  beforeAll(async () => {
    subject = await start();
    const { clients, subscription, region } = subject;
    const reading = await readEvictionRates(clients, { subscription, location: region });
    if (reading.kind === 'unknown') throw new Error(reading.why);
    expect(reading.unreadable).toEqual([]);
    rates = reading.rates;
  });

  it('every rate is one of five, each a chance within an hour', () => {
    expect(rates.size).toBeGreaterThan(SIZES_MIN);
    const known = new Set([0.025, 0.075, 0.125, 0.175, 0.25]);
    expect([...new Set(rates.values())].filter((rate) => !known.has(rate))).toEqual([]);
  });

  it('the sizes are those of the list of sizes, whatever the letters', async () => {
    const compute = await subject.clients.compute();
    const skus = await Array.fromAsync(compute.resourceSkus.list({ filter: `location eq '${subject.region}'` }));
    const spot = skus.filter(
      ({ resourceType, capabilities = [] }) =>
        resourceType === 'virtualMachines' &&
        capabilities.some(({ name, value }) => name === 'LowPriorityCapable' && value === 'True'),
    );
    const rated = spot.filter(({ name = '' }) => rates.has(name.toLowerCase()));
    expect(rated.length).toBeGreaterThan(SIZES_MIN);
    expect(rates.has('standard_d4s_v5')).toBe(true);
  });

  it('a region that is none has no rates, and that is said', async () => {
    const { clients, subscription } = subject;
    const reading = await readEvictionRates(clients, { subscription, location: 'mars' });
    expect(reading).toMatchObject({ kind: 'unknown', fix: null });
  });
}
