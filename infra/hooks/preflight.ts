import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Answers, gatherAnswers, readWishes } from './answers.ts';
import { azIn } from './az.ts';
import { fillIn, judge } from './checks.ts';
import { makePublicKey } from './make-ssh-key.ts';
import { renderFindings } from './render-findings.ts';
import { renderParameters } from './render-parameters.ts';
import { runProgram } from './run-program.ts';

/**
 * Looks before anything is deployed whether it can be: `azd provision` runs it first, and `npm run preflight` by hand. Reads
 * only, but for variables of azd's environment that it can fill in. Ends with 1 when something has to be mended.
 */
const wishes = readWishes(process.env);
try {
  const answers = gatherAnswers(azIn(process.cwd()), wishes);
  const findings = judge(answers);
  console.log(renderFindings(findings, wishes.clusterId).join('\n'));
  const failed = findings.filter(({ verdict }) => verdict === 'failed').length;
  if (failed > 0) {
    console.error(`\n${failed} of ${findings.length} checks failed. Nothing was deployed.`);
    process.exitCode = 1;
  } else {
    const found = fillIn(answers, makePublicKey);
    if (wishes.environment === '') tellByHand({ ...found, ...ofTheCluster(answers) });
    else for (const [name, value] of Object.entries(found)) tell(name, value);
  }
} catch (error) {
  console.error(`✗ ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

/** For a parameter file, where there is no azd to keep it. */
function tellByHand(found: Readonly<Record<string, string>>): void {
  const parameters = readFileSync(join(resolve(import.meta.dirname, '..'), 'main.parameters.json'), 'utf8');
  console.log('\nFor infra/by-hand/nodewright.bicepparam:\n');
  console.log(renderParameters(parameters, found).join('\n'));
}

/** What else such a file has to say: the cluster knows it, or it stands in the environment of this look. */
function ofTheCluster({ cluster: { id, location } }: Answers): Readonly<Record<string, string>> {
  const said = { NODEWRIGHT_NODE_SUBNET_ID: wishes.nodeSubnetId, NODEWRIGHT_SSH_PUBLIC_KEY: wishes.sshPublicKey };
  return {
    NODEWRIGHT_CLUSTER_ID: id,
    AZURE_LOCATION: location,
    ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== '')),
  };
}

/** Into azd's environment, and for everybody to see. */
function tell(name: string, value: string): void {
  console.log(`  ${name}=${value}`);
  const args = ['env', 'set', name, value, '--environment', wishes.environment];
  const { status } = runProgram('azd', args, { cwd: process.cwd(), shown: true });
  if (status === 0) return;
  console.error(`✗ ${name} could not be written: run azd ${args.slice(0, 4).join(' ')}`);
  process.exitCode = 1;
}
