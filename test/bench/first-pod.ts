import { readFileSync, readdirSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { paceFor } from '../../sandbox/start/pace.ts';
import type { Child } from '../../sandbox/world/processes/child.ts';
import { deployment, nodeClass, nodePool } from '../e2e/kit/manifests.ts';
import { type QueueCounts, type World, readQueues, startWorld } from '../e2e/kit/world.ts';

/**
 * Measures what the first pod after a quiet time waits for, by which functions have an instance waiting, with the app
 * as `npm run build` made it and a process for each function, as on Azure:
 *
 *     node test/bench/first-pod.ts [rounds, default 5] [cores of an instance, default all] [choice …]
 *
 * A choice names functions by a comma, or `none`. A function that does not wait is started, cold, as soon as its queue
 * has a message: how long Azure takes to notice one, and to find a machine, comes on top and is not in here. Cores
 * below one need a cgroup (v1) that may be written: 0.25 is an instance of 512 MB. Prints, in milliseconds since the
 * pod was created, the median and the slowest of: the NodeClaim, the VM's PUT.
 */
const rounds = Number(process.argv[2] ?? 5);
const cores = Number(process.argv[3] ?? 0);
const choices = process.argv.slice(4);
const CHOICES = choices.length > 0 ? choices : ['provision,launch,follow,interrupt', 'provision,interrupt', 'none'];

/** Which queue wakes which function. */
const WOKEN_BY = { provision: 'pods', launch: 'launches', follow: 'claims', interrupt: 'signals' } as const;
type Name = keyof typeof WOKEN_BY;
const NAMES = Object.keys(WOKEN_BY) as ReadonlyArray<Name>;

/** Longer than any round takes. */
const WITHIN_MS = 120_000;
/** As long as a function's first message may still be of the round before. */
const QUIET_MS = 61_000;

const FOUR_CORES = [
  { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
  { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['4'] },
];

function hostOf({ sandbox }: World, name: Name): Child {
  const host = sandbox.hosts.find((one) => one.name === `functions host of function:${name} 1`);
  if (host === undefined) throw new Error(`no host of ${name}`);
  return host;
}

/** Starts what sleeps and has a message, until it is told to end. */
async function wakeAsNeeded(world: World, isOver: () => boolean): Promise<void> {
  const starting = new Set<Name>();
  while (!isOver()) {
    // One look after the other.
    const queues: Readonly<Record<string, QueueCounts>> = await readQueues(world.sandbox).catch(() => ({}));
    for (const name of NAMES) {
      const host = hostOf(world, name);
      if (starting.has(name) || host.isRunning() || (queues[WOKEN_BY[name]]?.active ?? 0) === 0) continue;
      starting.add(name);
      void start(host, name).finally(() => starting.delete(name));
    }
    await sleep(10);
  }
}

async function start(host: Child, name: Name): Promise<void> {
  const started = host.start();
  if (cores > 0) limit(name);
  await started;
}

/** An instance has so much of a core, from its beginning. */
function limit(name: Name): void {
  const folder = `/sys/fs/cgroup/cpu/nodewright-${process.pid}-${name}`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/cpu.cfs_quota_us`, String(Math.round(cores * 20_000)));
  writeFileSync(`${folder}/cpu.cfs_period_us`, '20000');
  for (const pid of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    const command = tryToRead(`/proc/${pid}/cmdline`);
    if (command.includes(`--group=function:${name}`)) writeFileSync(`${folder}/cgroup.procs`, pid);
  }
}

function tryToRead(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** A connection that was quiet for a minute may have been closed, which the first request finds out. */
async function countClaims(world: World): Promise<number> {
  const state = await world.state().catch(() => world.state());
  return state.claims.length;
}

async function measure(world: World, waiting: ReadonlySet<string>, round: string): Promise<ReadonlyArray<number>> {
  const all = world.sandbox.hosts;
  for (const name of NAMES) {
    const host = hostOf(world, name);
    // Each by itself, so that they do not start beside each other.
    if (waiting.has(name) && !host.isRunning()) await start(host, name);
  }
  await Promise.all(
    all
      .filter((host) => !NAMES.some((name) => waiting.has(name) && hostOf(world, name) === host))
      .map((host) => host.stop()),
  );
  await sleep(QUIET_MS);
  const before = new Set(world.sandbox.azure.vms().map(({ name }) => name));
  let isOver = false;
  const waking = wakeAsNeeded(world, () => isOver);
  const claims = await countClaims(world);
  const createdMs = Date.now();
  await world.apply(deployment(`first-${round}`, 1, { cpu: '3' }));
  const appliedMs = Date.now();
  let claimMs = Number.NaN;
  let putMs = Number.NaN;
  for (const end = Date.now() + WITHIN_MS; Number.isNaN(putMs) && Date.now() < end;) {
    if (Number.isNaN(claimMs) && (await countClaims(world)) > claims) claimMs = Date.now();
    if (world.sandbox.azure.vms().some(({ name }) => !before.has(name))) putMs = Date.now();
    await sleep(5);
  }
  await world.until(
    'it runs',
    ({ pods }) => pods.filter(({ status }) => status?.phase === 'Running').length > before.size,
  );
  isOver = true;
  await waking;
  return [appliedMs - createdMs, claimMs - createdMs, putMs - createdMs];
}

/** A cluster of its own for each choice, so that none plans with what another left. */
async function measureChoice(choice: string): Promise<void> {
  const { machines, latency } = paceFor(5);
  const world = await startWorld('embedded', {
    hosts: 'as-on-azure',
    azure: { latency },
    pace: machines,
    sweepSchedule: '0 0 0 1 1 *',
  });
  try {
    await world.apply(nodeClass, nodePool('general', { requirements: FOUR_CORES }));
    const waiting = new Set(choice === 'none' ? [] : choice.split(','));
    const took: Array<ReadonlyArray<number>> = [];
    for (let round = 0; round <= rounds; round++) {
      took.push(await measure(world, waiting, String(round)));
    }
    // The first warms up who waits.
    const rows = took.slice(1);
    const of = (index: number): string => {
      const values = rows.map((one) => one[index] ?? Number.NaN).toSorted((a, b) => a - b);
      return `${values[Math.floor((values.length - 1) / 2)]} (${values.at(-1)})`;
    };
    const share = cores > 0 ? ` at ${cores} cores` : '';
    console.log(`${choice}${share}: applied ${of(0)}, NodeClaim ${of(1)}, VM ${of(2)} ms`);
  } finally {
    await world.close();
  }
}

for (const choice of CHOICES) {
  await measureChoice(choice);
}
if (cores > 0) {
  for (const name of readdirSync('/sys/fs/cgroup/cpu').filter((one) => one.startsWith(`nodewright-${process.pid}-`))) {
    rmdirSync(`/sys/fs/cgroup/cpu/${name}`);
  }
}
