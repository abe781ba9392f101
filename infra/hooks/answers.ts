import { type Ask, readArm } from './az.ts';
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
    readonly aadProfile?: { readonly managed?: boolean };
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

/** What somebody may do at one scope: Azure's own list. */
export interface Permission {
  readonly actions: ReadonlyArray<string>;
  readonly notActions: ReadonlyArray<string>;
}

export interface Topic {
  readonly id: string;
  readonly hasIdentity: boolean;
  readonly source: string;
  readonly topicType: string;
  /** azd's name of the environment that made it; empty for one that somebody else made. */
  readonly environment: string;
}

/** Everything that the checks judge. */
export interface Answers {
  readonly cluster: Cluster;
  readonly permissions: {
    readonly onMachines: ReadonlyArray<Permission>;
    readonly onSubscription: ReadonlyArray<Permission>;
  };
  readonly quotas: ReadonlyArray<{ readonly name: string; readonly used: number; readonly limit: number }>;
  /** The subscription's networks, with their subnets. */
  readonly networks: ReadonlyArray<{
    readonly id: string;
    readonly guid: string;
    readonly subnets: ReadonlyArray<string>;
  }>;
  readonly topics: ReadonlyArray<Topic>;
  /** State of the provider that networks of the app need, and of the feature that scheduled events need. */
  readonly registrations: { readonly app: string; readonly scheduledEvents: string };
  readonly wishes: Wishes;
}

/** What the environment says of the deployment. */
export interface Wishes {
  readonly clusterId: string;
  readonly environment: string;
  readonly nodeSubnetId: string;
  readonly vnetGuid: string;
  /** The key that nodes let in; empty: the cluster's, or one that nobody has. */
  readonly sshPublicKey: string;
  readonly functionsSubnetId: string;
  readonly privateEndpointSubnetId: string;
  readonly scheduledEvents: boolean;
  /** Empty: the default. */
  readonly currency: string;
  readonly healthTopicId: string;
  readonly maintenanceTopicId: string;
  readonly deletionTopicId: string;
}

const CLUSTER_ID =
  /^\/subscriptions\/([0-9a-f-]{36})\/resourceGroups\/([^/]+)\/providers\/Microsoft\.ContainerService\/managedClusters\/([^/]+)$/i;

export function readWishes(environment: Readonly<Record<string, string | undefined>>): Wishes {
  const of = (name: string): string => environment[name] ?? '';
  return {
    clusterId: of('NODEWRIGHT_CLUSTER_ID'),
    environment: of('AZURE_ENV_NAME'),
    nodeSubnetId: of('NODEWRIGHT_NODE_SUBNET_ID'),
    vnetGuid: of('NODEWRIGHT_VNET_GUID'),
    sshPublicKey: of('NODEWRIGHT_SSH_PUBLIC_KEY'),
    functionsSubnetId: of('NODEWRIGHT_FUNCTIONS_SUBNET_ID'),
    privateEndpointSubnetId: of('NODEWRIGHT_PRIVATE_ENDPOINT_SUBNET_ID'),
    scheduledEvents: of('NODEWRIGHT_SCHEDULED_EVENTS') === 'true',
    currency: of('NODEWRIGHT_CURRENCY'),
    healthTopicId: of('NODEWRIGHT_HEALTH_TOPIC_ID'),
    maintenanceTopicId: of('NODEWRIGHT_MAINTENANCE_TOPIC_ID'),
    deletionTopicId: of('NODEWRIGHT_DELETION_TOPIC_ID'),
  };
}

/** Asks az for all of it. Throws an Error whose message is one sentence with the way to mend it. */
export function gatherAnswers(ask: Ask, wishes: Wishes): Answers {
  const { subscription, path } = locate(ask, wishes);
  const read = (doing: string, resource: string, apiVersion: string): unknown =>
    valueOf(ask, doing, readArm(resource, apiVersion));
  const cluster = read('read the cluster', path, '2026-04-01') as Cluster;
  const group = `${subscription}/resourceGroups/${cluster.properties.nodeResourceGroup}`;
  const permissions = (scope: string): ReadonlyArray<Permission> =>
    listOf(
      read(`read your rights on ${scope}`, `${scope}/providers/Microsoft.Authorization/permissions`, '2022-04-01'),
    ) as ReadonlyArray<Permission>;
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
    permissions: { onMachines: permissions(group), onSubscription: permissions(subscription) },
    quotas: (listOf(usages) as ReadonlyArray<Usage>).map(({ name, currentValue, limit }) => ({
      name: name.value,
      used: currentValue,
      limit,
    })),
    networks: (listOf(networks) as ReadonlyArray<Network>).map(({ id, properties }) => ({
      id,
      guid: properties.resourceGuid ?? '',
      subnets: (properties.subnets ?? []).map((subnet) => subnet.id),
    })),
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
  readonly properties: { readonly resourceGuid?: string; readonly subnets?: ReadonlyArray<{ readonly id: string }> };
}

interface SystemTopic {
  readonly id: string;
  readonly identity?: { readonly type?: string } | null;
  readonly tags?: Readonly<Record<string, string>> | null;
  readonly properties: { readonly source?: string; readonly topicType?: string };
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

/** The subscription's path and the cluster's, once az is known to work there. */
function locate(ask: Ask, { clusterId }: Wishes): { readonly subscription: string; readonly path: string } {
  const match = CLUSTER_ID.exec(clusterId);
  if (match === null) {
    const found =
      clusterId === '' ? 'NODEWRIGHT_CLUSTER_ID is not set' : `${clusterId} is not the id of an AKS cluster`;
    throw new Error(
      `${found}: run azd env set NODEWRIGHT_CLUSTER_ID "$(az aks show --resource-group GROUP --name CLUSTER --query id --output tsv)"`,
    );
  }
  const [path, subscription = ''] = match;
  const account = valueOf(ask, 'see who is logged in', ['account', 'show']) as { readonly id: string };
  if (account.id.toLowerCase() !== subscription.toLowerCase()) {
    throw new Error(
      `the cluster is in subscription ${subscription}, and az works in ${account.id}: run az account set --subscription ${subscription}, and azd env set AZURE_SUBSCRIPTION_ID ${subscription}`,
    );
  }
  return { subscription: `/subscriptions/${subscription}`, path };
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
