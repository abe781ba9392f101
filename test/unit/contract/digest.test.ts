import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { digest } from '../../../shared/contract/digest.ts';

test('a digest tells where one part ends and the next begins, and has a fixed length', () => {
  expect(digest('ab', 'c')).not.toBe(digest('a', 'bc'));
  expect(digest('ab')).not.toBe(digest('ab', ''));
  fc.assert(fc.property(fc.array(fc.string()), (parts) => digest(...parts).length === 13));
});

test('a digest never changes between versions, for names that exist depend on it', () => {
  expect([digest(''), digest('a', 'b')]).toMatchInlineSnapshot(`
    [
      "2oez07tdsnka6",
      "0mq62s2s6kbyi",
    ]
  `);
});
