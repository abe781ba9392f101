import { afterAll, beforeAll, expect, test } from 'vitest';
import { nicBody, vmBody } from './bodies.ts';
import { group, startWithClients } from './clients.ts';

type Running = Awaited<ReturnType<typeof startWithClients>>;
let running: Running;

beforeAll(async () => {
  running = await startWithClients({});
});
afterAll(() => running.azure.close());

async function launch(name: string, change: Parameters<typeof vmBody>[1] = {}): Promise<void> {
  await running.network.networkInterfaces.createOrUpdate(group, name, nicBody(name));
  await running.compute.virtualMachines.createOrUpdate(group, name, vmBody(name, change));
}

test('a VM that is awaited has succeeded and runs', async () => {
  const { network, compute } = running;
  await network.networkInterfaces.createOrUpdate(group, 'aks-a', nicBody('aks-a'));
  const vm = await compute.virtualMachines.createOrUpdate(group, 'aks-a', vmBody('aks-a'));
  expect(vm.provisioningState).toBe('Succeeded');
  expect(vm.zones).toEqual(['1']);
  const view = await compute.virtualMachines.get(group, 'aks-a', { expand: 'instanceView' });
  expect(view.instanceView?.statuses?.map(({ code }) => code)).toContain('PowerState/running');
});

test('deleting a VM deletes its network interface and its disk', async () => {
  await launch('aks-b');
  const { compute, network } = running;
  expect((await compute.disks.get(group, 'aks-b')).managedBy).toContain('aks-b');
  await compute.virtualMachines.delete(group, 'aks-b', { forceDeletion: true });
  await expect(compute.virtualMachines.get(group, 'aks-b')).rejects.toMatchObject({
    code: 'ResourceNotFound',
    statusCode: 404,
  });
  await expect(network.networkInterfaces.get(group, 'aks-b')).rejects.toMatchObject({ code: 'ResourceNotFound' });
  await expect(compute.disks.get(group, 'aks-b')).rejects.toMatchObject({ code: 'ResourceNotFound' });
});
