import type { Cluster } from '../../../infra/hooks/answers.ts';
import { type Ask, readArm } from '../../../infra/hooks/az.ts';
import { explainRefusal } from '../../../infra/hooks/explain-refusal.ts';
import { removalOutputs } from '../../../infra/hooks/outside.ts';
import type { DeployOptions } from '../deploy-options.ts';
import type { DeploymentRecord } from './deployment-record.ts';
import { sayItHere } from '../say-it-here.ts';
import { Stopped } from '../stopped.ts';

type Outputs = Readonly<Record<string, string>>;

/** What removing has to know. */
export type Known =
  /** The deployment's outputs, or what they would be. */
  | { readonly kind: 'all'; readonly outputs: Outputs }
  /** It stopped before it made an identity, so that no rights were given: nothing is outside the group. */
  | { readonly kind: 'group'; readonly group: string };

/**
 * A deployment that has not ended well has no outputs: they are worked out, as infra/main.bicep has them. Throws
 * Stopped where Azure does not tell.
 */
export function knownOutputs(options: DeployOptions, record: DeploymentRecord, ask: Ask): Known {
  const { outputs } = record;
  if (removalOutputs.every((name) => outputs[name] !== undefined)) return { kind: 'all', outputs };
  const said = (name: string): string => textOf(record.parameters[name]);
  const group = said('resourceGroupName') === '' ? `rg-nodewright-${options.name}` : said('resourceGroupName');
  const identity = identityIn(ask, group);
  return identity === null
    ? { kind: 'group', group }
    : { kind: 'all', outputs: workOut(options, { said, group, identity, cluster: readCluster(ask, options.cluster) }) };
}

interface Found {
  readonly said: (parameter: string) => string;
  readonly group: string;
  readonly identity: Identity;
  readonly cluster: Cluster & { readonly properties: { readonly diskEncryptionSetID?: string } };
}

function workOut({ cluster: id, name }: DeployOptions, { said, group, identity, cluster }: Found): Outputs {
  const [, , subscription = '', , clusterGroup = '', , , , clusterName = ''] = id.split('/');
  // All names end in the same hash.
  const token = identity.name.split('-').at(-1) ?? '';
  const { nodeResourceGroup, identityProfile, diskEncryptionSetID } = cluster.properties;
  return {
    ADDITIONAL_NODE_SUBNET_IDS: said('additionalNodeSubnetResourceIds'),
    AZURE_RESOURCE_GROUP: group,
    AZURE_SUBSCRIPTION_ID: subscription,
    BUDGET_NAME: Number(said('monthlyBudget')) > 0 ? `nodewright-${token}` : '',
    CLUSTER_NAME: clusterName,
    CLUSTER_RESOURCE_GROUP: clusterGroup,
    DELETION_TOPIC_ID: said('existingDeletionTopicResourceId'),
    DISK_ENCRYPTION_SET_ID: textOf(diskEncryptionSetID),
    FUNCTIONS_PRINCIPAL_ID: identity.principalId,
    HEALTH_TOPIC_ID: said('existingHealthTopicResourceId'),
    KUBELET_IDENTITY_ID: textOf(identityProfile?.['kubeletidentity']?.resourceId),
    MAINTENANCE_TOPIC_ID: said('existingMaintenanceTopicResourceId'),
    NODE_RESOURCE_GROUP: nodeResourceGroup,
    NODE_SUBNET_ID: said('nodeSubnetResourceId'),
    RELAY_NAMESPACE: said('relayNamespace') || 'nodewright-system',
    ROLE_SUFFIX: `${name.slice(0, 20)}-${token}`,
  };
}

/** Lists with commas between, as the outputs have them. */
function textOf(value: unknown): string {
  return value === undefined || value === null ? '' : String(value);
}

interface Identity {
  readonly name: string;
  readonly principalId: string;
}

/** The functions'; null where it was not made. */
function identityIn(ask: Ask, group: string): Identity | null {
  const answer = ask(['identity', 'list', '--resource-group', group]);
  if (answer.kind === 'refused' && /ResourceGroupNotFound/.test(answer.message)) return null;
  if (answer.kind !== 'answer') throw new Stopped(sayItHere(explainRefusal(`read the identities of ${group}`, answer)));
  const all = (answer.value ?? []) as ReadonlyArray<Identity>;
  return all.find(({ name }) => name.startsWith('id-nodewright-functions-')) ?? null;
}

function readCluster(ask: Ask, id: string): Found['cluster'] {
  const answer = ask(readArm(id, '2026-04-01'));
  if (answer.kind === 'answer') return answer.value as Found['cluster'];
  throw new Stopped(sayItHere(explainRefusal('read the cluster', answer)));
}
