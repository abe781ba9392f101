import { type Ask, readArm } from './az.ts';
import { type InCluster, type Permission, askCluster, azureAllows } from './cluster-rights.ts';
import { explainRefusal } from './explain-refusal.ts';

/** What the checks read of a cluster, as Resource Manager answers (2026-04-01). */
export interface Cluster {
  readonly id: string;
  readonly location: string;
  readonly properties: {
    readonly provisioningState?: string;
    readonly powerState?: { readonly code?: string };
    readonly currentKubernetesVersion?: string;
    readonly kubernetesVersion?: string;
    readonly nodeResourceGroup: string;
    readonly enableRBAC?: boolean;
    readonly aadProfile?: {
      readonly managed?: boolean;
      /** Azure's roles decide about Kubernetes, too. */
      readonly enableAzureRBAC?: boolean;
      readonly adminGroupObjectIDs?: ReadonlyArray<string>;
    };
    readonly oidcIssuerProfile?: { readonly enabled?: boolean };
    readonly securityProfile?: { readonly workloadIdentity?: { readonly enabled?: boolean } };
    readonly nodeProvisioningProfile?: { readonly mode?: string; readonly defaultNodePools?: string };
    readonly nodeResourceGroupProfile?: { readonly restrictionLevel?: string };
    readonly identityProfile?: Readonly<Record<string, { readonly resourceId?: string }>>;
    readonly linuxProfile?: { readonly ssh?: { readonly publicKeys?: ReadonlyArray<object> } };
    readonly apiServerAccessProfile?: {
      readonly enablePrivateCluster?: boolean;
      readonly authorizedIPRanges?: ReadonlyArray<string>;
      readonly disableRunCommand?: boolean;
    };
    readonly networkProfile?: { readonly networkPlugin?: string };
    readonly agentPoolProfiles?: ReadonlyArray<{
      readonly name?: string;
      readonly enableAutoScaling?: boolean;
      readonly vnetSubnetID?: string;
    }>;
  };
}

export interface Topic {
  readonly id: string;
  readonly hasIdentity: boolean;
  readonly source: string;
  readonly topicType: string;
  /** azd's name of the environment that made it; empty for one that somebody else made. */
  readonly environment: string;
}

export interface Subnet {
  readonly id: string;
  /** Length of its longest address prefix: 27 has 32 addresses. */
  readonly prefixLength: number;
  /** To which services it is delegated. */
  readonly delegations: ReadonlyArray<string>;
}

/** Everything that the checks judge. */
export interface Answers {
  readonly cluster: Cluster;
  readonly permissions: {
    readonly onMachines: ReadonlyArray<Permission>;
    readonly onSubscription: ReadonlyArray<Permission>;
    readonly onCluster: ReadonlyArray<Permission>;
  };
  readonly inCluster: InCluster;
  /** Whether the file of values is there; true where none is named. */
  readonly hasChartValues: boolean;
  /** As whom az is logged in. */
  readonly deployer: string;
  readonly quotas: ReadonlyArray<{ readonly name: string; readonly used: number; readonly limit: number }>;
  /** The subscription's networks, with their subnets. */
  readonly networks: ReadonlyArray<{
    readonly id: string;
    readonly guid: string;
    readonly location: string;
    readonly subnets: ReadonlyArray<Subnet>;
  }>;
  /** Regions with the plan of the app; empty where az does not know. */
  readonly flexRegions: ReadonlyArray<string>;
  /** Sort of the subscription, such as `FreeTrial_2014-09-01`. */
  readonly offer: string;
  readonly topics: ReadonlyArray<Topic>;
  /** State of the provider that networks of the app need, and of the feature that scheduled events need. */
  readonly registrations: { readonly app: string; readonly scheduledEvents: string };
  readonly wishes: Wishes;
}

/** What the environment says of the deployment. */
export interface Wishes {
  readonly clusterId: string;
  readonly environment: string;
  /** Region of what is made; empty: not chosen yet. */
  readonly location: string;
  readonly nodeSubnetId: string;
  readonly vnetGuid: string;
  /** The key that nodes let in; empty: the cluster's, or one that nobody has. */
  readonly sshPublicKey: string;
  readonly functionsSubnetId: string;
  readonly privateEndpointSubnetId: string;
  /** Azure's own events, through Event Grid. */
  readonly azureEvents: boolean;
  readonly scheduledEvents: boolean;
  /** By what the chart is installed: `helm`, or empty for a command through Azure. */
  readonly install: string;
  /** The relay's; empty: the default. */
  readonly namespace: string;
  /** The relay's image; empty: it is built. */
  readonly relayImage: string;
  /** A file of values for the chart; empty: none. */
  readonly chartValues: string;
  /** Empty: the default. */
  readonly currency: string;
  readonly healthTopicId: string;
  readonly maintenanceTopicId: string;
  readonly deletionTopicId: string;
}

/** The id of an AKS cluster: its subscription, its group, its name. */
export const CLUSTER_ID =
  /^\/subscriptions\/([0-9a-f-]{36})\/resourceGroups\/([^/]+)\/providers\/Microsoft\.ContainerService\/managedClusters\/([^/]+)$/i;

export function readWishes(environment: Readonly<Record<string, string | undefined>>): Wishes {
  const of = (name: string): string => environment[name] ?? '';
  return {
    clusterId: of('NODEWRIGHT_CLUSTER_ID'),
    environment: of('AZURE_ENV_NAME'),
    location: of('AZURE_LOCATION'),
    nodeSubnetId: of('NODEWRIGHT_NODE_SUBNET_ID'),
    vnetGuid: of('NODEWRIGHT_VNET_GUID'),
    sshPublicKey: of('NODEWRIGHT_SSH_PUBLIC_KEY'),
    functionsSubnetId: of('NODEWRIGHT_FUNCTIONS_SUBNET_ID'),
    privateEndpointSubnetId: of('NODEWRIGHT_PRIVATE_ENDPOINT_SUBNET_ID'),
    azureEvents: of('NODEWRIGHT_AZURE_EVENTS') !== 'false',
    scheduledEvents: of('NODEWRIGHT_AZURE_EVENTS') !== 'false' && of('NODEWRIGHT_SCHEDULED_EVENTS') === 'true',
    install: of('NODEWRIGHT_INSTALL'),
    namespace: of('NODEWRIGHT_NAMESPACE'),
    relayImage: of('NODEWRIGHT_RELAY_IMAGE'),
    chartValues: of('NODEWRIGHT_CHART_VALUES'),
    currency: of('NODEWRIGHT_CURRENCY'),
    healthTopicId: of('NODEWRIGHT_HEALTH_TOPIC_ID'),
    maintenanceTopicId: of('NODEWRIGHT_MAINTENANCE_TOPIC_ID'),
    deletionTopicId: of('NODEWRIGHT_DELETION_TOPIC_ID'),
  };
}

/**
 * Asks az for all of it, and `isFile` for a file of one's own. Throws an Error whose message is one sentence with the
 * way to mend it.
 */
export function gatherAnswers(ask: Ask, wishes: Wishes, isFile: (path: string) => boolean): Answers {
  const { subscription, path, deployer } = locate(ask, wishes);
  const read = (doing: string, resource: string, apiVersion: string): unknown =>
    valueOf(ask, doing, readArm(resource, apiVersion));
  const cluster = read('read the cluster', path, '2026-04-01') as Cluster;
  const group = `${subscription}/resourceGroups/${cluster.properties.nodeResourceGroup}`;
  const permissions = (scope: string): ReadonlyArray<Permission> =>
    listOf(
      read(`read your rights on ${scope}`, `${scope}/providers/Microsoft.Authorization/permissions`, '2022-04-01'),
    ) as ReadonlyArray<Permission>;
  const onCluster = permissions(path);
  const usages = read(
    'read quota',
    `${subscription}/providers/Microsoft.Compute/locations/${cluster.location}/usages`,
    '2024-07-01',
  );
  const networks = read('read networks', `${subscription}/providers/Microsoft.Network/virtualNetworks`, '2024-10-01');
  const topics = read(
    'read Event Grid topics',
    `${subscription}/providers/Microsoft.EventGrid/systemTopics`,
    '2022-06-15',
  );
  const feature = `${subscription}/providers/Microsoft.Features/providers/Microsoft.Compute/features/SendScheduledEventsPolicy`;
  return {
    cluster,
    permissions: { onMachines: permissions(group), onSubscription: permissions(subscription), onCluster },
    hasChartValues: wishes.chartValues === '' || isFile(wishes.chartValues),
    inCluster: lookInto(ask, { cluster, onCluster, wishes }),
    deployer,
    quotas: (listOf(usages) as ReadonlyArray<Usage>).map(({ name, currentValue, limit }) => ({
      name: name.value,
      used: currentValue,
      limit,
    })),
    networks: (listOf(networks) as ReadonlyArray<Network>).map(({ id, location, properties }) => ({
      id,
      guid: properties.resourceGuid ?? '',
      location: location ?? '',
      subnets: (properties.subnets ?? []).map(toSubnet),
    })),
    flexRegions: flexRegions(ask),
    offer: offerOf(read('read the subscription', subscription, '2022-12-01')),
    topics: (listOf(topics) as ReadonlyArray<SystemTopic>).map(toTopic),
    registrations: {
      app: stateOf(read('read providers', `${subscription}/providers/Microsoft.App`, '2021-04-01')),
      scheduledEvents: wishes.scheduledEvents ? stateOf(read('read features', feature, '2021-07-01')) : '',
    },
    wishes,
  };
}

interface Usage {
  readonly name: { readonly value: string };
  readonly currentValue: number;
  readonly limit: number;
}

interface Network {
  readonly id: string;
  readonly location?: string;
  readonly properties: { readonly resourceGuid?: string; readonly subnets?: ReadonlyArray<NetworkSubnet> };
}

interface NetworkSubnet {
  readonly id: string;
  readonly properties?: {
    readonly addressPrefix?: string;
    readonly addressPrefixes?: ReadonlyArray<string>;
    readonly delegations?: ReadonlyArray<{ readonly properties?: { readonly serviceName?: string } }>;
  };
}

interface SystemTopic {
  readonly id: string;
  readonly identity?: { readonly type?: string } | null;
  readonly tags?: Readonly<Record<string, string>> | null;
  readonly properties: { readonly source?: string; readonly topicType?: string };
}

function toSubnet({ id, properties = {} }: NetworkSubnet): Subnet {
  const { addressPrefix, addressPrefixes = [], delegations = [] } = properties;
  const prefixes = [...(addressPrefix === undefined ? [] : [addressPrefix]), ...addressPrefixes];
  return {
    id,
    // Of addresses of both sorts those of the fourth version count.
    prefixLength: Math.max(0, ...prefixes.filter((one) => !one.includes(':')).map((one) => Number(one.split('/')[1]))),
    delegations: delegations.flatMap((one) => one.properties?.serviceName ?? []),
  };
}

/** Only a cluster that runs can be asked, and only where Azure runs commands in it. */
function lookInto(
  ask: Ask,
  {
    cluster,
    onCluster,
    wishes,
  }: Pick<Answers, 'cluster' | 'wishes'> & { readonly onCluster: ReadonlyArray<Permission> },
): InCluster {
  const { aadProfile, powerState, apiServerAccessProfile } = cluster.properties;
  if (aadProfile?.enableAzureRBAC === true && azureAllows(onCluster)) return { kind: 'allowed' };
  if (wishes.install === 'helm') return { kind: 'unasked', why: 'Helm of this machine installs the chart' };
  if (aadProfile?.managed !== true)
    return { kind: 'unasked', why: 'the API server does not accept Microsoft Entra ID tokens' };
  if ((powerState?.code ?? 'Running') !== 'Running') return { kind: 'unasked', why: 'the cluster does not run' };
  if (apiServerAccessProfile?.disableRunCommand === true)
    return { kind: 'unasked', why: 'commands through Azure are switched off' };
  const [, , , , group = '', , , , name = ''] = cluster.id.split('/');
  const namespace = isNamespace(wishes.namespace) ? wishes.namespace : DEFAULT_NAMESPACE;
  return askCluster(ask, ['--resource-group', group, '--name', name], namespace);
}

const DEFAULT_NAMESPACE = 'nodewright-system';

/** Whether Kubernetes takes a text as the name of a namespace. */
export function isNamespace(text: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
}

/** None where this az is too old to know the command: then the deployment will tell. */
function flexRegions(ask: Ask): ReadonlyArray<string> {
  const answer = ask(['functionapp', 'list-flexconsumption-locations']);
  const listed = answer.kind === 'answer' ? (answer.value as ReadonlyArray<{ readonly name: string }> | null) : null;
  return (listed ?? []).map(({ name }) => regionName(name));
}

/** `West Europe` and `westeurope` are one. */
export function regionName(text: string): string {
  return text.toLowerCase().replaceAll(' ', '');
}

function offerOf(answer: unknown): string {
  const { subscriptionPolicies } = (answer ?? {}) as { readonly subscriptionPolicies?: { readonly quotaId?: string } };
  return subscriptionPolicies?.quotaId ?? '';
}

function toTopic({ id, identity, tags, properties }: SystemTopic): Topic {
  return {
    id,
    hasIdentity: identity?.type?.includes('SystemAssigned') === true,
    source: properties.source ?? '',
    topicType: properties.topicType ?? '',
    environment: tags?.['azd-env-name'] ?? '',
  };
}

/**
 * The subscription's path and the cluster's, once az is known to work there. Throws an Error whose message is one
 * sentence with the way to mend it.
 */
export function locate(
  ask: Ask,
  { clusterId }: Pick<Wishes, 'clusterId'>,
): { readonly subscription: string; readonly path: string; readonly deployer: string } {
  const match = CLUSTER_ID.exec(clusterId);
  if (match === null) {
    const found =
      clusterId === '' ? 'NODEWRIGHT_CLUSTER_ID is not set' : `${clusterId} is not the id of an AKS cluster`;
    throw new Error(
      `${found}: run azd env set NODEWRIGHT_CLUSTER_ID "$(az aks show --resource-group GROUP --name CLUSTER --query id --output tsv)"`,
    );
  }
  const [path, subscription = ''] = match;
  const account = valueOf(ask, 'see who is logged in', ['account', 'show']) as {
    readonly id: string;
    readonly user?: { readonly name?: string };
  };
  if (account.id.toLowerCase() !== subscription.toLowerCase()) {
    throw new Error(
      `the cluster is in subscription ${subscription}, and az works in ${account.id}: run az account set --subscription ${subscription}, and azd env set AZURE_SUBSCRIPTION_ID ${subscription}`,
    );
  }
  return { subscription: `/subscriptions/${subscription}`, path, deployer: account.user?.name ?? 'YOU' };
}

function valueOf(ask: Ask, doing: string, args: ReadonlyArray<string>): unknown {
  const answer = ask(args);
  if (answer.kind === 'answer') return answer.value;
  throw new Error(explainRefusal(doing, answer));
}

function listOf(answer: unknown): ReadonlyArray<unknown> {
  return (answer as { readonly value?: ReadonlyArray<unknown> } | null)?.value ?? [];
}

function stateOf(answer: unknown): string {
  const { registrationState, properties } = (answer ?? {}) as {
    readonly registrationState?: string;
    readonly properties?: { readonly state?: string };
  };
  return registrationState ?? properties?.state ?? '';
}
