import { parseArgs } from 'node:util';
import { renderErrorMessage } from './error-message.ts';
import { isAtLeast, renderJsonLine, renderTextLine, type LogEntry } from './log.ts';
import { startHost } from './start-host.ts';

/** Core Tools' port. */
const DEFAULT_PORT = '7071';

const usage = `Usage: node sandbox/functions-host/main.ts [--app FOLDER] [--port 7071] [--verbose] [--log text|json] [--timer-state FILE]
                                           [--group http|function:NAME]
Settings come from the environment, over "Values" of local.settings.json in the app's folder.
NODEWRIGHT_DELIVER_TWICE=1 invokes every Service Bus batch twice, to exercise idempotence.`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      app: { type: 'string', default: '.' },
      port: { type: 'string', default: DEFAULT_PORT },
      verbose: { type: 'boolean', default: false },
      log: { type: 'string', default: 'text' },
      'timer-state': { type: 'string' },
      group: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(`${usage}\n`);
    return;
  }
  // From the first moment: a signal while the app loads stops the host as soon as it has started.
  const stopped = signalled();
  const host = await startHost({
    appFolder: values.app,
    port: parsePort(values.port),
    environment: null,
    sink: createSink(values.log, values.verbose),
    clock: null,
    timerStateFile: values['timer-state'] ?? null,
    group: values.group ?? null,
    deliverTwice: process.env['NODEWRIGHT_DELIVER_TWICE'] === '1',
  });
  await stopped;
  await host.close();
  // An app may hold connections of its own; the real host ends the worker process too.
  process.exit(0);
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`--port: "${text}" is no port.`);
  return port;
}

function createSink(format: string, isVerbose: boolean): (entry: LogEntry) => void {
  if (format !== 'text' && format !== 'json') throw new Error(`--log: "${format}" is neither text nor json.`);
  const render = format === 'json' ? renderJsonLine : renderTextLine;
  return (entry) => {
    if (isVerbose || isAtLeast(entry.level, 'information')) process.stdout.write(`${render(entry)}\n`);
  };
}

/** Waits for the first signal to stop; a second one ends the process at once, as Node does by itself. */
async function signalled(): Promise<void> {
  await new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve());
    process.once('SIGINT', () => resolve());
  });
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${renderErrorMessage(error)}\n`);
  process.exit(1);
}
