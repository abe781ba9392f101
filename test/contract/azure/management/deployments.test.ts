import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAzure } from '../../../../sandbox/azure/azure.ts';
import type { Azure } from '../../../../sandbox/azure/running-azure.ts';
import { azureDefaults } from '../../../../sandbox/azure/state/options.ts';
import { systemClock } from '../../../../sandbox/base/clock.ts';
import { rngFrom } from '../../../../sandbox/base/rng.ts';
import { parseAll, readTexts } from '../../../kit/infra/bicep/parse.ts';

/** The management plane of the double, by HTTP alone: the real az has its own suite, which needs az. */
let azure: Azure;
beforeAll(async () => {
  azure = await startAzure({
    ...azureDefaults,
    port: 0,
    clock: systemClock,
    rng: rngFrom('deployments'),
    cluster: 'plain',
  });
});
afterAll(() => azure.close());

const subscription = `/subscriptions/${azureDefaults.subscriptionId}`;
const cluster = `${subscription}/resourceGroups/${azureDefaults.clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${azureDefaults.clusterName}`;
const deployment = `${subscription}/providers/Microsoft.Resources/deployments/nodewright`;

const main = parseAll(readTexts()).get('main.bicep');
const template = {
  parameters: {
    environmentName: { type: 'string', minLength: 1 },
    location: { type: 'string' },
    clusterResourceId: { type: 'string' },
    createRegistry: { type: 'bool', defaultValue: true },
    azureEvents: { type: 'bool', defaultValue: true },
    currency: { type: 'string', defaultValue: 'USD', allowedValues: ['USD', 'EUR'] },
    existingHealthTopicResourceId: { type: 'string', defaultValue: '' },
    existingDeletionTopicResourceId: { type: 'string', defaultValue: '' },
  },
  outputs: Object.fromEntries([...(main?.outputs.keys() ?? [])].map((name) => [name, { type: 'string' }])),
};
const parameters = {
  environmentName: { value: 'test' },
  location: { value: 'westeurope' },
  clusterResourceId: { value: cluster },
};

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

async function ask(method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${path.startsWith('http') ? '' : azure.endpoint}${path}`, {
    method,
    headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? null : (JSON.parse(text) as unknown),
  };
}

const at = (path: string): string => `${path}?api-version=2025-04-01`;
const sent = (values: object): object => ({
  location: 'westeurope',
  properties: { mode: 'Incremental', template, parameters: values },
});

async function follow({ headers }: Answer): Promise<unknown> {
  const status = headers.get('azure-asyncoperation') ?? '';
  await ask('GET', status);
  return (await ask('GET', status)).body;
}

test.each([
  ['that the template has not', { ...parameters, nothing: { value: 'x' } }, 'nothing'],
  ['that is left out', { location: parameters.location }, 'environmentName'],
  ['of the wrong type', { ...parameters, createRegistry: { value: 'yes' } }, 'createRegistry'],
  ['that is not allowed', { ...parameters, currency: { value: 'XYZ' } }, 'currency'],
])('a parameter %s is refused, and nothing is made', async (_what, values, name) => {
  const { status, body } = await ask('PUT', at(deployment), sent(values));
  expect(body).toMatchObject({ error: { code: 'InvalidTemplate', message: expect.stringContaining(name) } });
  expect(status).toBe(400);
  expect(azure.management.deployments.size).toBe(0);
});

test('an operation that is to fail leaves a deployment that says why, and nothing that it makes', async () => {
  azure.orderFault({
    method: 'PUT',
    pathContains: '/deployments/',
    times: 1,
    fault: { kind: 'failedOperation', code: 'QuotaExceeded', message: 'no room' },
  });
  const put = await ask('PUT', at(deployment), sent(parameters));
  expect(put.status).toBe(201);
  expect(await follow(put)).toMatchObject({ status: 'Failed', error: { code: 'DeploymentFailed' } });
  expect((await ask('GET', at(deployment))).body).toMatchObject({
    properties: {
      provisioningState: 'Failed',
      error: { details: [{ details: [{ code: 'QuotaExceeded', message: 'no room' }] }] },
    },
  });
  expect(azure.management.sites.size).toBe(0);
});

test('the same deployment, sent again, makes what infra/main.bicep names, and once', async () => {
  for (const status of [200, 200]) {
    const put = await ask('PUT', at(deployment), sent(parameters));
    expect(put.status).toBe(status);
    expect(await follow(put)).toMatchObject({ status: 'Succeeded' });
  }
  const { body } = await ask('GET', at(deployment));
  const { properties } = body as { readonly properties: { readonly outputs: Readonly<Record<string, unknown>> } };
  expect(Object.keys(properties.outputs).map((name) => name.toUpperCase())).toEqual(Object.keys(template.outputs));
  const { cloud, identities, registries, roleAssignments, sites } = azure.management;
  expect([cloud.groups, identities, registries, sites].map(({ size }) => size)).toEqual([1, 1, 1, 1]);
  expect(roleAssignments.size).toBe(4);
  expect((await ask('POST', at(`${deployment}/exportTemplate`))).body).toEqual({ template });
});

test('a chart has the values that it was installed with last, one file over the other, until it goes', () => {
  const { inCluster } = azure.management;
  const run = (command: string, files: Readonly<Record<string, string>> = {}): unknown => {
    const sentAlong = new Map(Object.entries(files).map(([name, text]) => [name, () => text]));
    return inCluster.run(command, { mayAdminister: true, files: sentAlong });
  };
  const values = 'helm get values nodewright --namespace x --output json';
  expect(run(values)).toEqual({ exitCode: 1, logs: 'Error: release: not found\n' });
  const install =
    'helm upgrade --install nodewright chart --namespace x --values own.yaml --values deployed-values.json';
  const files = { 'chart/Chart.yaml': '', 'own.yaml': 'image:\n  tag: own\n  pullPolicy: Always\n' };
  expect(run(install, files)).toMatchObject({ exitCode: 1, logs: expect.stringContaining('deployed-values.json') });
  run(install, { ...files, 'deployed-values.json': '{"image":{"tag":"new"}}' });
  expect(run(values)).toEqual({ exitCode: 0, logs: '{"image":{"tag":"new","pullPolicy":"Always"}}\n' });
  run('helm uninstall nodewright --ignore-not-found --namespace x');
  expect(run(values)).toMatchObject({ exitCode: 1 });
});

test('a command in the cluster ends as a shell would, and nobody who is no administrator installs a chart', async () => {
  azure.management.cloud.clusterProperties = {};
  const run = await ask('POST', `${cluster}/runCommand?api-version=2026-05-01`, {
    command: 'kubectl auth can-i create namespaces; echo ---; helm upgrade --install nodewright chart --namespace x',
  });
  expect(run.status).toBe(202);
  const result = run.headers.get('location') ?? '';
  expect((await ask('GET', result)).status).toBe(202);
  expect((await ask('GET', result)).body).toMatchObject({
    properties: { exitCode: 1, logs: expect.stringMatching(/^no\n---\nError from server \(Forbidden\)/) },
  });
  expect(azure.management.inCluster.isInstalled).toBe(false);
});

test('a cluster’s body is held against its type', async () => {
  const { status, body } = await ask('PUT', `${cluster}?api-version=2026-05-01`, {
    location: 'westeurope',
    properties: { oidcIssuerProfile: { enable: true } },
  });
  expect(body).toMatchObject({ error: { message: expect.stringContaining("'enable'") } });
  expect(status).toBe(400);
});

test('a resource group goes with what is in it, and the cluster’s stays', async () => {
  const [name = ''] = azure.management.cloud.groups.keys();
  const gone = await ask('DELETE', at(`${subscription}/resourceGroups/${name}`));
  const result = gone.headers.get('location') ?? '';
  expect([gone.status, (await ask('GET', result)).status, (await ask('GET', result)).status]).toEqual([202, 202, 200]);
  expect(azure.management.sites.size).toBe(0);
  expect((await ask('DELETE', at(`${subscription}/resourceGroups/${azureDefaults.resourceGroup}`))).status).toBe(409);
});
