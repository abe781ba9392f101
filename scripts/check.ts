import { compiledOnce, runSteps } from './run.ts';

/** What a change must pass before it is committed: types, lint, format, and the tests that need nothing but memory. */
const folders = ['functions', 'shared', 'relay', 'cli', 'infra/hooks', 'sandbox', 'scripts', 'test'];
const sources = [...folders, 'vitest.config.ts', 'vitest.mutation.config.ts', 'stryker.config.mjs'];

/** A directive that suppresses nothing is an error: the rule that it names is off, or what it was about has gone. */
const lint = ['-c', '.oxlintrc.json', '--quiet', '--report-unused-disable-directives-severity', 'error'];

const withTests = !process.argv.includes('--no-tests');

runSteps([
  { title: 'types', command: 'tsc', args: ['-p', 'tsconfig.json'] },
  { title: 'lint', command: 'oxlint', args: [...lint, ...sources] },
  { title: 'format', command: 'prettier', args: ['--check', '--log-level', 'warn', '.'] },
  ...(withTests
    ? [
        {
          title: 'fast tests',
          command: 'vitest',
          args: ['run', '--project', 'fast', '--reporter', 'dot'],
          environment: compiledOnce,
        },
      ]
    : []),
]);
