import { expect, test } from 'vitest';
import { parseGoDuration } from '../../../../shared/kubernetes/text/go-duration.ts';

test.for([
  ['1h30m', 5_400_000],
  ['90s', 90_000],
  ['1.5h', 5_400_000],
  ['250ms', 250],
  ['1m1ms', 60_001],
  ['2us', 0.002],
  ['2µs', 0.002],
  ['0', 0],
  ['0s', 0],
] as const)('the Go duration %s is %s milliseconds', ([text, ms]) => {
  expect(parseGoDuration(text)).toBeCloseTo(ms, 9);
});

test.for(['', 'Never', '1', '1d', '-1h', '1h ', 'h', '1.h', '1h30'])('"%s" is no Go duration', (text) => {
  expect(parseGoDuration(text)).toBeNull();
});
