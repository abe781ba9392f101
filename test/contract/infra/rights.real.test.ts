import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Connection } from '../../../sandbox/kubernetes/client/connection.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/world/sandbox.ts';
import { manifestFolder } from '../../unit/infra/access.ts';

const root = resolve(import.meta.dirname, '../../..');
const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';
const NOBODY = '00000000-0000-0000-0000-000000000000';
const IDENTITY = 'system:serviceaccount:default:functions';

/** Each step takes some seconds; a loaded machine gets a minute and a half. */
const LOOKS_MAX = 180;
const LOOK_PAUSE_MS = 500;
/** Four waits and kubectl's own: whichever is too long says so, before the test's time is over. */
const TEST_WITHIN_MS = 4 * LOOKS_MAX * LOOK_PAUSE_MS + 90_000;

const lines: Array<string> = [];
let folder = '';
let sandbox: Sandbox;
let connection: Connection;

const program = join(assets, 'kubectl');
const named = (words: ReadonlyArray<string>): Array<string> => [
  '--kubeconfig',
  join(folder, 'cluster/kubeconfig'),
  ...words,
];

/** Before the sandbox is up: whatever of it runs in this process stands still meanwhile. */
function kubectlAtStart(words: ReadonlyArray<string>, input = ''): string {
  return execFileSync(program, named(words), { input, encoding: 'utf8' });
}

/** Later: what kubectl waits for may need an answer of the Azure that runs in this process. */
async function kubectl(words: ReadonlyArray<string>): Promise<void> {
  await promisify(execFile)(program, named(words));
}

/** Applies the manifests as a deployment does, with the identity filled in, and answers its token. The relay is left out. */
function enrol(): string {
  const files = readdirSync(manifestFolder).filter((name) => /^[123].*\.yaml$/.test(name));
  const texts = files.toSorted().map((name) => readFileSync(join(manifestFolder, name), 'utf8'));
  kubectlAtStart(['create', 'serviceaccount', 'functions']);
  kubectlAtStart(['apply', '-f', '-'], texts.join('\n---\n').replaceAll(NOBODY, IDENTITY));
  return kubectlAtStart(['create', 'token', 'functions', '--duration=2h']).trim();
}

beforeAll(async () => {
  if (assets === '') return;
  folder = mkdtempSync(join(tmpdir(), 'rights-'));
  sandbox = await startSandbox({
    mode: 'real',
    assets,
    folder,
    root,
    seed: 'rights',
    pace: { joinMs: 300, readyMs: 200, nodeRemovalMs: null },
    azure: {},
    functionsPort: null,
    sweepSchedule: '*/5 * * * * *',
    duplicatePercent: 20,
    systemNode: false,
    relays: 1,
    // Read when the Functions host starts, which is after the API server and before anything calls it.
    settings: {
      get AZURE_STATIC_TOKEN() {
        return enrol();
      },
    },
    onLine: (from, line) => {
      if (from === 'functions') lines.push(line);
    },
  });
  connection = connect(sandbox.cluster.kubeconfig);
});

afterAll(async () => {
  connection?.close();
  await sandbox?.close();
  if (folder !== '') rmSync(folder, { recursive: true, force: true });
});

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    if (await isSo()) return;
    await sleep(LOOK_PAUSE_MS);
  }
  throw new Error(`not seen: ${what}\n${lines.slice(-20).join('\n')}`);
}

interface List {
  readonly items: ReadonlyArray<{
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
    readonly status?: { readonly phase?: string };
  }>;
}

async function runningPods(): Promise<number> {
  const { items } = await connection.get<List>('/api/v1/namespaces/default/pods');
  return items.filter(({ metadata, status }) => status?.phase === 'Running' && metadata.deletionTimestamp === undefined)
    .length;
}

describe.skipIf(assets === '')('with the rights of infra/kubernetes and no other', () => {
  test(
    'pods get nodes, a spot machine is replaced, a claim is drained, pools and classes are let go',
    async () => {
      await sandbox.apply([join(root, 'examples/spot.yaml')]);
      await until('12 pods run', async () => (await runningPods()) >= 12);

      const vm = sandbox.azure.vms()[0]?.name ?? '';
      sandbox.azure.evict(vm, { noticeSeconds: 30 });
      await until('the evicted machine is gone', () => !sandbox.azure.vms().some(({ name }) => name === vm));
      await until('12 pods run again', async () => (await runningPods()) >= 12);

      await kubectl(['delete', 'deployments,nodeclaims', '--all', '--wait=false']);
      await until('no machine is left', () => sandbox.azure.vms().length === 0);
      await kubectl(['delete', 'nodepools,aksnodeclasses', '--all', '--timeout=60s']);

      expect(lines.filter((line) => /forbidden|TerminalError|: 40[13] /.test(line))).toEqual([]);
    },
    TEST_WITHIN_MS,
  );
});
