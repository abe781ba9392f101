import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';

const name = Type.String({ minLength: 1 });
const optional = Type.Optional(name);
/** Empty says that the cluster has none; absent, that Karpenter's default is right. */
const emptiable = Type.Optional(Type.String());
const EMPTIABLE: ReadonlySet<string> = new Set(['NETWORK_PLUGIN_MODE', 'NETWORK_POLICY', 'NETWORK_DATAPLANE']);

/**
 * App settings. Names are Karpenter's where it has one (its Azure provider's option table), Azure's own for connections
 * (`X` a connection string, `X__…` an identity), ours only where neither has a word.
 */
const Settings = Type.Object({
  /** Names the cluster in sessions, blobs and tags. */
  CLUSTER_NAME: name,
  AZURE_SUBSCRIPTION_ID: name,
  /** The resource group that AKS keeps the cluster's machines in. */
  AZURE_NODE_RESOURCE_GROUP: name,
  LOCATION: name,
  /** Subnet of nodes whose AKSNodeClass names none. */
  VNET_SUBNET_ID: name,
  /** `https://…`: what new nodes and, without KUBECONFIG, we ourselves call. */
  CLUSTER_ENDPOINT: name,
  /** Base64 of the API server's CA certificate. */
  CLUSTER_CA_DATA: optional,
  /** Path of a kubeconfig; without it the API server is called with our managed identity. */
  KUBECONFIG: optional,
  NODEWRIGHT_NAMESPACE: optional,
  /** Client id of the user-assigned identity; absent: the default credential chain. */
  AZURE_CLIENT_ID: optional,
  /** For sandboxes: a bearer token to use instead of an identity. */
  AZURE_STATIC_TOKEN: optional,
  /** For sandboxes and sovereign clouds; absent: the public cloud's. */
  AZURE_RESOURCE_MANAGER_ENDPOINT: optional,
  RETAIL_PRICES_ENDPOINT: optional,
  /** What prices are in, `USD` unless said: see `price-currency.ts`. */
  PRICE_CURRENCY: optional,
  ServiceBus: optional,
  ServiceBus__fullyQualifiedNamespace: optional,
  SnapshotStorage: optional,
  SnapshotStorage__blobServiceUri: optional,
  /** What nodes are made with. Those that are absent are read from the managed cluster: see `complete-settings.ts`. */
  SSH_PUBLIC_KEY: optional,
  LINUX_ADMIN_USERNAME: optional,
  NETWORK_PLUGIN: optional,
  NETWORK_PLUGIN_MODE: emptiable,
  NETWORK_POLICY: emptiable,
  NETWORK_DATAPLANE: emptiable,
  NODE_IDENTITIES: optional,
  KUBELET_IDENTITY_CLIENT_ID: optional,
  DNS_SERVICE_IP: optional,
  AZURE_TENANT_ID: optional,
  /** Azure's GUID of the virtual network, which nodes of an overlay carry as a label. */
  VNET_GUID: optional,
  /** Absent: each node gets a token of its own. */
  KUBELET_BOOTSTRAP_TOKEN: optional,
  /** Disks of nodes are encrypted with this disk encryption set's key. */
  NODE_OSDISK_DISKENCRYPTIONSET_ID: optional,
  /**
   * `on`: VMs publish their scheduled events to Event Grid, a preview of Azure's that the subscription must be
   * registered for.
   */
  SCHEDULED_EVENTS: Type.Optional(Type.Union([Type.Literal('on'), Type.Literal('off')])),
  /**
   * Resource id of AKS's planned maintenance, whose windows new node images wait for; absent, or of none that exists:
   * they do not wait.
   */
  MAINTENANCE_CONFIGURATION_ID: optional,
  VM_MEMORY_OVERHEAD_PERCENT: optional,
  ADDITIONAL_TAGS: optional,
  /** Karpenter's options of scheduling, with its names, forms and defaults: see `scheduling-settings.ts`. */
  PREFERENCE_POLICY: optional,
  MIN_VALUES_POLICY: optional,
  FEATURE_GATES: optional,
  SCHEDULER_CONFIG: optional,
  IGNORE_DRA_REQUESTS: optional,
  /**
   * `false`: planned pods are nominated to their node, but never changed, and the node is open to all from the start.
   */
  RESERVE_NODES: optional,
  /**
   * `on`: nodes that are empty, underutilized, drifted, expired or sick are removed, and replaced before: see
   * `disruption-settings.ts`.
   */
  DISRUPTION: optional,
});
export type Settings = Static<typeof Settings>;

/** The names of all settings: what a deployment has to think of. */
export const settingNames: ReadonlyArray<string> = Object.keys(Settings.properties);

/** Throws an Error that lists every setting that is missing or empty, so that one look shows all of them. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([key, value]) => value !== undefined && (value !== '' || EMPTIABLE.has(key))),
  );
  const problems = Value.Check(Settings, given) ? [] : missing(given);
  if (given['ServiceBus'] === undefined && given['ServiceBus__fullyQualifiedNamespace'] === undefined) {
    problems.push('ServiceBus (or ServiceBus__fullyQualifiedNamespace)');
  }
  if (given['SnapshotStorage'] === undefined && given['SnapshotStorage__blobServiceUri'] === undefined) {
    problems.push('SnapshotStorage (or SnapshotStorage__blobServiceUri)');
  }
  if (problems.length > 0)
    throw new Error(`app settings are missing: ${problems.join(', ')}; add them to the function app`);
  return given as Settings;
}

/** The settings that a client of Service Bus is made of. */
export type Connection = Pick<
  Settings,
  'ServiceBus' | 'ServiceBus__fullyQualifiedNamespace' | 'AZURE_CLIENT_ID' | 'AZURE_STATIC_TOKEN'
>;

/** What there is of them, whatever else is missing; null where Service Bus is named by none. */
export function readConnection(environment: Readonly<Record<string, string | undefined>>): Connection | null {
  const names = ['ServiceBus', 'ServiceBus__fullyQualifiedNamespace', 'AZURE_CLIENT_ID', 'AZURE_STATIC_TOKEN'] as const;
  const given: Connection = Object.fromEntries(
    names.flatMap((setting) => {
      const value = environment[setting] ?? '';
      return value === '' ? [] : [[setting, value] as const];
    }),
  );
  return given.ServiceBus === undefined && given.ServiceBus__fullyQualifiedNamespace === undefined ? null : given;
}

function missing(given: Readonly<Record<string, string | undefined>>): Array<string> {
  return (Settings.required as ReadonlyArray<string>).filter((key) => given[key] === undefined);
}
