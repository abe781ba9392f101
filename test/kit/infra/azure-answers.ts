import type { Answers, Cluster, Wishes } from '../../../infra/hooks/answers.ts';
import type { Ask, AzAnswer } from '../../../infra/hooks/az.ts';

export const SUBSCRIPTION = '00000000-0000-0000-0000-000000000000';
export const CLUSTER_ID = `/subscriptions/${SUBSCRIPTION}/resourceGroups/my-group/providers/Microsoft.ContainerService/managedClusters/my-cluster`;
export const NODE_GROUP = 'MC_my-group_my-cluster_westeurope';
const nodeGroup = `/subscriptions/${SUBSCRIPTION}/resourceGroups/${NODE_GROUP}`;
export const VNET = `${nodeGroup}/providers/Microsoft.Network/virtualNetworks/aks-vnet-00000000`;
export const VNET_GUID = '00000000-0000-4000-8000-000000000003';
export const SUBNET = `${VNET}/subnets/aks-subnet`;

export const goodWishes: Wishes = {
  clusterId: CLUSTER_ID,
  environment: 'production',
  location: '',
  nodeSubnetId: '',
  vnetGuid: '',
  sshPublicKey: '',
  functionsSubnetId: '',
  privateEndpointSubnetId: '',
  azureEvents: true,
  scheduledEvents: false,
  install: '',
  namespace: '',
  relayImage: '',
  chartValues: '',
  currency: '',
  healthTopicId: '',
  maintenanceTopicId: '',
  deletionTopicId: '',
};

/** A cluster that lacks nothing. */
export const goodCluster: Cluster = {
  id: CLUSTER_ID,
  location: 'westeurope',
  properties: {
    provisioningState: 'Succeeded',
    powerState: { code: 'Running' },
    currentKubernetesVersion: '1.33.2',
    nodeResourceGroup: NODE_GROUP,
    enableRBAC: true,
    aadProfile: { managed: true },
    oidcIssuerProfile: { enabled: true },
    securityProfile: { workloadIdentity: { enabled: true } },
    nodeProvisioningProfile: { mode: 'Manual' },
    nodeResourceGroupProfile: { restrictionLevel: 'Unrestricted' },
    identityProfile: {
      kubeletidentity: { resourceId: `${nodeGroup}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i` },
    },
    linuxProfile: { ssh: { publicKeys: [{}] } },
    agentPoolProfiles: [{ name: 'system', enableAutoScaling: false }],
  },
};

/** AKS's own network, with one subnet. */
export const network: Answers['networks'][number] = {
  id: VNET,
  guid: VNET_GUID,
  location: 'westeurope',
  subnets: [{ id: SUBNET, prefixLength: 16, delegations: [] }],
};

/** A subnet that the functions can use. */
export const FUNCTIONS_SUBNET = `${VNET}/subnets/functions`;
export const withFunctionsSubnet: Answers['networks'][number] = {
  ...network,
  subnets: [
    ...network.subnets,
    { id: FUNCTIONS_SUBNET, prefixLength: 27, delegations: ['Microsoft.App/environments'] },
  ],
};

export const owner = [{ actions: ['*'], notActions: [] }];

/** Answers to which every check has nothing to say. */
export const goodAnswers: Answers = {
  cluster: goodCluster,
  permissions: { onMachines: owner, onSubscription: owner, onCluster: owner },
  inCluster: { kind: 'allowed' },
  hasChartValues: true,
  deployer: 'you@example.com',
  quotas: [
    { name: 'cores', used: 12, limit: 100 },
    { name: 'lowPriorityCores', used: 0, limit: 100 },
  ],
  networks: [network],
  flexRegions: ['westeurope'],
  offer: 'PayAsYouGo_2014-09-01',
  topics: [],
  registrations: { app: 'Registered', scheduledEvents: '' },
  wishes: goodWishes,
};

/** az as it answers about the cluster above; `other` answers first where it has something to say. */
export function azAbout(other: (path: string) => AzAnswer | null = () => null): Ask {
  return (args) => {
    if (args.join(' ').startsWith('aks command invoke ')) {
      return other('aks command invoke') ?? { kind: 'answer', value: { exitCode: 0, logs: 'yes\n'.repeat(6) } };
    }
    const [path = ''] = (args[0] === 'rest' ? (args.at(-1) ?? '') : args.join(' ')).split('?');
    return (
      other(path) ?? answerOf(path) ?? { kind: 'refused', message: `ERROR: (ResourceNotFound) ${path} was not found.` }
    );
  };
}

const ANSWERS: ReadonlyArray<readonly [ending: string, value: unknown]> = [
  ['account show', { id: SUBSCRIPTION, tenantId: SUBSCRIPTION, user: { name: 'you@example.com' } }],
  ['functionapp list-flexconsumption-locations', [{ name: 'West Europe' }]],
  [`/subscriptions/${SUBSCRIPTION}`, { subscriptionPolicies: { quotaId: 'PayAsYouGo_2014-09-01' } }],
  ['/managedClusters/my-cluster', goodCluster],
  ['/permissions', { value: owner }],
  [
    '/usages',
    {
      value: goodAnswers.quotas.map(({ name, used, limit }) => ({ name: { value: name }, currentValue: used, limit })),
    },
  ],
  [
    '/virtualNetworks',
    {
      value: [
        {
          id: VNET,
          location: 'westeurope',
          properties: {
            resourceGuid: VNET_GUID,
            subnets: [
              { id: SUBNET, properties: { addressPrefix: '10.224.0.0/16', delegations: [] } },
              {
                id: FUNCTIONS_SUBNET,
                properties: {
                  addressPrefixes: ['10.225.0.0/27', 'fd00::/64'],
                  delegations: [{ properties: { serviceName: 'Microsoft.App/environments' } }],
                },
              },
            ],
          },
        },
      ],
    },
  ],
  ['/systemTopics', { value: [] }],
  ['/providers/Microsoft.App', { registrationState: 'Registered' }],
  ['/SendScheduledEventsPolicy', { properties: { state: 'Registered' } }],
];

function answerOf(path: string): AzAnswer | null {
  const found = ANSWERS.find(([ending]) => path.endsWith(ending));
  return found === undefined ? null : { kind: 'answer', value: found[1] };
}
