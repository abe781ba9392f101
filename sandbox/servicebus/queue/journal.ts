import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Change } from './message.ts';

/**
 * One command's durable changes to one queue. A line of the file, so that a torn write loses all of a command or
 * nothing.
 */
export interface JournalEntry {
  readonly queue: string;
  readonly changes: ReadonlyArray<Change>;
}

/** Bytes as the file has them, in base64. */
interface ReadableBytes {
  readonly $bytes: string;
}

/** A value as the file has it. */
type Written<T> = T extends Uint8Array
  ? ReadableBytes
  : T extends object
    ? { readonly [K in keyof T]: Written<T[K]> }
    : T;

interface WrittenEntry {
  readonly queue: string;
  readonly changes: ReadonlyArray<Written<Change>>;
}

/** Keeps what the broker acknowledged. */
export interface Journal {
  append(entry: JournalEntry): void;
  /** Calls `task` once everything appended so far is written: at once when nothing waits. */
  afterWrite(task: () => void): void;
  close(): void;
}

/** Journals smaller than this are never rewritten: rewriting costs more than it saves. */
const COMPACT_FROM_BYTES = 8 * 1024 * 1024;

/**
 * A journal is rewritten when it has grown to this many times its last snapshot: the cost stays a fraction of writing.
 */
const COMPACT_GROWTH = 4;

/** A journal that keeps nothing: everything counts as written. */
export const memoryJournal: Journal = {
  append: () => undefined,
  afterWrite: (task) => task(),
  close: () => undefined,
};

/**
 * Reads the entries of a data folder, oldest first; none when the folder or its journal does not exist. A torn last
 * line (the process died while writing it, so nobody was told) is left out. Throws when an earlier line is damaged.
 */
export function readJournal(folder: string): ReadonlyArray<JournalEntry> {
  const path = journalPath(folder);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  // A whole line ends in a newline, so what follows the last one is either empty or torn.
  lines.pop();
  return lines.map((line, index) => {
    try {
      return parseLine(line);
    } catch (cause) {
      throw new Error(`${path} line ${index + 1} is damaged; move the file away to start with empty queues`, { cause });
    }
  });
}

/**
 * Starts a fresh journal from `snapshot` and keeps it in a file. Changes are written to the operating system in one
 * batch per turn of the event loop and before `afterWrite` calls back: killing the process loses nothing that was
 * acknowledged; only a crash of the machine could. `snapshot` is called again whenever the file has grown enough to be
 * rewritten.
 */
export function openJournal(folder: string, snapshot: () => ReadonlyArray<JournalEntry>): Journal {
  mkdirSync(folder, { recursive: true });
  let { file, bytes } = rewrite(folder, snapshot());
  let snapshotBytes = bytes;
  let lines: Array<string> = [];
  let waiting: Array<() => void> = [];

  const flush = (): void => {
    if (lines.length > 0) bytes += writeAll(file, lines.join(''));
    lines = [];
    const tasks = waiting;
    waiting = [];
    for (const task of tasks) task();
    if (bytes < COMPACT_FROM_BYTES || bytes < snapshotBytes * COMPACT_GROWTH || lines.length > 0) return;
    closeSync(file);
    ({ file, bytes } = rewrite(folder, snapshot()));
    snapshotBytes = bytes;
  };

  return {
    append(entry) {
      if (lines.length === 0) process.nextTick(flush);
      lines.push(toLine(entry));
    },
    afterWrite(task) {
      if (lines.length === 0) task();
      else waiting.push(task);
    },
    close() {
      flush();
      closeSync(file);
    },
  };
}

/**
 * Writes a snapshot beside the journal and puts it in its place in one step, so that either one or the other is there.
 */
function rewrite(
  folder: string,
  entries: ReadonlyArray<JournalEntry>,
): { readonly file: number; readonly bytes: number } {
  const path = journalPath(folder);
  const next = `${path}.next`;
  const file = openSync(next, 'w');
  const bytes = writeAll(file, entries.map(toLine).join(''));
  fsyncSync(file);
  renameSync(next, path);
  return { file, bytes };
}

function writeAll(file: number, text: string): number {
  const buffer = Buffer.from(text, 'utf8');
  let written = 0;
  // Each call writes at least a byte or throws, so this ends.
  while (written < buffer.length) written += writeSync(file, buffer, written);
  return written;
}

function journalPath(folder: string): string {
  return join(folder, 'journal.ndjson');
}

function toLine(entry: JournalEntry): string {
  return `${JSON.stringify({ queue: entry.queue, changes: entry.changes.map(withReadableBytes) })}\n`;
}

/**
 * Bytes travel as {"$bytes": base64}. Done field by field: JSON.stringify would first turn a Buffer into a list of
 * numbers.
 */
function withReadableBytes(change: Change): Written<Change> {
  if (change.kind === 'stored') {
    return { ...change, message: { ...change.message, payload: readableBytes(change.message.payload) } };
  }
  if (change.kind !== 'sessionState') return change;
  return { ...change, state: change.state === null ? null : readableBytes(change.state) };
}

function readableBytes(bytes: Uint8Array): ReadableBytes {
  return { $bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64') };
}

/**
 * Turns bytes back in the two places that have them; asking at every value of the file would take several times as
 * long.
 */
function parseLine(line: string): JournalEntry {
  // `toLine` wrote it.
  const entry = JSON.parse(line) as WrittenEntry;
  return { queue: entry.queue, changes: entry.changes.map(fromReadableBytes) };
}

function fromReadableBytes(change: Written<Change>): Change {
  if (change.kind === 'stored') {
    return { ...change, message: { ...change.message, payload: Buffer.from(change.message.payload.$bytes, 'base64') } };
  }
  if (change.kind !== 'sessionState') return change;
  return { ...change, state: change.state === null ? null : Buffer.from(change.state.$bytes, 'base64') };
}
