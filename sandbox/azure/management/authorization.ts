import { ArmError } from '../arm/arm-error.ts';
import { objectAt, textAt, type JsonObject } from '../arm/json.ts';
import { ok, type ArmRequest, type ArmResponse, type Parameters, type Route } from '../arm/router.ts';
import { DEPLOYER } from '../state/identities.ts';
import { refuseMisfits } from '../types/refuse-misfits.ts';
import { typeTrees } from '../types/type-trees.ts';
import type { Management, RoleAssignment, RoleDefinition } from './management.ts';

const AUTHORIZATION = 'providers/Microsoft.Authorization';

/** Of Azure's own roles those that are assigned here. */
const CLUSTER_ADMIN = 'b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b';
const BUILT_IN: ReadonlyArray<readonly [name: string, guid: string]> = [
  ['Owner', '8e3af657-a8ff-443c-a75c-2fe8c4bcb635'],
  ['Azure Kubernetes Service RBAC Cluster Admin', CLUSTER_ADMIN],
];

/** Rights: an owner of the subscription is logged in, whom that does not make an administrator in the cluster. */
export function authorizationRoutes(management: Management): ReadonlyArray<Route> {
  return scopes(management).flatMap(({ pattern, scopeOf }) => routesAt(management, pattern, scopeOf));
}

type ScopeOf = (parameters: Parameters) => string;

/** Where roles are defined and assigned: the subscription, a group, and resources in one. */
function scopes({ cloud }: Management): ReadonlyArray<{ readonly pattern: string; readonly scopeOf: ScopeOf }> {
  const subscription = `/subscriptions/${cloud.options.subscriptionId}`;
  const inGroup = '/subscriptions/{subscription}/resourceGroups/{group}';
  return [
    { pattern: '/subscriptions/{subscription}', scopeOf: () => subscription },
    { pattern: inGroup, scopeOf: ({ group = '' }) => `${subscription}/resourceGroups/${group}` },
    {
      pattern: `${inGroup}/providers/{namespace}/{type}/{name}`,
      scopeOf: ({ group = '', namespace = '', type = '', name = '' }) =>
        `${subscription}/resourceGroups/${group}/providers/${namespace}/${type}/${name}`,
    },
    {
      pattern: `${inGroup}/providers/{namespace}/{type}/{name}/{inner}/{part}`,
      scopeOf: ({ group = '', namespace = '', type = '', name = '', inner = '', part = '' }) =>
        `${subscription}/resourceGroups/${group}/providers/${namespace}/${type}/${name}/${inner}/${part}`,
    },
  ];
}

function routesAt(management: Management, at: string, scopeOf: ScopeOf): ReadonlyArray<Route> {
  const { roleAssignments, roleDefinitions } = management;
  const assigned = `${at}/${AUTHORIZATION}/roleAssignments`;
  const defined = `${at}/${AUTHORIZATION}/roleDefinitions`;
  return [
    {
      method: 'GET',
      pattern: `${at}/${AUTHORIZATION}/permissions`,
      answer: () => ok({ value: [{ actions: ['*'], notActions: [], dataActions: [], notDataActions: [] }] }),
    },
    {
      method: 'GET',
      pattern: assigned,
      // Those above count too, as with Azure's `atScope()`.
      answer: (_request, parameters) =>
        ok({ value: [...roleAssignments.values()].filter(({ scope }) => isAt(scope, scopeOf(parameters))).map(shown) }),
    },
    {
      method: 'PUT',
      pattern: `${assigned}/{assignment}`,
      answer: (request, parameters) => assign(management, request, { scope: scopeOf(parameters), parameters }),
    },
    {
      method: 'DELETE',
      pattern: `${assigned}/{assignment}`,
      answer: (_request, parameters) => {
        const id = `${scopeOf(parameters)}/${AUTHORIZATION}/roleAssignments/${parameters['assignment'] ?? ''}`;
        return gone(roleAssignments.delete(id.toLowerCase()));
      },
    },
    {
      method: 'GET',
      pattern: defined,
      answer: ({ query }, parameters) => {
        const [, name] = /roleName eq '([^']+)'/.exec(query.get('$filter') ?? '') ?? [];
        const all = [...builtIn(management), ...roleDefinitions.values()].filter(
          ({ scope, roleName }) => isAt(scope, scopeOf(parameters)) && (name === undefined || name === roleName),
        );
        return ok({ value: all.map(shownDefinition) });
      },
    },
    {
      method: 'DELETE',
      pattern: `${defined}/{definition}`,
      answer: (_request, { definition = '' }) => {
        const key = [...roleDefinitions.keys()].find((id) => id.endsWith(`/${definition.toLowerCase()}`));
        const isUsed = [...roleAssignments.values()].some(({ roleDefinitionId }) =>
          roleDefinitionId.endsWith(definition),
        );
        if (isUsed)
          throw new ArmError(400, {
            code: 'RoleDefinitionHasAssignments',
            message: 'There are existing role assignments referencing role.',
          });
        return gone(key !== undefined && roleDefinitions.delete(key));
      },
    },
  ];
}

function assign(
  { identities, roleAssignments }: Management,
  { body }: ArmRequest,
  { scope, parameters: { assignment = '' } }: { readonly scope: string; readonly parameters: Parameters },
): ArmResponse {
  const kept = objectAt(refuseMisfits(typeTrees().roleAssignment, { name: assignment, ...body }, 'put'), 'properties');
  const id = `${scope}/${AUTHORIZATION}/roleAssignments/${assignment}`;
  const made: RoleAssignment = {
    id,
    scope,
    principalId: textAt(kept, 'principalId') ?? '',
    roleDefinitionId: textAt(kept, 'roleDefinitionId') ?? '',
  };
  // As recorded of Azure. az takes what it cannot look up for an object id.
  const known = [DEPLOYER, ...[...identities.values()].map(({ principalId }) => principalId)];
  if (!known.includes(made.principalId)) {
    const message = `Principal ${made.principalId.replaceAll('-', '')} does not exist in the directory. Check that you have the correct principal ID.`;
    throw new ArmError(400, { code: 'PrincipalNotFound', message });
  }
  const isThere = [...roleAssignments.values()].some(
    (one) =>
      one.id.toLowerCase() !== id.toLowerCase() &&
      [one.scope, one.principalId, one.roleDefinitionId].join().toLowerCase() ===
        [scope, made.principalId, made.roleDefinitionId].join().toLowerCase(),
  );
  if (isThere)
    throw new ArmError(409, { code: 'RoleAssignmentExists', message: 'The role assignment already exists.' });
  roleAssignments.set(id.toLowerCase(), made);
  return { status: 201, headers: {}, body: shown(made) };
}

/** Whether whoever is logged in administers the cluster: by Azure's role, or as somebody whom Kubernetes knows. */
export function administersCluster({ cloud, roleAssignments }: Management): boolean {
  const { cluster, clusterResourceGroup, clusterName } = cloud.options;
  if (cluster === 'ready') return true;
  const scope = cloud.idOf('Microsoft.ContainerService/managedClusters', clusterResourceGroup, clusterName);
  return [...roleAssignments.values()].some(
    (one) => one.principalId === DEPLOYER && one.roleDefinitionId.endsWith(CLUSTER_ADMIN) && isAt(one.scope, scope),
  );
}

function builtIn({ cloud }: Management): ReadonlyArray<RoleDefinition> {
  const subscription = `/subscriptions/${cloud.options.subscriptionId}`;
  return BUILT_IN.map(([roleName, guid]) => ({
    id: `${subscription}/${AUTHORIZATION}/roleDefinitions/${guid}`,
    roleName,
    isCustom: false,
    scope: subscription,
  }));
}

function isAt(scope: string, place: string): boolean {
  return `${place.toLowerCase()}/`.startsWith(`${scope.toLowerCase()}/`);
}

function gone(was: boolean): ArmResponse {
  return was ? ok({}) : { status: 204, headers: {}, body: null };
}

function shown({ id, scope, principalId, roleDefinitionId }: RoleAssignment): JsonObject {
  return {
    id,
    name: id.split('/').at(-1) ?? '',
    type: 'Microsoft.Authorization/roleAssignments',
    properties: { scope, principalId, roleDefinitionId, principalType: 'ServicePrincipal' },
  };
}

function shownDefinition({ id, roleName, isCustom, scope }: RoleDefinition): JsonObject {
  return {
    id,
    name: id.split('/').at(-1) ?? '',
    type: 'Microsoft.Authorization/roleDefinitions',
    properties: {
      roleName,
      type: isCustom ? 'CustomRole' : 'BuiltInRole',
      assignableScopes: [scope],
      permissions: [{ actions: [], notActions: [], dataActions: [], notDataActions: [] }],
    },
  };
}
