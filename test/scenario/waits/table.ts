import { readFileSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { type Timer, timers } from './play.ts';

/** One row of the tables of waits in `docs/architecture.md`. */
export interface Row {
  /** The object and its state. */
  readonly state: string;
  /** What wakes it when the message that should have is lost: each of these does. */
  readonly elseBy: ReadonlyArray<Timer>;
  readonly withinMinutes: number;
  /** What happens then. */
  readonly ending: string;
}

const root = resolve(import.meta.dirname, '../../..');

const HEADER = '| What | State | Is woken by | Else by | Within | Then |';

/** Reads all tables of that header. Throws where a row cannot be read. */
export function readWaits(): ReadonlyArray<Row> {
  const lines = readFileSync(join(root, 'docs/architecture.md'), 'utf8').split('\n');
  const heads = lines.flatMap((line, index) => (line === HEADER ? [index] : []));
  return heads.flatMap((head) => lines.slice(head + 2, lines.indexOf('', head)).map(readRow));
}

function readRow(line: string): Row {
  const [what = '', state = '', , by = '', within = '', ending = ''] = line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
  const elseBy = timers.filter((one) => by.split(', ').includes(`\`${one}\``));
  const [, minutes] = /^(\d+) min$/.exec(within) ?? [];
  if (elseBy.length === 0 || minutes === undefined) throw new Error(`who wakes it, and within how long? ${line}`);
  return { state: `${what}: ${state}`, elseBy, withinMinutes: Number(minutes), ending };
}

/**
 * Whatever in the use cases and the core answers that it waits for something, each as its file and what it says that it
 * waits for.
 */
export function waitsInCode(): ReadonlyArray<string> {
  const files = ['shared/app', 'shared/core'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(root, folder, name)),
  );
  return files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(WAIT)].map(([, what = '']) => `${basename(file)} ${what}`),
    );
}

const WAIT = /kind: 'wait',\s*for: (`[^`]*`|'[^']*'|[^,}]+?)\s*[,}]/g;
