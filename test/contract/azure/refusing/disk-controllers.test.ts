import { afterEach, beforeAll, afterAll, expect, test } from 'vitest';
import { nicBody, vmBody } from '../kit/bodies.ts';
import { group, promptly, startWithClients } from '../kit/clients.ts';
import { putVm, refuse, expectRefused } from '../kit/refused.ts';

let running: Awaited<ReturnType<typeof startWithClients>>;

beforeAll(async () => {
  running = await startWithClients({});
  await running.network.networkInterfaces.createOrUpdate(group, 'aks-n', nicBody('aks-n'), promptly);
});
afterAll(() => running.azure.close());
afterEach(() => {
  running.azure.setImageDiskControllers(['SCSI', 'NVMe']);
});

async function controllersOf(size: string): Promise<string | null> {
  for await (const sku of running.compute.resourceSkus.list({ filter: "location eq 'westeurope'" }))
    if (sku.name === size) return sku.capabilities?.find(({ name }) => name === 'DiskControllerTypes')?.value ?? null;
  throw new Error(`There is no ${size}.`);
}

test.for([
  ['Standard_D2as_v6', 'NVMe'],
  ['Standard_D2ads_v7', 'NVMe'],
  ['Standard_L8s_v4', 'NVMe'],
  ['Standard_E8bds_v5', 'SCSI,NVMe'],
  ['Standard_D2s_v5', null],
  ['Standard_L8s_v3', null],
  ['Standard_NC24ads_A100_v4', null],
] as const)('the list says of %s that its disk controllers are %s', async ([size, controllers]) => {
  expect(await controllersOf(size)).toBe(controllers);
});

test('an image of before 2026-04, tagged for SCSI alone, boots on no size with NVMe alone, and Azure blames the size', async () => {
  running.azure.setImageDiskControllers(['SCSI']);
  const size = { 'properties.hardwareProfile.vmSize': 'Standard_D2ads_v6', zones: ['2'] };
  await expectRefused(
    putVm(running.azure, 'aks-n', size),
    refuse(400, 'InvalidParameter', /The VM size 'Standard_D2ads_v6' cannot boot with OS image or disk\. /, 'vmSize'),
  );
});

test.for(['Standard_E8bds_v5', 'Standard_D2s_v5'])('the same image boots on %s', async (size) => {
  running.azure.setImageDiskControllers(['SCSI']);
  const name = `aks-${size.toLowerCase().replaceAll('_', '-')}`;
  await running.network.networkInterfaces.createOrUpdate(group, name, nicBody(name), promptly);
  const vm = await running.compute.virtualMachines.createOrUpdate(group, name, vmBody(name, { size }), promptly);
  expect(vm.storageProfile?.diskControllerType).toBe('SCSI');
});

test('an image of now boots on both, with the controller of the size', async () => {
  const vm = await running.compute.virtualMachines.createOrUpdate(
    group,
    'aks-n',
    vmBody('aks-n', { size: 'Standard_D2ads_v6', zone: '2' }),
    promptly,
  );
  expect(vm.storageProfile?.diskControllerType).toBe('NVMe');
});

test('what images are tagged for is steered from another process', async () => {
  const steer = (types: ReadonlyArray<string>): Promise<Response> =>
    fetch(`${running.azure.endpoint}/sandbox/image-disk-controllers`, {
      method: 'POST',
      body: JSON.stringify({ types }),
    });
  expect((await steer(['SCSI'])).status).toBe(204);
  const refused = running.compute.virtualMachines.createOrUpdate(
    group,
    'aks-late',
    vmBody('aks-late', { size: 'Standard_D2ads_v6', zone: '2' }),
    promptly,
  );
  await expect(refused).rejects.toMatchObject({ code: 'InvalidParameter' });
  expect((await steer(['IDE'])).status).toBe(400);
  expect((await steer([])).status).toBe(400);
});
