import { describe, expect, it } from 'vitest';
import { parseDurationMs } from '../../../../sandbox/kubernetes/duration.ts';
import { toAmounts } from '../../../../sandbox/kubernetes/quantity.ts';

describe('a quantity', () => {
  it.each([
    ['cpu', '100m', 100],
    ['cpu', '0.1', 100],
    ['cpu', '1.5', 1_500],
    ['memory', '2', 2],
    ['memory', '1Gi', 1_073_741_824],
    ['memory', '1.5Gi', 1_610_612_736],
    ['memory', '1e3', 1_000],
    ['memory', '100u', 1],
    ['memory', '0', 0],
  ])('of %s, %s is %d', (name, text, value) => {
    expect(toAmounts({ [name]: text })).toStrictEqual({ [name]: value });
  });

  it.each(['', 'm', 'many', '1 Gi', '0x10'])('that is none, as %j, counts as nothing', (text) => {
    expect(toAmounts({ memory: text })).toStrictEqual({ memory: 0 });
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
