import { runSteps } from './run.ts';

/**
 * `npm test`: builds, then runs every test that needs nothing but this checkout. What it ran is printed per file. The
 * suites on a real control plane are `npm test -- --real`, and want KUBEBUILDER_ASSETS.
 */
/** Tests of the doubles wait more than they compute, so more files than cores run at once. */
const DOUBLES = ['--project', 'fast', '--project', 'integration', '--maxWorkers=3'];

const real = process.argv.includes('--real');
const rest = process.argv.slice(2).filter((argument) => argument !== '--real');

if (real && (process.env['KUBEBUILDER_ASSETS'] ?? '') === '') {
  console.error('--real needs KUBEBUILDER_ASSETS: the folder that holds etcd and kube-apiserver (see CONTRIBUTING.md)');
  process.exit(2);
}

runSteps([
  { title: 'build', command: 'node', args: ['scripts/build.ts'] },
  {
    title: real ? 'tests on a real control plane' : 'tests',
    command: 'vitest',
    args: ['run', ...(real ? ['--project', 'real'] : DOUBLES), ...rest],
  },
]);
