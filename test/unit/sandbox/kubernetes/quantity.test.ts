import { describe, expect, it } from 'vitest';
import { parseDurationMs } from '../../../../sandbox/kubernetes/duration.ts';
import { parseQuantity, toAmounts } from '../../../../sandbox/kubernetes/quantity.ts';

describe('a quantity', () => {
  it.each([
    ['100m', 1_000, 100],
    ['0.1', 1_000, 100],
    ['1.5', 1_000, 1_500],
    ['2', 1, 2],
    ['1Gi', 1, 1_073_741_824],
    ['1.5Gi', 1, 1_610_612_736],
    ['1e3', 1, 1_000],
    ['12E', 1, 12e18],
    ['100u', 1_000, 1],
    ['0', 1, 0],
  ])('%s at scale %d is %d', (text, scale, value) => {
    expect(parseQuantity(text, scale)).toBe(value);
  });

  it.each(['', 'm', 'many', '1 Gi', '0x10'])('that is none, as %j, counts as nothing', (text) => {
    expect(parseQuantity(text)).toBe(0);
  });

  it('of CPU is in millicores, of all else in units', () => {
    expect(toAmounts({ cpu: '250m', memory: '1Ki', 'nvidia.com/gpu': '2' })).toStrictEqual({
      cpu: 250,
      memory: 1_024,
      'nvidia.com/gpu': 2,
    });
  });
});

describe('a duration', () => {
  it.each([
    ['2', 2_000],
    ['1.5', 1_500],
    ['1h2m3.5s', 3_723_500],
    ['250ms', 250],
    ['10m', 600_000],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it.each(['', 'soon', '1x', '-1s', '1s '])('that is none, as %j, is told apart', (text) => {
    expect(parseDurationMs(text)).toBeNull();
  });
});
