import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const folders: Array<string> = [];
const running = new Set<ChildProcess>();

afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A folder of a test's own for temporary files, which also keeps other sandboxes of this machine out of reach. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'start-test-'));
  folders.push(folder);
  return folder;
}

interface Place {
  readonly mode: 'embedded' | 'real';
  readonly folder: string;
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Started {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly ended: Promise<Ended>;
}

/** Runs `npm start -- ARGS` as npm does, with its output in a pipe. */
function start({ mode, folder }: Place, args: ReadonlyArray<string>): Started {
  const { KUBEBUILDER_ASSETS = '', ...environment } = process.env;
  const child = spawn(process.execPath, [join(root, 'scripts/start.js'), ...args], {
    cwd: root,
    env: { ...environment, TMPDIR: folder, ...(mode === 'real' ? { KUBEBUILDER_ASSETS } : {}) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString('utf8');
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
  return { child, stdout: () => stdout, ended };
}

/** Slow machines take a while to bring everything up. */
const UP_WITHIN_MS = 180_000;

async function until(is: () => boolean, what: string): Promise<void> {
  for (const deadline = Date.now() + UP_WITHIN_MS; !is();) {
    if (Date.now() > deadline) throw new Error(`${what}: not within ${UP_WITHIN_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Folders of runs that are still there. */
function leftFolders({ folder }: Place): ReadonlyArray<string> {
  return readdirSync(folder).filter(
    (name) => name.startsWith('nodewright-') && !name.startsWith('nodewright-sessions'),
  );
}

/** What `npm start` promises, with either control plane. */
export function startCases(mode: 'embedded' | 'real'): void {
  describe(`npm start with the ${mode} control plane`, { timeout: 2 * UP_WITHIN_MS }, () => {
    test('--once ends with exit code 0 and a summary once all pods of the examples run', async () => {
      const folder = makeFolder();
      const place = { mode, folder };
      const { code, stdout, stderr } = await start(place, ['--once', '--boot-seconds', '1']).ended;
      expect(stderr).toBe('');
      // A slow scheduler names the pods to more than one plan.
      const plans = [
        ...stdout.matchAll(
          /Provisioned \d nodes? \(.+\) for (\d+) pods?: \$\d+\.\d{3}\/h, (?:at most \d+\.\d % above )?the cheapest possible\./g,
        ),
      ];
      expect(plans.reduce((sum, [, pods]) => sum + Number(pods), 0)).toBeGreaterThanOrEqual(10);
      expect(stdout).toMatch(/All 10 pods run on \d nodes for \$\d+\.\d{3}\/h\./);
      expect(stdout).toMatch(/From unschedulable to VM PUT +p50 \d+\.\d+ s, p99 \d+\.\d+ s \(10 pods\)/);
      expect(stdout).toMatch(/From unschedulable to running +p50 \d+\.\d+ s, p99 \d+\.\d+ s \(10 pods\)/);
      expect(stdout).toContain('Azure Retail Prices');
      // oxlint-disable-next-line no-control-regex
      expect(stdout).not.toMatch(/\u001B/);
      expect(code).toBe(0);
      expect(leftFolders(place)).toEqual([]);
    });

    test('--once ends with exit code 1 and the reason when a pod can have no node', async () => {
      const folder = makeFolder();
      const place = { mode, folder };
      const file = join(folder, 'too-big.yaml');
      const pool = readFileSync(join(root, 'examples/general-purpose.yaml'), 'utf8');
      const pods = readFileSync(join(root, 'examples/inflate.yaml'), 'utf8');
      writeFileSync(
        file,
        `${pool}\n---\n${pods.replace("cpu: '1'", "cpu: '9000'").replace('replicas: 10', 'replicas: 1')}`,
      );
      const { code, stdout } = await start(place, ['--once', '-f', file]).ended;
      expect(stdout).toContain('No pods run, 1 pod waits, and no more nodes can be created.');
      expect(stdout).toMatch(/inflate-\S+: .*general-purpose: /);
      expect(code).toBe(1);
    });

    test('stays up, is scaled and loses a node from another terminal, and leaves nothing behind when it is stopped', async () => {
      const folder = makeFolder();
      const place = { mode, folder };
      const kubeconfig = join(folder, `kubeconfig-${mode}`);
      const args = [
        '-f',
        join(root, 'examples/spot.yaml'),
        '--boot-seconds',
        '1',
        '--log',
        'json',
        '--kubeconfig',
        kubeconfig,
      ];
      const sandbox = start(place, args);
      await until(() => sandbox.stdout().includes('"running":12,"starting":0,"pending":0'), 'twelve pods run');
      expect(readFileSync(kubeconfig, 'utf8')).toContain('current-context: sandbox');
      const scaled = await start(place, ['scale', '14']).ended;
      expect(scaled).toMatchObject({ code: 0, stdout: 'inflate is scaled from 12 to 14 replicas.\n' });
      await until(() => sandbox.stdout().includes('"running":14,"starting":0,"pending":0'), 'fourteen pods run');
      const evicted = await start(place, ['evict']).ended;
      expect(evicted.stdout).toMatch(/^Azure will evict spot VM aks-spot-\S+ in 30 s\.\n$/);
      await until(() => sandbox.stdout().includes('"event":"interrupted"'), 'its node is given up');
      const unknown = await start(place, ['evict', 'nobody']).ended;
      expect(unknown).toMatchObject({ code: 2, stdout: '' });
      expect(unknown.stderr).toContain('No node is called nobody; the nodes are aks-spot-');
      for (const line of sandbox.stdout().trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('event');
      sandbox.child.kill('SIGINT');
      expect((await sandbox.ended).code).toBe(0);
      expect(leftFolders(place)).toEqual([]);
      expect(() => readFileSync(kubeconfig)).toThrow('ENOENT');
    });

    test('refuses a manifest that the API server refuses, in its words', async () => {
      const folder = makeFolder();
      const place = { mode, folder };
      const file = join(folder, 'field.yaml');
      const pool = readFileSync(join(root, 'examples/general-purpose.yaml'), 'utf8');
      writeFileSync(file, pool.replace('consolidateAfter', 'consolidateAfterwards'));
      const { code, stderr } = await start(place, ['-f', file]).ended;
      expect(stderr).toContain(`${file}, document 1: NodePool general-purpose: `);
      expect(stderr).toContain('consolidateAfterwards');
      expect(code).toBe(2);
      expect(leftFolders(place)).toEqual([]);
    });
  });
}

/** Spot, so that it takes nothing of the quota that the pods wait for. */
const STATIC_POOL = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: fixed }
spec:
  replicas: 1
  template:
    spec:
      nodeClassRef: { group: karpenter.azure.com, kind: AKSNodeClass, name: default }
      requirements:
        - { key: node.kubernetes.io/instance-type, operator: In, values: [Standard_D2s_v5] }
        - { key: karpenter.sh/capacity-type, operator: In, values: [spot] }
`;

/** What orders do; they are the same with either control plane. */
export function orderCases(): void {
  describe('npm start takes orders', { timeout: 2 * UP_WITHIN_MS }, () => {
    test('a feature gate reaches the app, and pods that quota leaves over wait for it in so many words', async () => {
      const folder = makeFolder();
      const place = { mode: 'embedded', folder } as const;
      const [pool, config] = [join(folder, 'fixed.yaml'), join(folder, 'lab.yaml')];
      writeFileSync(pool, STATIC_POOL);
      writeFileSync(config, 'settings:\n  FEATURE_GATES: StaticCapacity=true\nquota:\n  cores: 2000\n');
      const files = [pool, join(root, 'examples/general-purpose.yaml'), join(root, 'examples/inflate.yaml')];
      const args = ['--once', '--boot-seconds', '1', '--log', 'json', '--config', config, '--quota', 'cores=4'];
      const { code, stdout, stderr } = await start(place, [...args, '-f', ...files]).ended;
      expect(stderr).toBe('');
      const events = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as StateEvent);
      const state = events.findLast(({ event }) => event === 'state');
      expect(state?.nodes.map(({ name }) => name)).toContainEqual(expect.stringMatching(/^aks-fixed-/));
      const pending = state?.pods.pending ?? 0;
      expect(pending).toBeGreaterThanOrEqual(4);
      expect(state?.quota).toMatchObject([{ name: 'cores', limit: 4, pods: pending }]);
      const last = events.findLast(({ event }) => event === 'last');
      expect(last?.text).toMatch(/\d pods wait for quota: \d of 4 cores of all on-demand VMs together are used\./);
      expect(last?.text).toMatch(/start with --quota cores=\d+ or more\./);
      expect(code).toBe(1);
    });

    test('what is wrong with them is told all at once, before anything is started', async () => {
      const folder = makeFolder();
      const place = { mode: 'embedded', folder } as const;
      const config = join(folder, 'lab.yaml');
      writeFileSync(config, 'quota: { core: 8 }\n');
      const args = ['--setting', 'CLUSTER_ENDPOINT=https://x', '--azure', 'throttlePercent=500', '--config', config];
      const { code, stdout, stderr } = await start(place, args).ended;
      expect(stdout).toBe('');
      expect(stderr).toContain('--setting CLUSTER_ENDPOINT cannot be given: ');
      expect(stderr).toContain('--azure throttlePercent must be a number from 0 to 100, not 500');
      expect(stderr).toContain(`${config}: quota.core: there is no such quota; did you mean cores`);
      expect(code).toBe(2);
      expect(leftFolders(place)).toEqual([]);
    });
  });
}

interface StateEvent {
  readonly event: string;
  readonly text: string;
  readonly pods: { readonly pending: number };
  readonly nodes: ReadonlyArray<{ readonly name: string }>;
  readonly quota: ReadonlyArray<object>;
}

/** What is refused before anything is started. */
export function wrongUseCases(): void {
  describe('npm start refuses, with a sentence and exit code 2', () => {
    test('a file that is not there', async () => {
      const folder = makeFolder();
      const place = { mode: 'embedded', folder } as const;
      const { code, stderr } = await start(place, ['-f', 'no-such.yaml']).ended;
      expect(stderr).toContain('no-such.yaml: there is no such file or folder.');
      expect(code).toBe(2);
    });

    test('a file that is no YAML', async () => {
      const folder = makeFolder();
      const place = { mode: 'embedded', folder } as const;
      const file = join(folder, 'bad.yaml');
      writeFileSync(file, 'kind: Pod\n  metadata: x\n');
      const { code, stderr } = await start(place, ['-f', file]).ended;
      expect(stderr).toMatch(/bad\.yaml: .+ at line \d/);
      expect(code).toBe(2);
    });

    test('an option that there is not', async () => {
      const folder = makeFolder();
      const place = { mode: 'embedded', folder } as const;
      const { code, stderr } = await start(place, ['--onec']).ended;
      expect(stderr).toContain('There is no option --onec; did you mean --once?');
      expect(code).toBe(2);
    });

    test('a port that is in use', async () => {
      const folder = makeFolder();
      const place = { mode: 'embedded', folder } as const;
      const server = createServer();
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve);
      });
      const { port } = server.address() as { readonly port: number };
      const { code, stderr } = await start(place, ['--functions-port', String(port)]).ended;
      server.close();
      expect(stderr).toContain(`Port ${port} is in use: choose another with --functions-port.`);
      expect(code).toBe(2);
    });

    test('to scale when no sandbox runs', async () => {
      const folder = makeFolder();
      const place = { mode: 'embedded', folder } as const;
      const { code, stderr } = await start(place, ['scale', '3']).ended;
      expect(stderr).toContain('No sandbox is running: start one with npm start, in another terminal.');
      expect(code).toBe(2);
    });
  });
}
