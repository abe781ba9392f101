import { spawn } from 'node:child_process';

/**
 * Reads sets of process ids, one set per line, until its input ends, and then kills the last set: the input ends when
 * the parent ends, in whatever way.
 */
const SCRIPT = 'pids=""; while read -r line; do pids="$line"; done; [ -n "$pids" ] && kill -9 $pids';

/** Ends the processes it guards when this one ends, even by `kill -9`. */
export interface Watchdog {
  /** From now on the process `pid` does not outlive this one. */
  guard(pid: number): void;
  /** The process has ended: its id may soon be another's. */
  release(pid: number): void;
}

let shared: Watchdog | null = null;

/** The watchdog of this process; the first call starts it. It ends with this process and never keeps it alive. */
export function watchdog(): Watchdog {
  shared ??= startWatchdog();
  return shared;
}

function startWatchdog(): Watchdog {
  // Detached: a Ctrl-C in the terminal must not reach it.
  const shell = spawn('/bin/sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  shell.on('error', () => undefined);
  shell.stdin.on('error', () => undefined);
  shell.unref();
  const pids = new Set<number>();
  const tell = (): void => {
    shell.stdin.write(`${[...pids].join(' ')}\n`);
  };
  return {
    guard: (pid) => {
      pids.add(pid);
      tell();
    },
    release: (pid) => {
      pids.delete(pid);
      tell();
    },
  };
}
