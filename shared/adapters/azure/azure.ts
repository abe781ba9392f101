import type { TokenCredential } from '@azure/identity';
import type { Settings } from '../../contract/settings/settings.ts';
import type { Cloud, NodeClassFacts } from '../../ports/cloud.ts';
import type { Kubernetes } from '../../ports/kubernetes.ts';
import type { Blobs } from '../../ports/blobs.ts';
import { createTokens, revokeBootstrapTokens } from './bootstrap/bootstrap-token.ts';
import { type AzureCatalogs, createCatalogs } from './catalog/catalogs.ts';
import { createClients } from './calls/clients.ts';
import { createCloud } from './machines/cloud.ts';
import { createCompletion } from './network/complete-settings.ts';
import { createNetworkPlaces } from './machines/network-place.ts';
import { networkModeOf } from './network/network-mode.ts';
import { createNodeClassFacts } from './classes/node-class-facts.ts';

export interface AzureParts {
  readonly settings: Settings;
  /** What prices are read in (ISO 4217). */
  readonly currency: string;
  readonly credential: TokenCredential;
  /** The container of the catalog. */
  readonly blobs: Blobs;
  /** For the Secrets that let nodes join. */
  readonly kubernetes: Kubernetes;
  readonly now: () => number;
}

/** Azure as the ports see it, over the real management clients. */
export function createAzure(parts: AzureParts): {
  readonly cloud: Cloud;
  readonly nodeClassFacts: NodeClassFacts;
  readonly catalogs: AzureCatalogs;
} {
  const { settings, currency, credential, blobs, kubernetes, now } = parts;
  const clients = createClients(settings, credential);
  const network = networkModeOf(settings);
  const catalogs = createCatalogs({
    cluster: settings.CLUSTER_NAME,
    subscription: settings.AZURE_SUBSCRIPTION_ID,
    clients,
    blobs,
    pricesEndpoint: settings.RETAIL_PRICES_ENDPOINT,
    currency,
    now,
    settings: {
      location: settings.LOCATION,
      nodeResourceGroup: settings.AZURE_NODE_RESOURCE_GROUP,
      networkPlugin: network.plugin,
      networkPluginMode: network.pluginMode,
      memoryOverhead: Number(settings.VM_MEMORY_OVERHEAD_PERCENT ?? '0.075'),
    },
  });
  const complete = createCompletion(clients, settings, now);
  const ownToken = settings.KUBELET_BOOTSTRAP_TOKEN;
  const cloud = createCloud({
    settings,
    complete,
    clients,
    place: createNetworkPlaces(() => clients.network(), settings, now),
    sku: catalogs.sku,
    bootstrapToken: ownToken === undefined ? createTokens(kubernetes, now) : () => Promise.resolve(ownToken),
    revokeTokens: (claim, areSeveral) =>
      ownToken === undefined ? revokeBootstrapTokens(kubernetes, claim, areSeveral) : Promise.resolve(),
  });
  return { cloud, nodeClassFacts: createNodeClassFacts(clients, settings, complete, now), catalogs };
}
