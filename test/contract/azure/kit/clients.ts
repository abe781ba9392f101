import { ComputeManagementClient } from '@azure/arm-compute';
import { ContainerServiceClient } from '@azure/arm-containerservice';
import { NetworkManagementClient } from '@azure/arm-network';
import { ResourceGraphClient } from '@azure/arm-resourcegraph';
import type { Clients } from '../../../../shared/adapters/azure/calls/clients.ts';
import { azureDefaults, type AzureOptions } from '../../../../sandbox/azure/state/options.ts';
import { startAzure } from '../../../../sandbox/azure/azure.ts';
import type { Azure } from '../../../../sandbox/azure/running-azure.ts';
import { useLoopback } from './loopback.ts';
import { type Exchange, watchAnswers } from './watch-answers.ts';
import { systemClock } from '../../../../sandbox/base/clock.ts';
import { rngFrom } from '../../../../sandbox/base/rng.ts';

export const group = azureDefaults.resourceGroup;
export const subscriptionId = azureDefaults.subscriptionId;

const credential = {
  getToken: () => Promise.resolve({ token: 'loopback', expiresOnTimestamp: Date.now() + 3_600_000 }),
};

/** A double with quick latencies and its clients; `overrides` change its options. */
export async function startWithClients(overrides: Partial<AzureOptions>): Promise<{
  readonly azure: Azure;
  readonly compute: ComputeManagementClient;
  readonly network: NetworkManagementClient;
}> {
  const azure = await startAzure({
    ...azureDefaults,
    port: 0,
    clock: systemClock,
    rng: rngFrom('contract'),
    ...overrides,
  });
  return { azure, compute: computeClient(azure.endpoint), network: networkClient(azure.endpoint) };
}

/** How often an awaited operation is asked about: as often as the double's latencies deserve. */
export const promptly = { updateIntervalInMs: 3 } as const;

/** How long a condition is waited for: far longer than it takes, for slow machines. */
export const patient = { timeout: 60_000, interval: 5 } as const;

/** Retries are few and quick, so that a test of a refusal does not wait for them. */
const quickly = { allowInsecureConnection: true, retryOptions: { maxRetries: 2, retryDelayInMs: 5 } } as const;

/**
 * Its answers are held against the property trees. `seen` is told of each exchange, `alter` may change what goes out.
 */
export function computeClient(endpoint: string, ...watch: Watching): ComputeManagementClient {
  const client = new ComputeManagementClient(credential, subscriptionId, { endpoint, ...quickly });
  return watchAnswers(useLoopback(client), ...watch);
}

/** As `computeClient`. */
export function networkClient(endpoint: string, ...watch: Watching): NetworkManagementClient {
  const client = new NetworkManagementClient(credential, subscriptionId, { endpoint, ...quickly });
  return watchAnswers(useLoopback(client), ...watch);
}

/** As `computeClient`. */
export function containersClient(endpoint: string, ...watch: Watching): ContainerServiceClient {
  const client = new ContainerServiceClient(credential, subscriptionId, { endpoint, ...quickly });
  return watchAnswers(useLoopback(client), ...watch);
}

type Watching = [seen?: (exchange: Exchange) => void, alter?: (sent: string) => string];

/** What the product's adapters take. */
export function clientsOf(endpoint: string): Clients {
  return {
    compute: () => Promise.resolve(computeClient(endpoint)),
    containers: () => Promise.resolve(containersClient(endpoint)),
    network: () => Promise.resolve(networkClient(endpoint)),
    graph: () => Promise.resolve(useLoopback(new ResourceGraphClient(credential, { endpoint, ...quickly }))),
  };
}
