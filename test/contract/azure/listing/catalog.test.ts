import { afterAll, beforeAll, expect, test } from 'vitest';
import { azureDefaults } from '../../../../sandbox/azure/state/options.ts';
import { listAt, objectAt, textAt, type JsonObject } from '../../../../sandbox/azure/arm/json.ts';
import { readRetailPrices } from '../../../../shared/adapters/azure/catalog/retail-prices.ts';
import { priceCurrencies } from '../../../../shared/contract/settings/price-currency.ts';
import { nicBody, poolId, subnetId, vmBody } from '../kit/bodies.ts';
import { group, promptly, startWithClients, subscriptionId } from '../kit/clients.ts';

let running: Awaited<ReturnType<typeof startWithClients>>;

beforeAll(async () => {
  running = await startWithClients({});
});
afterAll(() => running.azure.close());

/** Follows the links to the end; the feed has at most this many pages. */
const PAGE_LIMIT = 100;

async function prices(query: string): Promise<ReadonlyArray<JsonObject>> {
  let url: string | null = `${running.azure.endpoint}/api/retail/prices?${query}`;
  const rows: Array<JsonObject> = [];
  for (let page = 0; url !== null && page < PAGE_LIMIT; page += 1) {
    const answer: unknown = await (await fetch(url)).json();
    rows.push(...listAt(answer, 'Items').map((row) => objectAt(row, '')));
    url = textAt(answer, 'NextPageLink');
  }
  return rows;
}

/** Whether the text in a field of a price row ends so. */
function ends(row: JsonObject, field: string, text: string): boolean {
  return textAt(row, field)?.endsWith(text) === true;
}

async function post(path: string, body: object): Promise<{ readonly status: number; readonly json: unknown }> {
  const answer = await fetch(running.azure.endpoint + path, {
    method: 'POST',
    headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, json: await answer.json() };
}

test('the list of sizes is paged, real in size and tells VMs from disks', async () => {
  const skus = [];
  for await (const sku of running.compute.resourceSkus.list({ filter: "location eq 'westeurope'" })) skus.push(sku);
  const vms = skus.filter(({ resourceType }) => resourceType === 'virtualMachines');
  expect(vms.length).toBeGreaterThan(1_300);
  expect(skus.length).toBeGreaterThan(vms.length);
  const size = vms.find(({ name }) => name === 'Standard_D4s_v5');
  expect(size?.family).toBe('standardDSv5Family');
  expect(size?.locationInfo?.[0]?.zones).toEqual(['1', '2', '3']);
  const capability = (name: string): string | undefined =>
    size?.capabilities?.find((entry) => entry.name === name)?.value;
  expect([capability('vCPUs'), capability('MemoryGB'), capability('CpuArchitectureType')]).toEqual(['4', '16', 'x64']);
});

test('the list of sizes of another region is empty', async () => {
  const skus = [];
  for await (const sku of running.compute.resourceSkus.list({ filter: "location eq 'mars'" })) skus.push(sku);
  expect(skus).toEqual([]);
});

test('a size withheld from the subscription says so, and is refused', async () => {
  running.azure.restrict({ size: 'Standard_D8s_v5', zones: [] });
  for await (const sku of running.compute.resourceSkus.list({ filter: "location eq 'westeurope'" }))
    if (sku.name === 'Standard_D8s_v5')
      expect(sku.restrictions?.[0]).toMatchObject({ type: 'Location', reasonCode: 'NotAvailableForSubscription' });
  await running.network.networkInterfaces.createOrUpdate(group, 'aks-w', nicBody('aks-w'), promptly);
  const refused = running.compute.virtualMachines.createOrUpdate(
    group,
    'aks-w',
    vmBody('aks-w', { size: 'Standard_D8s_v5' }),
    promptly,
  );
  await expect(refused).rejects.toMatchObject({ code: 'SkuNotAvailable' });
  running.azure.heal();
});

test('usage counts a VM from its PUT, on-demand by family and spot apart', async () => {
  const current = async (): Promise<{ readonly [name: string]: number }> => {
    const rows: { [name: string]: number } = {};
    for await (const row of running.compute.usage.list('westeurope')) rows[row.name.value ?? ''] = row.currentValue;
    return rows;
  };
  const before = await current();
  await running.network.networkInterfaces.createOrUpdate(group, 'aks-u', nicBody('aks-u'), promptly);
  const body = vmBody('aks-u', { size: 'Standard_E4s_v5' });
  const poller = running.compute.virtualMachines.createOrUpdate(group, 'aks-u', body, promptly);
  await poller.submitted();
  const after = await current();
  expect((after['standardESv5Family'] ?? 0) - (before['standardESv5Family'] ?? 0)).toBe(4);
  expect((after['cores'] ?? 0) - (before['cores'] ?? 0)).toBe(4);
  expect(after['lowPriorityCores']).toBe(before['lowPriorityCores']);
  await poller;
});

test('the price of a size is one row once the traps of the feed are left out', async () => {
  const filter =
    "serviceName eq 'Virtual Machines' and armRegionName eq 'westeurope' and armSkuName eq 'Standard_D2as_v5'";
  const rows = await prices(`api-version=2023-01-01-preview&$filter=${encodeURIComponent(filter)}`);
  expect(rows.some((row) => ends(row, 'productName', ' Windows'))).toBe(true);
  expect(rows.some((row) => ends(row, 'productName', ' Cloud Services'))).toBe(true);
  expect(rows.some((row) => ends(row, 'meterName', ' Low Priority'))).toBe(true);
  const linux = rows.filter(
    (row) =>
      ends(row, 'productName', ' Series') &&
      !ends(row, 'meterName', ' Low Priority') &&
      row['type'] === 'Consumption' &&
      Number(row['retailPrice']) > 0 &&
      String(row['effectiveStartDate']) > '2026',
  );
  const price = (spot: boolean): ReadonlyArray<number> =>
    linux.filter((row) => ends(row, 'skuName', ' Spot') === spot).map((row) => Number(row['retailPrice']));
  expect(price(false)).toEqual([0.104]);
  expect(price(true)).toEqual([0.019219]);
});

test('the feed of a region comes in pages of a thousand and has every oddity', async () => {
  const filter = "priceType eq 'Consumption' and armRegionName eq 'westeurope' and currencyCode eq 'USD'";
  const rows = await prices(`$filter=${encodeURIComponent(filter)}`);
  expect(rows.length).toBeGreaterThan(5_000);
  expect(rows.every((row) => row['type'] === 'Consumption')).toBe(true);
  expect(rows.some((row) => row['retailPrice'] === 0)).toBe(true);
  const reservations = await prices(`$filter=${encodeURIComponent("priceType eq 'Reservation'")}`);
  expect(reservations.every((row) => row['reservationTerm'] === '1 Year')).toBe(true);
});

test('prices come in the currency that was asked for, or not at all', async () => {
  const filter = encodeURIComponent("armSkuName eq 'Standard_D2s_v5' and skuName eq 'D2s v5'");
  const [usd] = await prices(`$filter=${filter}`);
  const [eur] = await prices(`currencyCode='EUR'&$filter=${filter}`);
  expect(eur?.['currencyCode']).toBe('EUR');
  expect(Number(eur?.['retailPrice'])).toBeLessThan(Number(usd?.['retailPrice']));
  expect((await fetch(`${running.azure.endpoint}/api/retail/prices?currencyCode=XXX`)).status).toBe(400);
});

// So the feed answers: github.com/ahmadabdalla/azure-cost-calculator, issue 550, of 2026-03.
test('a currency within the filter is no wish: rows are kept in US dollars, and another finds none', async () => {
  const at = (currency: string): string =>
    `$filter=${encodeURIComponent(`armSkuName eq 'Standard_D2s_v5' and currencyCode eq '${currency}'`)}`;
  expect(await prices(at('EUR'))).toEqual([]);
  expect((await prices(at('USD'))).length).toBeGreaterThan(0);
});

test('the catalog has prices in every currency that the setting takes, each its own', async () => {
  const dearest = async (currency: string): Promise<number> => {
    const found = await readRetailPrices({ location: 'westeurope', currency }, running.azure.endpoint);
    return found.get('Standard_D2s_v5')?.onDemandMicroUsd ?? 0;
  };
  const [usd = 0, ...others] = await Promise.all(['USD', 'EUR', 'KRW'].map(dearest));
  expect(others).toEqual([usd * 0.9, usd * 1_400]);
  for (const currency of priceCurrencies) {
    const answer = await fetch(`${running.azure.endpoint}/api/retail/prices?currencyCode='${currency}'`);
    expect(await answer.json()).toMatchObject({ BillingCurrency: currency });
  }
});

test('a price that is set shows in the feed', async () => {
  running.azure.setPrice('Standard_D2s_v5', 'spot', 12_345);
  const rows = await prices(
    `$filter=${encodeURIComponent("armSkuName eq 'Standard_D2s_v5' and skuName eq 'D2s v5 Spot'")}`,
  );
  expect(rows.map((row) => row['retailPrice'])).toContain(0.012345);
});

test('locations map logical zones to physical ones', async () => {
  const path = `/subscriptions/${subscriptionId}/locations?api-version=2022-12-01`;
  const answer = await fetch(running.azure.endpoint + path, { headers: { authorization: 'Bearer x' } });
  const value = listAt(await answer.json(), 'value');
  expect(value.find((row) => textAt(row, 'name') === 'westeurope')).toMatchObject({
    availabilityZoneMappings: [{ logicalZone: '1', physicalZone: 'westeurope-az1' }, {}, {}],
  });
});

test('the node resource group has what AKS puts into it', async () => {
  const { network } = running;
  const balancers = [];
  for await (const balancer of network.loadBalancers.list(group)) balancers.push(balancer);
  expect(balancers.map(({ name }) => name)).toEqual(['kubernetes']);
  expect(balancers[0]?.backendAddressPools?.map(({ id }) => id)).toContain(poolId);
  const groups = [];
  for await (const entry of network.networkSecurityGroups.list(group)) groups.push(entry.name);
  expect(groups).toEqual([expect.stringMatching(/^aks-agentpool-\d{8}-nsg$/)]);
  const vnet = `aks-vnet-${azureDefaults.clusterId}`;
  expect((await network.subnets.get(group, vnet, 'aks-subnet')).id).toBe(subnetId);
  expect((await network.virtualNetworks.get(group, vnet)).resourceGuid).toMatch(/^[0-9a-f-]{36}$/);
});

test('node images have versions, and a published one is the newest', async () => {
  const gallery = 'AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2';
  const versions = async (): Promise<ReadonlyArray<string | undefined>> => {
    const names = [];
    for await (const version of running.compute.communityGalleryImageVersions.list(
      'westeurope',
      gallery,
      '2204gen2containerd',
    ))
      names.push(version.name);
    return names;
  };
  expect((await versions()).length).toBeGreaterThan(1);
  running.azure.publishImage('209901.01.0');
  expect((await versions()).at(-1)).toBe('209901.01.0');
});

test('the managed cluster tells what a node needs to know of it', async () => {
  const { clusterResourceGroup, clusterName } = azureDefaults;
  const path = `/subscriptions/${subscriptionId}/resourceGroups/${clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${clusterName}`;
  const answer = await fetch(`${running.azure.endpoint}${path}?api-version=2026-06-01`, {
    headers: { authorization: 'Bearer x' },
  });
  expect(await answer.json()).toMatchObject({
    properties: { nodeResourceGroup: group, identityProfile: { kubeletidentity: {} } },
  });
  const { json } = await post(`${path}/listClusterUserCredential?api-version=2026-06-01`, {});
  expect(json).toMatchObject({ kubeconfigs: [{ name: 'clusterUser' }] });
});

test('placement scores tell what is known of a size', async () => {
  const path = `/subscriptions/${subscriptionId}/providers/Microsoft.Compute/locations/westeurope/placementScores/spot/generate?api-version=2025-06-05`;
  const ask = (sku: string): Promise<{ readonly json: unknown }> =>
    post(path, {
      desiredLocations: ['westeurope'],
      desiredSizes: [{ sku }],
      desiredCount: 1,
      availabilityZones: false,
    });
  expect((await ask('Standard_None')).json).toMatchObject({ placementScores: [{ score: 'DataNotFoundOrStale' }] });
  running.azure.exhaust({
    size: 'Standard_D2s_v5',
    zone: null,
    capacityType: 'spot',
    code: 'AllocationFailed',
    remaining: 0,
  });
  expect((await ask('Standard_D2s_v5')).json).toMatchObject({ placementScores: [{ score: 'Low' }] });
  running.azure.heal();
});
