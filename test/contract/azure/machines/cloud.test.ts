import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Azure } from '../../../../sandbox/azure/running-azure.ts';
import { createCloud } from '../../../../shared/adapters/azure/machines/cloud.ts';
import { createNetworkPlaces } from '../../../../shared/adapters/azure/machines/network-place.ts';
import type { Settings } from '../../../../shared/contract/settings/settings.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import type { Cloud, LaunchOrder } from '../../../../shared/ports/cloud.ts';
import { subnetId, theDouble } from '../kit/bodies.ts';
import { clientsOf, group, patient, startWithClients, subscriptionId } from '../kit/clients.ts';

let azure: Azure;

beforeAll(async () => {
  // Pages of two: lists of machines take several.
  ({ azure } = await startWithClients({ pageSize: 2 }));
});
afterAll(async () => {
  await azure.close();
});

/** The machines of a cluster, all of which are in one resource group here. */
function machinesOf(cluster: string): Cloud {
  const settings: Settings = {
    CLUSTER_NAME: cluster,
    AZURE_SUBSCRIPTION_ID: subscriptionId,
    AZURE_NODE_RESOURCE_GROUP: group,
    LOCATION: 'westeurope',
    VNET_SUBNET_ID: subnetId,
    CLUSTER_ENDPOINT: 'https://c.example.com',
    SSH_PUBLIC_KEY: `ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ${'D'.repeat(342)} contract`,
  };
  const clients = clientsOf(azure.endpoint);
  return createCloud({
    settings,
    complete: () => Promise.resolve({ settings, problems: [] }),
    clients,
    place: createNetworkPlaces(() => clients.network(), settings, Date.now),
    sku: () => Promise.resolve(null),
    bootstrapToken: () => Promise.resolve('abcdef.0123456789abcdef'),
    revokeTokens: () => Promise.resolve(),
  });
}

function orderOf(claim: string, instanceType = 'Standard_D2s_v5', zone = 'westeurope-1'): LaunchOrder {
  const id = theDouble.image?.communityGalleryImageId ?? '';
  return {
    claim,
    nodePool: 'general',
    decision: '000000007-abc',
    nodeClass: {
      metadata: { name: 'default' },
      spec: {},
      status: { images: [{ id, requirements: [] }], kubernetesVersion: '1.36.3' },
    },
    offering: { instanceType, zone, capacityType: 'on-demand', price: microUsdPerHour(1) },
    instanceType: { name: instanceType, labels: {}, capacity: { cpu: '2', pods: '250' }, overhead: {}, offerings: [] },
    labels: {},
    taints: [],
    startupTaints: [],
  };
}

const inventoryOf = async (cloud: Cloud): Promise<ReadonlyArray<string>> =>
  (await cloud.inventory()).map(({ kind, claim }) => `${kind} ${claim}`).toSorted();

test('an inventory has all machines of its cluster, page after page, and none of another’s', async () => {
  const [one, other] = [machinesOf('one'), machinesOf('other')];
  const claims = ['a', 'b', 'c', 'd', 'e'];
  await Promise.all(claims.map((claim) => one.launch(orderOf(`one-${claim}`))));
  await other.launch(orderOf('other-a'));
  expect(await inventoryOf(one)).toEqual([
    ...claims.map((claim) => `nic one-${claim}`),
    ...claims.map((claim) => `vm one-${claim}`),
  ]);
  expect(await inventoryOf(other)).toEqual(['nic other-a', 'vm other-a']);
});

test('a launch that is told twice is one machine, the first, though the second asks for another', async () => {
  const cloud = machinesOf('twice');
  expect(await cloud.launch(orderOf('twice'))).toMatchObject({ kind: 'accepted' });
  const again = await cloud.launch(orderOf('twice', 'Standard_D4s_v5', 'westeurope-2'));
  expect(again).toMatchObject({
    kind: 'exists',
    machine: { instanceType: 'Standard_D2s_v5', zone: 'westeurope-1' },
  });
  expect(azure.counters().creations['aks-twice']).toBe(1);
});

test('a machine is observed until it runs, and removed with its NIC until nothing of it is left', async () => {
  const cloud = machinesOf('life');
  expect(await cloud.observe('life')).toEqual({ kind: 'gone' });
  await cloud.launch(orderOf('life'));
  await vi.waitFor(async () => expect(await cloud.observe('life')).toMatchObject({ state: 'running' }), patient);
  expect(await cloud.delete('life')).toBe('deleting');
  await vi.waitFor(async () => expect(await cloud.delete('life')).toBe('gone'), patient);
  expect(await cloud.observe('life')).toEqual({ kind: 'gone' });
  expect(await inventoryOf(cloud)).toEqual([]);
});

test('a machine of that name with another cluster’s tag, or none, is not touched and not taken for ours', async () => {
  const [ours, theirs] = [machinesOf('ours'), machinesOf('theirs')];
  await theirs.launch(orderOf('shared'));
  await vi.waitFor(async () => expect(await theirs.observe('shared')).toMatchObject({ state: 'running' }), patient);
  const message = expect.stringContaining('aks-shared exists and is not ours') as string;
  expect(await ours.launch(orderOf('shared'))).toEqual({ kind: 'rejected', reason: 'NameTaken', message });
  expect(await ours.observe('shared')).toEqual({ kind: 'gone' });
  await ours.equip('shared');
  await ours.diagnose('shared');
  expect(await ours.delete('shared')).toBe('gone');
  expect(await theirs.observe('shared')).toMatchObject({ state: 'running', isEquipped: false });
  expect(await inventoryOf(theirs)).toEqual(['nic shared', 'vm shared']);
});

test('a VM of that name that is not ours is found out where its network interface has another name', async () => {
  const [ours, theirs] = [machinesOf('ours-too'), machinesOf('theirs-too')];
  await theirs.launch(orderOf('half'));
  await vi.waitFor(async () => expect(await theirs.observe('half')).toMatchObject({ state: 'running' }), patient);
  const network = await clientsOf(azure.endpoint).network();
  const nic = await network.networkInterfaces.get(group, 'aks-half');
  await network.networkInterfaces.createOrUpdate(group, 'aks-half', {
    ...nic,
    tags: { ...nic.tags, 'karpenter.azure.com_cluster': 'ours-too' },
  });
  const message = expect.stringContaining('VM aks-half exists and is not ours') as string;
  expect(await ours.launch(orderOf('half'))).toEqual({ kind: 'rejected', reason: 'NameTaken', message });
});

test('a network interface of that name that is not ours is neither written over nor removed', async () => {
  const [ours, theirs] = [machinesOf('mine'), machinesOf('yours')];
  await theirs.launch(orderOf('lent'));
  const network = await clientsOf(azure.endpoint).network();
  const before = await network.networkInterfaces.get(group, 'aks-lent');
  const message = expect.stringContaining('network interface aks-lent exists and is not ours') as string;
  expect(await ours.launch(orderOf('lent'))).toEqual({ kind: 'rejected', reason: 'NameTaken', message });
  expect((await network.networkInterfaces.get(group, 'aks-lent')).tags).toEqual(before.tags);
  expect(await ours.delete('lent')).toBe('gone');
  expect((await network.networkInterfaces.get(group, 'aks-lent')).tags).toEqual(before.tags);
});

test('a machine that its zone has no room for is observed as failed, with what that rules out', async () => {
  const cloud = machinesOf('full');
  azure.failZone('3');
  expect(await cloud.launch(orderOf('full', 'Standard_D2s_v5', 'westeurope-3'))).toMatchObject({ kind: 'accepted' });
  await vi.waitFor(
    async () =>
      expect(await cloud.observe('full')).toMatchObject({
        kind: 'failed',
        refusal: { scope: 'zone', retryAfterMs: 3_600_000 },
        reason: 'ZonalAllocationFailed',
      }),
    patient,
  );
  azure.heal();
});

test('a machine that runs gets AKS’s extension, once, with its own tags', async () => {
  const cloud = machinesOf('equipped');
  await cloud.launch(orderOf('equipped'));
  await vi.waitFor(async () => expect(await cloud.observe('equipped')).toMatchObject({ state: 'running' }), patient);
  expect(await cloud.observe('equipped')).toMatchObject({ isEquipped: false, failedBoot: null });
  expect(await cloud.inventory()).toContainEqual(expect.objectContaining({ kind: 'vm', lacksEquipment: true }));
  await cloud.equip('equipped');
  await cloud.equip('equipped');
  expect(await cloud.observe('equipped')).toMatchObject({ isEquipped: true });
  expect(await cloud.inventory()).not.toContainEqual(expect.objectContaining({ lacksEquipment: true }));
  const has = (name: string) => azure.vms().find((vm) => vm.name === name)?.extensions;
  await vi.waitFor(() => expect(has('aks-equipped')).toEqual(['computeakslinuxbilling']), patient);
});

test('a machine that runs and becomes no node says why, and counts as running all the while', async () => {
  const cloud = machinesOf('sick');
  azure.failBoots(50);
  await cloud.launch(orderOf('sick'));
  azure.heal();
  await vi.waitFor(async () => expect(await cloud.observe('sick')).toMatchObject({ state: 'running' }), patient);
  await cloud.equip('sick');
  await cloud.diagnose('sick');
  await vi.waitFor(
    async () =>
      expect(await cloud.observe('sick')).toMatchObject({
        kind: 'present',
        state: 'running',
        failedBoot: { exitCode: 50, isOfSize: false, message: expect.stringContaining('no connection to the outside') },
      }),
    patient,
  );
});
