import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kubeletIdentity } from '../../../../sandbox/azure/state/kubelet-identity.ts';
import { azureDefaults, quickLatency } from '../../../../sandbox/azure/state/options.ts';
import { billing, nicBody, nicId, poolId, subnetId, vmBody } from '../kit/bodies.ts';
import { computeClient, group, networkClient, promptly, startWithClients, subscriptionId } from '../kit/clients.ts';
import { altering, type Case, type Change, expectRefused, putNic, putVm, refuse } from '../kit/refused.ts';

let running: Awaited<ReturnType<typeof startWithClients>>;

beforeAll(async () => {
  running = await startWithClients({});
  await running.network.networkInterfaces.createOrUpdate(group, 'aks-node', nicBody('aks-node'), promptly);
  await running.compute.virtualMachines.createOrUpdate(group, 'aks-node', vmBody('aks-node'), promptly);
});
afterAll(() => running.azure.close());

const configurations = (...list: ReadonlyArray<object>): Change => ({ 'properties.ipConfigurations': list });
const configuration = (name: string, more: object = {}): object => ({
  name,
  properties: { subnet: { id: subnetId }, ...more },
});
const other = (id: string): string => id.replace(/[^/]+$/, 'other');

const nics: ReadonlyArray<Case> = [
  [
    'a foreign member',
    { 'properties.odd': 1 },
    refuse(
      400,
      'InvalidRequestFormat',
      /Could not find member 'odd' on object of type 'Properties'. Path 'properties.odd'/,
    ),
  ],
  [
    'two misfits, which are both named',
    { 'properties.odd': 1, 'properties.enableIPForwarding': 'no' },
    refuse(400, 'InvalidRequestFormat', /is no boolean[^]*'odd' on object/),
  ],
  [
    'a foreign member of the root',
    { zones: ['1'] },
    refuse(400, 'InvalidRequestContent', /'zones' on object of type 'ResourceDefinition'/),
  ],
  ['no location', { location: undefined }, refuse(400, 'LocationRequired', /location property is required/)],
  [
    'a region that Azure has not',
    { location: 'atlantis' },
    refuse(400, 'LocationNotAvailableForResourceType', /'atlantis'/),
  ],
  [
    'another region than its subnet’s',
    { location: 'northeurope' },
    refuse(400, 'InvalidResourceReference', /aks-subnet.*same region/),
  ],
  ['a slash in a tag’s name', { tags: { 'a/b': 'c' } }, refuse(400, 'InvalidTagNameCharacters', /a\/b/)],
  [
    'no IP configuration',
    configurations(),
    refuse(400, 'NetworkInterfaceMustHaveIpConfigurationOrAttachedElasticNetworkInterface', /at least one/),
  ],
  [
    'an IP configuration without a name',
    configurations({ properties: { subnet: { id: subnetId } } }),
    refuse(400, 'InvalidResourceName', /name {2}is invalid/),
  ],
  [
    'an IP configuration without a subnet',
    configurations({ name: 'a', properties: {} }),
    refuse(400, 'SubnetIsRequired', /Subnet reference is required for ipconfiguration .*ipConfigurations\/a/),
  ],
  [
    'two IP configurations of one name',
    configurations(configuration('a', { primary: true }), configuration('a')),
    refuse(400, 'DuplicateResourceName', /same name \(a\)/),
  ],
  [
    'two IP configurations and no primary one',
    configurations(configuration('a'), configuration('b')),
    refuse(400, 'NetworkInterfaceMustHaveOnePrimaryIpConfiguration', /exactly one primary/),
  ],
  [
    'a subnet that there is not',
    configurations(configuration('a', { subnet: { id: other(subnetId) } })),
    refuse(400, 'InvalidResourceReference', /subnets\/other referenced by/),
  ],
  [
    'a backend pool that there is not',
    configurations(configuration('a', { loadBalancerBackendAddressPools: [{ id: other(poolId) }] })),
    refuse(400, 'InvalidResourceReference', /backendAddressPools\/other referenced by/),
  ],
  [
    'a security group that there is not',
    { 'properties.networkSecurityGroup': { id: nicId('group') } },
    refuse(400, 'InvalidResourceReference', /group referenced by/),
  ],
];

test.for(nics)('a network interface with %s is refused', async ([, change, refusal]) => {
  await expectRefused(putNic(running.azure, 'aks-odd', change), refusal);
});

test.for(['-a', 'a-', 'a'.repeat(81)])('a network interface cannot be called %s', async (name) => {
  await expectRefused(putNic(running.azure, name, {}), refuse(400, 'InvalidResourceName', /up to 80 characters/));
});

test('a network interface of one VM cannot be another’s', async () => {
  const change = { 'properties.networkProfile.networkInterfaces': [{ id: nicId('aks-node') }] };
  const refusal = refuse(400, 'NicInUse', /aks-node is used by existing resource .*virtualMachines\/aks-node/);
  await expectRefused(putVm(running.azure, 'aks-other', change), refusal);
});

const missing = kubeletIdentity({ ...azureDefaults, clusterName: 'other' }).resourceId;
const changes: ReadonlyArray<Case> = [
  ['a foreign member', { 'properties.odd': 1 }, refuse(400, 'BadRequest', /Could not find member 'odd'/)],
  [
    'a location, which is no part of it',
    { location: 'westeurope' },
    refuse(400, 'InvalidRequestContent', /'location'/),
  ],
  ['a slash in a tag’s name', { tags: { 'a/b': 'c' } }, refuse(400, 'InvalidTagNameCharacters', /a\/b/)],
  [
    'an identity that there is not',
    { identity: { type: 'UserAssigned', userAssignedIdentities: { [missing]: {} } } },
    refuse(400, 'FailedIdentityOperation', /other-agentpool' was not found/),
  ],
];

test.for(changes)('a change of a VM with %s is refused', async ([, change, refusal]) => {
  await expectRefused((seen) => {
    const { virtualMachines } = computeClient(running.azure.endpoint, seen, altering(change));
    return virtualMachines.update(group, 'aks-node', { tags: {} }, promptly).then(String);
  }, refusal);
});

test('a VM that there is keeps to the rules for tags and identities', async () => {
  const [, , tags, identity] = changes;
  for (const one of [tags, identity])
    if (one !== undefined) await expectRefused(putVm(running.azure, 'aks-node', one[1]), one[2]);
});

const tagChanges: ReadonlyArray<Case> = [
  [
    'more than tags',
    { properties: {} },
    refuse(400, 'InvalidRequestContent', /'properties' on object of type 'ResourceDefinition'/),
  ],
  ['a slash in a name', { tags: { 'a/b': 'c' } }, refuse(400, 'InvalidTagNameCharacters', /a\/b/)],
];

test.for(tagChanges)('a change of a network interface’s tags with %s is refused', async ([, change, refusal]) => {
  await expectRefused((seen) => {
    const { networkInterfaces } = networkClient(running.azure.endpoint, seen, altering(change));
    return networkInterfaces.updateTags(group, 'aks-node', { tags: {} }).then(String);
  }, refusal);
});

describe('an extension', () => {
  const put =
    (change: Change, vm = 'aks-node'): Parameters<typeof expectRefused>[0] =>
    (seen) => {
      const { virtualMachineExtensions } = computeClient(running.azure.endpoint, seen, altering(change));
      return virtualMachineExtensions.createOrUpdate(group, vm, billing.name, billing.body, promptly).then(String);
    };

  test.for([
    ['a foreign member', { 'properties.odd': 1 }, refuse(400, 'BadRequest', /Could not find member 'odd'/)],
    ['a number for a version', { 'properties.typeHandlerVersion': 1 }, refuse(400, 'BadRequest', /is no string but 1/)],
    ['no publisher', { 'properties.publisher': undefined }, refuse(400, 'InvalidParameter', /'publisher' is missing/)],
    ['no location', { location: undefined }, refuse(400, 'LocationRequired', /location/)],
    [
      'another region than its VM’s',
      { location: 'northeurope' },
      refuse(400, 'InvalidResourceReference', /aks-node referenced by/),
    ],
    ['a slash in a tag’s name', { tags: { 'a/b': 'c' } }, refuse(400, 'InvalidTagNameCharacters', /a\/b/)],
  ] satisfies ReadonlyArray<Case>)('with %s is refused', async ([, change, refusal]) => {
    await expectRefused(put(change), refusal);
  });

  test('that is changed has nothing foreign, and keeps what is not changed', async () => {
    const { endpoint } = running.azure;
    const plain = computeClient(endpoint).virtualMachineExtensions;
    await plain.createOrUpdate(group, 'aks-node', billing.name, billing.body, promptly);
    await expectRefused(
      (seen) => {
        const { virtualMachineExtensions } = computeClient(endpoint, seen, altering({ 'properties.odd': 1 }));
        return virtualMachineExtensions.update(group, 'aks-node', billing.name, {}, promptly).then(String);
      },
      refuse(400, 'BadRequest', /Could not find member 'odd'/),
    );
    const changed = await plain.update(group, 'aks-node', billing.name, { typeHandlerVersion: '1.1' }, promptly);
    expect(changed).toMatchObject({ publisher: 'Microsoft.AKS', typeHandlerVersion: '1.1' });
  });

  test('of a VM that there is not is refused', async () => {
    await expectRefused(put({}, 'aks-none'), refuse(404, 'ParentResourceNotFound', /virtualMachines\/aks-none/));
  });

  test('of a VM that does not run, or has no hardware yet, is refused', async () => {
    const refusal = refuse(409, 'OperationNotAllowed', /Cannot modify extensions in the VM when the VM is not running/);
    const slow = await startWithClients({ latency: { ...quickLatency, allocation: { minMs: 60_000, maxMs: 60_000 } } });
    await slow.network.networkInterfaces.createOrUpdate(group, 'aks-new', nicBody('aks-new'), promptly);
    await slow.compute.virtualMachines.createOrUpdate(group, 'aks-new', vmBody('aks-new')).submitted();
    await expectRefused((seen) => {
      const { virtualMachineExtensions } = computeClient(slow.azure.endpoint, seen);
      return virtualMachineExtensions.createOrUpdate(group, 'aks-new', billing.name, billing.body).then(String);
    }, refusal);
    await slow.azure.close();
  });
});

const inGroup = `/subscriptions/${subscriptionId}/resourceGroups/${group}`;

test.for([
  [
    'virtualMachines',
    `${inGroup}/providers/Microsoft.Compute/virtualMachines/x`,
    'NoRegisteredProviderFound',
    /type 'virtualMachines'.*2026-04-01/,
  ],
  [
    'network interfaces',
    `${inGroup}/providers/Microsoft.Network/networkInterfaces`,
    'NoRegisteredProviderFound',
    /2026-01-01/,
  ],
  [
    'sizes',
    `/subscriptions/${subscriptionId}/providers/Microsoft.Compute/skus`,
    'NoRegisteredProviderFound',
    /2021-07-01/,
  ],
  ['Resource Graph', '/providers/Microsoft.ResourceGraph/resources', 'NoRegisteredProviderFound', /2024-04-01/],
  ['locations', `/subscriptions/${subscriptionId}/locations`, 'InvalidApiVersionParameter', /2022-12-01/],
] as const)(
  'a version of the API that %s have not is refused, with those they have',
  async ([, path, code, message]) => {
    const headers = { authorization: 'Bearer x' };
    const answer = await fetch(`${running.azure.endpoint}${path}?api-version=2020-02-30`, { headers });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code, message: expect.stringMatching(message) } });
  },
);
