import { ArmError } from '../arm/arm-error.ts';
import { objectAt, textAt } from '../arm/json.ts';
import { ok, type ArmRequest, type ArmResponse, type Parameters, type Route } from '../arm/router.ts';
import { renderCluster } from '../routes/cluster.ts';
import { refuseMisfits } from '../types/refuse-misfits.ts';
import { typeTrees } from '../types/type-trees.ts';
import { administersCluster } from './authorization.ts';
import type { Ended } from './in-cluster.ts';
import { leadTo } from './long-operations.ts';
import type { Management } from './management.ts';
import { filesInZip } from './zip.ts';

const CLUSTER =
  '/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.ContainerService/managedClusters/{name}';

/** Changes of the managed cluster, and commands that Azure runs in it. */
export function managedClusterRoutes(management: Management): ReadonlyArray<Route> {
  const { cloud, operations } = management;
  const ended = new Map<string, Ended>();
  return [
    {
      method: 'PUT',
      pattern: CLUSTER,
      answer: (request, { name = '' }) => {
        const body = refuseMisfits(typeTrees().cluster, { ...request.body, name }, 'put');
        const id = operations.begin(request, () => {
          cloud.clusterProperties = { ...cloud.clusterProperties, ...switches(objectAt(body, 'properties')) };
        });
        const { Location: _result, ...headers } = leadTo(cloud, request, id);
        const shown = renderCluster(cloud);
        return {
          status: 200,
          headers,
          body: { ...shown, properties: { ...objectAt(shown, 'properties'), provisioningState: 'Updating' } },
        };
      },
    },
    {
      method: 'POST',
      pattern: `${CLUSTER}/runCommand`,
      answer: (request, parameters): ArmResponse => {
        const command = textAt(request.body, 'command') ?? '';
        refuseTokenless(management, request);
        const files = filesInZip(Buffer.from(textAt(request.body, 'context') ?? '', 'base64'));
        const id = operations.begin(request, () => {
          const mayAdminister = administersCluster(management);
          ended.set(id, management.inCluster.run(command, { mayAdminister, files }));
        });
        const at = `${request.origin}${pathOf(cloud.options.subscriptionId, parameters)}/commandResults/${id}`;
        const version = request.query.get('api-version') ?? '';
        return { status: 202, headers: { Location: `${at}?api-version=${version}`, 'Retry-After': '1' }, body: null };
      },
    },
    {
      method: 'GET',
      pattern: `${CLUSTER}/commandResults/{id}`,
      answer: (request, { id = '' }): ArmResponse => {
        const state = operations.look(id);
        if (state === null) throw new ArmError(404, { code: 'NotFound', message: `There is no command ${id}.` });
        if (state === 'InProgress')
          return {
            status: 202,
            headers: { Location: `${request.origin}${request.path}?${request.query.toString()}`, 'Retry-After': '1' },
            body: { id, properties: { provisioningState: 'Running' } },
          };
        if (state !== 'Succeeded')
          return ok({ id, properties: { provisioningState: 'Failed', reason: state.message } });
        return ok({ id, properties: { provisioningState: 'Succeeded', ...ended.get(id) } });
      },
    },
  ];
}

/** Of what a client sends back those that can be changed here; the rest stays as it was. */
function switches(properties: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => SWITCHES.has(name)));
}

const SWITCHES = new Set(['aadProfile', 'oidcIssuerProfile', 'securityProfile', 'nodeProvisioningProfile']);

/** A cluster that knows Entra ID wants to know who asks. */
function refuseTokenless({ cloud }: Management, { body }: ArmRequest): void {
  const { aadProfile } = objectAt(renderCluster(cloud), 'properties');
  if (aadProfile === undefined || (textAt(body, 'clusterToken') ?? '') !== '') return;
  throw new ArmError(400, {
    code: 'BadRequest',
    message: 'ClusterToken must be provided when running commands in a cluster with managed Microsoft Entra ID.',
  });
}

function pathOf(subscription: string, { group = '', name = '' }: Parameters): string {
  return `/subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.ContainerService/managedClusters/${name}`;
}
