import { defineConfig } from 'vitest/config';

/**
 * `fast` is what `npm run check` runs: pure, in memory, seconds. `integration` starts the doubles on loopback, and `app` does
 * so where a process can load one app only; `npm test` runs these three. `slow` is end to end with things broken on purpose,
 * some half a minute each, and more seeds. `real` needs the binaries that KUBEBUILDER_ASSETS names.
 *
 * Files share their worker's modules, but for `app`: to load them for each file anew took a third of the time of all tests.
 */
const slow = [
  'test/e2e/{chaos,compatibility,failure,interruption,start}.test.ts',
  'test/simulation/more-seeds.test.ts',
  'test/oracle/checker.test.ts',
];
const app = ['test/contract/functions-host/*.test.ts'];
const onLoopback = { testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'fast',
          include: ['test/{unit,scenario,property,simulation}/**/*.test.ts', 'test/*.test.ts'],
          exclude: slow,
          isolate: false,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/{contract,e2e}/**/*.test.ts'],
          exclude: ['test/**/*.real.test.ts', ...slow, ...app],
          isolate: false,
          ...onLoopback,
        },
      },
      { test: { name: 'app', include: app, ...onLoopback } },
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
        },
      },
    ],
  },
});
