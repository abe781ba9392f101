import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { readRetailPrices } from '../../../../../shared/adapters/azure/catalog/retail-prices.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';

const inDollars = { location: 'westeurope', currency: 'USD' };

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
    currencyCode: 'USD',
    retailPrice,
    ...parts,
  };
}

const spot = { skuName: 'D2s v5 Spot', meterName: 'D2s v5 Spot' };

test('on-demand and spot prices are read page by page, in micro-USD', async () => {
  const { url, asked } = await feed([row(0.115)], [row(0.0230771, spot)]);
  const prices = await readRetailPrices(inDollars, url);
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
  const prices = await readRetailPrices(inDollars, url);
  expect([...prices]).toEqual([['Standard_D2s_v5', { onDemandMicroUsd: 200_000, spotMicroUsd: null }]]);
});

test('of two prices for one size the lower counts', async () => {
  const { url } = await feed([row(0.3), row(0.2), row(0.25)]);
  expect((await readRetailPrices(inDollars, url)).get('Standard_D2s_v5')?.onDemandMicroUsd).toBe(200_000);
});

test('a feed that fails on its way gives no half of a price list', async () => {
  const { url } = await feed([row(0.2)], null);
  await expect(readRetailPrices(inDollars, url)).rejects.toThrow('HTTP 503');
});

test('what is asked for is the consumption of VMs in the region', async () => {
  const { url, asked } = await feed([row(0.2)]);
  await readRetailPrices(inDollars, url);
  expect(asked[0]?.pathname).toBe('/api/retail/prices');
  expect(asked[0]?.searchParams.get('api-version')).toBe('2023-01-01-preview');
  expect(asked[0]?.searchParams.get('$filter')).toBe(
    "serviceName eq 'Virtual Machines' and armRegionName eq 'westeurope' and priceType eq 'Consumption'",
  );
});

test('prices are asked for in the currency that is wanted, beside the filter', async () => {
  const { url, asked } = await feed([row(0.104, { currencyCode: 'EUR' })]);
  const prices = await readRetailPrices({ location: 'westeurope', currency: 'EUR' }, url);
  expect(prices.get('Standard_D2s_v5')?.onDemandMicroUsd).toBe(104_000);
  expect(asked[0]?.searchParams.get('currencyCode')).toBe("'EUR'");
  expect(asked[0]?.searchParams.get('$filter')).not.toContain('EUR');
});

test.for([
  ['USD', 'EUR', 'got USD'],
  [undefined, 'USD', 'got no currency'],
] as const)('a price in %s is none in %s, and is not taken for one', async ([currencyCode, currency, said]) => {
  const { url } = await feed([row(0.1, { currencyCode: currency }), row(0.104, { currencyCode })]);
  const failure = await readRetailPrices({ location: 'westeurope', currency }, url).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RetryableError);
  expect(String(failure)).toContain(`asked for ${currency}, and ${said}; if it stays so, set PRICE_CURRENCY to USD`);
});

test.for([
  [{ skuName: 'D2s v5 Spot' }, 'spot'],
  [{ meterName: 'D2s v5 Spot' }, 'spot'],
  [{ skuName: 'Spot D2s v5', meterName: 'D2s v5/Spot' }, 'on-demand'],
] as const)('%j is a price of %s', async ([parts, type]) => {
  const { url } = await feed([row(0.2, parts)]);
  const price = (await readRetailPrices(inDollars, url)).get('Standard_D2s_v5');
  expect(price).toEqual({
    onDemandMicroUsd: type === 'on-demand' ? 200_000 : null,
    spotMicroUsd: type === 'spot' ? 200_000 : null,
  });
});

test.for([{ skuName: 'D2s v5 Low Priority' }, { meterName: 'D2s v5 Low Priority' }, { retailPrice: -1 }])(
  'a row with %j is no price',
  async (parts) => {
    const { url } = await feed([row(0.2, parts)]);
    expect((await readRetailPrices(inDollars, url)).size).toBe(0);
  },
);

test('rows of other sizes are other prices, and of those double the lowest counts, on spot, too', async () => {
  const { url } = await feed([row(0.03, spot), row(0.02, spot), row(0.4, { armSkuName: 'Standard_D4s_v5' })]);
  const prices = await readRetailPrices(inDollars, url);
  expect(prices.get('Standard_D2s_v5')).toEqual({ onDemandMicroUsd: null, spotMicroUsd: 20_000 });
  expect(prices.get('Standard_D4s_v5')).toEqual({ onDemandMicroUsd: 400_000, spotMicroUsd: null });
});

test('rows that say nothing but the currency are no prices', async () => {
  const { url } = await feed([{ currencyCode: 'USD' }]);
  expect((await readRetailPrices(inDollars, url)).size).toBe(0);
});

/** A feed that answers every request with this text. */
async function saying(text: () => string): Promise<string> {
  const server = http.createServer((_, response) => response.end(text()));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.for([
  ['{}', 0],
  ['{"Items":[],"NextPageLink":""}', 0],
] as const)('a page that is %s is the last', async ([text, count]) => {
  expect((await readRetailPrices(inDollars, await saying(() => text))).size).toBe(count);
});

test('an answer that is no JSON, or none, may be better next time', async () => {
  for (const url of [await saying(() => '<html>'), 'http://127.0.0.1:1']) {
    const failure = await readRetailPrices(inDollars, url).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ message: 'retail prices cannot be read', cause: expect.any(Error) });
  }
});

test('a feed whose pages never end is given up after two thousand', async () => {
  const page = { ok: true, json: () => Promise.resolve({ Items: [], NextPageLink: 'http://feed/again' }) };
  const asked = vi.spyOn(globalThis, 'fetch').mockResolvedValue(page as Response);
  await expect(readRetailPrices(inDollars, 'http://feed')).rejects.toThrow('retail prices: more than 2000 pages');
  expect(asked).toHaveBeenCalledTimes(2_000);
  asked.mockRestore();
});
