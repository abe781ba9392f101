import { expect, test } from 'vitest';
import { azureDelayMs, kubeletDelayMs } from '../../../../../sandbox/world/processes/restart-delay.ts';

test('a container that ends starts again at once, and after ever longer when it ends again, as a kubelet has it', () => {
  expect([0, 1, 2, 3, 4, 5, 6, 7, 100].map(kubeletDelayMs)).toEqual([
    0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000,
  ]);
});

test('what Azure runs is there again after a second, however often it ended', () => {
  expect(azureDelayMs()).toBe(1_000);
});
