import { defineConfig } from 'vitest/config';

/**
 * Four projects. `fast` is what `npm run check` runs: pure, in memory, seconds. `integration` starts the doubles on
 * loopback; `npm test` runs both. `slow` is end to end with things broken on purpose, some half a minute each. `real` needs
 * the binaries that KUBEBUILDER_ASSETS names.
 */
const slow = ['test/e2e/{chaos,compatibility,failure,start}.test.ts'];

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'fast',
          include: ['test/{unit,scenario,property,simulation}/**/*.test.ts', 'test/*.test.ts'],
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/{contract,e2e}/**/*.test.ts'],
          exclude: ['test/**/*.real.test.ts', ...slow],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'slow',
          include: slow,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'real',
          include: ['test/**/*.real.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
