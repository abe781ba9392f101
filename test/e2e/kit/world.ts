import { appendFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { connect, type Connection } from '../../../sandbox/kubernetes/client/connection.ts';
import { parseAppEvent, type AppEvent } from '../../../sandbox/start/view/app-events.ts';
import { applyManifests } from '../../../sandbox/world/apply-manifests.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../sandbox/world/sandbox.ts';
import { type State, readState, renderState } from './state.ts';

/** Which control plane the product runs on. */
export type Mode = SandboxOptions['mode'];

/** The whole product, and what a test does with it. */
export interface World {
  readonly mode: Mode;
  readonly sandbox: Sandbox;
  /** The cluster, as an administrator. */
  readonly api: Connection;
  /** Lines of all parts since the start, each with its time in seconds and its part. */
  readonly lines: ReadonlyArray<string>;
  apply(...objects: ReadonlyArray<object>): Promise<void>;
  state(): Promise<State>;
  /**
   * Resolves with the state that `holds` accepts. Throws after `withinMs`, on a real control plane after twice that,
   * with the state and the last lines of every part, so that a failure on another machine can be read.
   */
  until(what: string, holds: (state: State) => boolean | Promise<boolean>, withinMs?: number): Promise<State>;
  close(): Promise<void>;
}

/** A machine shared by many takes its time; nothing in here needs a tenth of it. */
const WITHIN_MS = 120_000;
/** A real control plane has half a dozen processes of its own, and several run at once. */
const TIMES_ON_REAL = 2;
/** What Azure gives a spot machine. */
const SPOT_NOTICE_S = 30;
const LOOK_PAUSE_MS = 100;
/**
 * Pauses are this many times as long as a look took, so that looking at a thousand pods does not slow what is looked
 * at.
 */
const PAUSE_TO_LOOK = 6;
/** The control plane's own read can fail while a part is being killed; more in a row is an outage. */
const READ_FAILURES_MAX = 20;
const LINES_SHOWN = 60;

const root = resolve(import.meta.dirname, '../../..');

/**
 * Starts the product as `npm test` built it. Everything it writes is gone when it is closed. Where NODEWRIGHT_E2E_LOG
 * names a file, the lines of all parts are added to it as they come.
 */
export async function startWorld(mode: Mode, options: Partial<SandboxOptions> = {}): Promise<World> {
  if (!existsSync(join(root, 'dist/functions/main.js'))) throw new Error('dist is missing; run `npm run build` first');
  const logFile = process.env['NODEWRIGHT_E2E_LOG'];
  const folder = mkdtempSync(join(tmpdir(), 'nodewright-e2e-'));
  const lines: Array<string> = [];
  const startedMs = Date.now();
  const sandbox = await startSandbox({
    mode,
    assets: process.env['KUBEBUILDER_ASSETS'] ?? null,
    folder,
    root,
    seed: 'e2e',
    pace: { joinMs: 300, readyMs: 200, nodeRemovalMs: 1_000 },
    azure: {},
    functionsPort: null,
    sweepSchedule: '*/5 * * * * *',
    duplicatePercent: 0,
    systemNode: false,
    hosts: 'one',
    relays: 1,
    settings: {},
    ...options,
    onLine: (from, line) => {
      const text = `${((Date.now() - startedMs) / 1000).toFixed(2)} ${from}: ${line}`;
      lines.push(text);
      if (logFile !== undefined) appendFileSync(logFile, `${text}\n`);
    },
  });
  const api = connect(sandbox.cluster.kubeconfig);
  const state = (): Promise<State> => readState(sandbox, api);
  return {
    mode,
    sandbox,
    api,
    lines,
    apply: (...objects) => applyObjects(sandbox, objects),
    state,
    until: (what, holds, withinMs = WITHIN_MS) =>
      untilState({ state, lines, sandbox }, what, holds, mode === 'real' ? TIMES_ON_REAL * withinMs : withinMs),
    close: async () => {
      api.close();
      await sandbox.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * How long before an eviction it is announced. Several worlds share two cores in CI: how long it takes there says
 * nothing, and a bench measures it.
 */
export function noticeSecondsOn(mode: Mode): number {
  return mode === 'real' ? TIMES_ON_REAL * SPOT_NOTICE_S : SPOT_NOTICE_S;
}

async function applyObjects(sandbox: Sandbox, objects: ReadonlyArray<object>): Promise<void> {
  const manifests = objects.map((object) => ({ origin: stringify(object).slice(0, 80), object }));
  await applyManifests(sandbox.cluster.kubeconfig, manifests as Parameters<typeof applyManifests>[1]);
}

async function untilState(
  { state, lines, sandbox }: Pick<World, 'state' | 'lines' | 'sandbox'>,
  what: string,
  holds: (state: State) => boolean | Promise<boolean>,
  withinMs: number,
): Promise<State> {
  const end = Date.now() + withinMs;
  for (let failures = 0; ;) {
    const lookedMs = performance.now();
    const seen = await state().catch((error: unknown) => {
      if (++failures > READ_FAILURES_MAX) throw error;
      return null;
    });
    if (seen !== null && (await holds(seen))) return seen;
    if (Date.now() > end) {
      const queues = await readQueues(sandbox).catch(String);
      throw new Error(
        [
          `not within ${withinMs / 1000} s: ${what}`,
          seen === null ? '' : renderState(seen),
          `queues: ${JSON.stringify(queues)}`,
          ...lines.slice(-LINES_SHOWN),
        ].join('\n'),
      );
    }
    await sleep(Math.max(LOOK_PAUSE_MS, PAUSE_TO_LOOK * (performance.now() - lookedMs)));
  }
}

/** The counts of one queue, as the broker tells them. */
export interface QueueCounts {
  readonly active: number;
  readonly locked: number;
  readonly scheduled: number;
  readonly deadLettered: number;
}

export async function readQueues(sandbox: Sandbox): Promise<Readonly<Record<string, QueueCounts>>> {
  const answer = await fetch(sandbox.brokerAdminUrl);
  return (await answer.json()) as Readonly<Record<string, QueueCounts>>;
}

/** What the app logged, of lines as the world has them: `1.23 functions: [time] {"event":…}`. */
export function eventsOf(lines: World['lines']): ReadonlyArray<AppEvent> {
  return lines.flatMap((line) => parseAppEvent(line.slice(line.indexOf(': ') + 2)) ?? []);
}

/** Prints a figure that a test measured: people compare it, no test fails by it. */
export function tell(figure: string): void {
  process.stdout.write(`${figure}\n`);
}
