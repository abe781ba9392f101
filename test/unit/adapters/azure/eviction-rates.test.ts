import { expect, test } from 'vitest';
import type { Clients } from '../../../../shared/adapters/azure/clients.ts';
import {
  evictionsPerHour,
  readEvictionRates,
  type RatesReading,
} from '../../../../shared/adapters/azure/eviction-rates.ts';
import { sku } from './sku.ts';

/** Azure's client, answering with these rows. */
function graphOf(data: ReadonlyArray<object>, totalRecords = data.length): Pick<Clients, 'graph'> {
  const resources = (): Promise<object> => Promise.resolve({ data, count: data.length, totalRecords });
  return { graph: () => Promise.resolve({ resources } as never) };
}

const scope = { subscription: 's', location: 'westeurope' };

async function read(row: object): Promise<RatesReading> {
  return readEvictionRates(graphOf([{ id: null, skuName: '', sizeName: '', rate: '0-5', ...row }]), scope);
}

test.for([
  ['0-5', 0.025],
  ['5-10', 0.075],
  ['10-15', 0.125],
  ['15-20', 0.175],
  ['20+', 0.25],
  ['0%-5%', 0.025],
  ['20+%', 0.25],
  ['15 - 20', 0.175],
  ['20-100', 0.25],
] as const)('of %s percent the chance is %s', async ([rate, chance]) => {
  const reading = await read({ skuName: 'Standard_D4s_v5', rate });
  const rates = reading.kind === 'read' ? reading.rates : new Map();
  expect(evictionsPerHour(rates, sku('Standard_D4s_v5'))).toBe(chance);
});

test.for([
  { skuName: 'standard_d4s_v5' },
  { skuName: 'STANDARD_D4s_v5', sizeName: 'Standard_Other' },
  { sizeName: 'Standard_D4s_v5' },
  { id: '/providers/Microsoft.Compute/skuSpotEvictionRate/Standard_D4s_v5/location/westeurope' },
])('a size is known by whatever names it: %o', async (row) => {
  const reading = await read(row);
  expect(reading).toEqual({ kind: 'read', rates: new Map([['standard_d4s_v5', 0.025]]), unreadable: [] });
});

test('a row that names no size is left out', async () => {
  expect(await read({})).toEqual({ kind: 'read', rates: new Map(), unreadable: [] });
});

test('a part of the rates is none: sizes without a rate would look safe', async () => {
  const row = { id: null, skuName: 'Standard_D4s_v5', sizeName: '', rate: '0-5' };
  const reading = await readEvictionRates(graphOf([row], 2), scope);
  expect(reading).toMatchObject({ kind: 'unknown', why: expect.stringContaining('1 of 2 rows') });
});
