import { setTimeout as sleep } from 'node:timers/promises';
import { watchObjects } from '../../sandbox/kubernetes/client/watch-objects.ts';
import { deployment, nodeClass, nodePool, oneToANode } from '../e2e/kit/manifests.ts';
import { vmNameOf } from '../../shared/contract/vm-name.ts';
import { readExecutions } from '../e2e/kit/executions.ts';
import type { KubernetesObject, Node, Pod } from '../../sandbox/kubernetes/client/objects.ts';
import { paceFor } from '../../sandbox/start/pace.ts';
import type { SandboxOptions } from '../../sandbox/world/sandbox.ts';
import { type Mode, type World, startWorld } from '../e2e/kit/world.ts';
import { readUses, type Use } from './kit/process-use.ts';

/**
 * Measures a burst end to end, with the product as `npm run build` left it, all parts on this machine:
 *
 *     node test/bench/burst.ts PODS [PODS_PER_NODE, default 1] [embedded | real] [BOOT_SECONDS]
 *
 * `real` needs KUBEBUILDER_ASSETS. Machines boot in half a second, which shows what the product itself takes, or in
 * about so many seconds, which shows what a user sees (Azure: 50 to 80). The sweep comes once a minute, as deployed.
 * There is a system node, as in every AKS cluster: without any node, kube-scheduler puts a pod off twice as long each
 * time, instead of waiting for a node. Prints when claims were out, how long machines took, how long a node waited from
 * its registration to being open, when all pods ran, and what it cost: calls to the API server, executions, CPU,
 * memory.
 */
const pods = Number(process.argv[2] ?? 100);
const podsPerNode = Number(process.argv[3] ?? 1);
const mode: Mode = process.argv[4] === 'real' ? 'real' : 'embedded';
const bootSeconds = process.argv[5] === undefined ? null : Number(process.argv[5]);

/** So that it is known how many pods a node holds. */
const EIGHT_CORES = [
  { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
  { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['8'] },
];

/** A burst that is not over by then has found something. */
const LONGEST_MS = 20 * 60_000;

const QUOTA = {
  totalRegionalCores: 500_000,
  lowPriorityCores: 500_000,
  virtualMachines: 50_000,
  familyCores: 500_000,
  families: {},
};

/** Moments by name, milliseconds since the epoch, the first time that each is seen. */
type Moments = Map<string, number>;

interface Times {
  /** Of each claim, by name. */
  readonly decisions: Map<string, string>;
  readonly claimSeen: Moments;
  readonly nodeSeen: Moments;
  readonly nodeReady: Moments;
  /** Our registration is on it: its planned pods may come as soon as they are let in. */
  readonly nodeAdmitted: Moments;
  readonly nodeOpen: Moments;
  /** By the node that the pod may go to, or is on. */
  readonly podLetIn: Moments;
  readonly podBound: Moments;
  readonly podRunning: Moments;
}

function note(moments: Moments, name: string): void {
  if (!moments.has(name)) moments.set(name, Date.now());
}

/** Kept from the first look on; the watches end with the process. */
function watchBurst({ api: connection }: World): Times {
  const times: Times = {
    decisions: new Map(),
    claimSeen: new Map(),
    nodeSeen: new Map(),
    nodeReady: new Map(),
    nodeAdmitted: new Map(),
    nodeOpen: new Map(),
    podLetIn: new Map(),
    podBound: new Map(),
    podRunning: new Map(),
  };
  const common = { connection, query: '', onDelete: () => undefined };
  watchObjects<KubernetesObject>({
    ...common,
    path: '/apis/karpenter.sh/v1/nodeclaims',
    onChange: ({ metadata }) => {
      note(times.claimSeen, metadata.name);
      times.decisions.set(metadata.name, metadata.annotations?.['nodewright.dev/decision'] ?? '');
    },
  });
  watchObjects<Node>({
    ...common,
    path: '/api/v1/nodes',
    onChange: ({ metadata, spec, status }) => {
      if (metadata.labels?.['kubernetes.azure.com/mode'] === 'system') return;
      note(times.nodeSeen, metadata.name);
      if (status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true) {
        note(times.nodeReady, metadata.name);
      }
      if (metadata.labels?.['karpenter.sh/registered'] === 'true') note(times.nodeAdmitted, metadata.name);
      const held = (spec?.taints ?? []).some(
        ({ key }) => key === 'karpenter.sh/unregistered' || key === 'nodewright.dev/reserved',
      );
      if (!held) note(times.nodeOpen, metadata.name);
    },
  });
  watchObjects<Pod>({
    ...common,
    path: '/api/v1/namespaces/default/pods',
    onChange: ({ metadata, spec, status }) => {
      const passage = spec.tolerations?.find(({ key }) => key === 'nodewright.dev/reserved')?.value;
      // A shared reservation names no node: then it is known where the pod could go once it has.
      if (passage !== undefined) note(times.podLetIn, spec.nodeName ?? vmNameOf(passage));
      if (spec.nodeName !== undefined) note(times.podBound, spec.nodeName);
      if (status?.phase === 'Running') note(times.podRunning, metadata.uid);
    },
  });
  return times;
}

/** Requests so far by verb and resource, watches left out; empty where the API server tells none. */
async function readRequests({ api }: World): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  if (mode === 'embedded') return counts;
  const chunks: Array<Buffer> = [];
  for await (const chunk of await api.stream('/metrics')) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  for (const [, labels = '', value = '0'] of text.matchAll(/^apiserver_request_total\{(.*)\} (\S+)$/gm)) {
    const of = (name: string): string => new RegExp(`\\b${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    if (of('verb') === 'WATCH' || of('verb') === 'CONNECT') continue;
    const resource = of('subresource') === '' ? of('resource') : `${of('resource')}/${of('subresource')}`;
    const key = `${of('verb')} ${resource}`;
    counts.set(key, (counts.get(key) ?? 0) + Number(value));
  }
  return counts;
}

function quantile(values: ReadonlyArray<number>, share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function spread(values: ReadonlyArray<number>): string {
  const [p50, p99, longest] = [quantile(values, 0.5), quantile(values, 0.99), quantile(values, 1)];
  return `p50 ${seconds(p50)}, p99 ${seconds(p99)}, longest ${seconds(longest)} (${values.length})`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** From the first of pairs of moments to the second, for names that have both. */
function between(from: Moments, to: Moments): ReadonlyArray<number> {
  return [...to].flatMap(([name, at]) => {
    const since = from.get(name);
    return since === undefined ? [] : [at - since];
  });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** What the functions logged of plans and decisions: when, and what. */
function decisionLines(world: World): ReadonlyArray<string> {
  return world.lines.filter((line) => /"event":"(planned|provisioned|decision-resumed)"/.test(line));
}

async function run(): Promise<void> {
  const world = await startWorld(mode, { ...pace(), systemNode: true, sweepSchedule: '0 * * * * *' });
  try {
    await world.apply(nodeClass, nodePool('general', { requirements: EIGHT_CORES }));
    await world.until('the pool is ready', async () => {
      const pool = await world.api.get<{
        readonly status?: { readonly conditions?: ReadonlyArray<{ readonly type: string; readonly status: string }> };
      }>('/apis/karpenter.sh/v1/nodepools/general');
      return pool.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
    });
    const times = watchBurst(world);
    const [usesBefore, requestsBefore, executionsBefore] = [
      readUses(),
      await readRequests(world),
      await readExecutions(world),
    ];
    const linesBefore = world.lines.length;
    const startedMs = Date.now();
    const relayMb: Array<number> = [];
    const sampling = setInterval(() => relayMb.push(readUses().get('relay')?.rssMb ?? 0), 1_000);
    await world.apply(burst());
    while (times.podRunning.size < pods && Date.now() - startedMs < LONGEST_MS) await sleep(100);
    const ranMs = Date.now();
    const openWanted = times.claimSeen.size;
    while (times.nodeOpen.size < openWanted && Date.now() - startedMs < LONGEST_MS) await sleep(100);
    await sleep(5_000);
    clearInterval(sampling);
    report(world, times, { startedMs, ranMs, linesBefore });
    const nodes = Math.max(1, times.claimSeen.size);
    tellCalls(requestsBefore, await readRequests(world), nodes);
    tellExecutions(executionsBefore, await readExecutions(world), nodes);
    tellUses(usesBefore, readUses());
    say(
      `relay memory        p50 ${quantile(relayMb, 0.5).toFixed(0)} MB, p95 ${quantile(relayMb, 0.95).toFixed(0)} MB`,
    );
  } finally {
    await world.close();
  }
}

/** How fast machines come. */
function pace(): Partial<SandboxOptions> {
  if (bootSeconds === null) return { azure: { quota: QUOTA } };
  const { machines, latency } = paceFor(bootSeconds);
  return { azure: { quota: QUOTA, latency }, pace: machines };
}

/** Pods that fill a node in so many, or shun each other. */
function burst(): object {
  if (podsPerNode === 1) return deployment('burst', pods, { cpu: '100m', memory: '64Mi', pod: oneToANode('burst') });
  return deployment('burst', pods, { cpu: `${Math.floor(7_600 / podsPerNode)}m`, memory: '64Mi' });
}

function report(
  world: World,
  times: Times,
  {
    startedMs,
    ranMs,
    linesBefore,
  }: { readonly startedMs: number; readonly ranMs: number; readonly linesBefore: number },
): void {
  const puts: Moments = new Map(world.sandbox.azure.counters().vms.map(({ name, firstPutAt }) => [name, firstPutAt]));
  const claims = [...times.claimSeen.values()];
  say(
    `${mode}: ${times.podRunning.size} of ${pods} pods run, ${times.claimSeen.size} claims, ${times.nodeSeen.size} nodes`,
  );
  for (const line of decisionLines(world).slice(0, 12)) say(`  ${line.slice(0, 230)}`);
  const inVain = world.lines.slice(linesBefore).filter((line) => line.includes('nothing-to-launch')).length;
  const plans = world.lines.slice(linesBefore).filter((line) => line.includes('"event":"planned"')).length;
  const retries = world.lines.slice(linesBefore).filter((line) => line.includes('"event":"retry-later"')).length;
  say(`plans               ${plans}, of them for nothing ${inVain}; hints put off ${retries}`);
  say(
    `claims out          first ${seconds(Math.min(...claims) - startedMs)}, last ${seconds(Math.max(...claims) - startedMs)} after the burst`,
  );
  for (const [decision, names] of Map.groupBy(times.claimSeen.keys(), (name) => times.decisions.get(name) ?? '')) {
    const seen = names.map((name) => times.claimSeen.get(name) ?? Number.NaN);
    const tookMs = Math.max(...seen) - Math.min(...seen);
    say(`  ${decision}, ${names.length} claims: all ${seconds(tookMs)} after the first`);
  }
  say(`VM asked for        ${spread([...puts.values()].map((at) => at - startedMs))} after the burst`);
  say(`registered          ${spread([...times.nodeSeen.values()].map((at) => at - startedMs))} after the burst`);
  say(`registered to open  ${spread(between(times.nodeSeen, times.nodeOpen))}`);
  const steps = ['nodeSeen', 'nodeReady', 'nodeAdmitted', 'podLetIn', 'podBound', 'nodeOpen'] as const;
  for (const [index, to] of steps.entries()) {
    const from = steps[index - 1];
    if (from !== undefined) say(`  ${`${from} to ${to}`.padEnd(26)}${spread(between(times[from], times[to]))}`);
  }
  say(`asked for to open   ${spread(between(puts, times.nodeOpen))}`);
  say(`pod running         ${spread([...times.podRunning.values()].map((at) => at - startedMs))} after the burst`);
  say(`all run             ${seconds(ranMs - startedMs)} after the burst`);
}

function tellCalls(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>, nodes: number): void {
  const calls = [...after].map(([key, count]) => [key, count - (before.get(key) ?? 0)] as const);
  const all = calls.reduce((sum, [, count]) => sum + count, 0);
  if (all === 0) return;
  say(`API calls by all    ${all} (${(all / nodes).toFixed(1)} a node)`);
  for (const [key, count] of calls.toSorted(([, a], [, b]) => b - a).slice(0, 16)) {
    say(`  ${key.padEnd(34)}${String(count).padStart(7)}  ${(count / nodes).toFixed(1)} a node`);
  }
}

function tellExecutions(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
  nodes: number,
): void {
  const counts = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const);
  const text = counts.map(([name, count]) => `${name} ${count} (${(count / nodes).toFixed(1)})`).join(', ');
  say(`executions (a node) ${text}`);
}

function tellUses(before: ReadonlyMap<string, Use>, after: ReadonlyMap<string, Use>): void {
  for (const [part, { cpuS, rssMb }] of after) {
    say(
      `  ${part.padEnd(26)}${(cpuS - (before.get(part)?.cpuS ?? 0)).toFixed(1).padStart(7)} s CPU  ${rssMb.toFixed(0).padStart(6)} MB`,
    );
  }
}

await run();
process.exit(0);
