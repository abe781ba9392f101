import { expect, test } from 'vitest';
import { coverDemand } from '../../../../../shared/core/packing/whole/cover.ts';
import { flatten } from '../../../../../shared/core/packing/problem/fill.ts';

test('a search for sets of nodes ends where a size costs next to nothing, and keeps what it has proved', () => {
  const pods = 20_000;
  const items = [{ requests: Float64Array.of(1), count: pods, perNode: Infinity }];
  const flat = flatten({ width: 1, items, bins: [{ usable: Float64Array.of(1), price: 1, admits: Uint8Array.of(1) }] });
  const { bound, found } = coverDemand({
    flat,
    demand: Float64Array.of(pods),
    cuts: [{ values: Float64Array.of(1), need: pods, perBin: Float64Array.of(1) }],
    below: 2 * pods,
    floor: 0,
    canPack: () => ({ kind: 'unknown' }),
    goesOn: true,
    work: { left: 10_000_000 },
  });
  expect(found).toBeNull();
  expect(bound).toBeGreaterThan(0);
  expect(bound).toBeLessThanOrEqual(pods);
});
