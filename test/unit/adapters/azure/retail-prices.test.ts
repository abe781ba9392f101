import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { readRetailPrices } from '../../../../shared/adapters/azure/retail-prices.ts';

const servers: Array<http.Server> = [];
afterEach(() => servers.splice(0).forEach((server) => server.close()));

/** A feed that answers with these pages in turn; null is an error of the server's. */
async function feed(...pages: ReadonlyArray<ReadonlyArray<object> | null>) {
  const asked: Array<URL> = [];
  const server = http.createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://feed');
    asked.push(url);
    const page = Number(url.searchParams.get('page') ?? 0);
    const items = pages[page];
    if (items === null || items === undefined) return response.writeHead(503).end();
    const { port } = server.address() as AddressInfo;
    const more = page + 1 < pages.length ? `http://127.0.0.1:${port}/api/retail/prices?page=${page + 1}` : null;
    return response.end(JSON.stringify({ Items: items, NextPageLink: more }));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

function row(retailPrice: number, parts: object = {}): object {
  return {
    armSkuName: 'Standard_D2s_v5',
    skuName: 'D2s v5',
    meterName: 'D2s v5',
    productName: 'Virtual Machines Dsv5 Series',
    unitOfMeasure: '1 Hour',
    type: 'Consumption',
    retailPrice,
    ...parts,
  };
}

const spot = { skuName: 'D2s v5 Spot', meterName: 'D2s v5 Spot' };

test('on-demand and spot prices are read page by page, in micro-USD', async () => {
  const { url, asked } = await feed([row(0.115)], [row(0.0230771, spot)]);
  const prices = await readRetailPrices('westeurope', url);
  expect(prices.get('Standard_D2s_v5')).toEqual({ onDemandMicroUsd: 115_000, spotMicroUsd: 23_078 });
  expect(asked[0]?.searchParams.get('$filter')).toContain("armRegionName eq 'westeurope'");
});

test.for([
  ['Windows', { productName: 'Virtual Machines Dsv5 Series Windows' }],
  ['Cloud Services', { productName: 'Dsv5 Series CloudServices' }],
  ['Low Priority', { skuName: 'D2s v5 Low Priority', meterName: 'D2s v5 Low Priority' }],
  ['a dedicated host', { productName: 'Dsv5 Dedicated Host' }],
  ['a reservation', { type: 'Reservation' }],
  ['a price per month', { unitOfMeasure: '1 Month' }],
  ['no size', { armSkuName: '' }],
  ['a price of nothing', { retailPrice: 0 }],
] as const)('a row of %s is no price of a node', async ([, parts]) => {
  const { url } = await feed([row(0.001, parts), row(0.2)]);
  const prices = await readRetailPrices('westeurope', url);
  expect([...prices]).toEqual([['Standard_D2s_v5', { onDemandMicroUsd: 200_000, spotMicroUsd: null }]]);
});

test('of two prices for one size the lower counts', async () => {
  const { url } = await feed([row(0.3), row(0.2), row(0.25)]);
  expect((await readRetailPrices('westeurope', url)).get('Standard_D2s_v5')?.onDemandMicroUsd).toBe(200_000);
});

test('a feed that fails on its way gives no half of a price list', async () => {
  const { url } = await feed([row(0.2)], null);
  await expect(readRetailPrices('westeurope', url)).rejects.toThrow('HTTP 503');
});
