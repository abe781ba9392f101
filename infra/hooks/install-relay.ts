import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Ask } from './az.ts';
import { explainRefusal } from './explain-refusal.ts';
import {
  BETWEEN,
  type InTheCluster,
  architectureOf,
  questions,
  readCluster,
  readValues,
  tellForeign,
  valuesQuestion,
} from './in-the-cluster.ts';
import {
  type Deployed,
  type Image,
  buildCommand,
  digestCommand,
  helmCommand,
  invokeCommand,
  ownValues,
  pathsOf,
  readDeployed,
  readImage,
  renderValues,
  sent,
} from './relay-commands.ts';

/** What the environment says, and by what it is done. */
export interface Installing {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The repository's. */
  readonly root: string;
  readonly azIn: (folder: string) => Ask;
  /** Runs a program whose words everybody sees. Throws an Error where it cannot be run or fails. */
  readonly run: (program: string, args: ReadonlyArray<string>, folder: string) => void;
  /** What a program of this machine prints; empty where there is none, or it fails. */
  readonly read: (program: string, args: ReadonlyArray<string>) => string;
  readonly say: (line: string) => void;
}

/**
 * Values of one's own: those that are named now, or those that the chart has already, where none are named. azd keeps
 * the name of their file, so that where it names none there are to be none.
 */
export type OwnValues = 'named' | 'kept';

/**
 * Builds the relay's image and installs the chart. Repeating it changes nothing that is the same. Throws an Error whose
 * message is one sentence.
 */
export function installRelay(installing: Installing, own: OwnValues = 'named'): void {
  const { environment, say } = installing;
  wayOf(environment);
  const deployed = readDeployed(environment);
  checkValues(deployed, installing);
  const { cluster, values: before } = lookAtChart(deployed, installing, own);
  const isBuilt = deployed.relayImage === '';
  const architecture = isBuilt ? architectureOf(cluster) : '';
  const image = isBuilt ? build(deployed, architecture, installing) : readImage(deployed.relayImage);
  for (const line of tellForeign(cluster)) say(line);
  const values = renderValues(deployed, { image, architecture, cluster });
  const kept = ownValues(before, { architecture, cluster });
  for (const line of tellKept(kept)) say(line);
  install(deployed, { kept, values }, installing);
}

/**
 * What of the cluster decides how the chart is installed. `values`: those that the chart has now and may keep; empty
 * where others are named, or it is not there.
 */
export function lookAtChart(
  place: Pick<Deployed, 'clusterName' | 'clusterResourceGroup' | 'relayNamespace'>,
  installing: Pick<Installing, 'environment' | 'root' | 'azIn' | 'read'>,
  own: OwnValues,
): { readonly cluster: InTheCluster; readonly values: Readonly<Record<string, unknown>> } {
  const definitions = readdirSync(join(installing.root, 'infra/chart/definitions'));
  // A name that is empty asks for none.
  const isKept = own === 'kept' && installing.environment['NODEWRIGHT_CHART_VALUES'] === undefined;
  // The last answer is the one whose failure counts, and a chart that is not there has no values to tell.
  const first = isKept ? [valuesQuestion(place.relayNamespace)] : [];
  const answers = askTheCluster(place, [...first, ...questions], installing);
  return {
    cluster: readCluster(answers.slice(first.length), definitions),
    values: isKept ? readValues(answers[0] ?? '') : {},
  };
}

/** One line for the values of one's own that stay. */
export function tellKept(kept: Readonly<Record<string, unknown>>): ReadonlyArray<string> {
  const paths = pathsOf(kept).toSorted();
  return paths.length === 0 ? [] : [`keeps values of the chart, from the cluster: ${paths.join(', ')}`];
}

/** What commands of kubectl answer in the cluster, asked by the way that the chart takes. */
export function askTheCluster(
  place: Pick<Deployed, 'clusterName' | 'clusterResourceGroup'>,
  commands: ReadonlyArray<string>,
  { environment, root, azIn, read }: Pick<Installing, 'environment' | 'root' | 'azIn' | 'read'>,
): ReadonlyArray<string> {
  if (wayOf(environment) === 'helm') {
    // Nothing where there is no kubectl beside Helm: then the chart is installed as it is.
    return commands.map((command) => {
      const [program = '', ...args] = command.split(' ');
      return read(program, args);
    });
  }
  const command = commands.join(`; echo ${BETWEEN}; `);
  return runThroughAzure(place, { ask: azIn(root), command, withFiles: false }).split(`${BETWEEN}\n`);
}

/** By what the chart is installed: empty for a command through Azure. */
function wayOf({ NODEWRIGHT_INSTALL: way = '' }: Installing['environment']): 'helm' | '' {
  if (way === '' || way === 'helm') return way;
  throw new Error(
    `NODEWRIGHT_INSTALL is ${JSON.stringify(way)}: write helm, or nothing for a command through Azure (azd env set NODEWRIGHT_INSTALL "")`,
  );
}

function checkValues({ chartValues }: Deployed, { root }: Installing): void {
  if (chartValues === '' || existsSync(resolve(root, chartValues))) return;
  throw new Error(
    `NODEWRIGHT_CHART_VALUES names ${chartValues}, which does not exist: name a YAML file, by its path from the repository's root`,
  );
}

/** The image that was built, by its digest. */
function build(deployed: Deployed, architecture: string, { root, azIn, run }: Installing): Image {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const ask = (doing: string, args: ReadonlyArray<string>): unknown => {
    const answer = azIn(root)(args);
    if (answer.kind === 'answer') return answer.value;
    throw new Error(explainRefusal(doing, answer));
  };
  const { registryName } = deployed;
  const { loginServer } = ask(`find the registry ${registryName}`, ['acr', 'show', '--name', registryName]) as {
    readonly loginServer: string;
  };
  run('az', buildCommand(deployed, { version, architecture }), root);
  const { digest } = ask('read the digest of the image that was built', digestCommand(deployed, version)) as {
    readonly digest: string;
  };
  return { repository: `${loginServer}/nodewright-relay`, tag: version, digest };
}

/** From a folder that has the chart and its values, which is gone afterwards. */
function install(
  deployed: Deployed,
  { kept, values }: Readonly<Record<'kept' | 'values', Readonly<Record<string, unknown>>>>,
  installing: Installing,
): void {
  const { environment, root, azIn, run, say } = installing;
  const folder = mkdtempSync(join(tmpdir(), 'nodewright-chart-'));
  try {
    cpSync(join(root, 'infra/chart'), join(folder, sent.chart), { recursive: true });
    const keeps = Object.keys(kept).length > 0;
    if (deployed.chartValues !== '') cpSync(resolve(root, deployed.chartValues), join(folder, sent.own));
    else if (keeps) writeFileSync(join(folder, sent.own), JSON.stringify(kept, null, 2));
    writeFileSync(join(folder, sent.deployed), JSON.stringify(values, null, 2));
    const command = helmCommand(deployed, { hasOwn: keeps || deployed.chartValues !== '' });
    const [program = '', ...args] = command;
    if (wayOf(environment) === 'helm') run(program, args, folder);
    else
      say(
        runThroughAzure(deployed, {
          ask: azIn(folder),
          command: command.join(' '),
          withFiles: true,
          say,
        }),
      );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Command {
  /** Works in the folder that goes along `withFiles`. */
  readonly ask: Ask;
  readonly command: string;
  readonly withFiles: boolean;
  /** Hears the words of a command that fails. */
  readonly say?: (line: string) => void;
}

/** What the command printed. Throws where Azure does not run it, and where it ends with a failure. */
function runThroughAzure(
  place: Pick<Deployed, 'clusterName' | 'clusterResourceGroup'>,
  { ask, command, withFiles, say }: Command,
): string {
  const [program = ''] = command.split(' ');
  const answer = ask(invokeCommand(place, command, { withFiles }));
  if (answer.kind !== 'answer') throw new Error(explainRefusal(`run ${program} in the cluster through Azure`, answer));
  // az ends well when it could hand the command over; how that ended stands in the answer.
  const { exitCode, logs } = answer.value as { readonly exitCode: number; readonly logs: string };
  if (exitCode === 0) return logs;
  if (say === undefined) throw new Error(`${program} ended with ${exitCode} in the cluster: ${logs.trim()}`);
  say(logs);
  throw new Error(`${program} ended with ${exitCode} in the cluster: its words are above`);
}
