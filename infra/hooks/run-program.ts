import { type SpawnSyncReturns, spawnSync } from 'node:child_process';

const isWindows = process.platform === 'win32';

/** Lists of VM sizes and usages are some hundred KiB. */
const OUTPUT_MAX_BYTES = 64 * 2 ** 20;

/** Deleting a resource group takes half an hour at worst; a program that takes twice as long hangs. */
const ENDS_WITHIN_MS = 60 * 60_000;

/**
 * Runs a program to its end, or for `withinMs`: then its `error` has the code ETIMEDOUT. `shown`: what it prints goes
 * to the terminal; else it is in the answer.
 */
export function runProgram(
  program: string,
  args: ReadonlyArray<string>,
  {
    cwd,
    shown,
    withinMs = ENDS_WITHIN_MS,
  }: { readonly cwd: string; readonly shown: boolean; readonly withinMs?: number },
): SpawnSyncReturns<string> {
  return spawnSync(program, isWindows ? args.map(quoted) : [...args], {
    cwd,
    encoding: 'utf8',
    maxBuffer: OUTPUT_MAX_BYTES,
    timeout: withinMs,
    stdio: shown ? 'inherit' : 'pipe',
    // On Windows az and azd are scripts, which only a shell runs.
    shell: isWindows,
  });
}

/** A shell on Windows takes words apart at blanks. */
export function quoted(word: string): string {
  return /[\s"&|<>^]/.test(word) ? `"${word.replaceAll('"', '""')}"` : word;
}

/** Says what is run, and runs it for everybody to see. Throws an Error where it cannot be run or fails. */
export function showProgram(
  program: string,
  args: ReadonlyArray<string>,
  { cwd, say }: { readonly cwd: string; readonly say: (line: string) => void },
): void {
  say(`▸ ${program} ${args.join(' ')}`);
  const { status, error } = runProgram(program, args, { cwd, shown: true });
  if (error !== undefined)
    throw new Error(`${program} cannot be run: install it, or put it on the PATH`, { cause: error });
  if (status !== 0)
    throw new Error(`${program} ${args.slice(0, 2).join(' ')} ended with ${status}: its words are above`);
}
