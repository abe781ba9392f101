import { compiledOnce, runSteps } from './run.ts';

/** What a run covers. How many files run at once is said in `vitest.config.ts`. */
const scopes = {
  /** `npm test`: all that needs nothing but this checkout, and little time. */
  doubles: {
    title: 'tests',
    args: ['fast', 'integration', 'app'].flatMap((name) => ['--project', name]),
  },
  /** `npm test -- --slow`: end to end on the doubles, with parts killed, clouds that fail and odd objects, and all that laws draw. */
  slow: { title: 'slow tests', args: ['--project', 'slow', '--project', 'laws'] },
  /** `npm test -- --real`: the suites that need a real control plane, each file with one of its own. */
  real: { title: 'tests on a real control plane', args: ['--project', 'real'] },
} as const;

const given = process.argv.slice(2);
const scope = given.includes('--real') ? scopes.real : given.includes('--slow') ? scopes.slow : scopes.doubles;
const rest = given.filter((argument) => argument !== '--real' && argument !== '--slow');

if (scope === scopes.real && (process.env['KUBEBUILDER_ASSETS'] ?? '') === '') {
  console.error('--real needs KUBEBUILDER_ASSETS: the folder that holds etcd and kube-apiserver (see CONTRIBUTING.md)');
  process.exit(2);
}

runSteps([
  { title: 'build', command: 'node', args: ['scripts/build.ts'] },
  {
    title: scope.title,
    command: 'vitest',
    args: ['run', ...scope.args, ...rest],
    environment: compiledOnce,
  },
]);
