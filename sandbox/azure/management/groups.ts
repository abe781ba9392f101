import { ArmError, resourceNotFound } from '../arm/arm-error.ts';
import type { JsonObject } from '../arm/json.ts';
import { ok, type ArmResponse, type Route } from '../arm/router.ts';
import type { Management } from './management.ts';
import { leadToResult } from './long-operations.ts';

const GROUP = '/subscriptions/{subscription}/resourceGroups/{group}';

/** Resource groups, and what az lists in them. */
export function groupRoutes(management: Management): ReadonlyArray<Route> {
  const { cloud, operations } = management;
  const find = (name: string): JsonObject => {
    const { resourceGroup, clusterResourceGroup } = cloud.options;
    const ofCluster = [resourceGroup, clusterResourceGroup].find((one) => one.toLowerCase() === name.toLowerCase());
    const found =
      ofCluster === undefined ? cloud.groups.get(name.toLowerCase()) : renderGroup(management, ofCluster, {});
    if (found !== undefined) return found;
    throw new ArmError(404, { code: 'ResourceGroupNotFound', message: `Resource group '${name}' could not be found.` });
  };
  return [
    { method: 'GET', pattern: GROUP, answer: (_request, { group = '' }) => ok(find(group)) },
    {
      method: 'HEAD',
      pattern: GROUP,
      answer: (_request, { group = '' }): ArmResponse => {
        find(group);
        return { status: 204, headers: {}, body: null };
      },
    },
    {
      method: 'DELETE',
      pattern: GROUP,
      answer: (request, { group = '' }): ArmResponse => {
        find(group);
        if (!cloud.groups.has(group.toLowerCase()))
          throw new ArmError(409, { code: 'Conflict', message: `The group '${group}' is not the deployment's own.` });
        const id = operations.begin(request, () => {
          management.removeGroup(group);
        });
        return { status: 202, headers: leadToResult(cloud, request, id), body: null };
      },
    },
    {
      method: 'GET',
      pattern: '/subscriptions/{subscription}/resources',
      answer: ({ query }) => ok({ value: listed(management, query.get('$filter') ?? '') }),
    },
    {
      method: 'GET',
      pattern: `${GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities`,
      answer: (_request, { group = '' }) => {
        const inGroup = `/resourcegroups/${group.toLowerCase()}/`;
        find(group);
        return ok({ value: [...management.identities].flatMap(([id, one]) => (id.includes(inGroup) ? [one] : [])) });
      },
    },
    {
      method: 'DELETE',
      pattern: `${GROUP}/providers/Microsoft.EventGrid/systemTopics/{topic}/eventSubscriptions/{name}`,
      answer: (_request, { group = '', topic = '' }) => {
        throw resourceNotFound(`Microsoft.EventGrid/systemTopics/${topic}`, group);
      },
    },
  ];
}

/** A group as ARM shows it. */
export function renderGroup({ cloud }: Management, name: string, tags: object): JsonObject {
  return {
    id: `/subscriptions/${cloud.options.subscriptionId}/resourceGroups/${name}`,
    name,
    type: 'Microsoft.Resources/resourceGroups',
    location: cloud.options.region,
    tags,
    properties: { provisioningState: 'Succeeded' },
  };
}

/** What az looks up by its name alone: registries. */
function listed({ registries }: Management, filter: string): ReadonlyArray<object> {
  const [, type = ''] = /resourceType eq '([^']+)'/i.exec(filter) ?? [];
  if (type.toLowerCase() !== 'microsoft.containerregistry/registries') return [];
  return [...registries.values()].map(({ id, name, location }) => ({ id, name, location, type }));
}
