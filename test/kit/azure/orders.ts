import { judged, orderOf } from '../../../cli/launch/order.ts';
import { type Sku, toSku } from '../../../shared/adapters/azure/catalog/sku.ts';
import { readSettings, type Settings } from '../../../shared/contract/settings/settings.ts';
import type { NodePool } from '../../../shared/kubernetes/manifest.ts';
import type { LaunchOrder } from '../../../shared/ports/cloud.ts';
import type { NodeClass } from '../../../shared/ports/kubernetes.ts';
import { type Launch, golden } from './read.ts';

interface ProviderOptions {
  readonly clusterName: string;
  readonly clusterEndpoint: string;
  readonly networkPlugin: string;
  readonly networkPluginMode?: string;
  readonly networkPolicy?: string;
  readonly networkDataplane?: string;
  readonly dnsServiceIP: string;
  readonly nodeIdentities: ReadonlyArray<string>;
  readonly kubeletIdentityClientID: string;
  readonly vnetGuid: string;
  readonly subnetId: string;
  readonly nodeResourceGroup: string;
  readonly additionalTags: Readonly<Record<string, string>>;
}

const options = golden('options') as Readonly<Record<string, ProviderOptions>>;
const classes = golden('node-classes') as Readonly<Record<string, { readonly spec: NodeClass['spec'] }>>;
const { southcentralus = [] } = golden('skus') as Readonly<Record<string, ReadonlyArray<Parameters<typeof toSku>[0]>>>;

/** The sizes that the provider's launches were made from; every price is the same. */
export const skus: ReadonlyArray<Sku> = southcentralus.flatMap((raw) => {
  const sku = toSku(raw, 'southcentralus');
  return sku === null ? [] : [{ ...sku, onDemandMicroUsd: 1, spotMicroUsd: 1 }];
});

/** Our settings for a network of the provider's options, and what the README says is the same everywhere. */
export function settingsOf(network: string): Settings {
  const given = options[network];
  if (given === undefined) throw new Error(`no options for ${network}`);
  return readSettings({
    CLUSTER_NAME: given.clusterName,
    CLUSTER_ENDPOINT: given.clusterEndpoint,
    CLUSTER_CA_DATA: 'Y2E=',
    AZURE_SUBSCRIPTION_ID: given.subnetId.split('/')[2],
    AZURE_NODE_RESOURCE_GROUP: given.nodeResourceGroup,
    AZURE_TENANT_ID: 'test-tenant',
    LOCATION: 'southcentralus',
    VNET_SUBNET_ID: given.subnetId,
    VNET_GUID: given.vnetGuid,
    SSH_PUBLIC_KEY: 'ssh-rsa AAAA',
    NODE_IDENTITIES: given.nodeIdentities.join(','),
    KUBELET_IDENTITY_CLIENT_ID: given.kubeletIdentityClientID,
    DNS_SERVICE_IP: given.dnsServiceIP,
    NETWORK_PLUGIN: given.networkPlugin,
    NETWORK_PLUGIN_MODE: given.networkPluginMode ?? '',
    NETWORK_POLICY: given.networkPolicy ?? '',
    NETWORK_DATAPLANE: given.networkDataplane ?? '',
    ADDITIONAL_TAGS: Object.entries(given.additionalTags)
      .map((pair) => pair.join('='))
      .join(','),
    ServiceBus: 'unused',
    SnapshotStorage: 'unused',
  });
}

const pool: NodePool = {
  metadata: { name: 'general' },
  spec: {
    template: {
      metadata: { labels: { team: 'a' } },
      spec: {
        nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'golden' },
        requirements: [],
        taints: [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }],
        startupTaints: [{ key: 'node.cilium.io/agent-not-ready', value: 'true', effect: 'NoExecute' }],
      },
    },
  },
};

/** Our order for the node that a row of the provider's is about. */
export function orderFor({ network, nodeClass, kubernetes, size, capacityType }: Launch): LaunchOrder {
  const given = { metadata: { name: 'golden' }, spec: classes[nodeClass]?.spec ?? {} };
  const settings = settingsOf(network);
  return orderOf(
    { size, zone: 'southcentralus-1', capacityType },
    { pool, nodeClass: judged(given, kubernetes), settings, skus },
  ).order;
}
