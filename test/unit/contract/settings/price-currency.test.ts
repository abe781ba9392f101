import { expect, test } from 'vitest';
import { priceCurrencies, readPriceCurrency } from '../../../../shared/contract/settings/price-currency.ts';

test('prices are in US dollars unless the deployment says otherwise', () => {
  expect(readPriceCurrency({})).toBe('USD');
  expect(priceCurrencies.map((currency) => readPriceCurrency({ PRICE_CURRENCY: currency }))).toEqual(priceCurrencies);
});

test.each(['EURO', 'eur', '€', 'PLN'])('%s is no currency of Azure’s prices, and the error says which are', (text) => {
  expect(() => readPriceCurrency({ PRICE_CURRENCY: text })).toThrow(
    `app setting PRICE_CURRENCY is "${text}", in which Azure has no prices; write one of USD, AUD, BRL, CAD, CHF, CNY, DKK, EUR,`,
  );
});
