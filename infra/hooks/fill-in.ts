import type { Answers, Topic } from './answers.ts';

const HEALTH_TOPIC = 'Microsoft.ResourceNotifications.HealthResources';
const MAINTENANCE_TOPIC = 'Microsoft.ResourceNotifications.MaintenanceResources';
const DELETION_TOPIC = 'Microsoft.Resources.ResourceGroups';

/**
 * Variables of azd's environment that the answers fill in, where the environment does not say them. `makeKey` makes a
 * public SSH key, which is asked for where the cluster has none and azd keeps it: by hand a new one would come with
 * each look.
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

/** Whether the cluster has a public SSH key to give its nodes. */
export function hasKey({ cluster: { properties } }: Answers): boolean {
  return (properties.linuxProfile?.ssh?.publicKeys ?? []).length > 0;
}

/**
 * The subnet that is named, else the first node pool's, else the only one that AKS made; empty where that cannot be
 * told.
 */
export function subnetOf({ wishes, cluster, networks }: Answers): string {
  const ofPool = cluster.properties.agentPoolProfiles?.find(({ vnetSubnetID }) => vnetSubnetID !== undefined);
  const group = `/resourcegroups/${cluster.properties.nodeResourceGroup.toLowerCase()}/`;
  const [only = '', ...others] = networks.flatMap(({ subnets }) =>
    subnets.map(({ id }) => id).filter((id) => id.toLowerCase().includes(group)),
  );
  return wishes.nodeSubnetId || (ofPool?.vnetSubnetID ?? (others.length === 0 ? only : ''));
}

/** Azure's GUID of the subnet's network; empty where that is in another subscription. */
function vnetGuidOf(answers: Answers): string {
  const subnet = subnetOf(answers).toLowerCase();
  return answers.networks.find(({ id }) => subnet.startsWith(`${id.toLowerCase()}/`))?.guid ?? '';
}

/** Topics of the sources that are listened to, but those that an earlier deployment of this environment made. */
export function topicsOf({
  topics,
  cluster,
  wishes,
}: Answers): Readonly<Record<'health' | 'maintenance' | 'deletions', Topic | null>> {
  const subscription = cluster.id.split('/').slice(0, 3).join('/').toLowerCase();
  const group = `${subscription}/resourcegroups/${cluster.properties.nodeResourceGroup.toLowerCase()}`;
  const find = (topicType: string, source: string): Topic | null =>
    topics.find(
      (topic) =>
        wishes.azureEvents &&
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
