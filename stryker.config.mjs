import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin';

/** `npm run mutate` gives each part of a run a name of its own. */
const { MUTATION_REPORT: report = 'report' } = process.env;

/** An empty list that stands in for a missing one: with a stray text in it nothing that a test could be about changes. */
const emptyDefault = {
  shouldIgnore: ({ node, parent }) => {
    if (node.type !== 'ArrayExpression' || node.elements.length > 0) return undefined;
    const isDefault =
      parent.type === 'AssignmentPattern' || (parent.type === 'LogicalExpression' && parent.operator === '??');
    return isDefault ? 'an empty list in place of a missing one' : undefined;
  },
};

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, 'empty-default', emptyDefault)];

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  testRunner: 'vitest',
  vitest: { configFile: 'vitest.mutation.config.ts' },
  plugins: ['@stryker-mutator/vitest-runner', './stryker.config.mjs'],
  ignorers: ['empty-default'],
  mutator: {
    // Most texts are for people, and where one is a name, the comparison that it stands in is mutated itself. That a function
    // or a record does nothing at all, the first test that touches it says.
    excludedMutations: ['StringLiteral', 'ObjectLiteral', 'ArrowFunction'],
  },
  concurrency: 2,
  // On a busy machine a test that only waits for its turn must not count as caught.
  timeoutMS: 15_000,
  reporters: ['progress-append-only', 'json', 'html'],
  jsonReporter: { fileName: `.mutation/${report}.json` },
  htmlReporter: { fileName: `.mutation/${report}.html` },
  incremental: true,
  incrementalFile: '.mutation/known.json',
  tempDirName: '.mutation/tmp',
  ignorePatterns: ['/dist', '/infra', '/examples', '/.mutation'],
  disableTypeChecks: false,
  // TypeScript 7 lacks the functions that Stryker rewrites the file with, and nothing is compiled here.
  tsconfigFile: 'none',
  logLevel: 'warn',
  warnings: { slow: false },
};
