import { existsSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { type Answers, gatherAnswers, readWishes } from './answers.ts';
import { azIn } from './az.ts';
import { judge } from './checks.ts';
import { fillIn } from './fill-in.ts';
import { makePublicKey } from './make-ssh-key.ts';
import { renderFindings } from './render-findings.ts';
import { renderParameters } from './render-parameters.ts';
import { writeReport } from './report.ts';
import { runProgram } from './run-program.ts';

/** A cluster without room for the pod that Azure runs commands in keeps az waiting. */
const ASKED_WITHIN_MS = 5 * 60_000;

/**
 * Looks before anything is deployed whether it can be: `azd up` and `azd provision` run it first, and `npm run
 * preflight` by hand. Changes nothing but variables of azd's environment that it can fill in. Ends with 1 when
 * something has to be mended.
 */
const root = resolve(import.meta.dirname, '../..');
const wishes = readWishes(process.env);
try {
  const answers = gatherAnswers(azIn(process.cwd(), ASKED_WITHIN_MS), wishes, (path) =>
    existsSync(resolve(root, path)),
  );
  const findings = judge(answers);
  const failed = findings.filter(({ verdict }) => verdict === 'failed').length;
  const lines = renderFindings(findings, wishes.clusterId);
  console.log(lines.join('\n'));
  tellReport(failed === 0 ? lines : [...lines, '', `${failed} of ${findings.length} checks failed.`]);
  if (failed > 0) {
    console.error(`\n${failed} of ${findings.length} checks failed. Nothing was deployed.`);
    process.exitCode = 1;
  } else {
    tellFound(answers);
  }
} catch (error) {
  const said = `✗ ${error instanceof Error ? error.message : String(error)}`;
  console.error(said);
  tellReport([said]);
  process.exitCode = 1;
}

function tellFound(answers: Answers): void {
  const found = fillIn(answers, makePublicKey);
  if (wishes.environment === '') tellByHand({ ...found, ...ofTheCluster(answers) });
  else for (const [name, value] of Object.entries(found)) tell(name, value);
}

function tellReport(lines: ReadonlyArray<string>): void {
  const { GITHUB_STEP_SUMMARY: summary = '' } = process.env;
  const written = writeReport(lines, { root, environment: wishes.environment, summary });
  for (const file of written) console.log(`  written to ${relative(root, file)}`);
}

/** For a parameter file, where there is no azd to keep it. */
function tellByHand(found: Readonly<Record<string, string>>): void {
  const parameters = readFileSync(join(root, 'infra/main.parameters.json'), 'utf8');
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
