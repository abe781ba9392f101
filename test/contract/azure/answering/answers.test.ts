import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { kubeletIdentity } from '../../../../sandbox/azure/state/kubelet-identity.ts';
import { azureDefaults, noFaults, type AzureOptions } from '../../../../sandbox/azure/state/options.ts';
import { kindOf, misfitsOf, type Kind } from '../kit/answers.ts';
import { billing, nicBody, subnetId, vmBody } from '../kit/bodies.ts';
import { group, patient, promptly, startWithClients, subscriptionId } from '../kit/clients.ts';

let running: Awaited<ReturnType<typeof startWithClients>>;

const identity = {
  type: 'UserAssigned',
  userAssignedIdentities: { [kubeletIdentity(azureDefaults).resourceId]: {} },
} as const;

/**
 * Machines in every state there is: running with all a node has, failed, evicted, being deleted, and one without a
 * zone.
 */
beforeAll(async () => {
  running = await startWithClients({ pageSize: 2 });
  const { compute, azure } = running;
  await launch('aks-node', { spot: true, scheduledEvents: true }, { identity });
  await compute.virtualMachineExtensions.createOrUpdate(group, 'aks-node', billing.name, billing.body, promptly);
  await launch('aks-regional', { zone: null });
  azure.exhaust({ size: null, zone: '2', capacityType: null, code: 'AllocationFailed', remaining: 0 });
  await expect(launch('aks-failed', { zone: '2' })).rejects.toThrow('AllocationFailed');
  azure.setFaults({ ...noFaults, provisioningFailurePercent: 100 });
  await expect(launch('aks-mute')).rejects.toThrow('OSProvisioningTimedOut');
  azure.setFaults(noFaults);
  await launch('aks-evicted', { spot: true, evictionPolicy: 'Deallocate' });
  azure.evict('aks-evicted', { noticeSeconds: 0 });
  await vi.waitFor(async () => {
    const view = await compute.virtualMachines.instanceView(group, 'aks-evicted');
    expect(view.statuses?.at(-1)?.code).toBe('PowerState/deallocated');
  }, patient);
});
afterAll(() => running.azure.close());

async function launch(name: string, change: Parameters<typeof vmBody>[1] = {}, more: object = {}): Promise<unknown> {
  await running.network.networkInterfaces.createOrUpdate(group, name, nicBody(name), promptly);
  const body = { ...vmBody(name, change), ...more };
  return running.compute.virtualMachines.createOrUpdate(group, name, body, promptly);
}

const inGroup = `/subscriptions/${subscriptionId}/resourceGroups/${group}`;
const compute = `${inGroup}/providers/Microsoft.Compute`;
const network = `${inGroup}/providers/Microsoft.Network`;
const {
  clusterId,
  clusterResourceGroup,
  clusterName,
}: Pick<AzureOptions, 'clusterId' | 'clusterResourceGroup' | 'clusterName'> = azureDefaults;
const vnet = `${network}/virtualNetworks/aks-vnet-${clusterId}`;

const versions = { compute: '2026-04-01', network: '2026-01-01', cluster: '2026-05-01', group: '2025-04-01' } as const;

const paths: ReadonlyArray<readonly [path: string, version: keyof typeof versions, kind: Kind]> = [
  ...['aks-node', 'aks-regional', 'aks-failed', 'aks-mute', 'aks-evicted'].flatMap(
    (name) =>
      [
        [`${compute}/virtualMachines/${name}`, 'compute', 'vm'],
        [`${compute}/virtualMachines/${name}?$expand=instanceView`, 'compute', 'vm'],
        [`${compute}/virtualMachines/${name}/instanceView`, 'compute', 'instanceView'],
        [`${network}/networkInterfaces/${name}`, 'network', 'nic'],
      ] as const,
  ),
  [`${compute}/virtualMachines`, 'compute', 'vm'],
  [`/subscriptions/${subscriptionId}/providers/Microsoft.Compute/virtualMachines?statusOnly=true`, 'compute', 'vm'],
  [`${compute}/virtualMachines/aks-node/extensions`, 'compute', 'extension'],
  [`${compute}/virtualMachines/aks-node/extensions/${billing.name}`, 'compute', 'extension'],
  [`${network}/networkInterfaces`, 'network', 'nic'],
  [vnet, 'network', 'virtualNetwork'],
  [`${network}/virtualNetworks`, 'network', 'virtualNetwork'],
  [`${vnet}/subnets`, 'network', 'subnet'],
  [`${vnet}/subnets/aks-subnet`, 'network', 'subnet'],
  [`${network}/networkSecurityGroups`, 'network', 'securityGroup'],
  [`${network}/loadBalancers`, 'network', 'loadBalancer'],
  [inGroup, 'group', 'resourceGroup'],
  [
    `/subscriptions/${subscriptionId}/resourceGroups/${clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${clusterName}`,
    'cluster',
    'cluster',
  ],
  [`${compute}/virtualMachines/none`, 'compute', 'error'],
  [`${compute}/virtualMachines/none/extensions/none`, 'compute', 'error'],
  [`${compute}/virtualMachines?$skiptoken=none`, 'compute', 'error'],
];

test.for(paths)('what is answered for %s has what its type has, and nothing else', async ([path, version, kind]) => {
  const url = `${running.azure.endpoint}${path}${path.includes('?') ? '&' : '?'}api-version=${versions[version]}`;
  const reply = await fetch(url, { headers: { authorization: 'Bearer x' } });
  const answer = { method: 'GET', url, status: reply.status, text: await reply.text() };
  expect(kindOf(answer)).toBe(kind);
  expect(misfitsOf(answer)).toEqual([]);
});

test('a network interface that is made with its VM has what its type has, and nothing else', async () => {
  const configuration = {
    name: 'inline',
    primary: true,
    deleteOption: 'Delete',
    ipConfigurations: [{ name: 'a', subnet: { id: subnetId } }],
  };
  const networkProfile = { networkApiVersion: '2022-11-01', networkInterfaceConfigurations: [configuration] };
  const vm = { ...vmBody('aks-inline'), networkProfile };
  await running.compute.virtualMachines.createOrUpdate(group, 'aks-inline', vm, promptly);
  const nics = await Array.fromAsync(running.network.networkInterfaces.list(group));
  expect(nics.map(({ name = '' }) => name).filter((name) => name.startsWith('inline'))).toHaveLength(1);
});

test('a refusal with details has ARM’s form, and so has an operation that failed', async () => {
  const headers = { authorization: 'Bearer x' };
  const version = 'api-version=2026-01-01';
  const url = `${running.azure.endpoint}${network}/networkInterfaces/odd?${version}`;
  const body = JSON.stringify({ location: 'westeurope', properties: { odd: 1, primary: 'yes' } });
  const refused = await fetch(url, { method: 'PUT', headers, body });
  const answer = { method: 'PUT', url, status: refused.status, text: await refused.text() };
  expect([kindOf(answer), misfitsOf(answer)]).toEqual(['error', []]);
  running.azure.exhaust({ size: null, zone: '3', capacityType: null, code: 'AllocationFailed', remaining: 0 });
  await expect(launch('aks-full', { zone: '3' })).rejects.toThrow('AllocationFailed');
});

test.for([
  ['vm', 'virtualMachines/x', { name: 'x', location: 'y', kind: 'Regular' }, ['kind is unknown']],
  ['list', 'virtualMachines', { value: [{ name: 'x' }], count: 1 }, ['count is unknown', 'location is missing']],
  [
    'error',
    'virtualMachines/x',
    { error: { code: '', message: 'm', more: 1 } },
    ['more is unknown', 'code is missing'],
  ],
] as const)('an answer that does not fit is found out: %s', ([kind, path, body, found]) => {
  const url = `http://127.0.0.1${compute}/${path}?api-version=2026-04-01`;
  const answer = { method: 'GET', url, status: kind === 'error' ? 404 : 200, text: JSON.stringify(body) };
  expect(misfitsOf(answer)).toEqual(found.map((line) => `GET ${compute}/${path}: ${line}`));
});
