import { hostname } from 'node:os';
import { harmless } from '../shared/contract/harmless.ts';
import { createLog, reasonOf } from './process/log.ts';
import { relayTiming, startRelay } from './relay.ts';
import { helpText, parseLogLevel, parseSettings } from './settings.ts';

/** Exit codes: 0 stopped when asked to, 1 could not start, 2 wrong settings. */
async function main(): Promise<void> {
  if (process.argv.includes('--help')) {
    process.stdout.write(helpText);
    return;
  }
  const write = (line: string): void => void process.stdout.write(`${line}\n`);
  let log = createLog(write);
  let settings;
  try {
    log = createLog(write, { least: parseLogLevel(process.env) });
    settings = parseSettings(process.env, hostname());
  } catch (error) {
    log.error('wrong settings', { reason: reasonOf(error) });
    process.exitCode = 2;
    return;
  }
  const relay = await startRelay({ ...settings, log, timing: relayTiming });
  const stop = (): void => void relay.stop().finally(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

main().catch((error: unknown) => {
  process.stderr.write(`relay: ${harmless(reasonOf(error))}\n`);
  process.exitCode = 1;
});
