import { ArmError } from '../arm/arm-error.ts';
import { drawGuid } from '../arm/guid.ts';
import { objectAt, textAt, type JsonObject } from '../arm/json.ts';
import { ok, type ArmRequest, type ArmResponse, type Route } from '../arm/router.ts';
import { leadToResult } from './long-operations.ts';
import { makeAll, outputsOf, takeParameters } from './made.ts';
import type { Deployment, Management } from './management.ts';

const DEPLOYMENT = '/subscriptions/{subscription}/providers/Microsoft.Resources/deployments/{name}';

/**
 * Deployments to the subscription. The template is not worked out: its parameters are held against what is sent, and
 * what infra/main.bicep makes of them (made.ts) is there afterwards.
 */
export function deploymentRoutes(management: Management): ReadonlyArray<Route> {
  const { cloud, deployments, operations } = management;
  const find = (name: string): Deployment => {
    const found = deployments.get(name.toLowerCase());
    if (found !== undefined) return found;
    throw new ArmError(404, { code: 'DeploymentNotFound', message: `Deployment '${name}' could not be found.` });
  };
  return [
    { method: 'GET', pattern: DEPLOYMENT, answer: (_request, { name = '' }) => ok(shown(management, find(name))) },
    {
      method: 'PUT',
      pattern: DEPLOYMENT,
      answer: (request, { name = '' }) => put(management, request, name),
    },
    {
      method: 'DELETE',
      pattern: DEPLOYMENT,
      answer: (request, { name = '' }) => {
        find(name);
        const id = operations.begin(request, () => {
          deployments.delete(name.toLowerCase());
        });
        return { status: 202, headers: leadToResult(cloud, request, id), body: null };
      },
    },
    {
      method: 'POST',
      pattern: `${DEPLOYMENT}/validate`,
      answer: (request, { name = '' }) => {
        const { location, template, parameters } = read(request);
        const at = cloud.clock.now();
        const asked: Deployment = { name, location, template, parameters, at, operation: '', outputs: {}, fault: null };
        return ok(shown(management, asked));
      },
    },
    {
      method: 'POST',
      pattern: `${DEPLOYMENT}/whatIf`,
      answer: (request): ArmResponse => {
        const { parameters } = read(request);
        const changes = changesOf(management, parameters);
        const id = operations.begin(request, undefined, () => ({ status: 'Succeeded', properties: { changes } }));
        return { status: 202, headers: leadToResult(cloud, request, id), body: null };
      },
    },
    {
      method: 'POST',
      pattern: `${DEPLOYMENT}/exportTemplate`,
      answer: (_request, { name = '' }) => ok({ template: find(name).template }),
    },
    {
      method: 'GET',
      pattern: `${DEPLOYMENT}/operations`,
      answer: (_request, { name = '' }) => {
        const { fault } = find(name);
        const statusMessage = fault === null ? null : { status: 'Failed', error: fault };
        const provisioningState = fault === null ? 'Succeeded' : 'Failed';
        return ok({ value: [{ operationId: '1', properties: { provisioningState, statusMessage } }] });
      },
    },
    {
      method: 'GET',
      pattern: `${DEPLOYMENT}/operationStatuses/{operation}`,
      answer: (_request, { operation = '' }): ArmResponse => {
        const state = operations.look(operation);
        if (state === null) throw new ArmError(404, { code: 'NotFound', message: `No operation '${operation}'.` });
        const body =
          typeof state === 'string' ? { status: state } : { status: 'Failed', error: deploymentFailed(state) };
        return { status: 200, headers: state === 'InProgress' ? { 'Retry-After': '1' } : {}, body };
      },
    },
  ];
}

interface Sent {
  readonly location: string;
  readonly template: JsonObject;
  readonly parameters: Readonly<Record<string, unknown>>;
}

function read({ body }: ArmRequest): Sent {
  const template = objectAt(body, 'properties.template');
  const location = textAt(body, 'location') ?? '';
  if (location === '')
    throw new ArmError(400, { code: 'LocationRequired', message: "The 'location' property must be specified." });
  return { location, template, parameters: takeParameters(template, objectAt(body, 'properties.parameters')) };
}

function put(management: Management, request: ArmRequest, name: string): ArmResponse {
  const { cloud, deployments, operations } = management;
  const { location, template, parameters } = read(request);
  const before = deployments.get(name.toLowerCase());
  if (before !== undefined && before.location !== location)
    throw new ArmError(409, {
      code: 'InvalidDeploymentLocation',
      message: `Invalid deployment location '${location}'. The deployment '${name}' already exists in location '${before.location}'.`,
    });
  if (before !== undefined && stateOf(before) === 'Running')
    throw new ArmError(409, {
      code: 'DeploymentActive',
      message: `Unable to edit or replace deployment '${name}': previous deployment from '${new Date(before.at).toISOString()}' is still active.`,
    });
  const at = cloud.clock.now();
  const outputs = outputsOf(management, template, parameters);
  const operation = operations.begin(request, () => {
    makeAll(management, parameters);
    deployments.set(name.toLowerCase(), { name, location, template, parameters, at, operation, outputs, fault: null });
  });
  const running: Deployment = { name, location, template, parameters, at, operation, outputs: null, fault: null };
  // Nobody who looks at a deployment that fails brings its end nearer.
  deployments.set(name.toLowerCase(), request.ending === null ? running : { ...running, fault: request.ending });
  const status = `${request.origin}${request.path}/operationStatuses/${operation}`;
  return {
    status: before === undefined ? 201 : 200,
    headers: {
      'Azure-AsyncOperation': `${status}?api-version=${request.query.get('api-version') ?? ''}`,
      'Retry-After': '1',
    },
    body: shown(management, running),
  };
}

/** As Azure wraps what went wrong inside. */
function deploymentFailed(fault: { readonly code: string; readonly message: string }): JsonObject {
  return {
    code: 'DeploymentFailed',
    target: '/subscriptions/x/providers/Microsoft.Resources/deployments/x',
    message:
      'At least one resource deployment operation failed. Please list deployment operations for details. Please see https://aka.ms/arm-deployment-operations for usage details.',
    details: [
      {
        code: 'ResourceDeploymentFailure',
        message:
          "The resource write operation failed to complete successfully, because it reached terminal provisioning state 'Failed'.",
        details: [fault],
      },
    ],
  };
}

function stateOf({ outputs, fault }: Deployment): 'Running' | 'Failed' | 'Succeeded' {
  if (fault !== null) return 'Failed';
  return outputs === null ? 'Running' : 'Succeeded';
}

function shown({ cloud }: Management, deployment: Deployment): JsonObject {
  const { name, location, parameters, at, outputs, fault } = deployment;
  return {
    id: `/subscriptions/${cloud.options.subscriptionId}/providers/Microsoft.Resources/deployments/${name}`,
    name,
    type: 'Microsoft.Resources/deployments',
    location,
    properties: {
      provisioningState: stateOf(deployment),
      timestamp: new Date(at).toISOString(),
      duration: 'PT1S',
      mode: 'Incremental',
      correlationId: drawGuid(cloud.rng('correlations')),
      parameters: Object.fromEntries(Object.entries(parameters).map(([key, value]) => [key, { type: 'Any', value }])),
      ...(outputs === null
        ? {}
        : {
            outputs: Object.fromEntries(
              Object.entries(outputs).map(([key, value]) => [key, { type: 'String', value }]),
            ),
          }),
      ...(fault === null ? {} : { error: deploymentFailed(fault) }),
    },
  };
}

/** What is not there yet would be made, and what is there stays. */
function changesOf(management: Management, parameters: Readonly<Record<string, unknown>>): ReadonlyArray<JsonObject> {
  const { cloud, sites } = management;
  const said = String(parameters['resourceGroupName'] ?? '');
  const group = said === '' ? `rg-nodewright-${String(parameters['environmentName'])}` : said;
  const isThere = cloud.groups.has(group.toLowerCase());
  const subscription = `/subscriptions/${cloud.options.subscriptionId}`;
  const ids = isThere
    ? [...sites.values()].map(({ id }) => id)
    : [`${subscription}/resourceGroups/${group}`, cloud.idOf('Microsoft.Web/sites', group, 'func-nodewright')];
  return ids.map((resourceId) => ({ resourceId, changeType: isThere ? 'NoChange' : 'Create' }));
}
