import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pass } from 'node:timers/promises';
import { type Ask, azIn } from '../../infra/hooks/az.ts';
import { hold } from '../../infra/hooks/hold.ts';
import type { Installing } from '../../infra/hooks/install-relay.ts';
import { makePublicKey } from '../../infra/hooks/make-ssh-key.ts';
import { runProgram, showProgram } from '../../infra/hooks/run-program.ts';
import { home } from '../home.ts';
import { Stopped } from './stopped.ts';

/** What an address answered. `body`: its JSON; null where it is none. */
export interface Page {
  readonly status: number;
  readonly body: unknown;
}

/** The machine that the command runs on: its programs, its clock, its user. */
export interface Machine extends Installing {
  /** An az that has refused what takes longer than `withinMs`. */
  readonly azIn: (folder: string, withinMs?: number) => Ask;
  /** Where a relative path that was typed begins. */
  readonly folder: string;
  readonly isFile: (path: string) => boolean;
  /** Makes a key pair, and returns its public half. */
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

/** A file or folder of Nodewright's, as whoever sits in `folder` has to type it. `path`: from its root. */
export function pathToType({ root, folder }: Pick<Machine, 'root' | 'folder'>, path: string): string {
  return root === folder ? path : join(root, path);
}

/** For what az only reads. A cluster without room for the pod that Azure runs commands in keeps az waiting. */
export const ASKED_WITHIN_MS = 5 * 60_000;

/** An app that has to start first takes a minute at worst. */
const ANSWERS_WITHIN_MS = 90_000;

/**
 * This one. `tellsInterrupt`: Ctrl-C ends the program that runs and what is waited for, and the command says where it
 * stopped; a second one ends the command. Code that holds the machine must go without.
 */
export function thisMachine({ tellsInterrupt }: { readonly tellsInterrupt: boolean }): Machine {
  const interrupt = new AbortController();
  if (tellsInterrupt) process.once('SIGINT', () => interrupt.abort());
  const say = (line: string): void => {
    process.stdout.write(`${line}\n`);
  };
  return {
    environment: process.env,
    root: home,
    folder: process.cwd(),
    azIn,
    run: (program, args, folder) => showProgram(program, args, { cwd: folder, say }),
    read: (program, args) => {
      const { status, stdout } = runProgram(program, args, { cwd: home, shown: false });
      return status === 0 ? stdout : '';
    },
    say,
    isFile: existsSync,
    makeKey: makePublicKey,
    confirm: process.stdin.isTTY && process.stdout.isTTY ? confirm : null,
    get: (url, headers) => get(url, headers, interrupt.signal),
    now: Date.now,
    sleep: async (ms) => {
      try {
        await pass(ms, undefined, { signal: interrupt.signal });
      } catch (error) {
        throw new Stopped('it was interrupted', 1, error);
      }
    },
    hold,
  };
}

/** The end of input, and Ctrl-C, are a no. */
function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  return new Promise((done) => {
    terminal.once('close', () => done(false));
    terminal.question(`${question} [y/N] `, (answer) => {
      done(/^y(es)?$/i.test(answer.trim()));
      terminal.close();
    });
  });
}

async function get(url: string, headers: Readonly<Record<string, string>>, interrupted: AbortSignal): Promise<Page> {
  const signal = AbortSignal.any([AbortSignal.timeout(ANSWERS_WITHIN_MS), interrupted]);
  const response = await fetch(url, { headers, signal });
  const text = await response.text();
  try {
    return { status: response.status, body: JSON.parse(text) as unknown };
  } catch {
    return { status: response.status, body: null };
  }
}
