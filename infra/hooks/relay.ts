import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { azIn } from './az.ts';
import { explainRefusal } from './explain-refusal.ts';
import { BETWEEN, type InTheCluster, architectureOf, questions, readCluster, tellForeign } from './in-the-cluster.ts';
import {
  type Deployed,
  type Image,
  buildCommand,
  digestCommand,
  helmCommand,
  invokeCommand,
  readDeployed,
  readImage,
  renderValues,
  sent,
} from './relay-commands.ts';
import { runProgram } from './run-program.ts';

/**
 * Builds the relay's image and installs the chart: before `azd deploy` brings the app's code, so that rights and custom resources are there
 * when it asks for them. Repeating it changes nothing that is the same.
 */
const root = resolve(import.meta.dirname, '../..');
const { NODEWRIGHT_INSTALL: way = '' } = process.env;
try {
  if (way !== '' && way !== 'helm') {
    throw new Error(
      `NODEWRIGHT_INSTALL is ${JSON.stringify(way)}: write helm, or nothing for a command through Azure (azd env set NODEWRIGHT_INSTALL "")`,
    );
  }
  const deployed = readDeployed(process.env);
  checkValues(deployed);
  const cluster = look(deployed);
  const isBuilt = deployed.relayImage === '';
  const architecture = isBuilt ? architectureOf(cluster) : '';
  const image = isBuilt ? build(deployed, architecture) : readImage(deployed.relayImage);
  for (const line of tellForeign(cluster)) console.log(line);
  install(deployed, renderValues(deployed, { image, architecture, cluster }));
} catch (error) {
  console.error(`✗ ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

function checkValues({ chartValues }: Deployed): void {
  if (chartValues === '' || existsSync(resolve(root, chartValues))) return;
  throw new Error(
    `NODEWRIGHT_CHART_VALUES names ${chartValues}, which is not there: name a YAML file, by its path from the repository's root`,
  );
}

/** What is in the cluster, asked by the way that the chart will take. */
function look(deployed: Deployed): InTheCluster {
  const definitions = readdirSync(join(root, 'infra/chart/definitions'));
  return readCluster(way === 'helm' ? askHere() : askThroughAzure(deployed), definitions);
}

function askThroughAzure(deployed: Deployed): ReadonlyArray<string> {
  return runThroughAzure(deployed, {
    folder: root,
    command: questions.join(`; echo ${BETWEEN}; `),
    withFiles: false,
  }).split(`${BETWEEN}\n`);
}

/** Nothing where there is no kubectl beside Helm: then the chart is installed as it is. */
function askHere(): ReadonlyArray<string> {
  return questions.map((question) => {
    const [program = '', ...args] = question.split(' ');
    const { status, stdout } = runProgram(program, args, { cwd: root, shown: false });
    return status === 0 ? stdout : '';
  });
}

/** The image that was built, by its digest. */
function build(deployed: Deployed, architecture: string): Image {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const { loginServer } = ask(`find the registry ${deployed.registryName}`, [
    'acr',
    'show',
    '--name',
    deployed.registryName,
  ]) as { readonly loginServer: string };
  run('az', buildCommand(deployed, { version, architecture }), root);
  const { digest } = ask('read the digest of the image that was built', digestCommand(deployed, version)) as {
    readonly digest: string;
  };
  return { repository: `${loginServer}/nodewright-relay`, tag: version, digest };
}

/** From a folder that has the chart and its values, which is gone afterwards. */
function install(deployed: Deployed, values: Readonly<Record<string, unknown>>): void {
  const folder = mkdtempSync(join(tmpdir(), 'nodewright-chart-'));
  try {
    cpSync(join(root, 'infra/chart'), join(folder, sent.chart), { recursive: true });
    if (deployed.chartValues !== '') cpSync(resolve(root, deployed.chartValues), join(folder, sent.own));
    writeFileSync(join(folder, sent.deployed), JSON.stringify(values, null, 2));
    const [program = '', ...args] = helmCommand(deployed);
    if (way === 'helm') run(program, args, folder);
    else console.log(runThroughAzure(deployed, { folder, command: helmCommand(deployed).join(' '), withFiles: true }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Command {
  readonly folder: string;
  readonly command: string;
  readonly withFiles: boolean;
}

/** What the command printed. Throws where Azure does not run it, and where it ends with a failure. */
function runThroughAzure(deployed: Deployed, { folder, command, withFiles }: Command): string {
  const [program = ''] = command.split(' ');
  const answer = azIn(folder)(invokeCommand(deployed, command, { withFiles }));
  if (answer.kind !== 'answer') throw new Error(explainRefusal(`run ${program} in the cluster through Azure`, answer));
  // az ends well when it could hand the command over; how that ended stands in the answer.
  const { exitCode, logs } = answer.value as { readonly exitCode: number; readonly logs: string };
  if (exitCode === 0) return logs;
  console.log(logs);
  throw new Error(`${program} ended with ${exitCode} in the cluster: its words are above`);
}

function ask(doing: string, args: ReadonlyArray<string>): unknown {
  const answer = azIn(root)(args);
  if (answer.kind === 'answer') return answer.value;
  throw new Error(explainRefusal(doing, answer));
}

function run(program: string, args: ReadonlyArray<string>, cwd: string): void {
  console.log(`▸ ${program} ${args.join(' ')}`);
  const { status, error } = runProgram(program, args, { cwd, shown: true });
  if (error !== undefined)
    throw new Error(`${program} cannot be run: install it, or put it on the PATH`, { cause: error });
  if (status !== 0)
    throw new Error(`${program} ${args.slice(0, 2).join(' ')} ended with ${status}: its words are above`);
}
