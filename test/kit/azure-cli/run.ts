import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';

/** How a program ended, and what it said. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** What somebody saw at a terminal. */
export interface Terminal {
  readonly code: number;
  readonly screen: string;
  /** What was asked, in order. */
  readonly questions: ReadonlyArray<string>;
}

interface Place {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Runs a program to its end, with nobody before it. */
export function run(program: string, args: ReadonlyArray<string>, { cwd, environment }: Place): Promise<Ended> {
  const child = spawn(program, [...args], { cwd, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', (code) => done({ code: code ?? 1, out, err }));
  });
}

/** Python, which az brings along, has terminals; Node has none. It says yes to every question. */
const TERMINAL = `
import os, pty, sys
asked = b''
def read(fd):
    global asked
    data = os.read(fd, 4096)
    asked += data
    if b'[y/N]' in asked:
        asked = b''
        os.write(fd, b'y\\n')
    return data
status = pty.spawn(sys.argv[1:], read)
sys.exit(os.waitstatus_to_exitcode(status))
`;

/** Runs a program at a terminal, where somebody answers each of its questions with a yes. */
export async function runAtTerminal(program: string, args: ReadonlyArray<string>, place: Place): Promise<Terminal> {
  const { code, out } = await run('python3', ['-c', TERMINAL, program, ...args], place);
  // The terminal is told where to write, too.
  const screen = stripVTControlCharacters(out).replaceAll('\r', '');
  return { code, screen, questions: screen.split('\n').filter((line) => line.includes('[y/N]')) };
}
