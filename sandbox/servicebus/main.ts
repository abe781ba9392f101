import { parseArgs } from 'node:util';
import { queues } from '../../shared/contract/messages/queues.ts';
import { systemClock } from '../base/clock.ts';
import { rngFrom } from '../base/rng.ts';
import { startAdmin } from './admin.ts';
import { startBroker } from './broker.ts';
import type { FaultSettings } from './amqp/faults.ts';

/** The port of the official emulator and of AMQP. */
const DEFAULT_PORT = '5672';

/** Service Bus locks for no longer. */
const LOCK_SECONDS_MAX = 300;

const USAGE = `Usage: node sandbox/servicebus/main.ts [options]
  --port N               AMQP port, 0 for a free one (default ${DEFAULT_PORT})
  --data DIR             keep messages in this folder (default: in memory)
  --admin-port N         serve GET /queues with the counts of every queue
  --duplicate-percent N  deliver this share of completed messages once more
  --drop-percent N       cut the connection in place of this share of answers
  --lock-seconds N       no lock lasts longer, for who kills receivers (default: as deployed)
  --seed TEXT            fixes when faults happen (default: nodewright)`;

/** Runs a broker with the queues of a deployment until SIGTERM or SIGINT. One line on stdout says that it is ready. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: DEFAULT_PORT },
      data: { type: 'string' },
      'admin-port': { type: 'string' },
      'duplicate-percent': { type: 'string', default: '0' },
      'drop-percent': { type: 'string', default: '0' },
      'lock-seconds': { type: 'string', default: String(LOCK_SECONDS_MAX) },
      seed: { type: 'string', default: 'nodewright' },
    },
  });
  const faults: FaultSettings = {
    rng: rngFrom(values.seed),
    duplicatePercent: parseInteger('--duplicate-percent', values['duplicate-percent'], 100),
    dropPercent: parseInteger('--drop-percent', values['drop-percent'], 100),
    slowDrains: 0,
  };
  const lockMs = 1_000 * parseInteger('--lock-seconds', values['lock-seconds'], LOCK_SECONDS_MAX);
  const broker = await startBroker({
    port: parseInteger('--port', values.port, 65_535),
    queues: queues.map((queue) => ({ ...queue, lockDurationMs: Math.min(queue.lockDurationMs, lockMs) })),
    dataFolder: values.data ?? null,
    clock: systemClock,
    faults,
    log: (line) => {
      process.stderr.write(`servicebus: ${line}\n`);
    },
  });
  const adminPort = values['admin-port'];
  const admin =
    adminPort === undefined ? null : await startAdmin(broker, parseInteger('--admin-port', adminPort, 65_535));
  const page = admin === null ? '' : `, counts on http://127.0.0.1:${admin.port}/queues`;

  const stop = (): void => {
    Promise.all([broker.close(), admin?.close()]).then(() => process.exit(0), fail);
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  process.stdout.write(`Service Bus is ready: ${broker.connectionString}${page}\n`);
}

function parseInteger(option: string, text: string, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw new Error(`${option} must be a whole number from 0 to ${max}, not '${text}'\n${USAGE}`);
}

function fail(cause: unknown): never {
  process.stderr.write(`${explain(cause)}\n`);
  process.exit(1);
}

function explain(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = 'code' in cause ? String(cause.code) : '';
  if (code === 'EADDRINUSE' && 'port' in cause) {
    return `Port ${String(cause.port)} is taken by another process; choose another with --port or --admin-port.`;
  }
  return code.startsWith('ERR_PARSE_ARGS') ? `${cause.message}\n${USAGE}` : cause.message;
}

main().catch(fail);
