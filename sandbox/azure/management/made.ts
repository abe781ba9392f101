import { createHash } from 'node:crypto';
import { ArmError } from '../arm/arm-error.ts';
import { isObject, objectAt, textAt, type JsonObject } from '../arm/json.ts';
import { kubeletIdentity } from '../state/kubelet-identity.ts';
import { renderGroup } from './groups.ts';
import type { Management } from './management.ts';

export type Values = Readonly<Record<string, unknown>>;

/**
 * Parameters as the template takes them: what is sent, and the defaults of what is not. Throws what Azure answers where
 * one is sent that the template has not, one is missing, or a value is of the wrong sort.
 */
export function takeParameters(template: JsonObject, sent: JsonObject): Values {
  const declared = objectAt(template, 'parameters');
  const unknown = Object.keys(sent).filter((name) => declared[name] === undefined);
  if (unknown.length > 0)
    throw invalidTemplate(
      `The following parameters were supplied, but do not correspond to any parameters defined in the template: '${unknown.join(', ')}'.`,
    );
  const missing = Object.entries(declared).flatMap(([name, draft]) =>
    isObject(draft) && 'defaultValue' in draft ? [] : sent[name] === undefined ? [name] : [],
  );
  if (missing.length > 0)
    throw invalidTemplate(`The value for the template parameter '${missing.join("', '")}' is not provided.`);
  return Object.fromEntries(
    Object.entries(declared).map(([name, draft]) => {
      const value = sent[name] === undefined ? objectAt(draft, '')['defaultValue'] : objectAt(sent, name)['value'];
      refuseMisfit(name, objectAt(draft, ''), value);
      return [name, value];
    }),
  );
}

const KINDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  int: (value) => Number.isInteger(value),
  bool: (value) => typeof value === 'boolean',
  array: Array.isArray,
  object: isObject,
};

function refuseMisfit(name: string, draft: JsonObject, value: unknown): void {
  const type = textAt(draft, 'type') ?? '';
  if (KINDS[type]?.(value) !== true)
    throw invalidTemplate(`Expected a value of type '${type}' for the template parameter '${name}'.`);
  const { allowedValues, minLength } = draft;
  const isAllowed = !Array.isArray(allowedValues) || allowedValues.includes(value);
  const isLongEnough = typeof minLength !== 'number' || String(value).length >= minLength;
  if (!isAllowed || !isLongEnough)
    throw invalidTemplate(`The provided value for the template parameter '${name}' is not valid: ${String(value)}.`);
}

function invalidTemplate(message: string): ArmError {
  return new ArmError(400, {
    code: 'InvalidTemplate',
    message: `Deployment template validation failed: '${message}'.`,
  });
}

/** What infra/main.bicep makes from its parameters, under the names that it gives. */
interface Names {
  readonly token: string;
  readonly group: string;
  readonly app: string;
  readonly registry: string;
  readonly suffix: string;
  readonly principalId: string;
}

/** Azure's own hash is not known; this one is of the same form, and the same for the same place. */
function namesOf(management: Management, parameters: Values): Names {
  const said = (name: string): string => String(parameters[name] ?? '');
  const { subscriptionId } = management.cloud.options;
  const seed = [subscriptionId, said('environmentName'), said('clusterResourceId').toLowerCase()].join();
  const hex = createHash('sha256').update(seed).digest('hex');
  const token = hex.replace(/\d/g, (digit) => String.fromCharCode('g'.charCodeAt(0) + Number(digit))).slice(0, 13);
  const group =
    said('resourceGroupName') === '' ? `rg-nodewright-${said('environmentName')}` : said('resourceGroupName');
  return {
    token,
    group,
    app: `func-nodewright-${token}`,
    registry: parameters['createRegistry'] === true ? `crnodewright${token}` : '',
    suffix: `${said('environmentName').slice(0, 20)}-${token}`,
    principalId: `${hex.slice(0, 8)}-0000-4000-8000-${hex.slice(8, 20)}`,
  };
}

type Output = (names: Names, parameters: Values, management: Management) => string;

/** Outputs of the template by name. One that is not here is told of, so that a new one gets its line. */
const OUTPUTS: Readonly<Record<string, Output>> = {
  AZURE_RESOURCE_GROUP: ({ group }) => group,
  AZURE_SUBSCRIPTION_ID: (_names, _parameters, { cloud }) => cloud.options.subscriptionId,
  AZURE_LOCATION: (_names, { location }) => String(location),
  FUNCTION_APP_NAME: ({ app }) => app,
  FUNCTIONS_PRINCIPAL_ID: ({ principalId }) => principalId,
  RELAY_CLIENT_ID: () => '00000000-0000-4000-8000-0000000000c1',
  CLUSTER_NAME: (_names, { clusterResourceId }) => String(clusterResourceId).split('/').at(-1) ?? '',
  CLUSTER_RESOURCE_GROUP: (_names, { clusterResourceId }) => String(clusterResourceId).split('/')[4] ?? '',
  NODE_RESOURCE_GROUP: (_names, _parameters, { cloud }) => cloud.options.resourceGroup,
  SERVICE_BUS_NAMESPACE: ({ token }) => `sbns-nodewright-${token}.servicebus.windows.net`,
  BLOB_SERVICE_URI: ({ token }) => `https://stdata${token}.blob.core.windows.net/`,
  RELAY_NAMESPACE: (_names, { relayNamespace }) => String(relayNamespace),
  FEATURE_GATES: (_names, { settings }) => textAt(settings, 'FEATURE_GATES') ?? '',
  REGISTRY_NAME: ({ registry }) => registry,
  RELAY_IMAGE: (_names, { relayImage }) => String(relayImage),
  APPLICATION_INSIGHTS_ID: ({ token, group }, _parameters, { cloud }) =>
    cloud.idOf('Microsoft.Insights/components', group, `appi-nodewright-${token}`),
  ROLE_SUFFIX: ({ suffix }) => suffix,
  NODE_SUBNET_ID: (_names, { nodeSubnetResourceId }) => String(nodeSubnetResourceId),
  ADDITIONAL_NODE_SUBNET_IDS: (_names, { additionalNodeSubnetResourceIds }) => String(additionalNodeSubnetResourceIds),
  KUBELET_IDENTITY_ID: (_names, _parameters, { cloud }) => kubeletIdentity(cloud.options).resourceId,
  DISK_ENCRYPTION_SET_ID: () => '',
  HEALTH_TOPIC_ID: (_names, { existingHealthTopicResourceId }) => String(existingHealthTopicResourceId),
  MAINTENANCE_TOPIC_ID: (_names, { existingMaintenanceTopicResourceId }) => String(existingMaintenanceTopicResourceId),
  DELETION_TOPIC_ID: (_names, { existingDeletionTopicResourceId }) => String(existingDeletionTopicResourceId),
  BUDGET_NAME: ({ token }, { monthlyBudget }) => (Number(monthlyBudget) > 0 ? `nodewright-${token}` : ''),
};

/** The outputs that a template names, with the letters that Resource Manager answers with. */
export function outputsOf(
  management: Management,
  template: JsonObject,
  parameters: Values,
): Readonly<Record<string, string>> {
  const names = namesOf(management, parameters);
  return Object.fromEntries(
    Object.keys(objectAt(template, 'outputs')).map((name) => {
      const output = OUTPUTS[name];
      if (output === undefined) throw new Error(`The template has an output that the double does not make: ${name}.`);
      return [`${name.charAt(0).toLowerCase()}${name.slice(1)}`, output(names, parameters, management)];
    }),
  );
}

/**
 * Makes what is asked for later: the group, the app, its identity, the registry, roles, topics. What is there stays as
 * it is.
 */
export function makeAll(management: Management, parameters: Values): void {
  const { cloud } = management;
  const names = namesOf(management, parameters);
  const { group, token } = names;
  const location = String(parameters['location']);
  const tags = { 'azd-env-name': String(parameters['environmentName']) };
  keep(cloud.groups, group, renderGroup(management, group, tags));
  const identity = cloud.idOf(
    'Microsoft.ManagedIdentity/userAssignedIdentities',
    group,
    `id-nodewright-functions-${token}`,
  );
  keep(management.identities, identity, {
    id: identity,
    name: `id-nodewright-functions-${token}`,
    principalId: names.principalId,
    location,
    type: 'Microsoft.ManagedIdentity/userAssignedIdentities',
  });
  const app = cloud.idOf('Microsoft.Web/sites', group, names.app);
  keep(management.sites, names.app, { id: app, name: names.app, group, location, codeBytes: 0, codeDigest: '' });
  if (names.registry !== '') {
    const id = cloud.idOf('Microsoft.ContainerRegistry/registries', group, names.registry);
    keep(management.registries, names.registry, { id, name: names.registry, group, location, images: new Map() });
  }
  makeTopics(management, parameters, { group, token, tags });
  makeRoles(management, names);
}

function makeTopics(
  { cloud, topics }: Management,
  { azureEvents, existingHealthTopicResourceId, existingDeletionTopicResourceId }: Values,
  { group, token, tags }: { readonly group: string; readonly token: string; readonly tags: object },
): void {
  if (azureEvents !== true) return;
  const subscription = `/subscriptions/${cloud.options.subscriptionId}`;
  const wanted = [
    ['health', 'Microsoft.ResourceNotifications.HealthResources', subscription, existingHealthTopicResourceId],
    [
      'deletions',
      'Microsoft.Resources.ResourceGroups',
      `${subscription}/resourceGroups/${cloud.options.resourceGroup}`,
      existingDeletionTopicResourceId,
    ],
  ] as const;
  for (const [events, topicType, source, existing] of wanted) {
    if (existing !== '') continue;
    const name = `egst-nodewright-${events}-${token}`;
    const id = cloud.idOf('Microsoft.EventGrid/systemTopics', group, name);
    keep(topics, id, { id, name, tags, identity: { type: 'SystemAssigned' }, properties: { source, topicType } });
  }
}

/** The roles outside the group that every deployment has: infra/modules/access/azure-access.bicep. */
function makeRoles({ cloud, roleAssignments, roleDefinitions }: Management, names: Names): void {
  const subscription = `/subscriptions/${cloud.options.subscriptionId}`;
  const { resourceGroup, clusterResourceGroup, clusterName } = cloud.options;
  const nodes = `${subscription}/resourceGroups/${resourceGroup}`;
  const cluster = cloud.idOf('Microsoft.ContainerService/managedClusters', clusterResourceGroup, clusterName);
  const identity = kubeletIdentity(cloud.options).resourceId;
  const wanted = [
    ['machines', nodes, nodes],
    ['region', subscription, subscription],
    ['identity', identity, nodes],
    ['maintenance', cluster, `${subscription}/resourceGroups/${clusterResourceGroup}`],
  ] as const;
  for (const [role, scope, definedAt] of wanted) {
    const hex = createHash('sha256').update(`${role}${names.suffix}`).digest('hex');
    const guid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
    const definition = `${subscription}/providers/Microsoft.Authorization/roleDefinitions/${guid}`;
    const roleName = `Nodewright ${role} ${names.suffix}`;
    keep(roleDefinitions, definition, { id: definition, roleName, isCustom: true, scope: definedAt });
    const assignment = `${scope}/providers/Microsoft.Authorization/roleAssignments/${guid}`;
    const { principalId } = names;
    keep(roleAssignments, assignment, { id: assignment, scope, principalId, roleDefinitionId: definition });
  }
}

function keep<T>(all: Map<string, T>, name: string, value: T): void {
  const key = name.toLowerCase();
  if (!all.has(key)) all.set(key, value);
}
