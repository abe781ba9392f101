import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { harmless, harmlessJson, harmlessLines, isHarmless } from '../../../shared/contract/harmless.ts';

const chars = (...codes: ReadonlyArray<number>): string => String.fromCodePoint(...codes);

/** What a terminal obeys or hides, all of them. */
const HARMFUL: ReadonlyArray<number> = [
  ...Array.from({ length: 0x20 }, (_, code) => code).filter((code) => ![0x09, 0x0a, 0x0d].includes(code)),
  ...Array.from({ length: 0x21 }, (_, code) => 0x7f + code),
  ...'61c 200b 200c 200d 200e 200f 2028 2029 202a 202b 202c 202d 202e 2060 2066 2067 2068 2069 feff e0041'
    .split(' ')
    .map((hex) => Number.parseInt(hex, 16)),
];

describe('text is made harmless', () => {
  test('by showing what a terminal would obey or hide as its number', () => {
    expect(harmless(chars(0x61, 0x1b, 0x5b, 0x33, 0x31, 0x6d, 0x202e, 0x62))).toBe('a\\u{1b}[31m\\u{202e}b');
    for (const code of HARMFUL) expect(harmless(chars(code))).toBe(`\\u{${code.toString(16)}}`);
  });

  test('and breaks of lines as a blank, so that it stays one line', () => {
    expect(harmless('a\r\n\tb\nc')).toBe('a b c');
    expect(harmlessLines(`a${chars(7)}\n\tb\rc`)).toBe('a\\u{7}\n\tb c');
  });

  test('and letters, signs and emoji of any language are left as they are', () => {
    const text = 'über "größe" – 数 עברית 😀 {}';
    expect([harmless(text), isHarmless(text)]).toEqual([text, true]);
  });

  test('once: what is harmless is not changed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(isHarmless(harmless(text))).toBe(true);
        expect(harmless(harmless(text))).toBe(harmless(text));
      }),
    );
  });
});

test('JSON is made harmless and says the same', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const value = { [text]: [text, chars(...HARMFUL)] };
      const json = harmlessJson(JSON.stringify(value, null, 2));
      expect(JSON.parse(json)).toEqual(value);
      expect(isHarmless(json.replaceAll('\n', ''))).toBe(true);
    }),
  );
});
