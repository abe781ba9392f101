import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * How long a child may take to end by itself before it is killed; a control plane that is thrown away needs no more.
 */
const END_MS = 2_000;
/** Lines of a child's log that an error shows. */
const LOG_TAIL_LINES = 15;

/**
 * Reads process ids, one per line, until its input ends, and then kills them: the input ends when the parent ends, in
 * whatever way. An empty line means that there is nobody left to kill.
 */
const WATCHDOG =
  'pids=""; while read -r pid; do if [ -z "$pid" ]; then pids=""; else pids="$pids $pid"; fi; done; [ -n "$pids" ] && kill -9 $pids';

/** A program to run: its log goes to `<logs>/<name>.log`. */
export interface Program {
  readonly name: string;
  readonly path: string;
  readonly args: ReadonlyArray<string>;
  /** How it is told to end: a program that keeps nothing on disk need not be asked. */
  readonly endBy: 'SIGTERM' | 'SIGKILL';
}

/** Children that never outlive their parent. */
export interface ChildGroup {
  start(program: Program): void;
  /** Throws, with the end of its log, when a child has ended by itself. */
  throwIfEnded(): void;
  /** The last lines of a child's log, empty when it wrote none. */
  tail(name: string): string;
  /** Ends all children, the last started first, and resolves when they are gone. */
  close(): Promise<void>;
}

/**
 * Opens a group of children whose logs go to the folder `logs`, which must exist. `say` hears of a child that ends by
 * itself, with the end of its log: what waits for its work would wait without a word.
 */
export function openChildGroup(logs: string, say: (line: string) => void = () => undefined): ChildGroup {
  let isClosing = false;
  const children = new Map<string, { readonly child: ChildProcess; readonly endBy: Program['endBy'] }>();
  const ended = new Map<string, string>();
  // Detached: a Ctrl-C in the terminal reaches the children's parent, not the watchdog.
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  watchdog.stdin.on('error', () => undefined);
  watchdog.unref();
  const tail = (name: string): string => lastLines(join(logs, `${name}.log`));
  const note = (name: string, how: string): void => {
    ended.set(name, how);
    if (!isClosing) say(`${name} ${how}; its log ends:\n${tail(name)}`);
  };
  return {
    tail,
    start: ({ name, path, args, endBy }) => {
      const log = openSync(join(logs, `${name}.log`), 'w');
      // Detached as well, so that a Ctrl-C leaves the order of ending to `close`.
      const env = withoutProxies(process.env);
      const child = spawn(path, args, { stdio: ['ignore', log, log], detached: true, env });
      closeSync(log);
      child.on('error', (error) => note(name, error.message));
      child.on('exit', (code, signal) => note(name, `ended with ${signal ?? `code ${code}`}`));
      if (child.pid !== undefined) watchdog.stdin.write(`${child.pid}\n`);
      child.unref();
      children.set(name, { child, endBy });
    },
    throwIfEnded: () => {
      for (const [name, how] of ended) throw new Error(`${name} ${how}; its log ends:\n${tail(name)}`);
    },
    close: async () => {
      isClosing = true;
      for (const { child, endBy } of [...children.values()].toReversed()) await end(child, endBy);
      watchdog.stdin.write('\n');
      watchdog.stdin.end();
    },
  };
}

/** The programs talk to this machine alone; through a proxy of the network they would not find a pod of it. */
function withoutProxies(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !/^(https?|all)_proxy$/i.test(name)));
}

async function end(child: ChildProcess, endBy: Program['endBy']): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.ref();
  const gone = once(child, 'exit');
  child.kill(endBy);
  const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
  await gone;
  clearTimeout(timer);
}

function lastLines(path: string): string {
  try {
    return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');
  } catch {
    return '';
  }
}
