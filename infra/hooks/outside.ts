/** Outputs of main.bicep that removing needs. */
export const removalOutputs = [
  'ADDITIONAL_NODE_SUBNET_IDS',
  'AZURE_RESOURCE_GROUP',
  'AZURE_SUBSCRIPTION_ID',
  'BUDGET_NAME',
  'CLUSTER_NAME',
  'CLUSTER_RESOURCE_GROUP',
  'DELETION_TOPIC_ID',
  'DISK_ENCRYPTION_SET_ID',
  'FUNCTIONS_PRINCIPAL_ID',
  'HEALTH_TOPIC_ID',
  'KUBELET_IDENTITY_ID',
  'MAINTENANCE_TOPIC_ID',
  'NODE_RESOURCE_GROUP',
  'NODE_SUBNET_ID',
  'RELAY_NAMESPACE',
  'ROLE_SUFFIX',
] as const;

/** The value of an output; `$NAME` where it is not known, empty where the deployment says that there is none. */
export type OutputOf = (name: (typeof removalOutputs)[number]) => string;

/** Something that a deployment makes outside its own resource group, so that it stays when that is deleted. */
export interface Outside {
  /** Its resources in the template: names of the modules from main.bicep on, and of the resource. A test compares. */
  readonly made: ReadonlyArray<string>;
  /** What it is, for people. */
  readonly what: string;
  /** What removes it; empty where this deployment has made none. */
  readonly commands: (of: OutputOf) => ReadonlyArray<string>;
}

export const outside: ReadonlyArray<Outside> = [
  {
    made: ['azureAccess/machines/role', 'azureAccess/machines/assignment'],
    what: 'The right to make machines in the node resource group.',
    commands: (of) => unassign(of, 'machines', nodeGroupOf(of), nodeGroupOf(of)),
  },
  {
    made: ['azureAccess/region/role', 'azureAccess/region/assignment'],
    what: 'The right to read sizes, quota, images and eviction rates in the subscription.',
    commands: (of) => unassign(of, 'region', subscriptionOf(of), subscriptionOf(of)),
  },
  {
    made: ['azureAccess/subnet/role', 'azureAccess/subnet/assignment'],
    what: 'The right to use a subnet in a group of your own.',
    commands: (of) => unassignElsewhere(of, 'subnet', of('NODE_SUBNET_ID')),
  },
  {
    made: ['azureAccess/furtherSubnets/role', 'azureAccess/furtherSubnets/assignment'],
    what: 'The rights to use further subnets.',
    commands: (of) =>
      of('ADDITIONAL_NODE_SUBNET_IDS')
        .split(',')
        .filter((id) => id !== '')
        .flatMap((id, index) => {
          // Each has a role of its own, whose name ends in its place in the list.
          const numbered: OutputOf = (name) => (name === 'ROLE_SUFFIX' ? `${of(name)}-${index + 1}` : of(name));
          return unassign(numbered, 'subnet', id, groupOf(id));
        }),
  },
  {
    made: ['azureAccess/identity/role', 'azureAccess/identity/assignment'],
    what: 'The right to assign the kubelet identity.',
    commands: (of) => unassignElsewhere(of, 'identity', of('KUBELET_IDENTITY_ID')),
  },
  {
    made: ['azureAccess/encryption/role', 'azureAccess/encryption/assignment'],
    what: 'The right to read the disk encryption set.',
    commands: (of) => unassignElsewhere(of, 'encryption', of('DISK_ENCRYPTION_SET_ID')),
  },
  {
    made: ['azureAccess/maintenance/role', 'azureAccess/maintenance/assignment'],
    what: 'The right to read the windows of planned maintenance.',
    commands: (of) => unassign(of, 'maintenance', clusterOf(of), clusterGroupOf(of)),
  },
  {
    made: ['signals/health/toQueue'],
    what: 'The event subscription on a topic of health resources that was there before.',
    commands: (of) => unsubscribe(of, 'health', of('HEALTH_TOPIC_ID')),
  },
  {
    made: ['signals/maintenance/toQueue'],
    what: 'The event subscription on a topic of maintenance resources that was there before.',
    commands: (of) => unsubscribe(of, 'maintenance', of('MAINTENANCE_TOPIC_ID')),
  },
  {
    made: ['signals/deletions/toQueue'],
    what: 'The event subscription on a topic of the node resource group that was there before.',
    commands: (of) => unsubscribe(of, 'deletions', of('DELETION_TOPIC_ID')),
  },
  {
    made: ['budget/budget'],
    what: 'The budget, which is the subscription’s.',
    commands: (of) =>
      of('BUDGET_NAME') === '' ? [] : [`az consumption budget delete --budget-name ${of('BUDGET_NAME')}`],
  },
];

function subscriptionOf(of: OutputOf): string {
  return `/subscriptions/${of('AZURE_SUBSCRIPTION_ID')}`;
}

function nodeGroupOf(of: OutputOf): string {
  return `${subscriptionOf(of)}/resourceGroups/${of('NODE_RESOURCE_GROUP')}`;
}

function clusterGroupOf(of: OutputOf): string {
  return `${subscriptionOf(of)}/resourceGroups/${of('CLUSTER_RESOURCE_GROUP')}`;
}

function clusterOf(of: OutputOf): string {
  return `${clusterGroupOf(of)}/providers/Microsoft.ContainerService/managedClusters/${of('CLUSTER_NAME')}`;
}

/**
 * A role of the deployment's own: first who has it, then itself. By its object id, as az does not find an identity by
 * `--assignee` that is gone with its group. `definedAt`: where it may be assigned.
 */
function unassign(of: OutputOf, role: string, scope: string, definedAt: string): ReadonlyArray<string> {
  return [
    `az role assignment delete --assignee-object-id ${of('FUNCTIONS_PRINCIPAL_ID')} --scope ${scope}`,
    `az role definition delete --name "Nodewright ${role} ${of('ROLE_SUFFIX')}" --scope ${definedAt}`,
  ];
}

/** None where there is no such resource, or where the role for machines reaches it. */
function unassignElsewhere(of: OutputOf, role: string, resourceId: string): ReadonlyArray<string> {
  const [group = ''] = resourceId.split('/providers/');
  const isReached = role === 'subnet' && group.toLowerCase() === nodeGroupOf(of).toLowerCase();
  if (resourceId === '' || isReached) return [];
  return unassign(of, role, resourceId, groupOf(resourceId));
}

/** Of a resource that is not known the group is not known either. */
function groupOf(resourceId: string): string {
  const [group = ''] = resourceId.split('/providers/');
  return group.startsWith('$') ? `${group}_GROUP` : group;
}

function unsubscribe(of: OutputOf, events: string, topicId: string): ReadonlyArray<string> {
  if (topicId === '') return [];
  const parts = topicId.split('/');
  const isKnown = parts.length === 9;
  const [group, topic] = isKnown ? [parts[4], parts[8]] : [`${topicId}_GROUP`, `${topicId}_NAME`];
  // Names end in the hash that those of roles end in, too.
  const suffix = of('ROLE_SUFFIX');
  const token = suffix.startsWith('$') ? '${ROLE_SUFFIX##*-}' : (suffix.split('-').at(-1) ?? '');
  return [
    `az eventgrid system-topic event-subscription delete --resource-group ${group} --system-topic-name ${topic} --name nodewright-${events}-${token} --yes`,
  ];
}
