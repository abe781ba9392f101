import { fork, spawn, type ChildProcessByStdio } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { build } from 'esbuild';
import { NO_FIGURES, withPlan, type FiguresRecord } from '../../shared/contract/figures/plan-figures.ts';

/**
 * Measures what the relay, bundled as it ships, needs for a cluster of generated pods:
 *
 *     node test/bench/relay-memory.ts [pods, default 15000] [nodes, default pods / 30] [of them waiting, default 0]
 *
 * The API server, storage and Service Bus are played by another process; the storage takes everything, the queue
 * refuses all, so the figures hold with hints that wait. Prints peak and steady resident memory, the time to the first
 * snapshot and CPU when idle.
 */
const pods = Number(process.argv[2] ?? 15_000);
const nodes = Number(process.argv[3] ?? Math.ceil(pods / 30));
const waiting = Number(process.argv[4] ?? 0);

async function measure(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'relay-bench-'));
  const server = fork(import.meta.filename, [String(pods), String(nodes), String(waiting)], {
    env: { ...process.env, RELAY_BENCH_SERVER: '1' },
  });
  const port = await new Promise<number>((resolve) => server.once('message', (message) => resolve(Number(message))));
  await bundle(join(folder, 'relay.mjs'));
  const url = `http://127.0.0.1:${port}`;
  writeFileSync(join(folder, 'kubeconfig'), kubeconfigOf(url));
  const relay = spawn(process.execPath, ['--max-semi-space-size=4', join(folder, 'relay.mjs')], {
    env: {
      PATH: process.env['PATH'],
      CLUSTER_NAME: 'bench',
      KUBECONFIG: join(folder, 'kubeconfig'),
      ServiceBus: 'Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true',
      SnapshotStorage: `BlobEndpoint=${url}/blobs;SharedAccessSignature=sig=bench`,
      METRICS_PORT: '0',
      HEALTH_PORT: '0',
      BIND_ADDRESS: '127.0.0.1',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await report(relay, performance.now());
  } finally {
    relay.kill('SIGKILL');
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

async function bundle(outfile: string): Promise<void> {
  await build({
    entryPoints: [join(import.meta.dirname, '../../relay/main.ts')],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'error',
  });
}

/** Longest run of the benchmark. */
const longestMs = 240_000;

async function report(relay: ChildProcessByStdio<null, Readable, null>, startedMs: number): Promise<void> {
  let metricsPort = 0;
  relay.stdout.on('data', (chunk: Buffer) => {
    metricsPort ||= Number(/"metricsPort":(\d+)/.exec(chunk.toString('utf8'))?.[1] ?? 0);
  });
  let firstMs = 0;
  const seen: Array<{ readonly atMs: number; readonly rss: number; readonly cpu: number }> = [];
  while (performance.now() - startedMs < longestMs) {
    // Seldom once it is idle, so that asking is not what is measured.
    await new Promise((resolve) => setTimeout(resolve, firstMs === 0 ? 200 : 4_000));
    if (metricsPort === 0) continue;
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
    const rss = value('process_resident_memory_bytes');
    const published = value('nodewright_relay_publishes_total\\{outcome="published"\\}');
    if (published === 0) continue;
    firstMs ||= performance.now() - startedMs;
    seen.push({ atMs: performance.now(), rss, cpu: value('process_cpu_seconds_total') });
    const [first] = seen;
    if (first !== undefined && performance.now() - first.atMs > 25_000) break;
  }
  const last = seen.at(-1);
  const from = seen.find((one) => one.atMs > (last?.atMs ?? 0) - 15_000);
  if (last === undefined || from === undefined) throw new Error('no snapshot was published');
  // The kernel's own high-water mark, where there is one: looking now and then would miss the peak.
  const status = readFileSync(`/proc/${relay.pid}/status`, 'utf8');
  const peak = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1_024;
  const mebibytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(0)} MiB`;
  const idleShare = (last.cpu - from.cpu) / ((last.atMs - from.atMs) / 1_000);
  process.stdout.write(
    `${pods} pods (${waiting} waiting), ${nodes} nodes: peak ${mebibytes(peak)}, steady ${mebibytes(last.rss)}, ` +
      `first snapshot after ${(firstMs / 1_000).toFixed(1)} s, idle CPU ${(idleShare * 100).toFixed(2)} %\n`,
  );
}

function kubeconfigOf(url: string): string {
  return JSON.stringify({
    clusters: [{ name: 'bench', cluster: { server: url } }],
    users: [{ name: 'bench', user: {} }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
    'current-context': 'bench',
  });
}

/** The server's part: pages of generated objects, silent watches, a lease for whoever asks, storage that takes all. */
function serve(): void {
  const server = createServer((request, response) => answer(request, response));
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://bench');
  if (url.pathname.startsWith('/blobs')) return answerBlob(request, response);
  if (url.pathname.includes('/leases')) return answerLease(request, response);
  response.setHeader('content-type', 'application/json');
  if (url.searchParams.has('watch')) {
    response.writeHead(200).flushHeaders();
    return;
  }
  const resource = url.pathname.split('/').at(-1) ?? '';
  const make = { pods: podOf, nodes: nodeOf }[resource];
  const total = { pods, nodes }[resource] ?? 0;
  const from = Number(url.searchParams.get('continue') ?? 0);
  const until = Math.min(total, from + Number(url.searchParams.get('limit') ?? total));
  const items = Array.from({ length: until - from }, (_, index) => make?.(from + index));
  const metadata = { resourceVersion: '1', ...(until < total ? { continue: String(until) } : {}) };
  response.end(JSON.stringify({ kind: 'List', apiVersion: 'v1', metadata, items }));
}

function answerBlob(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  request.on('end', () => {
    response.setHeader('x-ms-request-id', '1');
    if (request.method === 'GET') response.writeHead(200).end(JSON.stringify(figures));
    else if (request.method === 'HEAD') response.writeHead(404, { 'x-ms-error-code': 'BlobNotFound' }).end();
    else response.writeHead(201, { etag: '"1"', 'last-modified': new Date().toUTCString() }).end();
  });
}

/** A full record, of a time when none of the pods was seen yet: all are shown as undecided. */
const figures = Array.from({ length: 100 }).reduce<FiguresRecord>((record, _, index) => {
  const zones = { flexible: 1, none: 1 };
  const figuresOfPods = { pending: 2, unschedulable: 0, ignored: 0, zones };
  const id = uidOf(8, index).slice(0, 16);
  return withPlan(
    record,
    { id, atMs: 1.7e12 + index, tookMs: 100, decidedUpToMs: 1.7e12, waiting: figuresOfPods },
    'holds',
  );
}, NO_FIGURES);

let lease: Record<string, unknown> | null = null;

function answerLease(request: IncomingMessage, response: ServerResponse): void {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
  request.on('end', () => {
    if (request.method !== 'GET') lease = JSON.parse(body) as Record<string, unknown>;
    response.writeHead(lease === null ? 404 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(lease));
  });
}

const time = (second: number): string => new Date(1_790_000_000_000 + second * 1_000).toISOString();

function uidOf(kind: number, index: number): string {
  const hex = ((index * 2_654_435_761) >>> 0).toString(16).padStart(8, '0');
  return `${hex}-0000-4000-8000-${(kind * 1e9 + index).toString(16).padStart(12, '0')}`;
}

/** Pods of 1,000 replica sets with what a real pod carries: environment, probes, mounts, statuses, managed fields. */
function podOf(index: number): object {
  const app = index % 1_000;
  const name = `app-${app}-6f7d9c5b8-${index.toString(36).padStart(5, 'z')}`;
  const env = Array.from({ length: 12 }, (_, key) => ({ name: `SETTING_${key}`, value: `value ${key} of app ${app}` }));
  return {
    metadata: {
      name,
      namespace: `team-${app % 40}`,
      uid: uidOf(1, index),
      resourceVersion: String(index),
      creationTimestamp: time(index),
      labels: { app: `app-${app}`, 'pod-template-hash': '6f7d9c5b8', tier: app % 2 === 0 ? 'front' : 'back' },
      annotations: { 'example.com/config-hash': uidOf(3, app) },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `app-${app}-6f7d9c5b8`,
          uid: uidOf(2, app),
          controller: true,
        },
      ],
      managedFields: [
        {
          manager: 'kube-controller-manager',
          operation: 'Update',
          fieldsV1: { 'f:metadata': { 'f:labels': {} }, 'f:spec': {} },
        },
        {
          manager: 'kubelet',
          operation: 'Update',
          fieldsV1: { 'f:status': { 'f:conditions': { 'k:{"type":"Ready"}': {} } } },
        },
      ],
    },
    spec: {
      ...(index < waiting ? {} : { nodeName: `aks-general-${index % nodes}` }),
      schedulerName: 'default-scheduler',
      serviceAccountName: 'default',
      terminationGracePeriodSeconds: 30,
      priority: 0,
      tolerations: ['not-ready', 'unreachable'].map((key) => ({
        key: `node.kubernetes.io/${key}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      })),
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'topology.kubernetes.io/zone',
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: { app: `app-${app}` } },
        },
      ],
      containers: ['main', 'proxy'].map((container) => ({
        name: container,
        image: `example.azurecr.io/${container}/app-${app}:1.2.3`,
        env,
        resources: { requests: { cpu: `${100 + app}m`, memory: '256Mi' }, limits: { memory: '512Mi' } },
        livenessProbe: { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 10 },
        volumeMounts: [{ name: 'kube-api-access', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }],
      })),
      volumes: [{ name: 'kube-api-access', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }],
    },
    status: {
      phase: index < waiting ? 'Pending' : 'Running',
      startTime: time(index + 2),
      podIP: `10.${index % 250}.${(index >> 8) % 250}.${index % 249}`,
      conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
        type,
        ...(index < waiting ? { status: 'False', reason: 'Unschedulable' } : { status: 'True' }),
        lastTransitionTime: time(index + 3),
      })),
      containerStatuses: ['main', 'proxy'].map((container) => ({
        name: container,
        ready: true,
        containerID: `containerd://${uidOf(4, index)}${uidOf(5, index)}`,
        state: { running: { startedAt: time(index + 3) } },
      })),
    },
  };
}

function nodeOf(index: number): object {
  return {
    metadata: {
      name: `aks-general-${index}`,
      uid: uidOf(6, index),
      creationTimestamp: time(index),
      labels: {
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/hostname': `aks-general-${index}`,
        'node.kubernetes.io/instance-type': 'Standard_D8as_v5',
        'topology.kubernetes.io/zone': `westeurope-${(index % 3) + 1}`,
        'karpenter.sh/nodepool': 'general',
        'karpenter.sh/capacity-type': 'spot',
      },
    },
    spec: {
      providerID: `azure:///subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/nodes/providers/Microsoft.Compute/virtualMachines/aks-general-${index}`,
    },
    status: {
      capacity: { cpu: '8', memory: '32881128Ki', pods: '110' },
      allocatable: { cpu: '7820m', memory: '28362216Ki', pods: '110' },
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', lastTransitionTime: time(index) }],
      images: Array.from({ length: 40 }, (_, image) => ({
        names: [`example.azurecr.io/image-${image}@sha256:${uidOf(7, image)}`],
        sizeBytes: 1e8,
      })),
    },
  };
}

if (process.env['RELAY_BENCH_SERVER'] === undefined) await measure();
else serve();
