import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { watchdog } from './watchdog.ts';

/** How to run one of the sandbox's own programs. */
export interface ChildOptions {
  /** For messages: `relay`, `functions host`. */
  readonly name: string;
  /** Node's arguments: the program and its own. */
  readonly args: ReadonlyArray<string>;
  readonly environment: Readonly<Record<string, string>>;
  /** A line that says that it is ready; null: ready once it runs. */
  readonly ready: RegExp | null;
  readonly onLine: (line: string) => void;
  /** Told each time that it is ready, and each time that its process has ended, in whatever way. */
  readonly onState?: (state: 'ready' | 'ended') => void;
  /**
   * How long after its end, in milliseconds, it starts again when nobody here ended it; told how many such ends there
   * were before, in a row. Absent: it stays away.
   */
  readonly restartDelayMs?: (restarts: number) => number;
}

/** A program in a process of its own, which can be killed at any moment and started again. */
export interface Child {
  readonly name: string;
  /** Resolves when the program says that it is ready. Throws with its last lines when it ends before. */
  start(): Promise<void>;
  /** As `kill -9`: no warning, no clean-up. Resolves when the process is gone; it stays away until `start`. */
  kill(): Promise<void>;
  /** As `kill -9` by somebody else: who keeps it alive starts it again. Resolves when the process is gone. */
  crash(): Promise<void>;
  /** Asks it to stop, and kills it when it does not. It stays away until `start`. */
  stop(): Promise<void>;
  isRunning(): boolean;
}

/** On two busy cores a start of node with a large bundle has taken 8 s, and nine may start at once. */
const READY_WITHIN_MS = 180_000;
/** Invocations that run may finish; then it is over. */
const STOP_WITHIN_MS = 5_000;
const LINES_KEPT = 15;
/** Who has run for so long has not ended in a row: what the kubelet takes, twice its longest wait. */
const STEADY_MS = 600_000;

/** Makes a child; it runs once `start` is called. It ends with this process, in whatever way that ends. */
export function createChild(options: ChildOptions): Child {
  const life: Life = { running: null, wanted: false, restarts: 0, cancel: () => undefined };
  const last: Array<string> = [];
  const remember = (line: string): void => {
    last.push(line);
    if (last.length > LINES_KEPT) last.shift();
    options.onLine(line);
  };
  const run = (): Promise<void> => {
    const startedMs = Date.now();
    const child = spawnNode(options);
    life.running = child;
    child.once('exit', () => {
      if (life.running === child) life.running = null;
      options.onState?.('ended');
      if (Date.now() - startedMs >= STEADY_MS) life.restarts = 0;
      if (life.running === null) startAgain();
    });
    return untilReady(child, options, last, remember).then(() => options.onState?.('ready'));
  };
  const startAgain = (): void => {
    if (!life.wanted || options.restartDelayMs === undefined) return;
    const delayMs = options.restartDelayMs(life.restarts++);
    const timer = setTimeout(() => {
      run().catch((error: unknown) => remember(String(error)));
    }, delayMs).unref();
    life.cancel = () => clearTimeout(timer);
  };
  const end = async (act: (child: ChildProcess) => void): Promise<void> => {
    life.wanted = false;
    life.cancel();
    await endedBy(life.running, act);
  };
  return {
    name: options.name,
    isRunning: () => life.running !== null,
    start: async () => {
      life.cancel();
      life.restarts = 0;
      // Who does not come up at all is told so, and decides.
      life.wanted = false;
      await run();
      life.wanted = life.running !== null;
    },
    kill: () => end((child) => child.kill('SIGKILL')),
    crash: () => endedBy(life.running, (child) => child.kill('SIGKILL')),
    stop: () =>
      end((child) => {
        child.kill('SIGTERM');
        const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
        child.once('exit', () => clearTimeout(timer));
      }),
  };
}

interface Life {
  running: ChildProcess | null;
  /** True from when it was ready until somebody here ends it. */
  wanted: boolean;
  /** Ends in a row that nobody here asked for. */
  restarts: number;
  /** Ends the wait for a restart. */
  cancel: () => void;
}

function spawnNode({ args, environment }: ChildOptions): ChildProcess {
  const child = spawn(process.execPath, [...args], {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A Ctrl-C in the terminal is for the parent, which stops its children in order.
    detached: true,
  });
  const { pid } = child;
  if (pid !== undefined) watchdog().guard(pid);
  child.once('exit', () => {
    if (pid !== undefined) watchdog().release(pid);
  });
  return child;
}

async function endedBy(child: ChildProcess | null, act: (child: ChildProcess) => void): Promise<void> {
  if (child === null) return;
  const ended = new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else child.once('exit', () => resolve());
  });
  act(child);
  await ended;
}

function untilReady(
  child: ChildProcess,
  { name, ready }: ChildOptions,
  last: ReadonlyArray<string>,
  onLine: (line: string) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`${name} was not ready within ${READY_WITHIN_MS / 1000} s:\n${last.join('\n')}`));
    }, READY_WITHIN_MS);
    const isReady = (): void => {
      clearTimeout(timer);
      resolve();
    };
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        onLine(line);
        if (ready?.test(line) === true) isReady();
      });
    }
    child.once('error', (cause) => {
      clearTimeout(timer);
      reject(new Error(`${name} cannot be started`, { cause }));
    });
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      reject(new Error(`${name} ended (${code ?? signal ?? ''}) before it was ready:\n${last.join('\n')}`));
    });
    if (ready === null) child.once('spawn', isReady);
  });
}
