import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kubeletIdentity } from '../../../../sandbox/azure/state/kubelet-identity.ts';
import { azureDefaults } from '../../../../sandbox/azure/state/options.ts';
import { nicBody, vmBody } from '../kit/bodies.ts';
import { group, promptly, startWithClients } from '../kit/clients.ts';

const other = kubeletIdentity({ ...azureDefaults, clusterName: 'other' }).resourceId;
const kubelet = kubeletIdentity(azureDefaults);
let running: Awaited<ReturnType<typeof startWithClients>>;

beforeAll(async () => {
  running = await startWithClients({ identities: [other] });
  const identity = {
    type: 'UserAssigned',
    userAssignedIdentities: { [kubelet.resourceId]: {}, [other]: {} },
  } as const;
  await running.network.networkInterfaces.createOrUpdate(group, 'aks-f', nicBody('aks-f'), promptly);
  const body = { ...vmBody('aks-f'), identity };
  await running.compute.virtualMachines.createOrUpdate(group, 'aks-f', body, promptly);
});
afterAll(() => running.azure.close());

/** What recordings do not hold: choices that Azure makes from what the double knows. */
describe('a VM', () => {
  test('has its identities with their ids in the directory, and without those that were taken away', async () => {
    const { virtualMachines } = running.compute;
    const before = await virtualMachines.get(group, 'aks-f');
    const assigned = before.identity?.userAssignedIdentities ?? {};
    expect(assigned[kubelet.resourceId]).toEqual({ principalId: kubelet.objectId, clientId: kubelet.clientId });
    expect(assigned[other]?.clientId).toMatch(/^[0-9a-f-]{36}$/);
    const identity = { type: 'UserAssigned', userAssignedIdentities: { [kubelet.resourceId]: {}, [other]: null } };
    // The client's types have no null, which is how ARM takes an identity away.
    const patch = { identity } as unknown as Parameters<typeof virtualMachines.update>[2];
    await virtualMachines.update(group, 'aks-f', patch, promptly);
    const after = await virtualMachines.get(group, 'aks-f');
    expect(Object.keys(after.identity?.userAssignedIdentities ?? {})).toEqual([kubelet.resourceId]);
  });

  test('of a size with premium storage has a premium disk, whose tier follows its size', async () => {
    const vm = await running.compute.virtualMachines.get(group, 'aks-f');
    expect(vm.storageProfile?.osDisk?.managedDisk?.storageAccountType).toBe('Premium_LRS');
    const disk = await running.compute.disks.get(group, 'aks-f');
    expect(disk).toMatchObject({ tier: 'P10', diskSizeGB: 128, diskSizeBytes: 128 * 2 ** 30, hyperVGeneration: 'V2' });
  });

  test('counts what was done to it, in its etag and the header', async () => {
    const { id = '', etag } = await running.compute.virtualMachines.get(group, 'aks-f');
    const answer = await fetch(`${running.azure.endpoint}${id}?api-version=2026-04-01`, {
      headers: { authorization: 'Bearer x' },
    });
    expect(answer.headers.get('etag')).toBe(etag);
    await running.compute.virtualMachines.update(group, 'aks-f', { tags: { a: 'b' } }, promptly);
    const changed = await running.compute.virtualMachines.get(group, 'aks-f');
    expect(Number(JSON.parse(changed.etag ?? '0'))).toBe(Number(JSON.parse(etag ?? '0')) + 1);
  });
});
