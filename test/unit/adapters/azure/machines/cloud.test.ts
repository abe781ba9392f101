import type { VirtualMachine } from '@azure/arm-compute';
import type { NetworkInterface } from '@azure/arm-network';
import { describe, expect, test } from 'vitest';
import { createCloud } from '../../../../../shared/adapters/azure/machines/cloud.ts';
import type { Settings } from '../../../../../shared/contract/settings/settings.ts';
import type { Cloud, ObservedMachine } from '../../../../../shared/ports/cloud.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import { armError, fakeAzure, type Answers } from '../../../../kit/azure/fake-azure.ts';
import { order, settings } from '../../../../kit/azure/launch-order.ts';

/** The adapter over clients that answer as the test says. */
function openCloud(
  answers: Answers,
  more: Partial<Settings> = {},
): { readonly cloud: Cloud; readonly asked: ReadonlyArray<string>; readonly bodies: ReadonlyArray<unknown> } {
  const { clients, asked, bodies } = fakeAzure(answers);
  const cloud = createCloud({
    settings: { ...settings, ...more },
    clients,
    complete: () => Promise.reject(new Error('nobody asked for settings')),
    place: () => Promise.reject(new Error('nobody asked for a place')),
    sku: () => Promise.resolve(null),
    bootstrapToken: () => Promise.reject(new Error('nobody asked for a token')),
    revokeTokens: () => Promise.reject(new Error('nobody asked to take a token back')),
  });
  return { cloud, asked, bodies };
}

/** By which a machine is known to be ours. */
const ownTags = { 'karpenter.azure.com_cluster': settings.CLUSTER_NAME };
const vm: VirtualMachine = {
  location: 'westeurope',
  zones: ['2'],
  priority: 'Regular',
  hardwareProfile: { vmSize: 'Standard_D8s_v5' },
  storageProfile: { imageReference: { id: '/images/own' } },
  provisioningState: 'Succeeded',
  tags: ownTags,
};
const name = 'MC_g_c_we/aks-general-0abc';
const throttled = armError(429, 'TooManyRequests', 'slow down', { 'retry-after': '7' });

describe('a machine is observed', () => {
  const observed = (given: VirtualMachine): Promise<ObservedMachine> =>
    openCloud({ vm: () => given }).cloud.observe(order.claim);

  test.for([
    ['Succeeded', 'running'],
    ['Updating', 'running'],
    ['Deleting', 'deleting'],
    ['Creating', 'creating'],
    [undefined, 'creating'],
  ] as const)('of which Azure says %s as %s', async ([provisioningState, state]) => {
    const { provisioningState: _, ...rest } = vm;
    const given = provisioningState === undefined ? rest : { ...rest, provisioningState };
    expect(await observed(given)).toMatchObject({ kind: 'present', state });
  });

  test('as what Azure holds, not as what was ordered', async () => {
    expect(await observed(vm)).toMatchObject({
      machine: {
        claim: 'general-0abc',
        providerId:
          'azure:///subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/mc_g_c_we/providers/Microsoft.Compute/virtualMachines/aks-general-0abc',
        instanceType: 'Standard_D8s_v5',
        zone: 'westeurope-2',
        capacityType: 'on-demand',
        imageId: '/images/own',
      },
    });
  });

  test('as spot, with a gallery’s image and no zone, where it is so', async () => {
    const imageReference = { communityGalleryImageId: '/CommunityGalleries/g', id: '/other' };
    const { zones: _, ...rest } = vm;
    expect(await observed({ ...rest, priority: 'Spot', storageProfile: { imageReference } })).toMatchObject({
      machine: { zone: '0', capacityType: 'spot', imageId: '/CommunityGalleries/g' },
    });
  });

  test('in a zone named as nodes name it, however the region is written in the settings', async () => {
    const { cloud } = openCloud({ vm: () => vm }, { LOCATION: 'WestEurope' });
    expect(await cloud.observe(order.claim)).toMatchObject({ machine: { zone: 'westeurope-2' } });
  });

  test('with empty words where Azure names no size and no image', async () => {
    expect(await observed({ location: 'westeurope', tags: ownTags })).toMatchObject({
      machine: { instanceType: '', imageId: '' },
    });
  });

  test('with its instance view, which holds the reason of a failure', async () => {
    const { cloud, asked } = openCloud({ vm: () => vm });
    await cloud.observe(order.claim);
    expect(asked).toEqual([`vm get ${name} instanceView`]);
  });

  test('as gone when Azure says 404, and at no other error', async () => {
    expect(await openCloud({}).cloud.observe(order.claim)).toEqual({ kind: 'gone' });
    for (const error of [armError(500, 'InternalServerError'), armError(403, 'AuthorizationFailed'), throttled]) {
      await expect(openCloud({ vm: () => error }).cloud.observe(order.claim)).rejects.toBeInstanceOf(RetryableError);
    }
  });

  test('as failed with the code and the words of its instance view, and what they rule out', async () => {
    const instanceView = {
      statuses: [
        { code: 'PowerState/stopped', message: 'x' },
        { code: 'ProvisioningState/failed/ZonalAllocationFailed', message: 'no room' },
      ],
    };
    expect(await observed({ ...vm, provisioningState: 'Failed', instanceView })).toMatchObject({
      kind: 'failed',
      machine: { claim: 'general-0abc' },
      refusal: { scope: 'zone', retryAfterMs: 3_600_000 },
      reason: 'ZonalAllocationFailed',
      message: 'no room',
    });
  });

  test.for([
    ['a code that says nothing of the offering', { code: 'ProvisioningState/failed/VMAgentDied', message: 'oh' }],
    ['what a person has to mend', { code: 'ProvisioningState/failed/SubnetIsFull', message: 'full' }],
  ] as const)('as failed with nothing refused after %s', async ([, status]) => {
    const failed = await observed({ ...vm, provisioningState: 'Failed', instanceView: { statuses: [status] } });
    expect(failed).toMatchObject({ kind: 'failed', refusal: null, reason: status.code.split('/')[2] });
  });

  test('as failed when no reason is to be had', async () => {
    for (const view of [{}, { instanceView: { statuses: [{}] } }, { instanceView: {} }]) {
      expect(await observed({ ...vm, ...view, provisioningState: 'Failed' })).toMatchObject({
        kind: 'failed',
        refusal: null,
        reason: 'ProvisioningFailed',
        message: 'Azure could not provision the VM',
      });
    }
  });
});

describe('the removal of a machine', () => {
  const removed = async (answers: Answers): Promise<readonly [string, ReadonlyArray<string>]> => {
    const { cloud, asked } = openCloud(answers);
    return [await cloud.delete(order.claim), asked];
  };

  test('asks for the VM alone, by force: its NIC and disk go with it', async () => {
    expect(await removed({ vm: () => vm, nic: () => ({ tags: ownTags }) })).toEqual([
      'deleting',
      [`vm get ${name} instanceView`, `vm delete ${name} force true`],
    ]);
  });

  test('is not asked for of what has its name and is not ours: it is as good as gone', async () => {
    for (const foreign of [undefined, { 'karpenter.azure.com_cluster': 'other' }]) {
      const answers = { ...vm, tags: foreign } as VirtualMachine;
      expect(await removed({ vm: () => answers, nic: () => ({ tags: foreign }) as NetworkInterface })).toEqual([
        'gone',
        [`vm get ${name} instanceView`, `nic get ${name}`],
      ]);
    }
  });

  test('is not asked for again while it goes on', async () => {
    const leaving = { ...vm, provisioningState: 'Deleting' };
    expect(await removed({ vm: () => leaving })).toEqual(['deleting', [`vm get ${name} instanceView`]]);
  });

  test('goes on when the VM went away meanwhile: what is left of it is found by the next look', async () => {
    const [outcome] = await removed({ vm: () => vm, vmDelete: () => armError(404, 'ResourceNotFound') });
    expect(outcome).toBe('deleting');
  });

  test('is over only once there is no VM and no NIC', async () => {
    expect(await removed({})).toEqual(['gone', [`vm get ${name} instanceView`, `nic get ${name}`]]);
    expect(await removed({ nic: () => ({ tags: ownTags }) })).toEqual([
      'deleting',
      [`vm get ${name} instanceView`, `nic get ${name}`, `nic delete ${name}`],
    ]);
  });

  test.for([
    ['went away meanwhile', armError(404, 'ResourceNotFound')],
    ['is kept for its VM that has just gone, which a sweep removes', armError(400, 'NicReservedForAnotherVm')],
  ] as const)('does not wait for a NIC that %s', async ([, error]) => {
    const [outcome] = await removed({ nic: () => ({ tags: ownTags }), nicDelete: () => error });
    expect(outcome).toBe('gone');
  });

  test.for([
    ['reading the VM', { vm: () => throttled }],
    ['deleting the VM', { vm: () => vm, vmDelete: () => throttled }],
    ['reading the NIC', { nic: () => throttled }],
    ['deleting the NIC', { nic: () => ({ tags: ownTags }), nicDelete: () => throttled }],
  ] as const)('is tried again, after the pause that Azure asked for, when %s fails', async ([, answers]) => {
    const failure = await removed(answers).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ retryAfterMs: 7_000, message: expect.stringContaining('aks-general-0abc: 429') });
  });
});

const extension = (which: string) => ({ id: `/vms/aks-a/extensions/${which}`, location: 'westeurope' });

describe('AKS’s extension', () => {
  const given = { ...vm, tags: { ...ownTags, team: 'a' } };

  test('is put on a machine with the machine’s own tags, so that its node hears of evictions', async () => {
    const { cloud, asked, bodies } = openCloud({ vm: () => given });
    await cloud.equip(order.claim);
    expect(asked).toEqual([`vm get ${name} instanceView`, `extension put ${name}/computeAksLinuxBilling`]);
    expect(bodies).toEqual([
      {
        location: 'westeurope',
        tags: { ...ownTags, team: 'a' },
        publisher: 'Microsoft.AKS',
        typePropertiesType: 'Compute.AKS.Linux.Billing',
        typeHandlerVersion: '1.0',
        autoUpgradeMinorVersion: true,
        settings: {},
      },
    ]);
  });

  test.for([
    ['is gone', undefined],
    ['is on its way out', { ...given, provisioningState: 'Deleting' }],
    ['has it', { ...given, resources: [extension('COMPUTEAKSLINUXBILLING')] }],
  ] as const)('is not put on a machine that %s', async ([, found]) => {
    const { cloud, asked } = openCloud(found === undefined ? {} : { vm: () => found as VirtualMachine });
    await cloud.equip(order.claim);
    expect(asked).toEqual([`vm get ${name} instanceView`]);
  });

  test('that Azure cannot take now is put on later', async () => {
    const { cloud } = openCloud({ vm: () => given, extensionPut: () => throttled });
    await expect(cloud.equip(order.claim)).rejects.toMatchObject({ name: 'RetryableError', retryAfterMs: 7_000 });
  });

  test.for([
    ['lacks', 'Succeeded', [], true],
    ['has', 'Succeeded', [extension('computeAksLinuxBilling')], false],
    ['has only another than', 'Succeeded', [extension('other')], true],
    ['is too young for', 'Creating', [], false],
  ] as const)('is known of each machine that %s it', async ([, provisioningState, resources, lacksEquipment]) => {
    const row = { ...vm, name: 'aks-a', tags: { 'karpenter.azure.com_cluster': 'c' }, provisioningState };
    const { cloud } = openCloud({ vms: [{ ...row, resources: [...resources] }] });
    expect(await cloud.inventory()).toEqual([{ kind: 'vm', claim: 'a', createdAtMs: null, lacksEquipment }]);
    const { cloud: other } = openCloud({ vm: () => ({ ...row, resources: [...resources] }) });
    expect(await other.observe('a')).toMatchObject({ isEquipped: resources.length === 1 && !lacksEquipment });
  });
});

describe('a machine that does not become a node', () => {
  const telling = (message: string): VirtualMachine => ({
    ...vm,
    instanceView: { extensions: [{ name: 'cse-agent-karpenter', statuses: [{ message }] }] },
  });

  test('is asked how its set-up ended by the node controller’s own command', async () => {
    const { cloud, asked, bodies } = openCloud({ vm: () => vm });
    await cloud.diagnose(order.claim);
    expect(asked[1]).toBe(`extension put ${name}/cse-agent-karpenter`);
    expect(bodies[0]).toMatchObject({
      publisher: 'Microsoft.Azure.Extensions',
      typePropertiesType: 'CustomScript',
      protectedSettings: { commandToExecute: '/opt/azure/containers/aks-node-controller provision-wait' },
    });
  });

  test.for([
    ['Enable failed: command terminated with exit status=50 [stdout] ...', 50, false, 'no connection to the outside'],
    ['{"ExitCode": "84", "Output": "..."}', 84, true, 'GPU driver'],
    ['failed with exit code 777', 777, true, 'the set-up of the node failed'],
  ] as const)('says of %s', async ([message, exitCode, isOfSize, words]) => {
    const found = await openCloud({ vm: () => telling(message) }).cloud.observe(order.claim);
    expect(found).toMatchObject({
      kind: 'present',
      state: 'running',
      failedBoot: { exitCode, isOfSize, message: expect.stringContaining(words) },
    });
    expect(found).toMatchObject({ failedBoot: { message: expect.stringContaining(String(exitCode)) } });
  });

  test.for(['', '{"ExitCode": "0"}', 'still running'])('says nothing of %j', async (message) => {
    expect(await openCloud({ vm: () => telling(message) }).cloud.observe(order.claim)).toMatchObject({
      failedBoot: null,
    });
  });

  test('is not given up because an extension failed: it runs all the same', async () => {
    const code = 'ProvisioningState/failed/VMExtensionProvisioningError';
    const failed = { ...vm, provisioningState: 'Failed', instanceView: { statuses: [{ code, message: 'no' }] } };
    const found = await openCloud({ vm: () => failed }).cloud.observe(order.claim);
    expect(found).toMatchObject({ kind: 'present', state: 'running' });
  });
});

describe('the inventory', () => {
  const ours = { 'karpenter.azure.com_cluster': 'c' };
  const row = (rowName: string | undefined, tags?: Record<string, string>): VirtualMachine => ({
    location: 'westeurope',
    ...(rowName === undefined ? {} : { name: rowName }),
    ...(tags === undefined ? {} : { tags }),
  });
  const claimsIn = async (answers: Answers): Promise<ReadonlyArray<string>> =>
    (await openCloud(answers).cloud.inventory()).map(({ kind, claim }) => `${kind} ${claim}`);

  test('has VMs and NICs of the group, and when each VM was made', async () => {
    const made = { ...row('aks-a', ours), timeCreated: new Date(1_000) };
    const { cloud, asked } = openCloud({ vms: [made, row('aks-b', ours)], nics: [{ name: 'aks-a', tags: ours }] });
    expect(await cloud.inventory()).toMatchObject([
      { kind: 'vm', claim: 'a', createdAtMs: 1_000 },
      { kind: 'vm', claim: 'b', createdAtMs: null },
      { kind: 'nic', claim: 'a', createdAtMs: null },
    ]);
    expect(asked.toSorted()).toEqual(['nic list MC_g_c_we', 'vm list MC_g_c_we']);
  });

  test.for([
    ['of another cluster', row('aks-a', { 'karpenter.azure.com_cluster': 'other' })],
    ['whose tag is empty', row('aks-a', { 'karpenter.azure.com_cluster': '' })],
    ['with other tags alone', row('aks-a', { 'karpenter.sh_nodepool': 'general' })],
    ['without tags', row('aks-a')],
    ['with a name of another kind', row('bastion', ours)],
    ['whose name only holds the prefix', row('my-aks-a', ours)],
    ['without a name', row(undefined, ours)],
  ] as const)('never has a machine %s', async ([, stranger]) => {
    expect(await claimsIn({ vms: [stranger, row('aks-z', ours)], nics: [] })).toEqual(['vm z']);
    const { location: _, ...nic } = stranger;
    expect(await claimsIn({ vms: [], nics: [nic, { name: 'aks-z', tags: ours }] })).toEqual(['nic z']);
  });

  test('knows a machine by its claim’s name, in whatever case Azure lists it', async () => {
    const nics = [{ name: 'AKS-General-0ABC', tags: ours }];
    expect(await claimsIn({ vms: [row('AKS-GENERAL-0ABC', ours)], nics })).toEqual([
      'vm general-0abc',
      'nic general-0abc',
    ]);
  });

  test('is all or nothing: when one list fails there is none', async () => {
    const some = [row('aks-a', ours)];
    await expect(claimsIn({ vms: throttled, nics: [] })).rejects.toMatchObject({ retryAfterMs: 7_000 });
    const failure = await claimsIn({ vms: some, nics: armError(500, 'X') }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ message: expect.stringContaining('MC_g_c_we') });
  });
});
