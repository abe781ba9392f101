import type { Answers, Permission, Topic } from './answers.ts';
import { currencies } from './currencies.ts';
import { isPublicKey } from './make-ssh-key.ts';

/** What one check found. `mend`: what to type, or whom to ask. */
export type Finding =
  | { readonly check: string; readonly verdict: 'passed'; readonly says: string }
  | { readonly check: string; readonly verdict: 'warning' | 'failed'; readonly says: string; readonly mend: string };

/** A cluster that lacks this has no admission policies. */
const KUBERNETES_MINIMUM = [1, 30] as const;

/** The smallest node that a pool is likely to allow. */
const CORES_MINIMUM = 2;

const HEALTH_TOPIC = 'Microsoft.ResourceNotifications.HealthResources';
const MAINTENANCE_TOPIC = 'Microsoft.ResourceNotifications.MaintenanceResources';
const DELETION_TOPIC = 'Microsoft.Resources.ResourceGroups';

/** All checks, in the order in which one would mend what they find. Pure. */
export function judge(answers: Answers): ReadonlyArray<Finding> {
  return CHECKS.map((check) => check(answers));
}

/**
 * Variables of azd's environment that the answers fill in, where the environment does not say them. `makeKey` makes a public SSH key, which
 * is asked for where the cluster has none and azd keeps it: by hand a new one would come with each look.
 */
export function fillIn(answers: Answers, makeKey: () => string): Readonly<Record<string, string>> {
  const { environment, nodeSubnetId, vnetGuid, sshPublicKey, healthTopicId, maintenanceTopicId, deletionTopicId } =
    answers.wishes;
  const needsKey = environment !== '' && sshPublicKey === '' && !hasKey(answers);
  const topics = topicsOf(answers);
  const found: Readonly<Record<string, readonly [known: string, found: string]>> = {
    NODEWRIGHT_NODE_SUBNET_ID: [nodeSubnetId, subnetOf(answers)],
    NODEWRIGHT_VNET_GUID: [vnetGuid, vnetGuidOf(answers)],
    NODEWRIGHT_SSH_PUBLIC_KEY: [sshPublicKey, needsKey ? makeKey() : ''],
    NODEWRIGHT_HEALTH_TOPIC_ID: [healthTopicId, topics.health?.id ?? ''],
    NODEWRIGHT_MAINTENANCE_TOPIC_ID: [maintenanceTopicId, topics.maintenance?.id ?? ''],
    NODEWRIGHT_DELETION_TOPIC_ID: [deletionTopicId, topics.deletions?.id ?? ''],
  };
  return Object.fromEntries(
    Object.entries(found).flatMap(([name, [known, value]]) => (known === '' && value !== '' ? [[name, value]] : [])),
  );
}

type Check = (answers: Answers) => Finding;

const CHECKS: ReadonlyArray<Check> = [
  ({ cluster: { properties } }) => {
    const states = [properties.provisioningState ?? 'Succeeded', properties.powerState?.code ?? 'Running'];
    return finding('cluster', states.join() === 'Succeeded,Running', {
      good: 'the cluster runs',
      bad: `the cluster is ${states.join(' and ')}`,
      mend: 'az aks start CLUSTER, or wait until what is under way has ended',
    });
  },
  ({ cluster: { properties } }) => {
    const version = properties.currentKubernetesVersion ?? properties.kubernetesVersion ?? '0.0';
    const [major = 0, minor = 0] = version.split('.').map(Number);
    const [leastMajor, leastMinor] = KUBERNETES_MINIMUM;
    return finding('kubernetes-version', major > leastMajor || (major === leastMajor && minor >= leastMinor), {
      good: `Kubernetes ${version}`,
      bad: `Kubernetes ${version} has no admission policies; ${KUBERNETES_MINIMUM.join('.')} has`,
      mend: `az aks upgrade CLUSTER --kubernetes-version ${KUBERNETES_MINIMUM.join('.')}`,
    });
  },
  ({ cluster: { properties } }) =>
    finding('entra-id', properties.aadProfile?.managed === true, {
      good: 'the API server takes tokens of Microsoft Entra ID',
      bad: 'the API server takes no tokens of Microsoft Entra ID, which the functions come with',
      mend: 'az aks update CLUSTER --enable-aad',
    }),
  ({ cluster: { properties } }) =>
    finding('kubernetes-rbac', properties.enableRBAC === true, {
      good: 'Kubernetes decides by roles who may do what',
      bad: 'the cluster was made without Kubernetes RBAC: everybody may do everything in it',
      mend: 'make a new cluster; it cannot be switched on in one that is there',
    }),
  ({ cluster: { properties } }) =>
    finding('oidc-issuer', properties.oidcIssuerProfile?.enabled === true, {
      good: 'the cluster vouches for its service accounts',
      bad: 'the OIDC issuer is off, by which the cluster vouches for the relay',
      mend: 'az aks update CLUSTER --enable-oidc-issuer',
    }),
  ({ cluster: { properties } }) =>
    finding('workload-identity', properties.securityProfile?.workloadIdentity?.enabled === true, {
      good: 'pods can act as an identity of Azure',
      bad: 'workload identity is off, by which the relay gets to the Service Bus and to storage',
      mend: 'az aks update CLUSTER --enable-workload-identity',
    }),
  ({ cluster: { properties } }) =>
    finding('managed-identity', properties.identityProfile?.['kubeletidentity']?.resourceId !== undefined, {
      good: 'nodes carry a managed identity',
      bad: 'the cluster works with a service principal; new nodes would have no identity',
      mend: 'az aks update CLUSTER --enable-managed-identity',
    }),
  ({ cluster: { properties } }) => {
    const { mode, defaultNodePools } = properties.nodeProvisioningProfile ?? {};
    // Karpenter serves every NodePool whose class is of its kind, and AKS has no field that says which: None only leaves out AKS's own.
    const hasOwnPools = defaultNodePools !== 'None';
    return finding('node-auto-provisioning', mode !== 'Auto', {
      good: 'Node Auto Provisioning is off',
      bad: `Node Auto Provisioning is on: it serves every NodePool with an AKSNodeClass, so for those that you make for Nodewright both would make nodes${
        hasOwnPools ? '' : '; that AKS makes no NodePools of its own (defaultNodePools None) does not confine it'
      }`,
      mend: `az aks update CLUSTER --node-provisioning-mode Manual, once its nodes are gone and its NodePools have a CPU limit of 0: docs/migrate.md has the steps${
        hasOwnPools ? ' (AKS’s own NodePools are default and system-surge)' : ''
      }`,
    });
  },
  ({ cluster: { properties } }) =>
    finding('node-resource-group', properties.nodeResourceGroupProfile?.restrictionLevel !== 'ReadOnly', {
      good: `VMs can be made in ${properties.nodeResourceGroup}`,
      bad: `the node resource group ${properties.nodeResourceGroup} is locked down: nobody but AKS makes VMs in it`,
      mend: 'az aks update CLUSTER --nrg-lockdown-restriction-level Unrestricted',
    }),
  ({ cluster: { properties } }) => {
    const plugin = properties.networkProfile?.networkPlugin ?? 'azure';
    return finding('network-plugin', plugin === 'azure' || plugin === 'none', {
      good: `pods get their addresses from ${plugin === 'none' ? 'a plugin of your own' : 'Azure CNI'}`,
      bad: `nodes for the network plugin ${plugin} are not made`,
      mend: 'az aks update CLUSTER --network-plugin azure --network-plugin-mode overlay',
    });
  },
  (answers) =>
    finding('node-subnet', subnetOf(answers) !== '', {
      good: `new nodes go to ${subnetOf(answers)}`,
      bad: 'which subnet new nodes belong to cannot be told: no node pool names one, and AKS made none or several',
      mend: 'azd env set NODEWRIGHT_NODE_SUBNET_ID SUBNET_ID',
    }),
  (answers) => {
    const { sshPublicKey, environment } = answers.wishes;
    if (sshPublicKey !== '') {
      return finding('ssh-key', isPublicKey(sshPublicKey), {
        good: 'nodes let in the SSH key that you name',
        bad: `NODEWRIGHT_SSH_PUBLIC_KEY is no public SSH key: ${JSON.stringify(sshPublicKey.slice(0, 40))}`,
        mend: 'azd env set NODEWRIGHT_SSH_PUBLIC_KEY "$(cat KEY.pub)", one line that begins with ssh-rsa or ssh-ed25519',
      });
    }
    return finding('ssh-key', hasKey(answers) || environment !== '', {
      good: hasKey(answers)
        ? 'the cluster has a public SSH key for nodes'
        : 'the cluster has no SSH key; nodes get one whose private half nobody has',
      bad: 'the cluster has no public SSH key, without which Azure makes no Linux VM',
      mend: `ssh-keygen -q -t rsa -b 3072 -N '' -f nodewright-nodes, write nodewright-nodes.pub as param sshPublicKey = '…' into infra/by-hand/nodewright.bicepparam, and look again with NODEWRIGHT_SSH_PUBLIC_KEY="$(cat nodewright-nodes.pub)"`,
    });
  },
  ({ cluster: { properties }, wishes }) =>
    finding(
      'private-cluster',
      properties.apiServerAccessProfile?.enablePrivateCluster !== true || wishes.functionsSubnetId !== '',
      {
        good: 'the functions reach the API server',
        bad: 'the cluster is private: the functions reach its API server only from inside the network',
        mend: 'azd env set NODEWRIGHT_FUNCTIONS_SUBNET_ID SUBNET_ID, of a subnet that is delegated to Microsoft.App/environments',
      },
    ),
  ({ wishes }) =>
    finding('private-endpoints', wishes.privateEndpointSubnetId === '' || wishes.functionsSubnetId !== '', {
      good: 'the functions reach their storage and their queues',
      bad: 'storage and queues are to have private endpoints, and the functions no subnet to reach them from',
      mend: 'azd env set NODEWRIGHT_FUNCTIONS_SUBNET_ID SUBNET_ID, of a subnet that is delegated to Microsoft.App/environments',
    }),
  ({ cluster: { properties } }) =>
    finding('authorized-ip-ranges', (properties.apiServerAccessProfile?.authorizedIPRanges ?? []).length === 0, {
      good: 'the API server does not choose by address',
      bad: 'the API server lets in some addresses only, and those of the functions change',
      mend: 'let the functions out through a subnet with a NAT gateway (NODEWRIGHT_FUNCTIONS_SUBNET_ID), and add its address to the ranges',
      verdict: 'warning',
    }),
  ({ registrations, wishes }) =>
    finding('network-provider', wishes.functionsSubnetId === '' || registrations.app === 'Registered', {
      good: 'networks of the app need nothing',
      bad: 'Microsoft.App is not registered in the subscription, and the app is to have a subnet',
      mend: 'az provider register --namespace Microsoft.App --wait',
    }),
  ({ registrations, wishes }) =>
    finding('scheduled-events', !wishes.scheduledEvents || registrations.scheduledEvents === 'Registered', {
      good: wishes.scheduledEvents ? 'the preview of scheduled events is registered' : 'scheduled events are left out',
      bad: 'scheduled events are asked for, a preview that is not registered in the subscription',
      mend: 'az feature register --namespace Microsoft.Compute --name SendScheduledEventsPolicy',
    }),
  ({ wishes: { currency } }) =>
    finding('currency', currency === '' || currencies.some((one) => one === currency), {
      good: `prices are in ${currency === '' ? 'USD' : currency}`,
      bad: `NODEWRIGHT_CURRENCY is ${JSON.stringify(currency)}, in which Azure has no prices`,
      mend: `azd env set NODEWRIGHT_CURRENCY to one of ${currencies.join(', ')}`,
    }),
  (answers) => {
    const without = Object.values(topicsOf(answers)).filter((topic) => topic !== null && !topic.hasIdentity);
    return finding('event-grid-topics', without.length === 0, {
      good: 'Event Grid topics that are there can be used',
      bad: `Azure allows one Event Grid topic for each source, and ${without.map((topic) => topic?.id).join(', ')} has no identity to deliver with`,
      mend: 'az eventgrid system-topic update --ids TOPIC --identity SystemAssigned',
    });
  },
  ({ permissions }) =>
    finding('rights', mayAssign(permissions.onMachines) && mayAssign(permissions.onSubscription), {
      good: 'you may give the functions their rights',
      bad: 'you may not define and assign roles on the subscription and on the node resource group',
      mend: 'ask an owner for the role Owner, or for Contributor with User Access Administrator, on the subscription',
    }),
  ({ quotas, cluster: { location } }) => {
    const left = ['cores', 'lowPriorityCores'].flatMap((wanted) =>
      quotas.filter(({ name }) => name.toLowerCase() === wanted.toLowerCase()).map(({ limit, used }) => limit - used),
    );
    return finding('quota', left.length === 0 || Math.max(...left) >= CORES_MINIMUM, {
      good: `${left.length === 0 ? 'unknown' : Math.max(...left)} cores are left in ${location}`,
      bad: `no quota is left in ${location}: ${left.join(' cores on demand and ')} of spot VMs`,
      mend: `raise "Total Regional vCPUs" of ${location}: portal, Quotas, Compute`,
    });
  },
  ({ cluster: { properties } }) => {
    const scaled = (properties.agentPoolProfiles ?? []).filter(({ enableAutoScaling }) => enableAutoScaling === true);
    return finding('cluster-autoscaler', scaled.length === 0, {
      good: 'no node pool scales itself',
      bad: `Cluster Autoscaler scales ${scaled.map(({ name }) => name).join(', ')}: it and Nodewright answer to the same pods`,
      mend: 'az aks nodepool update --cluster-name CLUSTER --name POOL --disable-cluster-autoscaler, once Nodewright has made nodes',
      verdict: 'warning',
    });
  },
  ({ cluster: { properties } }) =>
    finding('run-command', properties.apiServerAccessProfile?.disableRunCommand !== true, {
      good: 'the chart can be installed through Azure',
      bad: 'commands through Azure are switched off in the cluster, by which the chart would be installed',
      mend: 'set NODEWRIGHT_INSTALL=helm, with helm and a kubeconfig that reaches the cluster',
      verdict: 'warning',
    }),
];

function finding(
  check: string,
  isGood: boolean,
  words: {
    readonly good: string;
    readonly bad: string;
    readonly mend: string;
    readonly verdict?: 'warning';
  },
): Finding {
  const { good, bad, mend, verdict = 'failed' } = words;
  return isGood ? { check, verdict: 'passed', says: good } : { check, verdict, says: bad, mend };
}

function hasKey({ cluster: { properties } }: Answers): boolean {
  return (properties.linuxProfile?.ssh?.publicKeys ?? []).length > 0;
}

/** The subnet that is named, else the first node pool's, else the only one that AKS made; empty where that cannot be told. */
function subnetOf({ wishes, cluster, networks }: Answers): string {
  const ofPool = cluster.properties.agentPoolProfiles?.find(({ vnetSubnetID }) => vnetSubnetID !== undefined);
  const group = `/resourcegroups/${cluster.properties.nodeResourceGroup.toLowerCase()}/`;
  const [only = '', ...others] = networks.flatMap(({ subnets }) =>
    subnets.filter((id) => id.toLowerCase().includes(group)),
  );
  return wishes.nodeSubnetId || (ofPool?.vnetSubnetID ?? (others.length === 0 ? only : ''));
}

/** Azure's GUID of the subnet's network; empty where that is in another subscription. */
function vnetGuidOf(answers: Answers): string {
  const subnet = subnetOf(answers).toLowerCase();
  return answers.networks.find(({ id }) => subnet.startsWith(`${id.toLowerCase()}/`))?.guid ?? '';
}

/** Topics of the sources that are listened to, but those that an earlier deployment of this environment made. */
function topicsOf({
  topics,
  cluster,
  wishes,
}: Answers): Readonly<Record<'health' | 'maintenance' | 'deletions', Topic | null>> {
  const subscription = cluster.id.split('/').slice(0, 3).join('/').toLowerCase();
  const group = `${subscription}/resourcegroups/${cluster.properties.nodeResourceGroup.toLowerCase()}`;
  const find = (topicType: string, source: string): Topic | null =>
    topics.find(
      (topic) =>
        topic.topicType.toLowerCase() === topicType.toLowerCase() &&
        topic.source.toLowerCase() === source &&
        (wishes.environment === '' || topic.environment !== wishes.environment),
    ) ?? null;
  return {
    health: find(HEALTH_TOPIC, subscription),
    maintenance: wishes.scheduledEvents ? find(MAINTENANCE_TOPIC, subscription) : null,
    deletions: find(DELETION_TOPIC, group),
  };
}

/** May somebody with these permissions define and assign roles? Azure's rule: an action that one of them allows and does not take back. */
function mayAssign(permissions: ReadonlyArray<Permission>): boolean {
  return ['Microsoft.Authorization/roleAssignments/write', 'Microsoft.Authorization/roleDefinitions/write'].every(
    (action) =>
      permissions.some(
        ({ actions, notActions }) =>
          actions.some((pattern) => covers(pattern, action)) && !notActions.some((pattern) => covers(pattern, action)),
      ),
  );
}

function covers(pattern: string, action: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.\\/()+?^$|[\]{}]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'i').test(action);
}
