import { RetryableError } from '../../../ports/errors.ts';

/** Prices of one size, in millionths of the currency per hour, rounded up; null when the feed has none. */
export interface SizePrice {
  onDemandMicroUsd: number | null;
  spotMicroUsd: number | null;
}

const PUBLIC_ENDPOINT = 'https://prices.azure.com';

/**
 * A region has about 20 pages of 1,000 rows, or 200 of the 100 that previews serve; ten times that is a feed that
 * loops.
 */
const PAGES_MAX = 2_000;

interface PriceRow {
  readonly armSkuName?: string;
  readonly skuName?: string;
  readonly meterName?: string;
  readonly productName?: string;
  readonly retailPrice?: number;
  readonly unitOfMeasure?: string;
  readonly type?: string;
  readonly currencyCode?: string;
}

interface PricePage {
  readonly Items?: ReadonlyArray<PriceRow>;
  readonly NextPageLink?: string | null;
}

/** What is asked for: prices of a region, in a currency (ISO 4217). */
export interface PriceList {
  readonly location: string;
  readonly currency: string;
}

/**
 * Reads Linux pay-as-you-go and spot prices of all VM sizes of a region from the public, unauthenticated feed. Throws a
 * RetryableError when it cannot be read, or answers in another currency: a price of one taken for a price of another
 * would be no fault that anybody sees.
 */
export async function readRetailPrices(
  { location, currency }: PriceList,
  endpoint: string = PUBLIC_ENDPOINT,
): Promise<ReadonlyMap<string, SizePrice>> {
  const filter = `serviceName eq 'Virtual Machines' and armRegionName eq '${location}' and priceType eq 'Consumption'`;
  // A parameter of its own, in quotes: within the filter it would find nothing but US dollars.
  const query = new URLSearchParams({
    'api-version': '2023-01-01-preview',
    currencyCode: `'${currency}'`,
    $filter: filter,
  });
  const prices = new Map<string, SizePrice>();
  let next: string | null = `${endpoint}/api/retail/prices?${query.toString()}`;
  for (let page = 0; next !== null; page++) {
    if (page >= PAGES_MAX) throw new RetryableError(`retail prices: more than ${PAGES_MAX} pages`);
    // Each page names the next.
    const { Items = [], NextPageLink = null }: PricePage = await readPage(next);
    for (const row of Items) {
      requireCurrency(row, currency);
      addRow(prices, row);
    }
    next = NextPageLink === '' ? null : NextPageLink;
  }
  return prices;
}

async function readPage(url: string): Promise<PricePage> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(30_000) });
    if (!answer.ok) throw new RetryableError(`retail prices: HTTP ${answer.status}`);
    return (await answer.json()) as PricePage;
  } catch (cause) {
    if (cause instanceof RetryableError) throw cause;
    throw new RetryableError('retail prices cannot be read', { cause });
  }
}

function requireCurrency({ currencyCode = 'no currency' }: PriceRow, currency: string): void {
  if (currencyCode !== currency)
    throw new RetryableError(
      `retail prices: asked for ${currency}, and got ${currencyCode}; if it stays so, set PRICE_CURRENCY to USD`,
    );
}

/**
 * Other products share a size's name: Windows, Cloud Services (which carries a Windows licence), Low Priority. Of rows
 * that remain double the cheapest counts; a price of 0 is a missing one.
 */
function addRow(prices: Map<string, SizePrice>, row: PriceRow): void {
  const { armSkuName = '', retailPrice = 0 } = row;
  if (!isLinuxMeter(row)) return;
  const price = prices.get(armSkuName) ?? { onDemandMicroUsd: null, spotMicroUsd: null };
  // Prices come with at most seven decimals; the small term keeps 0.115 from becoming 115001.
  const micro = Math.ceil(retailPrice * 1e6 - 1e-6);
  if (isNamed(row, ' Spot')) price.spotMicroUsd = cheaper(price.spotMicroUsd, micro);
  else price.onDemandMicroUsd = cheaper(price.onDemandMicroUsd, micro);
  prices.set(armSkuName, price);
}

function isLinuxMeter(row: PriceRow): boolean {
  const { armSkuName = '', productName = '', retailPrice = 0, type, unitOfMeasure } = row;
  if (armSkuName === '' || retailPrice <= 0 || type !== 'Consumption' || unitOfMeasure !== '1 Hour') return false;
  return !/Windows|Cloud ?Services|Dedicated Host/i.test(productName) && !isNamed(row, ' Low Priority');
}

function isNamed({ skuName = '', meterName = '' }: PriceRow, ending: string): boolean {
  return skuName.endsWith(ending) || meterName.endsWith(ending);
}

function cheaper(known: number | null, other: number): number {
  return known === null ? other : Math.min(known, other);
}
