#!/usr/bin/env node
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Starts the command. The package that is published has it compiled. A checkout runs its TypeScript as it is, on a Node.js that can:
 * where the machine's own is older, the `node` package that `npm install` brings takes over; so nothing is built, and any
 * folder may be the current one.
 */
const compiled = new URL('./main.js', import.meta.url);
const isCompiled = existsSync(compiled);
const NEEDED_MAJOR = isCompiled ? 22 : 24;
const main = isCompiled ? compiled : new URL('./main.ts', import.meta.url);

const isNewEnough = Number(process.versions.node.split('.')[0]) >= NEEDED_MAJOR;
const newer = isNewEnough || isCompiled ? null : newerNode();

if (newer !== null) process.exitCode = startWith(newer);
else if (isNewEnough || (!isCompiled && process.features.typescript)) {
  // Compiled code is kept between runs, which halves the time to start.
  module.enableCompileCache?.();
  const { main: run } = await import(main.href);
  process.exitCode = await run(process.argv.slice(2));
} else {
  const fix = isCompiled
    ? `install Node.js ${NEEDED_MAJOR} or newer, from https://nodejs.org or a package manager`
    : 'run npm install in the folder of Nodewright, which brings it along';
  process.stderr.write(`nodewright needs Node.js ${NEEDED_MAJOR}; this is ${process.versions.node}: ${fix}.\n`);
  process.exitCode = 2;
}

function startWith(node) {
  // Ctrl-C is the other's to answer: who ends before it takes the terminal from it.
  process.on('SIGINT', () => {});
  const { status, signal } = spawnSync(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  return status ?? 128 + (constants.signals[signal ?? 'SIGTERM'] ?? 0);
}

/** Hoisted above this package when it is installed as a dependency. */
function newerNode() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node';
  const folders = ['../node_modules/node/bin/', '../../node/bin/'];
  const found = folders.map((folder) => fileURLToPath(new URL(folder + name, import.meta.url))).find(existsSync);
  return found ?? null;
}
