import type { Settings } from './settings.ts';

/** What Azure's price list can be read in. Source: Azure Retail Prices overview, supported currencies, 2026-08. */
export const priceCurrencies = [
  'USD',
  'AUD',
  'BRL',
  'CAD',
  'CHF',
  'CNY',
  'DKK',
  'EUR',
  'GBP',
  'INR',
  'JPY',
  'KRW',
  'NOK',
  'NZD',
  'RUB',
  'SEK',
  'TWD',
] as const;

/** One of these, as ISO 4217 has it. */
export type PriceCurrency = (typeof priceCurrencies)[number];

/**
 * Reads the currency that all prices are in; US dollars where nothing is said, in which Azure prices everything: it
 * converts the others at its rate of the day. Throws an Error that names the setting and what it may be.
 */
export function readPriceCurrency({ PRICE_CURRENCY: text = 'USD' }: Pick<Settings, 'PRICE_CURRENCY'>): PriceCurrency {
  const found = priceCurrencies.find((currency) => currency === text);
  if (found === undefined)
    throw new Error(
      `app setting PRICE_CURRENCY is ${JSON.stringify(text)}, in which Azure has no prices; write one of ${priceCurrencies.join(', ')}, or remove it`,
    );
  return found;
}
