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
}

/** A program in a process of its own, which can be killed at any moment and started again. */
export interface Child {
  readonly name: string;
  /** Resolves when the program says that it is ready. Throws with its last lines when it ends before. */
  start(): Promise<void>;
  /** As `kill -9`: no warning, no clean-up. Resolves when the process is gone. */
  kill(): Promise<void>;
  /** Asks it to stop, and kills it when it does not. */
  stop(): Promise<void>;
  isRunning(): boolean;
}

/** On two busy cores a start of node with a large bundle has taken 8 s. */
const READY_WITHIN_MS = 60_000;
/** Invocations that run may finish; then it is over. */
const STOP_WITHIN_MS = 5_000;
const LINES_KEPT = 15;

/** Makes a child; it runs once `start` is called. It ends with this process, in whatever way that ends. */
export function createChild(options: ChildOptions): Child {
  let running: ChildProcess | null = null;
  const last: Array<string> = [];
  const remember = (line: string): void => {
    last.push(line);
    if (last.length > LINES_KEPT) last.shift();
    options.onLine(line);
  };
  const ended = (child: ChildProcess): Promise<void> =>
    new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) resolve();
      else child.once('exit', () => resolve());
    });
  return {
    name: options.name,
    isRunning: () => running !== null,
    start: () => {
      const child = spawn(process.execPath, [...options.args], {
        env: { PATH: process.env['PATH'] ?? '', ...options.environment },
        stdio: ['ignore', 'pipe', 'pipe'],
        // A Ctrl-C in the terminal is for the parent, which stops its children in order.
        detached: true,
      });
      running = child;
      const { pid } = child;
      if (pid !== undefined) watchdog().guard(pid);
      child.once('exit', () => {
        if (running === child) running = null;
        if (pid !== undefined) watchdog().release(pid);
        options.onState?.('ended');
      });
      return untilReady(child, options, last, remember).then(() => options.onState?.('ready'));
    },
    kill: async () => {
      const child = running;
      if (child === null) return;
      child.kill('SIGKILL');
      await ended(child);
    },
    stop: async () => {
      const child = running;
      if (child === null) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
      await ended(child);
      clearTimeout(timer);
    },
  };
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
