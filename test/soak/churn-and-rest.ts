import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { azureDefaults } from '../../sandbox/azure/state/options.ts';
import { readSizes } from '../../sandbox/azure/catalog/sizes.ts';
import { hostCount } from '../../sandbox/world/processes/functions-hosts.ts';
import { WATCHABLE } from '../../sandbox/start/steer/disruption-switch.ts';
import { paceFor } from '../../sandbox/start/pace.ts';
import { readPrices } from '../../sandbox/start/view/price-list.ts';
import { liveMemoryMb } from '../bench/kit/live-memory.ts';
import { pidsOf, readUses } from '../bench/kit/process-use.ts';
import { nodeClass } from '../e2e/kit/manifests.ts';
import { readQueues, startWorld, type World } from '../e2e/kit/world.ts';
import { act, type Stage } from './act.ts';
import { type Book, endTroubles, newBook } from './book.ts';
import { drawActions, isLeftOut } from './draw-actions.ts';
import { livesOf, memoryFigures, type Sample, seconds } from './measure.ts';
import { observe, type Observed } from './observe.ts';
import { fileBeside, type SoakOptions } from './options.ts';
import { confessionsIn, readTold } from './read-lines.ts';
import type { Report } from './report.ts';
import { costNow, forgetEvictions, letGo, type PlannedCosts, plannedCosts, readCounts, unrest } from './rest.ts';
import { type Breach, judge, type Look, MEMORY_MAX_MB } from './watch-laws.ts';
import { apps, appManifests, pools, priorities } from './workloads.ts';

/** All that a soak has seen. */
export interface Outcome {
  readonly observed: Observed;
  readonly book: Book;
  readonly breaches: ReadonlyArray<Breach>;
  /** By part. */
  readonly samples: ReadonlyMap<string, ReadonlyArray<Sample>>;
  readonly atRest: Report['atRest'];
  readonly lines: ReadonlyArray<string>;
  /** When the churn began, since the run began: the first pods wait for the product to start. */
  readonly churnFromMs: number;
  readonly churnMs: number;
  readonly restMs: number;
  /** Since the run began. */
  readonly endedMs: number;
  readonly creations: number;
  readonly evictions: number;
}

const CHURN_SHARE = 0.7;
/** Between two looks: a law that is broken for less than this may pass unseen, but for what watches tell. */
const LOOK_MS = 2_000;
/** The lists of Azure that are read at rest. */
const REST_LOOK_MS = 5_000;
const BOOT_SECONDS = 8;
/** The first pods run within this before anything is broken; else the run says nothing. */
const FIRST_WITHIN_MS = 180_000;
/** From this on there was time for consolidation to come to its end, and cost is a law. */
const LONG_REST_MS = 600_000;
const COST_RATIO_MAX = 1.5;
const FUNCTIONS_HOST = 'functions host';
/** Often enough to see growth in ten minutes, and seldom enough that what is resident is what it would be without. */
const LIVE_EVERY_MS = 240_000;
/** A process is asked only after so many looks. */
const SETTLED_LOOKS = 5;
const root = resolve(import.meta.dirname, '../..');

/** Runs a soak: the product on a control plane, churn, rest. `say` is told what happens as it happens. */
export async function churnAndRest(options: SoakOptions, say: (line: string) => void): Promise<Outcome> {
  const startedMs = Date.now();
  const nowMs = (): number => Date.now() - startedMs;
  const { latency, machines } = paceFor(BOOT_SECONDS);
  const world = await startWorld(options.controlPlane, {
    seed: options.seed,
    pace: machines,
    azure: { latency },
    sweepSchedule: '0 * * * * *',
    settings: { ...WATCHABLE, FEATURE_GATES: 'NodeRepair=true' },
    systemNode: true,
    storage: 'disk',
    cuttable: true,
    hosts: options.hosts,
  });
  try {
    const observed = await observe(world, nowMs);
    const stage: Stage = { world, observed, book: newBook(), nowMs };
    const sizes = readSizes(join(root, 'sandbox/azure/data'), azureDefaults.region);
    const run: Run = { options, stage, say, startedMs, sizes, seen: newSeen() };
    await settleFirst(stage);
    const churnFromMs = nowMs();
    const churnMs = await churn(run);
    const { atRest, restMs } = await rest(run);
    observed.close();
    const { creations, evictions } = world.sandbox.azure.counters();
    return {
      observed,
      book: stage.book,
      breaches: run.seen.breaches,
      samples: run.seen.samples,
      atRest,
      lines: world.lines,
      churnFromMs,
      churnMs,
      restMs,
      endedMs: nowMs(),
      creations: Object.values(creations).reduce((sum, count) => sum + count, 0),
      evictions,
    };
  } finally {
    await world.close();
  }
}

interface Run {
  readonly options: SoakOptions;
  readonly stage: Stage;
  readonly say: (line: string) => void;
  readonly startedMs: number;
  readonly sizes: ReturnType<typeof readSizes>;
  readonly seen: Seen;
}

/** What has been looked at so far. */
interface Seen {
  readonly breaches: Array<Breach>;
  /** Of breaches that were told, so that each is told once. */
  readonly told: Set<string>;
  readonly samples: Map<string, Array<Sample>>;
  lines: number;
  departures: number;
  /** When it was last measured what the Functions host holds without garbage. */
  liveAtMs: number;
}

function newSeen(): Seen {
  return { breaches: [], told: new Set(), samples: new Map(), lines: 0, departures: 0, liveAtMs: 0 };
}

async function settleFirst({ world, observed }: Stage): Promise<void> {
  await world.apply(nodeClass, ...priorities, ...pools);
  await world.apply(...apps.flatMap((app) => appManifests(app, app.replicas.first)));
  const wanted = apps.reduce((sum, { replicas, canRun }) => sum + (canRun ? replicas.first : 0), 0);
  const running = (): number => [...observed.pods.values()].filter(({ isRunning }) => isRunning).length;
  await world.until('the first pods run', () => running() >= wanted, FIRST_WITHIN_MS);
}

/** Carries out what the seed draws, and judges meanwhile. Answers how long it took. */
async function churn(run: Run): Promise<number> {
  const { stage, options, say } = run;
  const lengthMs = options.minutes * 60_000 * CHURN_SHARE;
  const actions = [...drawActions(options.seed, lengthMs, options.pauseS)];
  const fromMs = stage.nowMs();
  for (let spentMs = 0; spentMs < lengthMs; spentMs = stage.nowMs() - fromMs) {
    await endTroubles(stage.book, stage.nowMs());
    while ((actions[0]?.atMs ?? Number.POSITIVE_INFINITY) <= spentMs) {
      const next = actions.shift();
      if (next !== undefined && !isLeftOut(next.action, options.without))
        say(`${seconds(stage.nowMs())} s  ${await act(stage, next.action)}`);
    }
    await lookOnce(run);
    await sleep(LOOK_MS);
  }
  return stage.nowMs() - fromMs;
}

/**
 * Mends everything and waits for peace. It has come when at one look all is one to one; nodes may grow old after that.
 */
async function rest(run: Run): Promise<{ readonly atRest: Report['atRest']; readonly restMs: number }> {
  const { stage, options, say } = run;
  const { world, observed, book, nowMs } = stage;
  const lengthMs = options.minutes * 60_000 * (1 - CHURN_SHARE);
  await endTroubles(book, Number.POSITIVE_INFINITY);
  for (const trouble of book.troubles) trouble.endedMs = Math.min(trouble.endedMs ?? nowMs(), nowMs());
  await world.api.patch('/apis/karpenter.sh/v1/nodepools/general', 'merge', {
    spec: { template: { spec: { expireAfter: 'Never' } } },
  });
  await forgetEvictions(world);
  const fromMs = nowMs();
  say(`${seconds(fromMs)} s  rest: everything is mended`);
  const released = new Set<string>();
  const peace: Peace = { settledAfter: null, unrest: [], running: 0, cost: null };
  while (nowMs() - fromMs < lengthMs) {
    await lookOnce(run);
    for (const name of await letGo(world, observed, nowMs())) released.add(name);
    await lookForPeace(stage, peace, fromMs);
    await sleep(REST_LOOK_MS);
  }
  const found: Report['atRest'] = {
    settledAfter: peace.settledAfter,
    unrest: peace.unrest,
    running: peace.running,
    cost: peace.cost,
    ...(peace.cost === null ? { planned: null, plannedBesideHeld: null } : await askForCosts(run)),
    letGo: [...released],
  };
  judgeRest(run, found, lengthMs);
  return { atRest: found, restMs: nowMs() - fromMs };
}

function askForCosts({ stage, options }: Run): Promise<PlannedCosts> {
  const file = fileBeside(options, 'cluster.json');
  mkdirSync(dirname(file), { recursive: true });
  return plannedCosts(stage.world, { root, file, priceOf: readPrices(root, azureDefaults.region) });
}

interface Peace {
  settledAfter: number | null;
  unrest: ReadonlyArray<string>;
  running: number;
  cost: number | null;
}

async function lookForPeace({ world, observed, nowMs }: Stage, peace: Peace, fromMs: number): Promise<void> {
  const counts = await readCounts(world, observed);
  peace.unrest = unrest(counts);
  if (peace.unrest.length > 0) return;
  peace.settledAfter ??= (nowMs() - fromMs) / 1_000;
  peace.running = counts.running;
  peace.cost = costNow(world, readPrices(root, azureDefaults.region));
}

function judgeRest(
  run: Run,
  { settledAfter, unrest: why, cost, plannedBesideHeld: planned }: Report['atRest'],
  lengthMs: number,
): void {
  if (settledAfter === null) note(run, { law: 'at rest all is one to one and every pod runs', what: why.join('; ') });
  for (const [part, own] of run.seen.samples) {
    if (memoryFigures(own).grew === true) note(run, { law: 'memory is flat', what: `${part} takes ever more` });
  }
  if (cost === null || planned === null || lengthMs < LONG_REST_MS || cost <= planned * COST_RATIO_MAX) return;
  note(run, { law: 'at rest the cluster costs about what a new one would', what: `$${cost} against $${planned}` });
}

function note({ seen, say, stage }: Run, { law, what }: { readonly law: string; readonly what: string }): void {
  const key = `${law}: ${what}`;
  if (seen.told.has(key)) return;
  seen.told.add(key);
  const atMs = stage.nowMs();
  seen.breaches.push({ law, atMs, what });
  say(`${seconds(atMs)} s  BROKEN  ${key}`);
}

async function lookOnce(run: Run): Promise<void> {
  const { stage, seen } = run;
  stage.observed.tick();
  await takeSamples(run);
  for (const breach of judge(await toLook(run))) note(run, breach);
  seen.departures = stage.observed.departures.length;
  seen.lines = stage.world.lines.length;
}

async function takeSamples({ stage, seen }: Run): Promise<void> {
  const uses = readUses();
  for (const part of Object.keys(MEMORY_MAX_MB)) {
    const use = uses.get(part);
    if (use === undefined) continue;
    const own = seen.samples.get(part) ?? [];
    own.push({ atMs: stage.nowMs(), ...use });
    seen.samples.set(part, own);
  }
  if (stage.nowMs() < seen.liveAtMs + LIVE_EVERY_MS || !uses.has(FUNCTIONS_HOST)) return;
  const own = seen.samples.get(FUNCTIONS_HOST) ?? [];
  // One that has just begun would end by the signal that it is asked with.
  if ((livesOf(own).at(-1)?.length ?? 0) < SETTLED_LOOKS) return;
  seen.liveAtMs = stage.nowMs();
  const [pid] = pidsOf(FUNCTIONS_HOST);
  const liveMb = pid === undefined ? null : await liveMemoryMb(pid);
  const last = own.pop();
  if (last !== undefined) own.push(liveMb === null ? last : { ...last, liveMb });
}

async function toLook(run: Run): Promise<Look> {
  const { options, stage, seen } = run;
  const { world, observed, book, nowMs } = stage;
  const queues = await readQueues(world.sandbox).catch(() => null);
  return {
    atMs: nowMs(),
    pods: [...observed.pods.values()],
    claims: [...observed.claims.values()],
    departures: observed.departures.slice(seen.departures),
    vms: machinesOf(world, run),
    creations: world.sandbox.azure.counters().creations,
    queues,
    confessions: confessionsIn(readTold(world.lines.slice(seen.lines))),
    // Of a Functions host in the mean.
    memoryMb: new Map(
      [...seen.samples].map(([part, own]) => {
        const processes = part === FUNCTIONS_HOST ? hostCount(options.hosts) : 1;
        return [part, (own.at(-1)?.rssMb ?? 0) / processes];
      }),
    ),
    book,
  };
}

function machinesOf({ sandbox }: World, { startedMs, sizes }: Run): Look['vms'] {
  return sandbox.azure.vms().map(({ name, size, createdAt }) => ({
    name,
    vCpus: sizes.get(size.toLowerCase())?.vCpus ?? 0,
    seenMs: createdAt - startedMs,
  }));
}
