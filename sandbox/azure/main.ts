import { systemClock } from '../base/clock.ts';
import { rngFrom } from '../base/rng.ts';
import { startAzure } from './azure.ts';
import { azureDefaults, quickLatency, realLatency } from './state/options.ts';

/**
 * Runs the double as a process: `node sandbox/azure/main.ts`. Settings come from the environment: PORT (4577),
 * REGION, SEED, LATENCY (`real` or `quick`), SPOT_MEAN_LIFE_MINUTES, GRAPH_LAG_MS, THROTTLE (`on`), KUBECONFIG_TEXT,
 * CLUSTER (`ready`, or `plain`).
 * It prints its endpoint on one line when it listens, and is steered under `/sandbox` (routes/admin.ts).
 */
const environment = process.env;

const azure = await startAzure({
  ...azureDefaults,
  port: numberFrom('PORT') ?? 4_577,
  clock: systemClock,
  rng: rngFrom(environment['SEED'] ?? 'sandbox'),
  region: environment['REGION'] ?? azureDefaults.region,
  latency: environment['LATENCY'] === 'quick' ? quickLatency : realLatency,
  spotMeanLifeMinutes: numberFrom('SPOT_MEAN_LIFE_MINUTES'),
  graphLagMs: numberFrom('GRAPH_LAG_MS') ?? azureDefaults.graphLagMs,
  throttle: environment['THROTTLE'] === 'on',
  cluster: environment['CLUSTER'] === 'plain' ? 'plain' : 'ready',
  kubeconfig: environment['KUBECONFIG_TEXT'] ?? '',
});
process.stdout.write(`${JSON.stringify({ endpoint: azure.endpoint })}\n`);

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    void azure.close().then(() => process.exit(0));
  });

function numberFrom(name: string): number | null {
  const text = environment[name];
  if (text === undefined || text === '') return null;
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw new Error(`${name}='${text}' must be a number, 0 or more.`);
  return value;
}
