import { ArmError } from '../arm/arm-error.ts';
import type { Cloud } from '../state/cloud.ts';
import { priceRows, type PriceRow } from '../catalog/price-feed.ts';
import { parseCondition } from '../arm/query-expression.ts';
import { ok, type ArmRequest, type ArmResponse, type Route } from '../arm/router.ts';

/**
 * Units of the currency per US dollar, rounded; made up for the sandbox, since the feed's own rates are not published.
 * All that it knows.
 */
const RATES: { readonly [currency: string]: number } = {
  USD: 1,
  AUD: 1.5,
  BRL: 5.5,
  CAD: 1.4,
  CHF: 0.8,
  CNY: 7,
  DKK: 6.7,
  EUR: 0.9,
  GBP: 0.8,
  INR: 85,
  JPY: 150,
  KRW: 1_400,
  NOK: 10,
  NZD: 1.7,
  RUB: 80,
  SEK: 9.5,
  TWD: 30,
};

/** The retail price feed. It asks for no credential. */
export function priceRoutes(cloud: Cloud, prices: PriceBook): ReadonlyArray<Route> {
  return [
    {
      method: 'GET',
      pattern: '/api/retail/prices',
      answer: (request) => answerPrices(cloud, prices, request),
    },
  ];
}

/** The rows of the feed, made once; a price that is set replaces the size's rows. */
export class PriceBook {
  readonly #cloud: Cloud;
  #rows: Map<string, ReadonlyArray<PriceRow>> | null = null;

  constructor(cloud: Cloud) {
    this.#cloud = cloud;
  }

  rows(): ReadonlyArray<PriceRow> {
    const { sizes, options } = this.#cloud;
    this.#rows ??= new Map(
      [...sizes.values()].map((size) => [size.name.toLowerCase(), priceRows(size, options.region)]),
    );
    return [...this.#rows.values()].flat();
  }

  /** Changes the price of a size from now on, in micro-USD per hour. Throws for an unknown size. */
  set(name: string, capacityType: 'spot' | 'on-demand', microUsd: number): void {
    const size = this.#cloud.sizes.get(name.toLowerCase());
    if (size === undefined) throw new Error(`There is no size '${name}' in ${this.#cloud.options.region}.`);
    this.rows();
    const rows = this.#rows?.get(size.name.toLowerCase()) ?? [];
    const changed = rows.map((row) => {
      const isSpot = String(row['skuName']).endsWith(' Spot');
      const isOurs =
        String(row['productName']).endsWith('Series') && row['effectiveStartDate'] === '2026-08-01T00:00:00Z';
      const isPlain = !String(row['skuName']).endsWith(' Low Priority') && row['type'] === 'Consumption';
      return isOurs && isPlain && isSpot === (capacityType === 'spot')
        ? { ...row, retailPrice: microUsd / 1e6, unitPrice: microUsd / 1e6 }
        : row;
    });
    this.#rows?.set(size.name.toLowerCase(), changed);
  }
}

function answerPrices(cloud: Cloud, prices: PriceBook, request: ArmRequest): ArmResponse {
  const filter = request.query.get('$filter') ?? '';
  const currency = (request.query.get('currencyCode') ?? 'USD').replaceAll("'", '');
  const rate = RATES[currency];
  if (rate === undefined)
    throw new ArmError(400, { code: 'BadRequest', message: `The currency '${currency}' is not supported.` });
  const matches = filter === '' ? () => true : parseCondition(filter);
  // The filter sees rows in US dollars, whatever currency they are shown in: another one within it finds nothing.
  const rows = prices.rows().filter((row) => matches({ ...row, priceType: row['type'] }));
  const start = Number(request.query.get('$skip') ?? '0');
  if (!Number.isInteger(start) || start < 0)
    throw new ArmError(400, { code: 'BadRequest', message: '$skip must be a whole number, 0 or more.' });
  const size = cloud.options.pricePageSize;
  const items = rows.slice(start, start + size).map((row) => inCurrency(row, currency, rate));
  return ok({
    BillingCurrency: currency,
    CustomerEntityId: 'Default',
    CustomerEntityType: 'Retail',
    Items: items,
    NextPageLink: start + size < rows.length ? nextLink(request, start + size) : null,
    Count: items.length,
  });
}

function inCurrency(row: PriceRow, currency: string, rate: number): PriceRow {
  const price = Math.round(Number(row['retailPrice']) * rate * 1e6) / 1e6;
  return { ...row, currencyCode: currency, retailPrice: price, unitPrice: price };
}

function nextLink(request: ArmRequest, skip: number): string {
  const query = new URLSearchParams(request.query);
  query.set('$skip', String(skip));
  return `${request.origin}${request.path}?${query.toString()}`;
}
