import type { Settings } from '../../../contract/settings/settings.ts';
import { readAzureError } from '../calls/azure-error.ts';
import { subnetOf } from './subnet.ts';
import type { Clients } from '../calls/clients.ts';
import { isOverlay, networkModeOf } from './network-mode.ts';

/** The settings that nodes are made with, as far as they are given or Azure knows them. */
export interface CompleteSettings {
  readonly settings: Settings;
  /** One clear sentence for each thing that has to be put right before a node can be made; empty when there is none. */
  readonly problems: ReadonlyArray<string>;
}

/**
 * What nobody but a person can give, and the cluster's description may be wrong about for a while after it was made.
 */
const KEPT_MS = 60 * 60_000;
const PROBLEMS_KEPT_MS = 30_000;

/** A setting that every node needs, and how a person finds its value. */
type Needed = readonly [key: keyof Settings, howToFind: string];

const NEEDED: ReadonlyArray<Needed> = [
  ['SSH_PUBLIC_KEY', 'the public key that nodes let in, one line that begins with ssh-rsa or ssh-ed25519'],
  ['CLUSTER_CA_DATA', 'certificate-authority-data of the cluster in a kubeconfig of `az aks get-credentials`'],
  ['NODE_IDENTITIES', 'identityProfile.kubeletidentity.resourceId of `az aks show`'],
  ['KUBELET_IDENTITY_CLIENT_ID', 'identityProfile.kubeletidentity.clientId of `az aks show`'],
  ['DNS_SERVICE_IP', 'networkProfile.dnsServiceIP of `az aks show`'],
  ['AZURE_TENANT_ID', 'tenantId of `az account show`'],
];

/** Pods of an overlay find the network's daemons by it. */
const NEEDED_BY_OVERLAYS: Needed = ['VNET_GUID', 'resourceGuid of `az network vnet show`'];

/**
 * Completes the settings by what Azure says of the managed cluster and its network, once an hour; nothing is asked
 * where nothing is absent. What a setting says wins over what Azure does. Never throws: who cannot be asked is a
 * problem, with what to do about it.
 */
export function createCompletion(
  clients: Pick<Clients, 'graph' | 'network'>,
  settings: Settings,
  now: () => number,
): () => Promise<CompleteSettings> {
  let kept: (Reading & { readonly atMs: number }) | null = null;
  return () => {
    if (kept === null || now() - kept.atMs > kept.forMs) {
      const reading = { atMs: now(), complete: complete(clients, settings), forMs: KEPT_MS };
      kept = reading;
      void keepFor(reading);
    }
    return kept.complete;
  };
}

interface Reading {
  readonly complete: Promise<CompleteSettings>;
  forMs: number;
}

/** Somebody is fixing what is wrong: that shows sooner. */
async function keepFor(reading: Reading): Promise<void> {
  if ((await reading.complete).problems.length > 0) reading.forMs = PROBLEMS_KEPT_MS;
}

async function complete(clients: Pick<Clients, 'graph' | 'network'>, given: Settings): Promise<CompleteSettings> {
  const needed = neededBy(given);
  const failures: Array<string> = [];
  const tell = (doing: string) => (error: unknown) => {
    const { status, code, message } = readAzureError(error);
    failures.push(`${doing}: ${[status > 0 ? status : '', code, message].filter(Boolean).join(' ')}`.slice(0, 300));
    return {};
  };
  const lacks = (key: keyof Settings): boolean => needed.some(([one]) => one === key) && given[key] === undefined;
  const lacksOfCluster = needed.some(([key]) => key !== 'VNET_GUID' && key !== 'CLUSTER_CA_DATA' && lacks(key));
  const [ofCluster, ofNetwork] = await Promise.all([
    lacksOfCluster ? readCluster(clients, given).catch(tell('reading the managed cluster')) : {},
    lacks('VNET_GUID') ? readVnet(clients, given).catch(tell('reading the virtual network')) : {},
  ]);
  const settings: Settings = { ...ofCluster, ...ofNetwork, ...given };
  const why = failures.length === 0 ? '' : ` (${failures.join('; ')})`;
  const absent = needed.filter(([key]) => settings[key] === undefined);
  return {
    settings,
    problems: [
      ...absent.map(([key, howToFind]) => `app setting ${key} is missing${why}: set it to ${howToFind}`),
      ...malformed(settings),
    ],
  };
}

function neededBy(settings: Settings): ReadonlyArray<Needed> {
  return isOverlay(networkModeOf(settings)) ? [...NEEDED, NEEDED_BY_OVERLAYS] : NEEDED;
}

interface ClusterRow {
  readonly tenantId: string | null;
  readonly dnsServiceIP: string | null;
  readonly identityId: string | null;
  readonly identityClientId: string | null;
  readonly user: string | null;
  readonly keys: ReadonlyArray<{ readonly keyData?: string }> | null;
}

/**
 * The cluster whose machines live in our node resource group, from Resource Graph, which shows what our identity may
 * read.
 */
async function readCluster(
  { graph }: Pick<Clients, 'graph'>,
  { AZURE_SUBSCRIPTION_ID: subscription, AZURE_NODE_RESOURCE_GROUP: group }: Settings,
): Promise<Partial<Settings>> {
  const answer = await (
    await graph()
  ).resources({
    query: [
      'Resources',
      "where type =~ 'microsoft.containerservice/managedclusters'",
      `where properties.nodeResourceGroup =~ '${group.replaceAll("'", '')}'`,
      [
        'project id, tenantId = tenantId',
        'dnsServiceIP = properties.networkProfile.dnsServiceIP',
        'identityId = properties.identityProfile.kubeletidentity.resourceId',
        'identityClientId = properties.identityProfile.kubeletidentity.clientId',
        'user = properties.linuxProfile.adminUsername',
        'keys = properties.linuxProfile.ssh.publicKeys',
      ].join(', '),
    ].join(' | '),
    subscriptions: [subscription],
    options: { resultFormat: 'objectArray' },
  });
  const [row] = answer.data as ReadonlyArray<ClusterRow>;
  if (row === undefined) return {};
  const { tenantId, dnsServiceIP, identityId, identityClientId, user, keys } = row;
  return said({
    AZURE_TENANT_ID: tenantId,
    DNS_SERVICE_IP: dnsServiceIP,
    NODE_IDENTITIES: identityId,
    KUBELET_IDENTITY_CLIENT_ID: identityClientId,
    LINUX_ADMIN_USERNAME: user,
    SSH_PUBLIC_KEY: keys?.[0]?.keyData,
  });
}

async function readVnet({ network }: Pick<Clients, 'network'>, settings: Settings): Promise<Partial<Settings>> {
  const { group, vnet } = subnetOf(settings.VNET_SUBNET_ID);
  const { resourceGuid } = await (await network()).virtualNetworks.get(group, vnet);
  return said({ VNET_GUID: resourceGuid });
}

/** What is said, without what is not. */
function said(found: Readonly<Record<string, string | null | undefined>>): Partial<Settings> {
  return Object.fromEntries(
    Object.entries(found).flatMap(([key, value]) =>
      value === null || value === undefined || value === '' ? [] : [[key, value.trim()]],
    ),
  );
}

const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const IDENTITY =
  /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.ManagedIdentity\/userAssignedIdentities\/[^/]+$/i;
const ENCRYPTION_SET =
  /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.Compute\/diskEncryptionSets\/[^/]+$/i;

/** What each setting has to look like. A node that is made with another would boot, and never join. */
const FORMS: ReadonlyArray<readonly [key: keyof Settings, form: (value: string) => boolean, like: string]> = [
  [
    'SSH_PUBLIC_KEY',
    (value) => /^ssh-(rsa|ed25519) [A-Za-z0-9+/=]+( .*)?$/.test(value),
    'ssh-ed25519 AAAA… or ssh-rsa AAAA…',
  ],
  ['CLUSTER_CA_DATA', isBase64, 'the base64 text in a kubeconfig'],
  ['NODE_IDENTITIES', (value) => value.split(',').every((id) => IDENTITY.test(id)), 'ids of user-assigned identities'],
  ['KUBELET_IDENTITY_CLIENT_ID', (value) => GUID.test(value), 'a GUID'],
  ['VNET_GUID', (value) => GUID.test(value), 'a GUID'],
  ['DNS_SERVICE_IP', (value) => /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-f:]+)$/i.test(value), 'an IP address'],
  ['NODE_OSDISK_DISKENCRYPTIONSET_ID', (value) => ENCRYPTION_SET.test(value), 'the id of a disk encryption set'],
  ['LINUX_ADMIN_USERNAME', (value) => /^[a-z_][-a-z0-9_]{0,31}$/i.test(value), 'a Linux user, such as azureuser'],
  ['KUBELET_BOOTSTRAP_TOKEN', (value) => /^[a-z0-9]{6}\.[a-z0-9]{16}$/.test(value), 'id.secret of a bootstrap token'],
  ['NETWORK_PLUGIN', (value) => value === 'azure' || value === 'none', 'azure or none'],
  ['NETWORK_PLUGIN_MODE', (value) => value === 'overlay' || value === '', 'overlay, or empty'],
  ['NETWORK_DATAPLANE', (value) => ['azure', 'cilium', ''].includes(value), 'azure, cilium, or empty'],
];

function malformed(settings: Settings): ReadonlyArray<string> {
  const wrong = FORMS.flatMap(([key, isOne, like]) => {
    const value = settings[key];
    return value === undefined || isOne(value) ? [] : [`app setting ${key} is ${shown(value)}: it has to be ${like}`];
  });
  const { plugin, pluginMode } = networkModeOf(settings);
  return plugin === 'none' && pluginMode !== ''
    ? [...wrong, 'app setting NETWORK_PLUGIN_MODE has to be empty where NETWORK_PLUGIN is none']
    : wrong;
}

/** Long enough to be recognised, and no more of it in logs than that. */
const SHOWN = 24;

function shown(value: string): string {
  return JSON.stringify(value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value);
}

function isBase64(value: string): boolean {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(value) && value.length % 4 === 0;
}
