import type { ComputeManagementClient } from '@azure/arm-compute';
import type { ContainerServiceClient } from '@azure/arm-containerservice';
import type { NetworkManagementClient } from '@azure/arm-network';
import type { ResourceGraphClient } from '@azure/arm-resourcegraph';
import type { TokenCredential } from '@azure/identity';
import type { Settings } from '../../../contract/settings/settings.ts';
import { once } from '../../once.ts';
import { keepFailedBodies } from './failed-bodies.ts';
import { createThrottles } from './throttles.ts';

/** The management clients, made when first used: loading one takes a good part of a cold start. */
export interface Clients {
  readonly compute: () => Promise<ComputeManagementClient>;
  readonly containers: () => Promise<ContainerServiceClient>;
  readonly network: () => Promise<NetworkManagementClient>;
  readonly graph: () => Promise<ResourceGraphClient>;
}

/**
 * The SDK's own retries of 429 and 5xx. Few: the queue delivers again, and one execution must not wait for minutes. See
 * `throttles.ts`.
 */
const retryOptions = { maxRetries: 2, retryDelayInMs: 300, maxRetryDelayInMs: 3_000 };

export function createClients(settings: Settings, credential: TokenCredential): Clients {
  const endpoint = settings.AZURE_RESOURCE_MANAGER_ENDPOINT;
  const isPlain = endpoint?.startsWith('http://') === true;
  const options = {
    retryOptions,
    userAgentOptions: { userAgentPrefix: 'nodewright' },
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(isPlain ? { allowInsecureConnection: true } : {}),
  };
  const subscription = settings.AZURE_SUBSCRIPTION_ID;
  return {
    compute: once(async () => {
      const { ComputeManagementClient } = await import('@azure/arm-compute');
      return adapt(new ComputeManagementClient(credential, subscription, options), isPlain);
    }),
    containers: once(async () => {
      const { ContainerServiceClient } = await import('@azure/arm-containerservice');
      return adapt(new ContainerServiceClient(credential, subscription, options), isPlain);
    }),
    network: once(async () => {
      const { NetworkManagementClient } = await import('@azure/arm-network');
      return adapt(new NetworkManagementClient(credential, subscription, options), isPlain);
    }),
    graph: once(async () => {
      const { ResourceGraphClient } = await import('@azure/arm-resourcegraph');
      return adapt(new ResourceGraphClient(credential, options), isPlain);
    }),
  };
}

interface WithPipeline {
  readonly pipeline: ComputeManagementClient['pipeline'];
}

/** Within the SDK's retries, so that each answer is seen. The last to be added is the nearest to Azure. */
function adapt<Client extends WithPipeline>(client: Client, isPlain: boolean): Client {
  client.pipeline.addPolicy(createThrottles(Date.now), { afterPhase: 'Retry' });
  client.pipeline.addPolicy(keepFailedBodies, { afterPhase: 'Retry' });
  return isPlain ? withoutTls(client) : client;
}

/** The SDK refuses to send a token without TLS. A sandbox on loopback has no TLS, and its tokens are worth nothing. */
function withoutTls<Client extends WithPipeline>(client: Client): Client {
  client.pipeline.removePolicy({ name: 'bearerTokenAuthenticationPolicy' });
  client.pipeline.addPolicy({
    name: 'sandboxToken',
    sendRequest: (request, next) => {
      request.headers.set('Authorization', 'Bearer sandbox');
      return next(request);
    },
  });
  return client;
}
