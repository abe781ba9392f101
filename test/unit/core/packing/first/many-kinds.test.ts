import { expect, test } from 'vitest';
import { pack } from '../../../../../shared/core/packing/pack.ts';
import type { PackingBin } from '../../../../../shared/core/packing/problem/problem.ts';

test('thousands of pods that are all different are not only cut into fractions and rounded', () => {
  const items = Array.from({ length: 2_000 }, (_, index) => ({
    requests: Float64Array.of(100 + 2 * index, 100 + 3 * index),
    count: 1,
    perNode: Infinity,
  }));
  const bin = (cpu: number, memory: number, price: number): PackingBin => ({
    usable: Float64Array.of(cpu, memory),
    price,
    admits: Uint8Array.from(items, ({ requests: [cores = 0, mib = 0] }) => (cores <= cpu && mib <= memory ? 1 : 0)),
  });
  const bins = [
    bin(2_000, 8_192, 100),
    bin(4_000, 16_384, 200),
    bin(8_000, 32_768, 390),
    bin(4_000, 32_768, 260),
    bin(2_000, 4_096, 30),
  ];
  const { cost, bound, left } = pack({ width: 2, items, bins }, { left: 1 });
  expect(left.some((count) => count > 0)).toBe(false);
  expect(cost / bound).toBeLessThan(1.12);
});
