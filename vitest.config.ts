import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/setup/longest-first.ts';

/**
 * `fast` is what `npm run check` runs: pure, in memory, seconds. `integration` starts the doubles on loopback, and
 * `app` does so where a process can load one app only; `npm test` runs these three. `slow` is end to end with things
 * broken on purpose, some half a minute each, and more seeds; `laws` draws all that a law should see. `real` needs the
 * binaries that KUBEBUILDER_ASSETS names.
 *
 * Files share their worker's modules, but for `app`: to load them for each file anew took a third of the time of all
 * tests. Modules are loaded by Node itself, as in production, and not by vitest's runner, which takes a sixth of the
 * time more.
 */
const slow = [
  'test/e2e/**/{buffers,chaos,cli,compatibility,currency,disruption,eviction-{paths,rates},failure,idle,interruption,leaving-{changed,cheaper,held},lifecycle,metrics,one-fault,published,scale,start,throttled,together,upgrade}.test.ts',
  'test/contract/servicebus/process.test.ts',
  'test/contract/relay/{image,process}.test.ts',
  'test/scenario/karpenter/recorded-plans.test.ts',
  'test/simulation/{more-{disruption,notices,seeds},once-broken}.test.ts',
  'test/oracle/checker.test.ts',
];
/**
 * Of these the same cases run on the real control plane, case by case. Where that follows (`REAL_FOLLOWS=1`, in CI)
 * they run there alone: what the double answers is held by contract suites, and the way that users of the sandbox take
 * by the other files. Of `leaving-*` some cases run on the double only: there `onBoth` tells them apart.
 */
const twins = [
  'test/e2e/**/{buffers,chaos,compatibility,disruption,eviction-paths,failure,idle,metrics,one-fault,scale,together}.test.ts',
];
/** Laws: `npm test` draws a part of what `--slow` draws (`test/setup/draws.ts`). */
const laws = ['test/property/**/*.test.ts', 'test/unit/cli/input/garbage.test.ts'];
const app = ['test/contract/functions-host/*.test.ts'];
/** Far more than any of them takes, so that other work on the machine decides nothing. */
const inMemory = { testTimeout: 60_000, hookTimeout: 60_000 };
const onLoopback = { testTimeout: 120_000, hookTimeout: 120_000 };

/** Node strips the types; nothing here is mocked or written anew. */
const experimental = { viteModuleRunner: false, nodeLoader: false };

/**
 * How many files run at once. What is in memory computes; what has processes and connections waits for most of its
 * time. Groups run one after the other.
 */
const cores = availableParallelism();
const computes = { maxWorkers: cores, sequence: { groupOrder: 1 } };
const waits = { maxWorkers: Math.ceil(2.5 * cores), sequence: { groupOrder: 0 } };
/** With parts of the product beside them as processes of their own, on one machine. */
const slowly = { maxWorkers: Math.ceil(2.5 * cores), sequence: { groupOrder: 2 } };
/**
 * A control plane and the product on it take a third to two thirds of a core, as fast as that is, and more than a
 * gigabyte.
 */
const really = { maxWorkers: Math.min(2 * cores, 6), sequence: { groupOrder: 3 } };

/** `--sequence.shuffle` asks whether files depend on each other. */
const isShuffled = process.argv.some((argument) => argument.startsWith('--sequence.shuffle'));

/** What the laws draw with. A run prints it, and repeats another when it is given. */
const seed = process.env['FAST_CHECK_SEED'] ?? String(Math.floor(Math.random() * 2 ** 31));
const drawn = {
  env: { FAST_CHECK_SEED: seed },
  setupFiles: ['test/setup/seed.ts'],
  globalSetup: ['test/setup/print-seed.ts'],
};
/** All that laws draw; where nothing is said they draw a part (`test/setup/draws.ts`). */
const all = { ...drawn, env: { ...drawn.env, LAW_EFFORT: process.env['LAW_EFFORT'] ?? '1' } };

if (process.env['REQUIRE_REAL'] === '1' && (process.env['KUBEBUILDER_ASSETS'] ?? '') === '') {
  throw new Error('REQUIRE_REAL=1, and KUBEBUILDER_ASSETS does not name the folder of a control plane');
}

export default defineConfig({
  test: {
    experimental,
    sequence: isShuffled ? {} : { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'fast',
          include: ['test/{unit,scenario,property,simulation}/**/*.test.ts', 'test/*.test.ts'],
          exclude: slow,
          isolate: false,
          ...computes,
          ...inMemory,
          ...drawn,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/{contract,e2e}/**/*.test.ts'],
          exclude: ['test/**/*.real.test.ts', ...slow, ...app],
          isolate: false,
          ...waits,
          ...onLoopback,
          ...drawn,
        },
      },
      { test: { name: 'app', include: app, ...waits, ...onLoopback, ...drawn } },
      {
        test: {
          name: 'slow',
          include: slow,
          exclude: process.env['REAL_FOLLOWS'] === '1' ? twins : [],
          env: { NODEWRIGHT_SLOW: '1' },
          ...slowly,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      { test: { name: 'laws', include: laws, isolate: false, ...slowly, ...inMemory, ...all } },
      {
        test: {
          name: 'real',
          include: ['test/**/*.real.test.ts'],
          ...really,
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
    ],
  },
});
