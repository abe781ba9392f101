import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { startAzure } from '../../../sandbox/azure/azure.ts';
import type { Azure } from '../../../sandbox/azure/running-azure.ts';
import { azureDefaults } from '../../../sandbox/azure/state/options.ts';
import { APP_ID, TENANT } from '../../../sandbox/azure/state/identities.ts';
import { systemClock } from '../../../sandbox/base/clock.ts';
import { rngFrom } from '../../../sandbox/base/rng.ts';
import { openCuttableLine } from '../../../sandbox/world/processes/cuttable-line.ts';
import { type Ended, type Terminal, run, runAtTerminal } from './run.ts';
import type { Tools } from './tools.ts';

const root = resolve(import.meta.dirname, '../../..');

/** Hosts that az and the command reach for, each answered by the double. */
const HOSTS = [
  'management.azure.com',
  'graph.microsoft.com',
  '*.azurewebsites.net',
  '*.scm.azurewebsites.net',
  '*.blob.core.windows.net',
  '*.azurecr.io',
];

/** One request that a client sent, as the proxy has seen it. */
export interface Request {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly unmapped?: boolean;
}

/** A subscription on this machine with a cluster in it, and the real az, which is logged in there. */
export interface OpenAzure {
  readonly azure: Azure;
  readonly clusterId: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Where commands are typed. Not the repository. */
  readonly folder: string;
  /** Types a command line of Node's, without a terminal. */
  readonly type: (args: ReadonlyArray<string>, environment?: Readonly<Record<string, string>>) => Promise<Ended>;
  /** Types it at a terminal, where somebody answers yes. */
  readonly typeAtTerminal: (args: ReadonlyArray<string>) => Promise<Terminal>;
  /** What was asked of Azure so far, in order. */
  readonly requests: () => ReadonlyArray<Request>;
  /** How often az was started so far, with which words. */
  readonly calls: () => ReadonlyArray<string>;
  /** The same of azd, which is none: it notes its words and does nothing. */
  readonly azdCalls: () => ReadonlyArray<string>;
  /** Cuts every connection that stands. */
  readonly cut: () => void;
  readonly close: () => Promise<void>;
}

export interface Opening {
  readonly seed: string;
  readonly cluster: 'ready' | 'plain';
}

/** Starts the double and the proxy, and logs az in. */
export async function openAzure(tools: Tools, { seed, cluster }: Opening): Promise<OpenAzure> {
  const azure = await startAzure({ ...azureDefaults, port: 0, clock: systemClock, rng: rngFrom(seed), cluster });
  const folder = mkdtempSync(join(tmpdir(), 'nodewright-azure-cli-'));
  const proxy = await startProxy(tools, { folder, endpoint: azure.endpoint });
  const line = await openCuttableLine(proxy.port);
  const calls = join(folder, 'calls');
  const environment = {
    ...proxy.environment,
    HTTPS_PROXY: `http://127.0.0.1:${line.port}`,
    https_proxy: `http://127.0.0.1:${line.port}`,
    PATH: [writeAz(folder, { tools, calls }), process.env['PATH'] ?? ''].join(delimiter),
    HOME: folder,
    AZURE_CONFIG_DIR: join(folder, 'config'),
    AZURE_CORE_COLLECT_TELEMETRY: '0',
    AZURE_BICEP_CHECK_VERSION: 'false',
    // Node's own fetch goes the same way as az.
    NODE_USE_ENV_PROXY: '1',
    ...writeImpatience(folder),
  };
  writeBicep(environment.AZURE_CONFIG_DIR);
  writeFileSync(calls, '');
  const type: OpenAzure['type'] = (args, more = {}) =>
    run(process.execPath, args, { cwd: folder, environment: { ...environment, ...more } });
  const { subscriptionId, clusterResourceGroup, clusterName } = azureDefaults;
  const opened: OpenAzure = {
    azure,
    clusterId: `/subscriptions/${subscriptionId}/resourceGroups/${clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${clusterName}`,
    environment,
    folder,
    type,
    typeAtTerminal: (args) => runAtTerminal(process.execPath, args, { cwd: folder, environment }),
    requests: () => linesOf(join(folder, 'requests.jsonl')).map((text) => JSON.parse(text) as Request),
    calls: () => linesOf(calls),
    azdCalls: () => linesOf(`${calls}-of-azd`),
    cut: () => line.cut(),
    close: async () => {
      proxy.child.kill();
      await line.close();
      await azure.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  const login = ['login', '--service-principal', '--username', APP_ID, '--password', 'any', '--tenant', TENANT];
  const { code, err } = await run(join(tools.folder, 'az'), login, { cwd: folder, environment });
  if (code === 0) return opened;
  await opened.close();
  throw new Error(`az did not log in: ${err}`);
}

function linesOf(file: string): ReadonlyArray<string> {
  return readFileSync(file, { encoding: 'utf8', flag: 'a+' }).split('\n').slice(0, -1);
}

interface Proxy {
  readonly child: ChildProcess;
  readonly port: number;
  readonly environment: Readonly<Record<string, string>>;
}

async function startProxy(
  { intercept }: Tools,
  { folder, endpoint }: { readonly folder: string; readonly endpoint: string },
): Promise<Proxy> {
  const maps = HOSTS.flatMap((host) => ['--map', `${host}=${endpoint}`]);
  const child = spawn(process.execPath, [intercept, '--dir', folder, '--tenant', TENANT, ...maps], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const text of createInterface({ input: child.stdout })) {
    return { child, ...(JSON.parse(text) as Omit<Proxy, 'child'>) };
  }
  throw new Error('the proxy has ended before it listened');
}

/** The real az under a word that notes how it was called. */
function writeAz(folder: string, { tools, calls }: { readonly tools: Tools; readonly calls: string }): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeProgram(join(bin, 'az'), [
    '#!/bin/sh',
    `printf '%s\\n' "$(printf '%s ' "$@" | tr '\\n' ' ')" >> '${calls}'`,
    `exec '${join(tools.folder, 'az')}' "$@"`,
  ]);
  writeProgram(join(bin, 'azd'), ['#!/bin/sh', `printf '%s\\n' "$*" >> '${calls}-of-azd'`]);
  return bin;
}

/** Where az looks for what it would download else. */
function writeBicep(configFolder: string): void {
  const bin = join(configFolder, 'bin');
  mkdirSync(bin, { recursive: true });
  const script = join(root, 'test/kit/azure-cli/bicep-stand-in.ts');
  writeProgram(join(bin, 'bicep'), ['#!/bin/sh', `exec '${process.execPath}' '${script}' "$@"`]);
}

function writeProgram(path: string, lines: ReadonlyArray<string>): void {
  writeFileSync(path, `${lines.join('\n')}\n`);
  chmodSync(path, 0o755);
}

/**
 * What waits, waits a hundredth: az sleeps a minute after the code was sent, and between its own tries; the command
 * looks again every quarter of a minute. What they do is not touched. `AZURE_CLI_PATIENT=1` leaves them their time.
 */
function writeImpatience(folder: string): Readonly<Record<string, string>> {
  if (process.env['AZURE_CLI_PATIENT'] === '1') return {};
  const python = join(folder, 'impatient');
  mkdirSync(python);
  writeFileSync(
    join(python, 'sitecustomize.py'),
    'import time\nsleep = time.sleep\ntime.sleep = lambda seconds: sleep(seconds / 100)\n',
  );
  const node = join(root, 'test/kit/azure-cli/impatient.mjs');
  return { PYTHONPATH: python, NODE_OPTIONS: `--import ${node}` };
}
