import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileProblem, WrongInputError, type InputProblem } from '../../wrong-input.ts';
import { decodeText } from './decode-text.ts';
import type { Origin } from './origin.ts';

/** The text of one file, or of standard input. */
export interface Source {
  readonly origin: Origin;
  readonly text: string;
}

/** How standard input is named in messages. */
export const STANDARD_INPUT = 'standard input';

/** What could be read, and what could not. */
export interface ReadSources {
  readonly sources: ReadonlyArray<Source>;
  readonly problems: ReadonlyArray<InputProblem>;
}

/**
 * Reads files, folders (their own .yaml, .yml and .json files, by name, as kubectl does) and, for `-`, standard input.
 */
export async function readSources(paths: ReadonlyArray<string>, stdin: Readable): Promise<ReadSources> {
  const sources: Array<Source> = [];
  const problems: Array<InputProblem> = [];
  // Standard input can be read once; naming it again adds nothing.
  for (const path of new Set(paths)) {
    try {
      if (path === '-') sources.push(await readStandardInput(stdin));
      else readFiles(path, sources, problems);
    } catch (error) {
      problems.push(...problemsOf(error));
    }
  }
  return { sources, problems };
}

async function readStandardInput(stdin: Readable): Promise<Source> {
  return { origin: STANDARD_INPUT, text: decodeText(STANDARD_INPUT, await readAll(stdin)) };
}

function readFiles(path: string, sources: Array<Source>, problems: Array<InputProblem>): void {
  for (const file of filesOf(path)) {
    try {
      sources.push(readSource(file));
    } catch (error) {
      problems.push(...problemsOf(error));
    }
  }
}

function problemsOf(error: unknown): ReadonlyArray<InputProblem> {
  if (error instanceof WrongInputError) return error.problems;
  throw error;
}

/** Reads one file. Throws WrongInputError. */
export function readSource(path: string): Source {
  try {
    return { origin: path, text: decodeText(path, readFileSync(path)) };
  } catch (error) {
    if (error instanceof WrongInputError) throw error;
    throw unreadable(path, error);
  }
}

function filesOf(path: string): ReadonlyArray<string> {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) {
    throw new WrongInputError([fileProblem(path, 'there is no such file or folder', 'correct the path')]);
  }
  if (!stat.isDirectory()) return [path];
  const files = namesIn(path)
    .filter((name) => /\.(ya?ml|json)$/i.test(name))
    .toSorted()
    .map((name) => join(path, name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true);
  if (files.length > 0) return files;
  const message = 'the folder holds no .yaml, .yml or .json file (folders inside are not looked into)';
  throw new WrongInputError([fileProblem(path, message, 'name a folder that does, or the files')]);
}

function namesIn(folder: string): ReadonlyArray<string> {
  try {
    return readdirSync(folder);
  } catch (error) {
    throw unreadable(folder, error);
  }
}

function unreadable(path: string, error: unknown): WrongInputError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'error';
  if (code === 'ENOENT') return new WrongInputError([fileProblem(path, 'there is no such file', 'correct the path')]);
  if (code === 'EISDIR') return new WrongInputError([fileProblem(path, 'is a folder', 'name a file')]);
  return new WrongInputError([
    fileProblem(path, `cannot be read: ${code}`, 'check that it is a file that you may read'),
  ]);
}

/** Largest standard input, in bytes: more than a list of all that 5,000 nodes and 150,000 pods are, written out. */
const LARGEST_INPUT = 2 ** 31;

async function readAll(stdin: Readable): Promise<Buffer> {
  const chunks: Array<Buffer> = [];
  let size = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk as Uint8Array | string);
    size += bytes.length;
    if (size > LARGEST_INPUT) {
      throw new WrongInputError([fileProblem(STANDARD_INPUT, 'is larger than 2 GiB', 'give fewer objects')]);
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
