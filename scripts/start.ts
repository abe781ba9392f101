import { dirname } from 'node:path';
import { RefusedError } from '../sandbox/start/steer/actions.ts';
import {
  type Command,
  parseCommand,
  refuseSwallowedOptions,
  type RunOptions,
  usage,
  UsageError,
} from '../sandbox/start/command.ts';
import { askSandbox } from '../sandbox/start/steer/control-client.ts';
import type { Display } from '../sandbox/start/screen/display.ts';
import { createJsonDisplay } from '../sandbox/start/screen/json-display.ts';
import { listenForKeys } from '../sandbox/start/screen/keys.ts';
import { createPlainDisplay } from '../sandbox/start/screen/plain-display.ts';
import { runSandbox } from '../sandbox/start/run.ts';
import { createScreenDisplay } from '../sandbox/start/screen/screen-display.ts';
import { listenForStop } from '../sandbox/start/stop-signals.ts';
import { harmlessLines } from '../shared/contract/harmless.ts';

/** Wrong use, as shells and getopt have it. */
const WRONG_USE = 2;

async function main(): Promise<number> {
  refuseSwallowedOptions(process.env);
  const command: Command = parseCommand(process.argv.slice(2));
  switch (command.kind) {
    case 'help':
      process.stdout.write(`${usage}\n`);
      return 0;
    case 'scale':
    case 'evict':
    case 'freeze':
    case 'thaw':
      process.stdout.write(`${await askSandbox(command)}\n`);
      return 0;
    case 'run':
      return showSandbox(command);
    default:
      return command satisfies never;
  }
}

async function showSandbox(options: RunOptions): Promise<number> {
  const live: { display: Display | null } = { display: null };
  const stop = listenForStop(() => live.display?.close());
  const isScreen = options.log === 'text' && process.stdout.isTTY && process.env['TERM'] !== 'dumb';
  const display = isScreen ? createScreen() : createLines(options.log);
  live.display = display;
  // The terminal or the reader of the pipe has gone: nobody is left to tell.
  process.stdout.on('error', () => stop.ask(0));
  const { KUBEBUILDER_ASSETS: assets = '' } = process.env;
  try {
    const code = await runSandbox(options, {
      root: dirname(import.meta.dirname),
      display,
      stop,
      keys: isScreen && process.stdin.isTTY ? (actions) => listenForKeys(process.stdin, actions) : null,
      assets: assets === '' ? null : assets,
    });
    if (stop.isAsked()) display.last('Stopped: nothing is left running.');
    return code;
  } finally {
    display.close();
  }
}

function write(text: string): void {
  process.stdout.write(text);
}

function createLines(log: RunOptions['log']): Display {
  const now = (): number => Date.now();
  return log === 'json' ? createJsonDisplay(write, now) : createPlainDisplay(write, now);
}

function createScreen(): Display {
  const { stdout } = process;
  const { NO_COLOR: noColour = '' } = process.env;
  const display = createScreenDisplay({
    write,
    size: () => ({ columns: stdout.columns, rows: stdout.rows }),
    colour: noColour === '',
    hasKeys: process.stdin.isTTY,
    now: () => Date.now(),
  });
  stdout.on('resize', () => display.resized());
  return display;
}

try {
  process.exitCode = await main();
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${harmlessLines(message).replace(/(?<![?])[.:]?$/, '.')}\n`);
  if (error instanceof UsageError) process.stderr.write('npm start -- --help tells what can be given.\n');
  process.exitCode = error instanceof UsageError || error instanceof RefusedError ? WRONG_USE : 1;
}
process.exit();
