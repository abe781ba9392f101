import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseCommand } from '../../sandbox/start/command.ts';
import { runSandbox } from '../../sandbox/start/run.ts';
import type { Display, Progress } from '../../sandbox/start/screen/display.ts';
import type { KeyActions } from '../../sandbox/start/screen/keys.ts';
import type { Stop } from '../../sandbox/start/stop-signals.ts';
import { observeCluster, type Observed } from '../../sandbox/start/view/observe-cluster.ts';
import type { Sentence } from '../../sandbox/start/view/view.ts';
import type { NodeClaim } from '../../sandbox/start/view/cluster-objects.ts';
import { SILENT } from '../../sandbox/start/tell/tell-event.ts';
import type { Recording } from './recording.ts';
import { replayLog } from './replay.ts';
import { scenes } from './scenes.ts';
import { trim } from './trim.ts';

/**
 * Records the scenes of `docs/screens.md` by running the product in the sandbox, about a minute for each:
 *
 *     npm run build && node scripts/screens/record.ts [SCENE…]
 *
 * `npm run generate` draws the screens from the recordings. Record a scene again when what it shows has changed.
 */
const root = resolve(import.meta.dirname, '../..');
/** No scene takes longer, on two cores. */
const SCENE_MS = 240_000;
const LOOK_MS = 200;

interface Stage {
  readonly keys: KeyActions;
  readonly observed: Observed;
  readonly progress: () => Progress;
  /** Names of what the app has logged. */
  readonly logged: () => ReadonlyArray<string>;
  readonly until: (what: string, isSo: (progress: Progress) => boolean) => Promise<void>;
}

interface Play {
  readonly args: (folder: string) => ReadonlyArray<string>;
  /** Resolves at the moment that is to be seen. */
  readonly act: (stage: Stage) => Promise<void>;
}

const allRun =
  (pods: number) =>
  ({ view }: Progress): boolean =>
    view.pods.running === pods && view.nodes.every(({ state }) => state.kind === 'ready');

const plays: Readonly<Record<string, Play>> = {
  start: {
    args: () => [],
    act: async ({ until }) => {
      await until('ten pods run', allRun(10));
      await sleep(1_500);
    },
  },
  'many-pods': {
    args: () => [],
    act: async ({ until, keys }) => {
      await until('ten pods run', allRun(10));
      keys.scaleBy(190);
      await until('some of the new nodes have joined', ({ view: { nodes } }) => {
        const ready = nodes.filter(({ state }) => state.kind === 'ready').length;
        return ready > 2 && ready < nodes.length;
      });
    },
  },
  'spot-eviction': {
    args: () => ['-f', 'examples/spot.yaml'],
    act: async ({ until, keys, logged }) => {
      await until('the pods run', ({ view }) => view.pods.running > 0 && view.pods.pending === 0);
      await sleep(2_000);
      keys.evict();
      await until('the eviction is handled', () => logged().includes('interrupted'));
      await sleep(2_500);
    },
  },
  'sold-out': {
    args: () => ['-f', 'examples/spot.yaml', '--azure', 'noCapacity=*/*/spot'],
    act: async ({ until }) => {
      await until('on-demand nodes are ready', ({ view }) =>
        view.nodes.some(({ capacityType, state }) => capacityType === 'on-demand' && state.kind === 'ready'),
      );
      await sleep(1_500);
    },
  },
  quota: {
    args: () => ['--quota', 'cores=6'],
    act: async ({ until }) => {
      await until('the quota is named', ({ view }) => view.shortages.length > 0 && view.pods.running > 0);
      await sleep(2_000);
    },
  },
  budget: {
    args: () => [],
    act: async ({ until, observed: { connection, claims } }) => {
      await until('ten pods run', allRun(10));
      await connection.create('/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'inflate', namespace: 'default' },
        spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'inflate' } } },
      });
      await sleep(2_000);
      const [first] = claims.keys();
      await connection.remove(`/apis/karpenter.sh/v1/nodeclaims/${first ?? ''}`);
      await until('the drain waits', ({ view }) =>
        view.nodes.some(({ state }) => state.kind === 'leaving' && state.waitsFor !== null),
      );
      await sleep(6_000);
    },
  },
  consolidation: {
    args: () => [],
    act: async ({ until, keys, logged }) => {
      await until('ten pods run', allRun(10));
      keys.scaleBy(10);
      await until('twenty pods run', allRun(20));
      keys.scaleBy(-10);
      await sleep(500);
      keys.switchDisruption();
      await until('a second removal begins', () => logged().filter((one) => one === 'disruption-begun').length > 1);
      await sleep(1_500);
    },
  },
  'startup-taint': {
    args: (folder) => ['-f', writePool(folder), '-f', 'examples/inflate.yaml'],
    act: async ({ until }) => {
      await until('nodes wait for the taint', ({ view }) => view.nodes.some(({ state }) => state.kind === 'tainted'));
      await sleep(8_000);
    },
  },
};

/** The example's NodePool with a startup taint that no component removes. */
function writePool(folder: string): string {
  const path = join(folder, 'pool.yaml');
  const pool = readFileSync(join(root, 'examples/general-purpose.yaml'), 'utf8');
  const taints = '      startupTaints: [{ key: example.com/agent-not-ready, effect: NoExecute }]\n';
  writeFileSync(path, pool.replace(/^ {6}expireAfter/m, `${taints}      expireAfter`));
  return path;
}

/** The display of a run that is recorded. */
function listener(elapsed: () => number): {
  readonly display: Display;
  readonly log: Array<Recording['log'][number]>;
  readonly said: Array<Sentence>;
  readonly latest: { progress: Progress | null; hints: ReadonlyArray<string> };
} {
  const log: Array<Recording['log'][number]> = [];
  const said: Array<Sentence> = [];
  const latest: { progress: Progress | null; hints: ReadonlyArray<string> } = { progress: null, hints: [] };
  const display: Display = {
    started: (part) => process.stdout.write(`  ${part}\n`),
    ready: (hints) => {
      latest.hints = hints;
    },
    said: (sentence) => {
      said.push(sentence);
      process.stdout.write(`  ${sentence.text}\n`);
    },
    event: (event, facts) => log.push({ atMs: elapsed(), event, facts }),
    show: (progress) => {
      latest.progress = progress;
    },
    scroll: () => undefined,
    last: () => undefined,
    close: () => undefined,
  };
  return { display, log, said, latest };
}

async function record({ args, act }: Play): Promise<Recording> {
  const folder = mkdtempSync(join(tmpdir(), 'screens-'));
  const kubeconfigPath = join(folder, 'kubeconfig');
  const command = parseCommand([...args(folder), '--kubeconfig', kubeconfigPath, '--functions-port', '7341']);
  if (command.kind !== 'run') throw new Error('it is a command that runs the sandbox');
  const startedAt = Date.now();
  const { display, log, said, latest } = listener(() => Date.now() - startedAt);
  const ended = Promise.withResolvers<number>();
  let isAsked = false;
  const stop: Stop = {
    asked: ended.promise,
    isAsked: () => isAsked,
    ask: (code) => {
      isAsked = true;
      ended.resolve(code);
    },
  };
  let keys: KeyActions | null = null;
  const run = runSandbox(command, {
    root,
    display,
    stop,
    keys: (actions) => {
      keys = actions;
      return () => undefined;
    },
    assets: null,
  });
  try {
    await waitFor('the sandbox', () => latest.hints.length > 0);
    const created = new Map<string, Recording['created'][number]>();
    let observed: Observed | null = null;
    const note = (): void => {
      for (const claim of observed?.claims.values() ?? []) noteClaim(created, claim, Date.now() - startedAt);
    };
    observed = await observeCluster(readFileSync(kubeconfigPath, 'utf8'), { onPod: () => undefined, onChange: note });
    note();
    const progress = (): Progress => latest.progress ?? unknown();
    await act({
      keys: keys ?? unknown(),
      observed,
      progress,
      logged: () => log.map(({ event }) => event),
      until: (what, isSo) => waitFor(what, () => latest.progress !== null && isSo(latest.progress)),
    });
    const { view, disruption } = progress();
    const recording: Recording = {
      ...trim(observed, view),
      created: [...created.values()],
      log: log.filter(({ event }) => !SILENT.has(event) || event === 'disrupted'),
      said: [],
      shortages: view.shortages,
      disruption,
      deployment: latest.hints.some((hint) => hint.includes('deployment inflate')) ? 'inflate' : null,
      kubeconfigPath: '/tmp/nodewright-7Y3Mjw/cluster/kubeconfig',
      startedAt,
      elapsedMs: Date.now() - startedAt,
    };
    observed.close();
    const retold = new Set(
      replayLog(recording)
        .news()
        .map(({ text }) => text),
    );
    return { ...recording, said: said.filter(({ text }) => !retold.has(text)) };
  } finally {
    stop.ask(0);
    await run;
    rmSync(folder, { recursive: true, force: true });
  }
}

function noteClaim(created: Map<string, Recording['created'][number]>, claim: NodeClaim, atMs: number): void {
  const { name, annotations = {} } = claim.metadata;
  if (created.has(name)) return;
  const metadata = { ...claim.metadata, annotations };
  created.set(name, { atMs, claim: trimClaim({ ...claim, metadata }) });
}

function trimClaim(claim: NodeClaim): NodeClaim {
  return (
    trim(
      { pods: new Map(), nodes: new Map(), budgets: new Map(), events: new Map(), claims: new Map([['', claim]]) },
      null,
    ).claims[0] ?? claim
  );
}

async function waitFor(what: string, isSo: () => boolean): Promise<void> {
  const until = Date.now() + SCENE_MS;
  while (!isSo()) {
    if (Date.now() > until) throw new Error(`not within ${SCENE_MS / 1_000} s: ${what}`);
    await sleep(LOOK_MS);
  }
}

function unknown(): never {
  throw new Error('the sandbox has shown nothing yet');
}

const wanted = process.argv.slice(2);
mkdirSync(join(import.meta.dirname, 'data'), { recursive: true });
for (const { name } of scenes.filter((scene) => wanted.length === 0 || wanted.includes(scene.name))) {
  const play = plays[name];
  if (play === undefined) throw new Error(`${name} has no play`);
  process.stdout.write(`${name}\n`);
  const recording = await record(play);
  writeFileSync(join(import.meta.dirname, 'data', `${name}.json`), `${JSON.stringify(recording)}\n`);
}
process.exit();
