import { copyFileSync, createWriteStream, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Orders, readOrders } from '../orders/read-orders.ts';
import { isPortFree } from '../base/port-free.ts';
import { PortTakenError, type Sandbox, startSandbox } from '../world/sandbox.ts';
import { applyManifests } from '../world/apply-manifests.ts';
import { evictNode, scaleDeployment, switchKubelet } from './steer/actions.ts';
import { parseAppEvent } from './view/app-events.ts';
import { createPodsWait } from './record/await-pods.ts';
import { buildView } from './view/build-view.ts';
import { type RunOptions, UsageError } from './command.ts';
import { startControlServer } from './steer/control-server.ts';
import { asStarted, disruptionOf, switchDisruption, WATCHABLE } from './steer/disruption-switch.ts';
import type { Display, Progress } from './screen/display.ts';
import { renderHints } from './screen/hints.ts';
import type { KeyActions } from './screen/keys.ts';
import { readWorkload, type Workload } from './steer/manifests.ts';
import { observeCluster, type Observed } from './view/observe-cluster.ts';
import { observeQuota } from './view/observe-quota.ts';
import { prepareApp } from './prepare-app.ts';
import { type Pace, paceFor } from './pace.ts';
import { readPrices } from './view/price-list.ts';
import { renderSession } from './record/render-session.ts';
import { renderSummary, type Summary } from './record/render-summary.ts';
import { createRunFolder, type RunFolder } from './record/run-folder.ts';
import { createRunLog, type RunLog } from './record/run-log.ts';
import { publishSession } from './steer/session.ts';
import type { Stop } from './stop-signals.ts';
import { createPodTimer, type PodTimer } from './record/time-pods.ts';

/** What a run needs from the program around it. */
export interface RunContext {
  /** The repository. */
  readonly root: string;
  readonly display: Display;
  readonly stop: Stop;
  /** Starts to read keys; the answer ends it. Null where there is no keyboard. */
  readonly keys: ((actions: KeyActions) => () => void) | null;
  /** The folder of the control plane's binaries; null: the embedded one. */
  readonly assets: string | null;
}

/** Core Tools' port, which people know. */
const FUNCTIONS_PORT = 7071;
/** Ages and the clock move on even when nothing happens. */
const TICK_MS = 1_000;
/** After `--once` is satisfied, what was said last still arrives within this. */
const LAST_WORDS_MS = 800;

/** What every part says, in the run's folder. */
const LOG_FILE = 'sandbox.log';

/** Runs the sandbox until it is stopped or, with `once`, until all pods run. Answers the exit code. */
export async function runSandbox(options: RunOptions, context: RunContext): Promise<number> {
  const workload = checked(() => readWorkload(context.root, options.files));
  const pace = paceFor(options.bootSeconds);
  const orders = checked(() => readOrders(context.root, options.orders, pace.latency));
  if (options.once && workload.pods === 0) throw new UsageError('--once waits for pods, and the manifests have none');
  const { functionsPort } = options;
  if (functionsPort !== null && !(await isPortFree(functionsPort))) throw portUsage(functionsPort);
  if (options.kubeconfig !== null) refuseForeignFile(options.kubeconfig);
  const startedAt = Date.now();
  const elapsedMs = (): number => Date.now() - startedAt;
  const folder = createRunFolder();
  const closers: Array<() => unknown> = [() => folder.remove()];
  try {
    if (await prepareApp(context.root, join(folder.path, 'app'))) context.display.started('Build', elapsedMs());
    return await runIn(folder, { options, context, workload, pace, orders, elapsedMs, closers });
  } finally {
    for (const close of closers.toReversed()) await close();
  }
}

interface Run {
  readonly options: RunOptions;
  readonly context: RunContext;
  readonly workload: Workload;
  readonly pace: Pace;
  readonly orders: Orders;
  readonly elapsedMs: () => number;
  /** What is to be closed at the end, last first. */
  readonly closers: Array<() => unknown>;
}

async function runIn(folder: RunFolder, run: Run): Promise<number> {
  const { options, context, workload, elapsedMs, closers } = run;
  const { display, stop } = context;
  const live: { log: RunLog | null } = { log: null };
  const file = createWriteStream(join(folder.path, LOG_FILE), { flags: 'a' });
  closers.push(() => file.end());
  const start = await started(folder, run, (from, line) => {
    file.write(`${new Date().toISOString()} ${from}: ${line}\n`);
    if (from === 'sandbox') display.started(line.replace(/ is ready$/, ''), elapsedMs());
    else if (from === 'aks') live.log?.say('plain', line);
    else if (from === 'functions') tellLine(live.log, line);
  });
  if (start === null) return stop.asked;
  const { sandbox, portInUse } = start;
  closers.push(() => sandbox.close());
  if (options.kubeconfig !== null) closers.push(writeKubeconfig(sandbox, options.kubeconfig));

  const timer = createPodTimer(() => Date.now());
  const seen = await observe(sandbox, run, timer);
  const { observed, log } = seen;
  live.log = log;
  closers.push(sandbox.azure.on((event) => log.tellAzure(event)));
  await steer(sandbox, run, seen);
  for (const note of sandbox.notes) log.say('plain', note);
  if (workload.addedNodeClass) log.say('plain', 'Added the AKSNodeClass default, which AKS brings too.');
  try {
    const manifests = asStarted(workload.manifests, { files: options.files, settings: run.orders.settings });
    await applyManifests(sandbox.cluster.kubeconfig, manifests);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  display.ready(
    renderHints({
      kubeconfigPath: options.kubeconfig ?? sandbox.cluster.kubeconfigPath,
      functionsUrl: sandbox.functionsUrl,
      portInUse,
      hasKeys: context.keys !== null,
      deployment: workload.deployment,
    }),
  );
  const code = options.once
    ? await untilPodsRun(sandbox, run, { ...seen, timer })
    : await stop.asked.then((exitCode) => (exitCode === 130 ? 0 : exitCode));
  log.close();
  if (!options.once)
    display.last(
      renderSession({ ...seen.progress(), nodes: log.nodes(), toRunning: timer.read(() => undefined).toRunning }),
    );
  observed.close();
  return code;
}

/** Null when the run was stopped while it started. */
async function started(
  folder: RunFolder,
  run: Run,
  onLine: (from: string, line: string) => void,
): Promise<{ readonly sandbox: Sandbox; readonly portInUse: number | null } | null> {
  const { options, context, pace, orders } = run;
  const { assets, root, stop } = context;
  const start = (functionsPort: number | null): Promise<Sandbox> =>
    startSandbox({
      mode: assets === null ? 'embedded' : 'real',
      assets,
      folder: folder.path,
      root,
      appFolder: join(folder.path, 'app'),
      seed: options.seed,
      pace: pace.machines,
      azure: orders.azure,
      functionsPort,
      sweepSchedule: '0 * * * * *',
      duplicatePercent: 0,
      // As every AKS cluster has one. Without any node, the real scheduler puts waiting pods off ever longer.
      systemNode: true,
      // Core Tools run an app so, and it starts in a quarter of the time.
      hosts: 'one',
      relays: 1,
      // Who kills it finds what it held again, but for the last seconds.
      storage: 'disk',
      settings: { ...WATCHABLE, ...orders.settings },
      onLine,
    });
  const wished = options.functionsPort ?? FUNCTIONS_PORT;
  let portInUse: number | null = null;
  const sandbox = await start(wished).catch((error: unknown) => {
    if (!(error instanceof PortTakenError)) throw error;
    if (options.functionsPort !== null) throw portUsage(wished);
    portInUse = wished;
    return start(null);
  });
  if (!stop.isAsked()) return { sandbox, portInUse };
  await sandbox.close();
  return null;
}

function portUsage(port: number): UsageError {
  return new UsageError(`Port ${port} is in use: choose another with --functions-port`);
}

interface Seen {
  readonly observed: Observed;
  readonly log: RunLog;
  readonly progress: () => Progress;
}

async function observe(sandbox: Sandbox, { context, orders, elapsedMs, closers }: Run, timer: PodTimer): Promise<Seen> {
  const priceOf = readPrices(context.root, orders.azure.region);
  const live: { show: () => void } = { show: () => undefined };
  const observed = await observeCluster(sandbox.cluster.kubeconfig, {
    onPod: (pod) => timer.observe(pod),
    onChange: () => live.show(),
  });
  closers.push(() => observed.close());
  const log = createRunLog(context.display, elapsedMs, () => observed.claims);
  const quota = observeQuota(sandbox.azure, observed, orders, context.root);
  log.onApp(quota.tellApp);
  const plannedAt = new Map<string, number>();
  log.onPlanned(() => notePlanned(plannedAt, observed));
  const progress = (): Progress => ({
    view: buildView({ ...observed, plannedAt, shortages: quota.shortages }, priceOf, Date.now()),
    elapsedMs: elapsedMs(),
    plans: log.plans(),
    savedMicroUsdPerHour: log.savedMicroUsdPerHour(),
    news: log.news(),
    disruption: disruptionOf(observed.pools, orders.settings),
  });
  const show = calmly(() => context.display.show(progress()));
  live.show = show;
  const tick = setInterval(show, TICK_MS);
  closers.push(() => clearInterval(tick));
  return { observed, log, progress };
}

/** A plan that left no pod out has a place for every pod that waits now. */
function notePlanned(plannedAt: Map<string, number>, { pods }: Observed): void {
  for (const { metadata, spec } of pods.values()) {
    if ((spec.nodeName ?? '') === '') plannedAt.set(metadata.uid, Date.now());
  }
}

/** Views are built at most this often: a thousand pods that change at once are one picture. */
const VIEW_MS = 200;

function calmly(show: () => void): () => void {
  let timer: NodeJS.Timeout | null = null;
  return () => {
    timer ??= setTimeout(() => {
      timer = null;
      show();
    }, VIEW_MS).unref();
  };
}

/** Lets keys and other terminals scale and evict. */
async function steer(sandbox: Sandbox, { context, orders, closers }: Run, { observed, log }: Seen): Promise<void> {
  const controls = {
    scale: async (replicas: number, deployment: string | null) => {
      const done = await scaleDeployment(observed.connection, deployment, replicas);
      log.say('plain', done);
      return done;
    },
    evict: (node: string | null) =>
      Promise.resolve().then(() => evictNode(sandbox.azure, observed.nodes, node, orders.azure.evictionNoticeSeconds)),
    freeze: (node: string) => switchKubelet(sandbox.cluster.kubelets, node, 'freeze'),
    thaw: (node: string) => switchKubelet(sandbox.cluster.kubelets, node, 'thaw'),
  };
  const server = await startControlServer(controls);
  closers.push(() => server.close());
  closers.push(publishSession({ pid: process.pid, url: server.url, token: server.token, startedAt: Date.now() }));
  if (context.keys === null) return;
  const complain = (error: unknown): void => log.say('bad', error instanceof Error ? error.message : String(error));
  const stopKeys = context.keys({
    evict: () => void controls.evict(null).catch(complain),
    scaleBy: (by) => {
      scaleDeployment(observed.connection, null, { by }).then((done) => log.say('plain', done), complain);
    },
    switchDisruption: () => {
      switchDisruption(observed.connection, orders.settings).then((done) => log.say('plain', done), complain);
    },
    scroll: (part, by) => context.display.scroll(part, by),
    quit: () => context.stop.ask(130),
  });
  closers.push(stopKeys);
}

async function untilPodsRun(
  sandbox: Sandbox,
  { context, workload, orders, elapsedMs }: Run,
  { progress, timer, log }: Seen & { readonly timer: PodTimer },
): Promise<number> {
  const judge = createPodsWait(workload.pods);
  const { promise, resolve } = Promise.withResolvers<Summary['outcome'] | number>();
  const look = setInterval(() => {
    const verdict = judge(progress().view, elapsedMs());
    if (verdict.kind !== 'waiting') resolve(verdict.kind);
  }, VIEW_MS);
  const outcome = await Promise.race([promise, context.stop.asked]);
  clearInterval(look);
  if (typeof outcome === 'number') return outcome;
  log.close();
  await new Promise((done) => setTimeout(done, LAST_WORDS_MS));
  const { view, plans } = progress();
  const puts = new Map(sandbox.azure.counters().vms.map(({ name, firstPutAt }) => [name, firstPutAt]));
  const times = timer.read((vm) => puts.get(vm));
  const priceSource = readPriceSource(context.root, orders.azure.region);
  const summary: Summary = { view, plans, times, wantedPods: workload.pods, outcome, priceSource };
  context.display.event('summary', { ...summary, exitCode: outcome === 'all-run' ? 0 : 1 });
  context.display.last(renderSummary(summary));
  return outcome === 'all-run' ? 0 : 1;
}

function readPriceSource(root: string, region: string): string {
  const file = `${root}/sandbox/azure/data/${region}.json`;
  const { meta } = JSON.parse(readFileSync(file, 'utf8')) as { readonly meta: { readonly source: string } };
  return `${meta.source}, ${region}`;
}

function tellLine(log: RunLog | null, line: string): void {
  const event = parseAppEvent(line);
  if (event !== null) log?.tellApp(event);
}

function checked<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** The context that the sandbox's kubeconfigs have. */
const OWN_CONTEXT = 'current-context: sandbox';

function refuseForeignFile(path: string): void {
  if (existsSync(path) && !readFileSync(path, 'utf8').includes(OWN_CONTEXT)) {
    throw new UsageError(`${path} exists and is not the sandbox's: choose another path for --kubeconfig`);
  }
}

/** Writes it, and answers how to remove it, which leaves a file alone that has been changed. */
function writeKubeconfig({ cluster }: Sandbox, path: string): () => void {
  try {
    copyFileSync(cluster.kubeconfigPath, path);
  } catch {
    throw new UsageError(`${path} cannot be written: choose another path for --kubeconfig`);
  }
  return () => {
    if (existsSync(path) && readFileSync(path, 'utf8') === cluster.kubeconfig) rmSync(path, { force: true });
  };
}
