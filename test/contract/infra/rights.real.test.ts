import { execFile, execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Connection } from '../../../sandbox/kubernetes/client/connection.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/world/sandbox.ts';
import { manifestFolder } from '../../kit/infra/access.ts';
import { chartFolder, FUNCTIONS_USER, helm, merged, NAMESPACE, needed, root } from './chart.ts';

const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';
const NOBODY = '00000000-0000-0000-0000-000000000000';
/** What Entra ID would have given to the identity. */
const TOKEN = 'token-of-the-functions-app';

/** Each step takes some seconds; a loaded machine gets a minute and a half. */
const LOOKS_MAX = 180;
const LOOK_PAUSE_MS = 500;
/** Five waits and kubectl's own: whichever is too long says so, before the test's time is over. */
const TEST_WITHIN_MS = 5 * LOOKS_MAX * LOOK_PAUSE_MS + 240_000;

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

/** Not in one go: what kubectl waits for may need an answer of the Azure that runs in this process. */
async function kubectl(words: ReadonlyArray<string>): Promise<void> {
  await promisify(execFile)(program, named(words));
}

/**
 * Lets the API server know the identity by its object id, as Entra ID does. Before it starts: it reads these files
 * once.
 */
function introduce(): void {
  const certs = join(folder, 'cluster/certs');
  mkdirSync(certs, { recursive: true });
  const users = [
    'token-of-the-administrator,sandbox-admin,sandbox-admin,system:masters',
    `${TOKEN},${FUNCTIONS_USER},1`,
  ];
  writeFileSync(join(certs, 'tokens.csv'), `${users.join('\n')}\n`, { mode: 0o600 });
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  writeFileSync(join(certs, 'service-account.key'), privateKey, { mode: 0o600 });
}

/**
 * Grants what a deployment does: by the chart, or where there is no Helm by the manifests. The custom resources are the
 * sandbox's.
 */
function enrol(): string {
  if (helm.kind === 'found') {
    const words = [
      'install',
      'nodewright',
      chartFolder,
      '--namespace',
      NAMESPACE,
      '--create-namespace',
      '--values',
      '-',
    ];
    // The sandbox has relays of its own; pods of another would wait, and get nodes.
    const values = merged(needed, { crds: { install: false }, replicas: 0 });
    execFileSync(helm.path, named(words), { input: JSON.stringify(values) });
  } else {
    const files = readdirSync(manifestFolder).filter((name) => /^[123].*\.yaml$/.test(name));
    const texts = files.toSorted().map((name) => readFileSync(join(manifestFolder, name), 'utf8'));
    execFileSync(program, named(['apply', '-f', '-']), {
      input: texts.join('\n---\n').replaceAll(NOBODY, FUNCTIONS_USER),
    });
  }
  return TOKEN;
}

beforeAll(async () => {
  if (assets === '') return;
  folder = mkdtempSync(join(tmpdir(), 'rights-'));
  introduce();
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
    hosts: 'as-on-azure',
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

describe.skipIf(assets === '')(
  `with the rights of ${helm.kind === 'found' ? 'the chart' : 'infra/kubernetes'} and no other`,
  () => {
    test(
      'pods get nodes, a spot machine is replaced, a claim is drained, pools and classes are let go',
      async () => {
        await sandbox.apply([join(root, 'examples/spot.yaml')]);
        await until('12 pods run', async () => (await runningPods()) >= 12);

        const vm = sandbox.azure.vms()[0]?.name ?? '';
        sandbox.azure.evict(vm, { noticeSeconds: 30 });
        await until('the evicted machine is gone', () => !sandbox.azure.vms().some(({ name }) => name === vm));
        await until('12 pods run again', async () => (await runningPods()) >= 12);

        const { items } = await connection.get<List>('/apis/karpenter.sh/v1/nodeclaims');
        const claim = items[0]?.metadata.name ?? '';
        await kubectl(['delete', 'nodeclaim', claim, '--timeout=90s']);
        await until('12 pods run on others', async () => (await runningPods()) >= 12);

        // Pods that are there when all NodeClaims go get new nodes, which stay for a while when they are empty.
        await kubectl(['delete', 'deployments', '--all', '--cascade=foreground', '--timeout=90s']);
        await kubectl(['delete', 'nodeclaims', '--all', '--wait=false']);
        await until('no machine is left', () => sandbox.azure.vms().length === 0);
        await kubectl(['delete', 'nodepools,aksnodeclasses', '--all', '--timeout=60s']);

        expect(lines.filter((line) => /forbidden|TerminalError|: 40[13] /.test(line))).toEqual([]);
      },
      TEST_WITHIN_MS,
    );
  },
);
