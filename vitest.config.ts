import { defineConfig } from 'vitest/config';

/**
 * Three projects. `fast` is what `npm run check` runs: pure, in memory, seconds. `integration` starts the doubles on
 * loopback. `real` needs the binaries that KUBEBUILDER_ASSETS names, and is skipped, saying so, where they are not.
 */
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
          exclude: ['test/**/*.real.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
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
