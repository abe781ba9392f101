import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseUsd } from '../../../../cli/catalog/micro-usd.ts';
import { renderMoney, renderUsd } from '../../../../shared/core/quantity/render-usd.ts';

describe('prices', () => {
  test.each([
    ['0.23', 230_000],
    ['3', 3_000_000],
    ['0.0000011', 2],
    ['1.0000000', 1_000_000],
    ['123456789.999999', 123_456_789_999_999],
  ])('%s is read exactly, and rounded up beyond a millionth', (text, micro) => {
    expect(parseUsd(text)).toBe(micro);
  });

  test.each(['', '-1', '1e3', '.5', '1.', 'NaN', '0x1', '1,5', '1234567890'])('%j is no price', (text) => {
    expect(parseUsd(text)).toBeNull();
  });

  test('what is written is read back as the same', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 49 }), (micro) => {
        expect(parseUsd(renderUsd(micro))).toBe(micro);
      }),
    );
  });

  test('people read what they are in', () => {
    expect([230_000, -3_000_000, 0].map((micro) => renderMoney(micro, 'USD'))).toEqual(['$0.23', '-$3', '$0']);
    expect([230_000, -3_000_000].map((micro) => renderMoney(micro, 'EUR'))).toEqual(['EUR 0.23', '-EUR 3']);
  });

  test('no zero stands at the end', () => {
    expect([renderUsd(230_000), renderUsd(3_000_000), renderUsd(0), renderUsd(1)]).toEqual([
      '0.23',
      '3',
      '0',
      '0.000001',
    ]);
  });
});
