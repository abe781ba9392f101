import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Exhaustion } from '../../../../sandbox/azure/state/capacity.ts';
import { objectAt, type JsonObject } from '../../../../sandbox/azure/arm/json.ts';
import { azureDefaults, noFaults } from '../../../../sandbox/azure/state/options.ts';
import { nicBody, nicId, poolId, sshKey, subnetId, theDouble, vmBody } from '../kit/bodies.ts';
import { group, promptly, startWithClients, subscriptionId } from '../kit/clients.ts';

let running: Awaited<ReturnType<typeof startWithClients>>;

beforeEach(async () => {
  running = await startWithClients({});
});
afterEach(() => running.azure.close());

async function launch(name: string, change: Parameters<typeof vmBody>[1] = {}): Promise<unknown> {
  await running.network.networkInterfaces.createOrUpdate(group, name, nicBody(name), promptly);
  return running.compute.virtualMachines.createOrUpdate(group, name, vmBody(name, change), promptly);
}

/** The SDK throws a plain Error for an operation that failed: the code is in its message and nowhere else. */
function failedWith(code: string): string {
  return `The long-running operation has failed. ${code}. `;
}

const prefix = `/subscriptions/${subscriptionId}/resourceGroups/${group}/providers`;

const nothingLeft = { ...azureDefaults.quota, families: {} };

test.for([
  ['family', { ...nothingLeft, familyCores: 2 }, false, 'standardDSv5Family Cores quota'],
  ['regional', { ...nothingLeft, totalRegionalCores: 2 }, false, 'Total Regional Cores quota'],
  ['spot', { ...nothingLeft, lowPriorityCores: 2 }, true, 'LowPriorityCores'],
] as const)('the %s quota refuses at once, in words that tell it from the others', async ([, quota, spot, words]) => {
  running.azure.setQuota(quota);
  await launch('aks-fits', { spot });
  await expect(launch('aks-over', { spot })).rejects.toMatchObject({
    code: 'OperationNotAllowed',
    statusCode: 409,
    message: expect.stringContaining(words),
  });
  expect(running.azure.vms().map(({ name }) => name)).toEqual(['aks-fits']);
});

test('a deleted VM gives its quota back', async () => {
  running.azure.setQuota({ ...nothingLeft, familyCores: 2 });
  await launch('aks-first');
  await running.compute.virtualMachines.delete(group, 'aks-first', promptly);
  await launch('aks-second');
});

const exhausted = (code: Exhaustion['code']): Exhaustion => ({
  size: 'Standard_D2s_v5',
  zone: '1',
  capacityType: 'on-demand',
  code,
  remaining: 0,
});

test.for([
  'ZonalAllocationFailed',
  'AllocationFailed',
  'OverconstrainedZonalAllocationRequest',
  'OverconstrainedAllocationRequest',
] as const)('%s comes from the operation, and the failed VM stays until it is deleted', async (code) => {
  running.azure.exhaust(exhausted(code));
  await expect(launch('aks-full')).rejects.toThrow(failedWith(code));
  const view = await running.compute.virtualMachines.get(group, 'aks-full', { expand: 'instanceView' });
  expect(view.provisioningState).toBe('Failed');
  expect(view.instanceView?.statuses?.[0]?.code).toBe(`ProvisioningState/failed/${code}`);
  await running.compute.virtualMachines.delete(group, 'aks-full', promptly);
  expect(running.azure.vms()).toEqual([]);
});

test('SkuNotAvailable comes at once and leaves no VM', async () => {
  running.azure.exhaust(exhausted('SkuNotAvailable'));
  await expect(launch('aks-none')).rejects.toMatchObject({ code: 'SkuNotAvailable', statusCode: 409 });
  expect(running.azure.vms()).toEqual([]);
});

test('an exhausted zone leaves the others open, and ends when healed', async () => {
  running.azure.failZone('1');
  await expect(launch('aks-z1')).rejects.toThrow(failedWith('ZonalAllocationFailed'));
  await launch('aks-z2', { zone: '2' });
  running.azure.heal();
  await launch('aks-z1b');
});

test('capacity runs out after what remains', async () => {
  running.azure.exhaust({ ...exhausted('ZonalAllocationFailed'), remaining: 1 });
  await launch('aks-last');
  await expect(launch('aks-late')).rejects.toThrow(failedWith('ZonalAllocationFailed'));
});

test.for([
  ['an unknown size', { size: 'Standard_D3s_v99' }, 'InvalidParameter'],
  ['a size outside its zones', { size: 'Standard_D2as_v6' }, 'SkuNotAvailable'],
  [
    'a Spot VM of a size that cannot be Spot',
    { size: 'Standard_B1s', spot: true },
    'AzureSpotIsNotSupportedForThisVMSize',
  ],
] as const)('%s is refused', async ([, change, code]) => {
  await expect(launch('aks-odd', change)).rejects.toMatchObject({ code });
});

test('throttling is survived by the SDK, and tells when to come back', async () => {
  const refusal = { status: 429, code: 'TooManyRequests', message: 'slow down', retryAfterSeconds: 0 };
  running.azure.orderFault({
    method: 'PUT',
    pathContains: '/virtualMachines/',
    times: 2,
    fault: { kind: 'refuse', ...refusal },
  });
  await launch('aks-patient');
  expect(running.azure.counters().faults['refuse']).toBe(2);
});

test('a lost answer is followed by a second PUT and no second VM', async () => {
  running.azure.orderFault({
    method: 'PUT',
    pathContains: '/virtualMachines/',
    times: 1,
    fault: { kind: 'lostResponse' },
  });
  await launch('aks-lost');
  const counters = running.azure.counters();
  expect(counters.vmPuts['aks-lost']).toBe(2);
  expect(counters.creations['aks-lost']).toBe(1);
});

test('a VM that never reports fails its operation and goes on running', async () => {
  running.azure.setFaults({ ...noFaults, provisioningFailurePercent: 100 });
  await expect(launch('aks-mute')).rejects.toThrow(failedWith('OSProvisioningTimedOut'));
  expect(running.azure.vms()[0]).toMatchObject({ provisioningState: 'Failed', powerState: 'running' });
});

test.for([
  ['no api-version', 'GET', `/subscriptions/${subscriptionId}/locations`, {}, 400, 'MissingApiVersionParameter'],
  ['no token', 'GET', '/subscriptions/x/locations?api-version=1', { authorization: '' }, 401, 'AuthenticationFailed'],
  ['another subscription', 'GET', '/subscriptions/x/locations?api-version=1', {}, 404, 'SubscriptionNotFound'],
  [
    'another group',
    'GET',
    `/subscriptions/${subscriptionId}/resourceGroups/x/providers/Microsoft.Compute/disks?api-version=1`,
    {},
    404,
    'ResourceGroupNotFound',
  ],
  [
    'an unknown type',
    'GET',
    `/subscriptions/${subscriptionId}/resourceGroups/${group}/providers/Microsoft.Foo/bars?api-version=1`,
    {},
    404,
    'InvalidResourceType',
  ],
  [
    'broken JSON',
    'PUT',
    `/subscriptions/${subscriptionId}/resourceGroups/${group}/providers/Microsoft.Network/networkInterfaces/n?api-version=2026-01-01`,
    {},
    400,
    'InvalidRequestContent',
  ],
] as const)('a request with %s is refused in the form of ARM', async ([, method, path, headers, status, code]) => {
  const body = method === 'PUT' ? '{"location": ' : null;
  const answer = await fetch(running.azure.endpoint + path, {
    method,
    headers: { authorization: 'Bearer x', ...headers },
    body,
  });
  expect(answer.status).toBe(status);
  expect(await answer.json()).toEqual({ error: { code, message: expect.any(String) } });
  expect(answer.headers.get('x-ms-failure-cause')).toBe('gateway');
});

test('a backend pool that has gone is named, and the one that took its place is accepted', async () => {
  running.azure.setBackendPools(['kubernetes-2']);
  const { networkInterfaces } = running.network;
  const refused = networkInterfaces.createOrUpdate(group, 'aks-pool', nicBody('aks-pool'), promptly);
  await expect(refused).rejects.toMatchObject({ code: 'InvalidResourceReference' });
  const moved = nicBody('aks-pool', { ...theDouble, poolIds: [`${poolId}-2`] });
  await networkInterfaces.createOrUpdate(group, 'aks-pool', moved, promptly);
});

/** What is sent where, by API version; the fuzz replaces a member of it. */
const plausible: ReadonlyArray<{ readonly path: string; readonly version: string; readonly body: JsonObject }> = [
  {
    path: `${prefix}/Microsoft.Compute/virtualMachines/x`,
    version: '2026-04-01',
    body: {
      location: 'westeurope',
      zones: ['1'],
      tags: {},
      properties: {
        hardwareProfile: { vmSize: 'Standard_D2s_v5' },
        storageProfile: {
          imageReference: { id: 'image' },
          osDisk: { name: 'x', createOption: 'FromImage', deleteOption: 'Delete' },
        },
        osProfile: {
          adminUsername: 'azureuser',
          customData: 'eA==',
          linuxConfiguration: { disablePasswordAuthentication: true, ssh: { publicKeys: [sshKey] } },
        },
        networkProfile: { networkInterfaces: [{ id: nicId('x'), properties: { deleteOption: 'Delete' } }] },
      },
    },
  },
  {
    path: `${prefix}/Microsoft.Network/networkInterfaces/x`,
    version: '2026-01-01',
    body: {
      location: 'westeurope',
      tags: {},
      properties: { ipConfigurations: [{ name: 'x', properties: { subnet: { id: subnetId } } }] },
    },
  },
  {
    path: `${prefix}/Microsoft.Compute/virtualMachines/x/extensions/y`,
    version: '2026-04-01',
    body: {
      location: 'westeurope',
      properties: { publisher: 'Microsoft.AKS', type: 'Compute.AKS.Linux.Billing', typeHandlerVersion: '1.0' },
    },
  },
  { path: '/providers/Microsoft.ResourceGraph/resources', version: '2024-04-01', body: { query: 'resources' } },
  { path: '/%E0%A4%A/x', version: '1', body: {} },
];

const paintable = [
  'tags',
  'zones',
  'properties.ipConfigurations',
  'properties.networkSecurityGroup',
  'properties.networkProfile.networkInterfaces',
  'properties.networkProfile.networkInterfaceConfigurations',
  'properties.storageProfile.osDisk',
  'properties.storageProfile.osDisk.diskSizeGB',
  'properties.storageProfile.imageReference.id',
  'properties.osProfile',
  'properties.osProfile.linuxConfiguration.ssh.publicKeys',
  'properties.osProfile.customData',
  'properties.hardwareProfile',
  'properties.priority',
  'properties.typeHandlerVersion',
  'identity',
  'query',
] as const;

/** The value with another one at a dotted path. */
function replaced(value: JsonObject, path: string, other: unknown): JsonObject {
  const [key = '', ...rest] = path.split('.');
  const inner = rest.length === 0 ? other : replaced(objectAt(value, key), rest.join('.'), other);
  return { ...value, [key]: inner };
}

test('whatever a client sends, it gets an answer in the form of ARM', async () => {
  const members = fc.constantFrom('location', 'properties', 'tags', 'query', 'options');
  const replacement = fc.tuple(fc.constantFrom(...paintable), fc.jsonValue());
  const changes = fc.oneof(fc.dictionary(members, fc.jsonValue()), replacement, fc.constant(null));
  const seen = new Set<number>();
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('PUT', 'PATCH', 'POST', 'DELETE'),
      fc.constantFrom(...plausible),
      changes,
      async (method, { path, version, body }, change) => {
        const changed = Array.isArray(change) ? replaced(body, change[0], change[1]) : (change ?? body);
        const answer = await fetch(`${running.azure.endpoint}${path}?api-version=${version}`, {
          method,
          headers: { authorization: 'Bearer x' },
          body: JSON.stringify(changed),
        });
        const text = await answer.text();
        seen.add(answer.status);
        expect(answer.status).toBeLessThan(500);
        if (answer.status >= 400) expect(JSON.parse(text)).toHaveProperty('error.code');
      },
    ),
    { numRuns: 300 },
  );
  expect([...seen]).toEqual(expect.arrayContaining([200, 400, 404]));
});
