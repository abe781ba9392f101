import { setTimeout as sleep } from 'node:timers/promises';
import type { Node, Pod } from '../../../sandbox/kubernetes/client/objects.ts';
import { watchObjects } from '../../../sandbox/kubernetes/client/watch-objects.ts';
import { paceFor } from '../../../sandbox/start/pace.ts';
import { deployment, nodeClass, nodePool } from '../../e2e/kit/manifests.ts';
import { holdLease, lockCatalog, throttleAzure } from '../../e2e/evicted/troubles.ts';
import { type Mode, type World, startWorld } from '../../e2e/kit/world.ts';
import { readUses, type Use } from '../kit/process-use.ts';

/**
 * Measures a spot storm end to end, with the product as `npm run build` left it, all parts on this machine:
 *
 *     node test/bench/nodes/storm.ts NODES [embedded | real] [NOTICE_SECONDS, default 30] [BOOT_SECONDS, default 60] [TROUBLE]
 *
 * `real` needs KUBEBUILDER_ASSETS. TROUBLE, from the notice on: `throttled`, Azure refuses every request for a minute;
 * `locked`, nobody can write what is remembered of Azure; `lease`, the latest decision's executor is dead; `sold-out`,
 * there is no spot capacity any more. Functions run in processes of their own, as on Azure, unless ONE_HOST is set. So
 * many spot nodes with three pods each, whose grace period is 5 s, are taken back at the same moment. Prints from the
 * notice, per node: to its taint, to its last pod being told, to the PUTs of what replaces them; how many pods ended by
 * themselves before their VM was gone; what was bought that no pod came to; when all pods ran again; and which process
 * used how much of the CPUs until the last pod was told.
 */
const nodes = Number(process.argv[2] ?? 20);
const mode: Mode = process.argv[3] === 'real' ? 'real' : 'embedded';
const noticeSeconds = Number(process.argv[4] ?? 30);
const bootSeconds = Number(process.argv[5] ?? 60);

const trouble = process.argv[6] ?? 'none';

const PODS_PER_NODE = 3;
const GRACE_SECONDS = 5;

/** Three pods and no fourth fit on one. */
const FOUR_CORES = [
  { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
  { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['4'] },
];

const QUOTA = {
  totalRegionalCores: 500_000,
  lowPriorityCores: 500_000,
  virtualMachines: 50_000,
  familyCores: 500_000,
  families: {},
};

const NO_SPOT = { size: null, zone: null, capacityType: 'spot', code: 'SkuNotAvailable', remaining: 0 } as const;

/** What takes longer has found something. */
const LONGEST_MS = 6 * 60_000;

type Moments = Map<string, number>;

interface Seen {
  /** By node. */
  readonly tainted: Moments;
  /** By uid of the pod. */
  readonly told: Moments;
  readonly ended: Moments;
  readonly running: Set<string>;
  /** The node of each pod that ever had one, by uid. */
  readonly nodeOf: Map<string, string>;
  /** When its VM was first seen to be away, by node. */
  readonly vmGone: Moments;
}

function note(moments: Moments, name: string): void {
  if (!moments.has(name)) moments.set(name, Date.now());
}

function watchStorm({ api: connection, sandbox }: World): Seen {
  const seen: Seen = {
    tainted: new Map(),
    told: new Map(),
    ended: new Map(),
    running: new Set(),
    nodeOf: new Map(),
    vmGone: new Map(),
  };
  watchObjects<Node>({
    connection,
    query: '',
    path: '/api/v1/nodes',
    onDelete: () => undefined,
    onChange: ({ metadata, spec }) => {
      if (spec?.taints?.some(({ key }) => key === 'karpenter.sh/disrupted') === true) note(seen.tainted, metadata.name);
    },
  });
  watchObjects<Pod>({
    connection,
    query: '',
    path: '/api/v1/namespaces/default/pods',
    onDelete: ({ metadata }) => {
      note(seen.ended, metadata.uid);
      seen.running.delete(metadata.uid);
    },
    onChange: ({ metadata, spec, status }) => {
      if (spec.nodeName !== undefined) seen.nodeOf.set(metadata.uid, spec.nodeName);
      if (metadata.deletionTimestamp !== undefined) note(seen.told, metadata.uid);
      const runs = status?.phase === 'Running' && metadata.deletionTimestamp === undefined;
      if (runs) seen.running.add(metadata.uid);
      else seen.running.delete(metadata.uid);
    },
  });
  const known = new Set<string>();
  setInterval(() => {
    const there = new Set(sandbox.azure.vms().map(({ name }) => name));
    for (const name of there) known.add(name);
    for (const name of known) if (!there.has(name)) note(seen.vmGone, name);
  }, 50);
  return seen;
}

function quantile(values: ReadonlyArray<number>, share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function spread(values: ReadonlyArray<number>, of: number): string {
  const [p50, p99, longest] = [quantile(values, 0.5), quantile(values, 0.99), quantile(values, 1)];
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
  return `p50 ${seconds(p50)}, p99 ${seconds(p99)}, longest ${seconds(longest)} (${values.length} of ${of})`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Waits for it, and says that it did not come where it does not. */
async function until(what: string, holds: () => boolean): Promise<void> {
  const end = Date.now() + LONGEST_MS;
  while (!holds()) {
    if (Date.now() > end) {
      say(`not within ${LONGEST_MS / 1000} s: ${what}`);
      return;
    }
    await sleep(100);
  }
}

async function run(): Promise<void> {
  const { machines, latency } = paceFor(bootSeconds);
  const azure = { quota: QUOTA, latency };
  const hosts = process.env['ONE_HOST'] === undefined ? 'as-on-azure' : 'one';
  const world = await startWorld(mode, {
    azure,
    pace: machines,
    systemNode: true,
    sweepSchedule: '0 * * * * *',
    hosts,
  });
  try {
    const seen = watchStorm(world);
    const pods = nodes * PODS_PER_NODE;
    const spot = nodePool('spot', { capacityTypes: ['spot', 'on-demand'], requirements: FOUR_CORES });
    await world.apply(nodeClass, spot, deployment('storm', pods, { cpu: '1100m', graceSeconds: GRACE_SECONDS }));
    await until('all pods run', () => seen.running.size === pods);
    const vms = world.sandbox.azure.vms();
    // A node hears of its eviction by AKS's extension, which comes after it has joined.
    const areEquipped = (): boolean =>
      world.sandbox.azure.vms().every(({ extensions }) => extensions.includes('computeakslinuxbilling'));
    await until('machines have AKS’s extension', areEquipped);
    await sleep(5_000);
    const old = vms.filter(({ capacityType }) => capacityType === 'spot').map(({ name }) => name);
    const own = new Map(old.map((name) => [name, [...seen.nodeOf].flatMap(([uid, on]) => (on === name ? uid : []))]));
    const linesBefore = world.lines.length;
    if (trouble === 'locked') await lockCatalog(world);
    if (trouble === 'lease') await holdLease(world);
    if (trouble === 'throttled') {
      throttleAzure(world);
      setTimeout(() => world.sandbox.azure.heal(), 60_000);
    }
    if (trouble === 'sold-out') world.sandbox.azure.exhaust(NO_SPOT);
    const noticedMs = Date.now();
    const uses = [{ atMs: noticedMs, used: readUses() }];
    const sampling = setInterval(() => uses.push({ atMs: Date.now(), used: readUses() }), 250);
    for (const name of old) world.sandbox.azure.evict(name, { noticeSeconds });
    await until('their VMs are gone', () => old.every((name) => seen.vmGone.has(name)));
    await until('all pods run again', () => seen.running.size === pods);
    const wholeMs = Date.now();
    clearInterval(sampling);
    report(world, seen, { own, noticedMs, wholeMs, linesBefore });
    tellUses(uses, Math.max(...[...own.values()].flat().flatMap((uid) => seen.told.get(uid) ?? [])));
  } finally {
    await world.close();
  }
}

interface Storm {
  /** Uids of the pods on each node that was taken back. */
  readonly own: ReadonlyMap<string, ReadonlyArray<string>>;
  readonly noticedMs: number;
  readonly wholeMs: number;
  readonly linesBefore: number;
}

function report(world: World, seen: Seen, { own, noticedMs, wholeMs, linesBefore }: Storm): void {
  const since = (atMs: number): number => atMs - noticedMs;
  const all = [...own.values()].flat();
  const tainted = [...own.keys()].flatMap((name) => seen.tainted.get(name) ?? []).map(since);
  const told = [...own.values()].flatMap((uids) => {
    const moments = uids.flatMap((uid) => seen.told.get(uid) ?? []);
    return moments.length === uids.length ? [since(Math.max(...moments))] : [];
  });
  const ended = [...own].flatMap(([name, uids]) =>
    uids.filter((uid) => (seen.ended.get(uid) ?? Infinity) <= (seen.vmGone.get(name) ?? Infinity)),
  );
  const puts = world.sandbox.azure.counters().vms.filter(({ name }) => !own.has(name) && !name.includes('system'));
  const bought = puts.map(({ firstPutAt }) => since(firstPutAt)).filter((ms) => ms > 0);
  const hosts = new Set([...seen.running].map((uid) => seen.nodeOf.get(uid)));
  const idle = puts.filter(({ name, firstPutAt }) => firstPutAt > noticedMs && !hosts.has(name));
  const lines = world.lines.slice(linesBefore);
  const count = (event: string): number => lines.filter((line) => line.includes(`"event":"${event}"`)).length;
  say(
    `${mode}: ${own.size} spot nodes with ${all.length} pods, ${noticeSeconds} s of notice, boots of ${bootSeconds} s, trouble: ${trouble}`,
  );
  say(`notice to taint            ${spread(tainted, own.size)}`);
  say(`notice to last pod told    ${spread(told, own.size)}`);
  say(`notice to replacement PUT  ${spread(bought, own.size)}`);
  say(`pods that ended by themselves before their VM was gone  ${ended.length} of ${all.length}`);
  say(`machines bought ${bought.length}, of them with no pod at the end ${idle.length}`);
  say(`all ran again ${((wholeMs - noticedMs) / 1000).toFixed(1)} s after the notice`);
  say(`plans ${count('planned')}, interrupted ${count('interrupted')}, put off ${count('retry-later')}`);
}

interface Sample {
  readonly atMs: number;
  readonly used: ReadonlyMap<string, Use>;
}

/** Who used the CPUs from the notice until the last pod was told. */
function tellUses(samples: ReadonlyArray<Sample>, toldMs: number): void {
  const [first] = samples;
  const last = samples.find(({ atMs }) => atMs >= toldMs) ?? samples.at(-1);
  if (first === undefined || last === undefined) return;
  const parts = [...last.used].map(([part, { cpuS }]) => [part, cpuS - (first.used.get(part)?.cpuS ?? 0)] as const);
  const told = parts.filter(([, cpuS]) => cpuS >= 0.05).toSorted((a, b) => b[1] - a[1]);
  const seconds = ((last.atMs - first.atMs) / 1000).toFixed(1);
  say(`CPU in these ${seconds} s: ${told.map(([part, cpuS]) => `${part} ${cpuS.toFixed(1)} s`).join(', ')}`);
}

await run();
process.exit(0);
