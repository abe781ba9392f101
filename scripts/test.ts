import { compiledOnce, runSteps } from './run.ts';

/** What a run covers. How many files run at once is said in `vitest.config.ts`. */
const scopes = {
  /** `npm test`: all that needs nothing but this checkout, and little time. */
  doubles: {
    title: 'tests',
    args: ['fast', 'integration', 'app'].flatMap((name) => ['--project', name]),
  },
  /**
   * `npm test -- --slow`: end to end on the doubles, with parts killed, clouds that fail and odd objects, and all that
   * laws draw.
   */
  slow: { title: 'slow tests', args: ['--project', 'slow', '--project', 'laws'] },
  /**
   * `npm test -- --real`: the suites that need a real control plane, each file with one of its own, and those that need
   * the real az.
   */
  real: { title: 'tests on a real control plane', args: ['--project', 'real'] },
} as const;

const given = process.argv.slice(2);
const hasReal = (process.env['KUBEBUILDER_ASSETS'] ?? '') !== '';
if (given.includes('--soak')) soak(given.filter((argument) => argument !== '--soak'));
/** The real az, which CI builds (CONTRIBUTING.md): its suites need no control plane. */
const hasAz = (process.env['AZURE_CLI_FOLDER'] ?? '') !== '';
const scope = given.includes('--real') ? scopes.real : given.includes('--slow') ? scopes.slow : scopes.doubles;
const rest = given.filter((argument) => argument !== '--real' && argument !== '--slow');

if (scope === scopes.real && !hasReal && !hasAz) {
  console.error(
    '--real needs KUBEBUILDER_ASSETS, the folder that holds etcd and kube-apiserver, or AZURE_CLI_FOLDER, the one that holds az (see CONTRIBUTING.md)',
  );
  process.exit(2);
}
const isAzAlone = scope === scopes.real && !hasReal;
/** Vitest runs what any of its filters fits. */
const namesFiles = rest.some((argument) => argument.endsWith('.test.ts'));
if (isAzAlone) console.log('KUBEBUILDER_ASSETS is not set: only what needs the real az is tried');

runSteps([
  { title: 'build', command: 'node', args: ['scripts/build.ts'] },
  {
    title: scope.title,
    command: 'vitest',
    args: ['run', ...scope.args, ...(isAzAlone && !namesFiles ? ['test/e2e/azure-cli'] : []), ...rest],
    environment: compiledOnce,
  },
]);

/**
 * `npm test -- --soak`: churn and faults, then rest, and whether the product's laws hold meanwhile; on the embedded
 * control plane, and on a real one too where there is one. With `--control-plane` only on that. Ends the process.
 */
function soak(args: ReadonlyArray<string>): never {
  const other = args.find((argument) => argument === '--real' || argument === '--slow');
  if (other !== undefined) {
    console.error(
      `${other} and --soak exclude each other: a soak on a real control plane is --soak --control-plane real`,
    );
    process.exit(2);
  }
  const isChosen = args.some((argument) => argument.startsWith('--control-plane') || argument === '--help');
  const planes = isChosen ? [[]] : ['embedded', ...(hasReal ? ['real'] : [])].map((name) => ['--control-plane', name]);
  runSteps([
    { title: 'build', command: 'node', args: ['scripts/build.ts'] },
    ...planes.map((plane) => ({
      title: 'soak',
      command: 'node',
      args: ['test/soak/run.ts', ...plane, ...args],
      environment: compiledOnce,
    })),
  ]);
  process.exit(0);
}
