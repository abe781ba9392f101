import type { TokenCredential } from '@azure/identity';
import type { Settings } from '../../contract/settings.ts';
import type { Cloud, NodeClassFacts } from '../../ports/cloud.ts';
import type { Kubernetes } from '../../ports/kubernetes.ts';
import type { Blobs } from '../../ports/blobs.ts';
import { mintBootstrapToken } from './bootstrap-token.ts';
import { type AzureCatalogs, createCatalogs } from './catalogs.ts';
import { createClients } from './clients.ts';
import { createCloud } from './cloud.ts';
import { createNetworkPlaces } from './network-place.ts';
import { createNodeClassFacts } from './node-class-facts.ts';

export interface AzureParts {
  readonly settings: Settings;
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
  const { settings, credential, blobs, kubernetes, now } = parts;
  const clients = createClients(settings, credential);
  const catalogs = createCatalogs({
    cluster: settings.CLUSTER_NAME,
    subscription: settings.AZURE_SUBSCRIPTION_ID,
    clients,
    blobs,
    pricesEndpoint: settings.RETAIL_PRICES_ENDPOINT,
    now,
    settings: {
      location: settings.LOCATION,
      nodeResourceGroup: settings.AZURE_NODE_RESOURCE_GROUP,
      networkPlugin: settings.NETWORK_PLUGIN ?? 'azure',
      networkPluginMode: settings.NETWORK_PLUGIN_MODE ?? 'overlay',
      memoryOverhead: Number(settings.VM_MEMORY_OVERHEAD_PERCENT ?? '0.075'),
    },
  });
  const cloud = createCloud({
    settings,
    clients,
    place: createNetworkPlaces(() => clients.network(), settings, now),
    sku: catalogs.sku,
    bootstrapToken: (claim) =>
      settings.KUBELET_BOOTSTRAP_TOKEN === undefined
        ? mintBootstrapToken(kubernetes, claim, now())
        : Promise.resolve(settings.KUBELET_BOOTSTRAP_TOKEN),
  });
  return { cloud, nodeClassFacts: createNodeClassFacts(clients, settings, now), catalogs };
}
