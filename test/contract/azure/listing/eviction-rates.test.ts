import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type AzureCatalogs, createCatalogs } from '../../../../shared/adapters/azure/catalog/catalogs.ts';
import { readEvictionRates } from '../../../../shared/adapters/azure/catalog/eviction-rates.ts';
import type { NodeClass } from '../../../../shared/ports/kubernetes.ts';
import type { Azure } from '../../../../sandbox/azure/running-azure.ts';
import { MemoryBlobs } from '../../../simulation/world/memory-blobs.ts';
import { clientsOf, startWithClients, subscriptionId } from '../kit/clients.ts';
import { holdEvictionRatesContract } from './eviction-rates-contract.ts';

const region = 'westeurope';
const size = 'Standard_D4s_v5';
const settings = {
  location: region,
  nodeResourceGroup: 'group',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  memoryOverhead: 0.075,
};
const nodeClass: NodeClass = { metadata: { name: 'default' }, spec: {} };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let azure: Azure;
let nowMs = 0;
let blobs: MemoryBlobs;

beforeAll(async () => {
  ({ azure } = await startWithClients({ evictionRates: { [size]: '20+' } }));
});
beforeEach(() => {
  azure.heal();
  blobs = new MemoryBlobs();
});
afterAll(async () => {
  await azure.close();
});

describe('the double holds the contract of eviction rates', () => {
  holdEvictionRatesContract(() =>
    Promise.resolve({ clients: clientsOf(azure.endpoint), subscription: subscriptionId, region }),
  );
});

/** One instance of the app. */
function catalogsOf(): AzureCatalogs {
  return createCatalogs({
    cluster: 'c',
    subscription: subscriptionId,
    clients: clientsOf(azure.endpoint),
    blobs,
    settings,
    pricesEndpoint: azure.endpoint,
    currency: 'USD',
    now: () => nowMs,
  });
}

/** What the spot and the on-demand offerings of the size say, once each instance looks at the blob again. */
async function ratesOf(catalogs: AzureCatalogs): Promise<ReadonlyArray<string>> {
  nowMs += MINUTE_MS;
  const types = await catalogs.instanceTypes(nodeClass);
  const offerings = types.find(({ name }) => name === size)?.offerings ?? [];
  return [...new Set(offerings.map((one) => `${one.capacityType} ${String(one.evictionsPerHour)}`))].toSorted();
}

function graphRequests(): number {
  return azure.counters().requests['POST resources'] ?? 0;
}

function refuse(times: number): void {
  const fault = { kind: 'refuse', status: 403, code: 'AccessDenied', message: 'no', retryAfterSeconds: null } as const;
  azure.orderFault({ method: 'POST', pathContains: 'Microsoft.ResourceGraph', times, fault });
}

const unknown = ['on-demand undefined', 'spot undefined'];
const known = ['on-demand undefined', 'spot 0.25'];

test('spot offerings of every instance have the rate, once one instance has read it', async () => {
  const [reader, planner] = [catalogsOf(), catalogsOf()];
  expect(await ratesOf(planner)).toEqual(unknown);
  expect(await reader.refreshEvictionRates()).toEqual({ kind: 'read', unreadable: [] });
  expect(await ratesOf(planner)).toEqual(known);
  expect(await ratesOf(catalogsOf())).toEqual(known);
});

test('a region of more sizes than a page has rows is read to its end', async () => {
  const before = graphRequests();
  const reading = await readEvictionRates(clientsOf(azure.endpoint), {
    subscription: subscriptionId,
    location: region,
  });
  expect(reading.kind === 'read' && reading.rates.size).toBeGreaterThan(1_000);
  expect(graphRequests() - before).toBe(2);
});

test('rates are asked for once an hour, whoever asks', async () => {
  expect(await catalogsOf().refreshEvictionRates()).toMatchObject({ kind: 'read' });
  const before = graphRequests();
  nowMs += HOUR_MS - 1;
  expect(await catalogsOf().refreshEvictionRates()).toEqual({ kind: 'recent' });
  expect(graphRequests()).toBe(before);
  nowMs += 1;
  expect(await catalogsOf().refreshEvictionRates()).toMatchObject({ kind: 'read' });
});

test('an identity without the right plans as before, hears which it lacks, and is asked again in ten minutes', async () => {
  const catalogs = catalogsOf();
  refuse(2);
  const outcome = await catalogs.refreshEvictionRates();
  expect(outcome).toMatchObject({
    kind: 'unknown',
    fix: expect.stringContaining('Microsoft.ResourceGraph/resources/read'),
  });
  expect(outcome).toMatchObject({
    why: 'for the tenant: 403 AccessDenied no; for the subscription: 403 AccessDenied no',
  });
  expect(await ratesOf(catalogs)).toEqual(unknown);
  nowMs += 8 * MINUTE_MS;
  expect(await catalogs.refreshEvictionRates()).toEqual({ kind: 'recent' });
  nowMs += MINUTE_MS;
  expect(await catalogs.refreshEvictionRates()).toMatchObject({ kind: 'read' });
  expect(await ratesOf(catalogs)).toEqual(known);
});

test('an identity that may not ask for the tenant gets what Azure tells about its subscription', async () => {
  const { azure: generous } = await startWithClients({ spotTables: 'everywhere' });
  const fault = { kind: 'refuse', status: 403, code: 'AccessDenied', message: 'no', retryAfterSeconds: null } as const;
  generous.orderFault({ method: 'POST', pathContains: 'Microsoft.ResourceGraph', times: 1, fault });
  const scope = { subscription: subscriptionId, location: region };
  expect(await readEvictionRates(clientsOf(generous.endpoint), scope)).toMatchObject({ kind: 'read' });
  await generous.close();
});

test('rates outlast attempts that fail, for two days', async () => {
  const catalogs = catalogsOf();
  await catalogs.refreshEvictionRates();
  nowMs += 47 * HOUR_MS;
  refuse(2);
  expect(await catalogs.refreshEvictionRates()).toMatchObject({ kind: 'unknown' });
  expect(await ratesOf(catalogs)).toEqual(known);
  nowMs += HOUR_MS;
  expect(await ratesOf(catalogs)).toEqual(unknown);
});

test('a word that is no band leaves its size without a rate, and is told', async () => {
  azure.setEvictionRate(size, 'rarely');
  const catalogs = catalogsOf();
  expect(await catalogs.refreshEvictionRates()).toEqual({ kind: 'read', unreadable: ['rarely'] });
  expect(await ratesOf(catalogs)).toEqual(unknown);
  azure.setEvictionRate(size, '20+');
});

test('what Azure does not answer is said, and stops nothing', async () => {
  const catalogs = createCatalogs({
    cluster: 'c',
    subscription: subscriptionId,
    clients: clientsOf('http://127.0.0.1:9'),
    blobs,
    settings,
    pricesEndpoint: azure.endpoint,
    currency: 'USD',
    now: () => nowMs,
  });
  expect(await catalogs.refreshEvictionRates()).toMatchObject({ kind: 'unknown', fix: null });
});
