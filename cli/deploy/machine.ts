import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { azIn } from '../../infra/hooks/az.ts';
import type { Installing } from '../../infra/hooks/install-relay.ts';
import { makePublicKey } from '../../infra/hooks/make-ssh-key.ts';
import { runProgram, showProgram } from '../../infra/hooks/run-program.ts';

/** What an address answered. `body`: its JSON; null where it is none. */
export interface Page {
  readonly status: number;
  readonly body: unknown;
}

/** The machine that the command runs on: its programs, its clock, whoever sits before it. */
export interface Machine extends Installing {
  /** Where a relative path that was typed begins. */
  readonly folder: string;
  readonly isFile: (path: string) => boolean;
  /** Makes a key pair, and answers its public half. */
  readonly makeKey: () => string;
  /** Asks for a yes. Null: nobody sits before it. */
  readonly confirm: ((question: string) => Promise<boolean>) | null;
  /** Reads an address. Throws an Error where nobody answers. */
  readonly get: (url: string, headers: Readonly<Record<string, string>>) => Promise<Page>;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** The same for code that waits for nothing. */
  readonly hold: (ms: number) => void;
}

/** An app that has to start first takes a minute at worst. */
const ANSWERS_WITHIN_MS = 90_000;

/** This one. */
export function thisMachine(): Machine {
  const root = resolve(import.meta.dirname, '../..');
  const say = (line: string): void => {
    process.stdout.write(`${line}\n`);
  };
  return {
    environment: process.env,
    root,
    folder: process.cwd(),
    azIn,
    run: (program, args, folder) => showProgram(program, args, { cwd: folder, say }),
    read: (program, args) => {
      const { status, stdout } = runProgram(program, args, { cwd: root, shown: false });
      return status === 0 ? stdout : '';
    },
    say,
    isFile: existsSync,
    makeKey: makePublicKey,
    confirm: process.stdin.isTTY && process.stdout.isTTY ? confirm : null,
    get,
    now: Date.now,
    sleep: (ms) =>
      new Promise((done) => {
        setTimeout(done, ms);
      }),
    hold: (ms) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    },
  };
}

async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}

async function get(url: string, headers: Readonly<Record<string, string>>): Promise<Page> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) });
  const text = await response.text();
  try {
    return { status: response.status, body: JSON.parse(text) as unknown };
  } catch {
    return { status: response.status, body: null };
  }
}
