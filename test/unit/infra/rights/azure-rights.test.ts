import { expect, test } from 'vitest';
import { actionsOfCalls, callsInSource, linkedActions, nameOf } from '../../../kit/infra/azure-calls.ts';
import { parseAll, readTexts } from '../../../kit/infra/bicep/parse.ts';
import { roleFaults } from '../../../kit/infra/bicep/check-roles.ts';

const needed = new Map([...(await actionsOfCalls()), ...linkedActions()]);

test('the roles of the functions have what the calls in the source need, and nothing else', () => {
  expect(roleFaults(parseAll(readTexts()), needed)).toEqual([]);
});

test('each right is there for a call', () => {
  expect(Object.fromEntries(needed)).toEqual({
    'a body that names a Microsoft.Compute/diskEncryptionSets': 'Microsoft.Compute/diskEncryptionSets/read',
    'a body that names a Microsoft.ManagedIdentity/userAssignedIdentities':
      'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action',
    'a body that names a Microsoft.Network/loadBalancers/backendAddressPools':
      'Microsoft.Network/loadBalancers/backendAddressPools/join/action',
    'a body that names a Microsoft.Network/networkInterfaces': 'Microsoft.Network/networkInterfaces/join/action',
    'a body that names a Microsoft.Network/networkSecurityGroups':
      'Microsoft.Network/networkSecurityGroups/join/action',
    'a body that names a Microsoft.Network/virtualNetworks/subnets':
      'Microsoft.Network/virtualNetworks/subnets/join/action',
    'compute.communityGalleryImageVersions.list': 'Microsoft.Compute/locations/communityGalleries/images/versions/read',
    'compute.diskEncryptionSets.get': 'Microsoft.Compute/diskEncryptionSets/read',
    'compute.resourceSkus.list': 'Microsoft.Compute/skus/read',
    'compute.usage.list': 'Microsoft.Compute/locations/usages/read',
    'containers.maintenanceConfigurations.get':
      'Microsoft.ContainerService/managedClusters/maintenanceConfigurations/read',
    'compute.virtualMachineExtensions.createOrUpdate': 'Microsoft.Compute/virtualMachines/extensions/write',
    'compute.virtualMachines.createOrUpdate': 'Microsoft.Compute/virtualMachines/write',
    'compute.virtualMachines.delete': 'Microsoft.Compute/virtualMachines/delete',
    'compute.virtualMachines.get': 'Microsoft.Compute/virtualMachines/read',
    'compute.virtualMachines.list': 'Microsoft.Compute/virtualMachines/read',
    'graph.resources': 'Microsoft.ResourceGraph/resources/read',
    'network.loadBalancers.list': 'Microsoft.Network/loadBalancers/read',
    'network.networkInterfaces.createOrUpdate': 'Microsoft.Network/networkInterfaces/write',
    'network.networkInterfaces.delete': 'Microsoft.Network/networkInterfaces/delete',
    'network.networkInterfaces.get': 'Microsoft.Network/networkInterfaces/read',
    'network.networkInterfaces.list': 'Microsoft.Network/networkInterfaces/read',
    'network.networkSecurityGroups.list': 'Microsoft.Network/networkSecurityGroups/read',
    'network.subnets.get': 'Microsoft.Network/virtualNetworks/subnets/read',
    'network.virtualNetworks.get': 'Microsoft.Network/virtualNetworks/read',
  });
});

test('a call that is new is not passed over', async () => {
  const added = { client: 'compute', group: 'virtualMachines', operation: 'deallocate' };
  await expect(actionsOfCalls([...callsInSource(), added])).rejects.toThrow(
    'compute.virtualMachines.deallocate is new',
  );
});

test('every sort of call is found, so that the tests above say something', () => {
  expect(new Set(callsInSource().map((call) => nameOf(call).split('.')[0]))).toEqual(
    new Set(['compute', 'containers', 'network', 'graph']),
  );
});

test.for([
  [
    'modules/access/machine-role.bicep',
    "          'Microsoft.Compute/virtualMachines/delete'\n",
    '',
    'compute.virtualMachines.delete needs',
  ],
  [
    'modules/access/machine-role.bicep',
    "'Microsoft.Network/networkInterfaces/join/action'",
    "'Microsoft.Network/networkInterfaces/*'",
    'grants more than one thing',
  ],
  [
    'modules/access/machine-role.bicep',
    "'Microsoft.Compute/virtualMachines/read'",
    "'Microsoft.Compute/virtualMachines/read'\n          'Microsoft.Compute/disks/delete'",
    'no call needs Microsoft.Compute/disks/delete',
  ],
  [
    'modules/access/machine-role.bicep',
    "'Microsoft.Compute/virtualMachines/read'",
    "'Microsoft.Compute/virtualMachines/read'\n          'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action'",
    'reaches identities that are not the kubelet’s',
  ],
  [
    'modules/access/region-role.bicep',
    "'Microsoft.Compute/skus/read'",
    "'Microsoft.Compute/skus/read'\n          'Microsoft.Compute/virtualMachines/read'",
    'could be granted at a smaller scope',
  ],
  [
    'modules/access/subnet-role.bicep',
    "subnets/join/action'",
    "subnets/join/action'\n          'Microsoft.Compute/skus/read'",
    'is not in modules/access/machine-role.bicep',
  ],
] as const)('a role that is broken is found out: %s, %s', ([path, from, to, said]) => {
  const texts = readTexts();
  const text = texts[path] ?? '';
  expect(text).toContain(from);
  expect(roleFaults(parseAll({ ...texts, [path]: text.replace(from, to) }), needed).join('\n')).toContain(said);
});
