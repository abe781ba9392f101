import { type SpawnSyncReturns, spawnSync } from 'node:child_process';

const isWindows = process.platform === 'win32';

/** Lists of VM sizes and usages are some hundred KiB. */
const OUTPUT_MAX_BYTES = 64 * 2 ** 20;

/** Runs a program to its end. `shown`: what it prints goes to the terminal; else it is in the answer. */
export function runProgram(
  program: string,
  args: ReadonlyArray<string>,
  { cwd, shown }: { readonly cwd: string; readonly shown: boolean },
): SpawnSyncReturns<string> {
  return spawnSync(program, isWindows ? args.map(quoted) : [...args], {
    cwd,
    encoding: 'utf8',
    maxBuffer: OUTPUT_MAX_BYTES,
    stdio: shown ? 'inherit' : 'pipe',
    // On Windows az and azd are scripts, which only a shell runs.
    shell: isWindows,
  });
}

/** A shell on Windows takes words apart at blanks. */
export function quoted(word: string): string {
  return /[\s"&|<>^]/.test(word) ? `"${word.replaceAll('"', '""')}"` : word;
}
