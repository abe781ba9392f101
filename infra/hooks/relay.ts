import { resolve } from 'node:path';
import { azIn } from './az.ts';
import { installRelay } from './install-relay.ts';
import { runProgram, showProgram } from './run-program.ts';

/**
 * Builds the relay's image and installs the chart: before `azd deploy` brings the app's code, so that rights and custom
 * resources are there when it asks for them.
 */
const root = resolve(import.meta.dirname, '../..');
try {
  installRelay({
    environment: process.env,
    root,
    azIn,
    run: (program, args, folder) => showProgram(program, args, { cwd: folder, say: console.log }),
    read: (program, args) => {
      const { status, stdout } = runProgram(program, args, { cwd: root, shown: false });
      return status === 0 ? stdout : '';
    },
    say: console.log,
  });
} catch (error) {
  console.error(`✗ ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
