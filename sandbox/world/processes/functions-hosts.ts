import { join } from 'node:path';
import { type Child, createChild } from './child.ts';
import { azureDelayMs } from './restart-delay.ts';

/**
 * `one`: a process for all functions. `as-on-azure`: those of Flex Consumption, an instance of which serves one group
 * of functions.
 */
export type Hosting = 'one' | 'as-on-azure';

/** One Functions host: the group of functions that listen in it, null for all. */
interface HostPlan {
  readonly name: string;
  readonly group: string | null;
}

/** The groups as Azure makes them, each with its number of instances; what Azure scales out is listed twice. */
export const GROUPS: ReadonlyArray<readonly [group: string, instances: number]> = [
  ['http', 1],
  ['function:provision', 1],
  ['function:launch', 2],
  ['function:follow', 2],
  ['function:interrupt', 2],
  ['function:disrupt', 1],
  ['function:sweep', 1],
  ['function:catalog', 1],
];

/** How many Functions hosts there are, each of which wants a port. */
export function hostCount(hosting: Hosting): number {
  return plansOf(hosting).length;
}

/** The Functions hosts, the one that serves HTTP first. */
function plansOf(hosting: Hosting): ReadonlyArray<HostPlan> {
  if (hosting === 'one') return [{ name: 'functions host', group: null }];
  return GROUPS.flatMap(([group, instances]) =>
    Array.from({ length: instances }, (_, index) => ({ name: `functions host of ${group} ${index + 1}`, group })),
  );
}

/** How to run the Functions hosts. */
export interface FunctionsHostsOptions {
  readonly hosts: Hosting;
  readonly root: string;
  readonly appFolder?: string;
  /** Where timers are remembered. */
  readonly folder: string;
  /** The app's settings. */
  readonly environment: Readonly<Record<string, string>>;
  /** As many as `hostCount` says. */
  readonly ports: ReadonlyArray<number>;
  readonly onLine: (from: string, line: string) => void;
}

/** The Functions hosts, not yet started: all as one part, and each by itself. */
export interface FunctionsHosts {
  readonly host: Child;
  readonly hosts: ReadonlyArray<Child>;
}

/** Makes the processes that run the app's functions. */
export function createFunctionsHosts(options: FunctionsHostsOptions): FunctionsHosts {
  const hosts = plansOf(options.hosts).map((plan, index) => hostChild(options, plan, options.ports[index] ?? 0));
  return { host: asOne('functions host', hosts), hosts };
}

/** Processes that are killed, started and stopped together. */
function asOne(name: string, children: ReadonlyArray<Child>): Child {
  const each = async (act: (child: Child) => Promise<void>): Promise<void> => {
    const ends = await Promise.allSettled(children.map(act));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };
  return {
    name,
    start: () => each((child) => child.start()),
    kill: () => each((child) => child.kill()),
    crash: () => each((child) => child.crash()),
    stop: () => each((child) => child.stop()),
    isRunning: () => children.every((child) => child.isRunning()),
  };
}

function hostChild(options: FunctionsHostsOptions, { name, group }: HostPlan, port: number): Child {
  const { root, appFolder, folder, environment, onLine } = options;
  const own = group === null ? [] : [`--group=${group}`];
  // A timer listens in one process only, so each process has a file of its own, as the real host has a blob for each
  // timer.
  const timers = join(folder, `timers${group === null ? '' : `-${group.replace(':', '-')}`}.json`);
  return createChild({
    name,
    args: [
      join(root, 'sandbox/functions-host/main.ts'),
      `--app=${appFolder ?? root}`,
      `--port=${port}`,
      `--timer-state=${timers}`,
      ...own,
    ],
    environment,
    ready: /Host started/,
    restartDelayMs: azureDelayMs,
    onLine: (line) => onLine('functions', line),
  });
}
