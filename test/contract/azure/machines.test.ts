import { restorePoller } from '@azure/arm-compute';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nicBody, nicId, vmBody } from './bodies.ts';
import { computeClient, group, promptly, startWithClients } from './clients.ts';

type Running = Awaited<ReturnType<typeof startWithClients>>;
let running: Running;

beforeAll(async () => {
  running = await startWithClients({});
});
afterAll(() => running.azure.close());

async function putNic(name: string): Promise<void> {
  await running.network.networkInterfaces.createOrUpdate(group, name, nicBody(name), promptly);
}

async function launch(name: string, change: Parameters<typeof vmBody>[1] = {}): Promise<void> {
  await putNic(name);
  await running.compute.virtualMachines.createOrUpdate(group, name, vmBody(name, change), promptly);
}

test('a VM that is awaited has succeeded and runs', async () => {
  await putNic('aks-a');
  const { compute } = running;
  const vm = await compute.virtualMachines.createOrUpdate(group, 'aks-a', vmBody('aks-a'), promptly);
  expect(vm.provisioningState).toBe('Succeeded');
  expect(vm.zones).toEqual(['1']);
  const view = await compute.virtualMachines.get(group, 'aks-a', { expand: 'instanceView' });
  expect(view.instanceView?.statuses?.map(({ code }) => code)).toContain('PowerState/running');
  expect(view.timeCreated).toBeInstanceOf(Date);
});

test('a VM never shows its custom data again', async () => {
  await launch('aks-secret');
  const vm = await running.compute.virtualMachines.get(group, 'aks-secret');
  expect(vm.osProfile?.computerName).toBe('aks-secret');
  expect(vm.osProfile?.customData).toBeUndefined();
});

test('deleting a VM deletes its network interface and its disk', async () => {
  await launch('aks-b');
  const { compute, network } = running;
  expect((await compute.disks.get(group, 'aks-b')).managedBy).toContain('aks-b');
  await compute.virtualMachines.delete(group, 'aks-b', { forceDeletion: true, ...promptly });
  const gone = { code: 'ResourceNotFound', statusCode: 404 };
  await expect(compute.virtualMachines.get(group, 'aks-b')).rejects.toMatchObject(gone);
  await expect(network.networkInterfaces.get(group, 'aks-b')).rejects.toMatchObject(gone);
  await expect(compute.disks.get(group, 'aks-b')).rejects.toMatchObject(gone);
});

test('deleting what is not there is done at once', async () => {
  await running.compute.virtualMachines.delete(group, 'aks-never', promptly);
  await running.network.networkInterfaces.delete(group, 'aks-never', promptly);
});

test('an identical PUT changes nothing and makes no second VM', async () => {
  await launch('aks-twice');
  const first = await running.compute.virtualMachines.get(group, 'aks-twice');
  await running.compute.virtualMachines.createOrUpdate(group, 'aks-twice', vmBody('aks-twice'), promptly);
  const second = await running.compute.virtualMachines.get(group, 'aks-twice');
  expect(second.vmId).toBe(first.vmId);
  const counters = running.azure.counters();
  expect(counters.vmPuts['aks-twice']).toBe(2);
  expect(counters.creations['aks-twice']).toBe(1);
});

test('two PUTs of one VM at the same time follow one creation', async () => {
  await putNic('aks-race');
  const put = (): PromiseLike<{ readonly vmId?: string }> =>
    running.compute.virtualMachines.createOrUpdate(group, 'aks-race', vmBody('aks-race'), promptly);
  const [one, two] = await Promise.all([put(), put()]);
  expect(one.vmId).toBe(two.vmId);
  expect(running.azure.counters().creations['aks-race']).toBe(1);
});

test('If-None-Match creates once', async () => {
  await launch('aks-once');
  const again = running.compute.virtualMachines.createOrUpdate(group, 'aks-once', vmBody('aks-once'), {
    ...promptly,
    ifNoneMatch: '*',
  });
  await expect(again).rejects.toMatchObject({ statusCode: 412 });
});

test.for([
  ['the zone', { zone: '2' }],
  ['the priority', { spot: true }],
  ['the custom data', { customData: 'b3RoZXI=' }],
] as const)('a PUT that changes %s is refused', async ([what, change]) => {
  const name = `aks-fixed-${what.replaceAll(' ', '-')}`;
  await launch(name);
  const changed = running.compute.virtualMachines.createOrUpdate(group, name, vmBody(name, change), promptly);
  await expect(changed).rejects.toMatchObject({ code: 'PropertyChangeNotAllowed', statusCode: 409 });
});

test('a poller can be given up and taken on by another client', async () => {
  await putNic('aks-handover');
  const poller = running.compute.virtualMachines.createOrUpdate(
    group,
    'aks-handover',
    vmBody('aks-handover'),
    promptly,
  );
  const state = await poller.serialize();
  const other = computeClient(running.azure.endpoint);
  const vm = await restorePoller(other, state, other.virtualMachines.createOrUpdate, promptly);
  expect(vm.provisioningState).toBe('Succeeded');
});

test('a VM that is being deleted can be deleted again, and nothing else', async () => {
  await launch('aks-dying');
  const { virtualMachines } = running.compute;
  running.azure.orderFault({ method: 'GET', pathContains: '/operations/', times: 1, fault: { kind: 'slow', ms: 1 } });
  const first = virtualMachines.delete(group, 'aks-dying', promptly);
  await first.submitted();
  const state = await virtualMachines.get(group, 'aks-dying').catch(() => null);
  if (state !== null) expect(state.provisioningState).toBe('Deleting');
  await virtualMachines.delete(group, 'aks-dying', promptly);
  await first;
  expect(running.azure.counters().vms.filter(({ name }) => name === 'aks-dying')).toHaveLength(1);
});

test('tags are changed without touching the VM', async () => {
  await launch('aks-tags');
  const tags = { 'karpenter.sh_nodepool': 'other' };
  await running.compute.virtualMachines.update(group, 'aks-tags', { tags }, promptly);
  await running.network.networkInterfaces.updateTags(group, 'aks-tags', { tags });
  expect((await running.compute.virtualMachines.get(group, 'aks-tags')).tags).toEqual(tags);
  expect((await running.network.networkInterfaces.get(group, 'aks-tags')).tags).toEqual(tags);
});

test('lists are followed over their pages', async () => {
  const small = await startWithClients({ pageSize: 2 });
  for (const name of ['aks-1', 'aks-2', 'aks-3', 'aks-4', 'aks-5'])
    await small.network.networkInterfaces.createOrUpdate(group, name, nicBody(name), promptly);
  const names: Array<string | undefined> = [];
  for await (const nic of small.network.networkInterfaces.list(group)) names.push(nic.name);
  expect(names).toEqual(['aks-1', 'aks-2', 'aks-3', 'aks-4', 'aks-5']);
  await small.azure.close();
});

test('an extension is made on a VM and keeps its protected settings to itself', async () => {
  await launch('aks-extended');
  const { virtualMachineExtensions } = running.compute;
  const extension = await virtualMachineExtensions.createOrUpdate(
    group,
    'aks-extended',
    'cse',
    {
      location: 'westeurope',
      publisher: 'Microsoft.Azure.Extensions',
      typePropertiesType: 'CustomScript',
      typeHandlerVersion: '2.0',
      settings: {},
      protectedSettings: { commandToExecute: 'true' },
    },
    promptly,
  );
  expect(extension.provisioningState).toBe('Succeeded');
  expect((await virtualMachineExtensions.get(group, 'aks-extended', 'cse')).protectedSettings).toBeUndefined();
});

test('a network interface in use cannot be deleted', async () => {
  await launch('aks-used');
  const refused = running.network.networkInterfaces.delete(group, 'aks-used', promptly);
  await expect(refused).rejects.toMatchObject({ code: 'NicInUse' });
});

test('a network interface left by a VM is kept for that VM a while', async () => {
  await launch('aks-left', { nicDeleteOption: 'Detach' });
  await running.compute.virtualMachines.delete(group, 'aks-left', promptly);
  const refused = running.network.networkInterfaces.delete(group, 'aks-left', promptly);
  await expect(refused).rejects.toMatchObject({ code: 'NicReservedForAnotherVm' });
  await running.compute.virtualMachines.createOrUpdate(group, 'aks-left', vmBody('aks-left'), promptly);
});

test('a network interface names the backend pool that is missing', async () => {
  const body = nicBody('aks-lost');
  const missing = nicId('x').replace('networkInterfaces/x', 'loadBalancers/kubernetes/backendAddressPools/gone');
  const [configuration] = body.ipConfigurations ?? [];
  const broken = {
    ...body,
    ipConfigurations: [{ ...configuration, loadBalancerBackendAddressPools: [{ id: missing }] }],
  };
  const refused = running.network.networkInterfaces.createOrUpdate(group, 'aks-lost', broken, promptly);
  await expect(refused).rejects.toMatchObject({
    code: 'InvalidResourceReference',
    message: expect.stringContaining(missing),
  });
});

test('a VM without its network interface is refused', async () => {
  const refused = running.compute.virtualMachines.createOrUpdate(group, 'aks-bare', vmBody('aks-bare'), promptly);
  await expect(refused).rejects.toMatchObject({ code: 'InvalidResourceReference' });
  expect(running.azure.counters().creations['aks-bare']).toBeUndefined();
});
