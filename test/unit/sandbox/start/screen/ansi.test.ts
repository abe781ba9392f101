import { expect, test } from 'vitest';
import { wrapAtMost } from '../../../../../sandbox/start/screen/ansi.ts';

test('a text that is cut fills its last line up to the ellipsis, also where the next word is long', () => {
  const text = 'every instance type with karpenter.sh/capacity-type-or-another-label is unavailable';
  expect(wrapAtMost(text, 40, 1)).toEqual(['every instance type with karpenter.sh/c…']);
});

test('a text that is cut ends behind a word where that wastes little', () => {
  expect(wrapAtMost('four words fit here and more', 20, 1)).toEqual(['four words fit here…']);
  expect(wrapAtMost('nine of them end here and', 23, 1)).toEqual(['nine of them end here …']);
  expect(wrapAtMost('one line', 20, 2)).toEqual(['one line']);
});
