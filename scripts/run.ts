import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Workers and the processes that tests start load the same code: compiled once, it serves them all. */
export const compiledOnce = { NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/compiled') };

/** One command of a script, and what it is for. */
export interface Step {
  readonly title: string;
  readonly command: string;
  readonly args: ReadonlyArray<string>;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs steps in order, showing what each prints, and ends the process with the first failure's code. */
export function runSteps(steps: ReadonlyArray<Step>): void {
  for (const { title, command, args, environment } of steps) {
    const startedMs = Date.now();
    console.log(`\n▸ ${title}: ${command} ${args.join(' ')}`);
    const { status, error } = spawnSync(command, [...args], {
      stdio: 'inherit',
      env: { ...process.env, ...environment },
    });
    if (error !== undefined) console.error(`${command} cannot be run: ${error.message}`);
    if (status !== 0) {
      console.error(`✗ ${title} failed`);
      process.exit(status ?? 1);
    }
    console.log(`✓ ${title} (${((Date.now() - startedMs) / 1000).toFixed(1)} s)`);
  }
}
