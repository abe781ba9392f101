import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { nicBody, nicId, vmBody } from '../kit/bodies.ts';
import { group, patient, promptly, startWithClients } from '../kit/clients.ts';

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

test('requests are counted by method and type, and say what is left of the budget', async () => {
  await launch('aks-counted');
  const { requests } = running.azure.counters();
  expect(requests['PUT virtualMachines']).toBeGreaterThan(0);
  expect(requests['PUT networkInterfaces']).toBeGreaterThan(0);
  const id = running.azure.vms().find(({ name }) => name === 'aks-counted')?.id ?? '';
  const headers = { authorization: 'Bearer x' };
  const answer = await fetch(`${running.azure.endpoint}${id}?api-version=2026-04-01`, { headers });
  expect(Number(answer.headers.get('x-ms-ratelimit-remaining-subscription-global-reads'))).toBeGreaterThan(0);
  expect(answer.headers.get('x-ms-ratelimit-remaining-resource')).toMatch(/^Microsoft\.Compute\/LowCostGetSubs/);
});

test('an operation can be followed by its Location, which answers 202 until the end', async () => {
  await launch('aks-monitored');
  const id = running.azure.vms().find(({ name }) => name === 'aks-monitored')?.id ?? '';
  const headers = { authorization: 'Bearer x' };
  const accepted = await fetch(`${running.azure.endpoint}${id}?api-version=2026-04-01`, { method: 'DELETE', headers });
  expect(accepted.status).toBe(202);
  const location = accepted.headers.get('location') ?? '';
  await vi.waitFor(async () => {
    const answer = await fetch(location, { headers });
    expect([200, 202]).toContain(answer.status);
    expect(answer.status).toBe(200);
  }, patient);
  const document = await (await fetch(accepted.headers.get('azure-asyncoperation') ?? '', { headers })).json();
  expect(document).toMatchObject({ status: 'Succeeded', endTime: expect.any(String) });
});
