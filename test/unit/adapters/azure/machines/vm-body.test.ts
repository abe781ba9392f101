import { describe, expect, test } from 'vitest';
import { nicBody, tagsOf, vmBody } from '../../../../../shared/adapters/azure/machines/vm-body.ts';
import type { Sku } from '../../../../../shared/adapters/azure/catalog/sku.ts';
import type { Settings } from '../../../../../shared/contract/settings/settings.ts';
import type { LaunchOrder } from '../../../../../shared/ports/cloud.ts';
import { order, place, settings, subnet } from '../../../../kit/azure/launch-order.ts';
import { sku } from '../../../../kit/azure/sku.ts';

const imageId = '/CommunityGalleries/AKSUbuntu/images/2404/versions/1';
const parts = { name: 'aks-general-0abc', nicId: '/nics/n', imageId, customData: 'data', sku: null };

function body(given: Partial<LaunchOrder> = {}, more: Partial<Settings> = {}): ReturnType<typeof vmBody> {
  return vmBody({ ...order, ...given }, { ...settings, ...more }, parts);
}

const ofClass = (spec: LaunchOrder['nodeClass']['spec']): Partial<LaunchOrder> => ({
  nodeClass: { metadata: { name: 'default' }, spec },
});
const offering = (change: Partial<LaunchOrder['offering']>): Partial<LaunchOrder> => ({
  offering: { ...order.offering, ...change },
});

describe('a VM', () => {
  test('is this and nothing else: spot, deleted when it is evicted, and its NIC and disk with it', () => {
    expect(body()).toEqual({
      location: 'westeurope',
      tags: {
        'karpenter.azure.com_cluster': 'c',
        'compute.aks.billing': 'linux',
        'karpenter.sh_nodepool': 'general',
        'nodewright.dev_decision': '000000007-abc',
      },
      zones: ['1'],
      hardwareProfile: { vmSize: 'Standard_D4s_v5' },
      priority: 'Spot',
      evictionPolicy: 'Delete',
      billingProfile: { maxPrice: -1 },
      storageProfile: {
        imageReference: { communityGalleryImageId: imageId },
        osDisk: { name: 'aks-general-0abc', diskSizeGB: 128, createOption: 'FromImage', deleteOption: 'Delete' },
      },
      networkProfile: { networkInterfaces: [{ id: '/nics/n', primary: true, deleteOption: 'Delete' }] },
      osProfile: {
        computerName: 'aks-general-0abc',
        adminUsername: 'azureuser',
        customData: 'data',
        linuxConfiguration: { disablePasswordAuthentication: true },
      },
    });
  });

  test('on demand has no eviction policy and no highest price', () => {
    const regular = body(offering({ capacityType: 'on-demand' }));
    expect(regular.priority).toBe('Regular');
    expect(regular).not.toHaveProperty('evictionPolicy');
    expect(regular).not.toHaveProperty('billingProfile');
  });

  test.for([
    ['westeurope-3', ['3']],
    ['us-gov-virginia-2', ['2']],
    ['0', []],
  ] as const)('of the zone %s is asked for in %j', ([zone, zones]) => {
    expect(body(offering({ zone })).zones).toEqual(zones);
  });

  test('carries the identities of nodes, and none where there are none', () => {
    expect(body({}, { NODE_IDENTITIES: '/ids/a,,/ids/b' }).identity).toEqual({
      type: 'UserAssigned',
      userAssignedIdentities: { '/ids/a': {}, '/ids/b': {} },
    });
    expect(body()).not.toHaveProperty('identity');
  });

  test('lets in whoever has the key that is set, in the home of the user that is set', () => {
    const { osProfile } = body({}, { SSH_PUBLIC_KEY: 'ssh-rsa AAAA', LINUX_ADMIN_USERNAME: 'ops' });
    expect(osProfile).toMatchObject({
      adminUsername: 'ops',
      linuxConfiguration: {
        disablePasswordAuthentication: true,
        ssh: { publicKeys: [{ keyData: 'ssh-rsa AAAA', path: '/home/ops/.ssh/authorized_keys' }] },
      },
    });
  });

  test('of an image of one’s own names it by its id', () => {
    const own = vmBody(order, settings, { ...parts, imageId: '/subscriptions/s/images/own' });
    expect(own.storageProfile?.imageReference).toEqual({ id: '/subscriptions/s/images/own' });
  });
});

describe('the disk of a VM', () => {
  const local = { maxGb: 128, placement: 'NvmeDisk' };
  const diskOf = (ephemeralOsDisk: Sku['ephemeralOsDisk'], spec = {}) =>
    vmBody({ ...order, ...ofClass(spec) }, settings, { ...parts, sku: sku('Standard_D4ds_v5', { ephemeralOsDisk }) })
      .storageProfile?.osDisk;

  test('is as large as the class says', () => {
    expect(diskOf(null, { osDiskSizeGB: 200 })?.diskSizeGB).toBe(200);
  });

  test('is on the machine where that holds it, to the gigabyte, and goes with it all the same', () => {
    expect(diskOf(local)).toEqual({
      name: 'aks-general-0abc',
      diskSizeGB: 128,
      createOption: 'FromImage',
      deleteOption: 'Delete',
      caching: 'ReadOnly',
      diffDiskSettings: { option: 'Local', placement: 'NvmeDisk' },
    });
    expect(diskOf(local, { osDiskSizeGB: 129 })).not.toHaveProperty('diffDiskSettings');
    expect(diskOf(null)).not.toHaveProperty('diffDiskSettings');
  });
});

describe('the security of a VM', () => {
  const securityOf = (security: object) => body(ofClass({ security })).securityProfile;

  test('is what the class asks for', () => {
    expect(securityOf({ encryptionAtHost: true })).toEqual({ encryptionAtHost: true });
    expect(securityOf({ encryptionAtHost: false })).toEqual({ encryptionAtHost: false });
    expect(securityOf({})).toEqual({});
    expect(body()).not.toHaveProperty('securityProfile');
  });

  test.for([
    [{ vtpm: true }, { vTpmEnabled: true, secureBootEnabled: false }],
    [{ secureBoot: true }, { vTpmEnabled: false, secureBootEnabled: true }],
    [
      { vtpm: true, secureBoot: true },
      { vTpmEnabled: true, secureBootEnabled: true },
    ],
  ] as const)('is trusted launch with %j', ([trustedLaunch, uefiSettings]) => {
    expect(securityOf({ trustedLaunch })).toEqual({ securityType: 'TrustedLaunch', uefiSettings });
  });

  test('is no trusted launch when neither part of it is wanted', () => {
    expect(securityOf({ trustedLaunch: { vtpm: false, secureBoot: false } })).toEqual({});
  });
});

describe('the tags of what a claim is made of', () => {
  const tagsWith = (additional: string, ofTheClass: Record<string, string> = {}, nodePool: string | null = 'general') =>
    tagsOf({ ...order, ...ofClass({ tags: ofTheClass }), nodePool }, { ...settings, ADDITIONAL_TAGS: additional });

  test('are the deployment’s, the class’s over them, and ours over all', () => {
    const tags = tagsWith('team=a,cost=b,karpenter.azure.com_cluster=other', {
      cost: 'c',
      'karpenter.sh/nodepool': 'other',
      'karpenter.azure.com/cluster': 'other',
    });
    expect(tags).toEqual({
      team: 'a',
      cost: 'c',
      'karpenter.azure.com_cluster': 'c',
      'compute.aks.billing': 'linux',
      'karpenter.sh_nodepool': 'general',
      'nodewright.dev_decision': '000000007-abc',
    });
  });

  test('name no decision where somebody made the claim by hand', () => {
    const tags = tagsOf({ ...order, decision: null }, settings);
    expect(Object.keys(tags).filter((name) => name.includes('decision'))).toEqual([]);
  });

  test('keep every equals sign of a value, and no slash of a key', () => {
    expect(tagsWith('query=a=b=c,,x/y/z=1', { 'k/l/m': 'v/w' })).toMatchObject({
      query: 'a=b=c',
      x_y_z: '1',
      k_l_m: 'v/w',
    });
  });

  test('name no pool for a claim of none', () => {
    expect(Object.keys(tagsWith('', {}, null)).toSorted()).toEqual([
      'compute.aks.billing',
      'karpenter.azure.com_cluster',
      'nodewright.dev_decision',
    ]);
  });

  test('are the same on the NIC, so that a sweep finds it without its VM', () => {
    expect(nicBody(parts.name, order, settings, place).tags).toEqual(body().tags);
  });
});

describe('the NIC of a VM', () => {
  const at = { ...place, backendPoolIds: ['/pools/a', '/pools/b'] };
  const nic = (more: Partial<Settings> = {}, given: Partial<LaunchOrder> = {}) =>
    nicBody(parts.name, { ...order, ...given }, { ...settings, ...more }, at);

  test('has one address of the subnet, in the load balancer’s pools', () => {
    expect(nic()).toMatchObject({
      location: 'westeurope',
      enableAcceleratedNetworking: false,
      enableIPForwarding: false,
    });
    expect(nic().ipConfigurations).toEqual([
      {
        name: 'aks-general-0abc',
        primary: true,
        privateIPAllocationMethod: 'Dynamic',
        subnet: { id: subnet },
        loadBalancerBackendAddressPools: [{ id: '/pools/a' }, { id: '/pools/b' }],
      },
    ]);
    expect(nic()).not.toHaveProperty('networkSecurityGroup');
  });

  test('is in the security group where one is needed', () => {
    const group = nicBody(parts.name, order, settings, { ...at, securityGroupId: '/groups/g' });
    expect(group.networkSecurityGroup).toEqual({ id: '/groups/g' });
  });

  test('is accelerated where the size can be', () => {
    const withLabel = (values: ReadonlyArray<string>) =>
      nic(
        {},
        {
          instanceType: { ...order.instanceType, labels: { 'karpenter.azure.com/sku-networking-accelerated': values } },
        },
      );
    expect(withLabel(['true']).enableAcceleratedNetworking).toBe(true);
    expect(withLabel(['false']).enableAcceleratedNetworking).toBe(false);
  });

  const capacity = (pods?: string): Partial<LaunchOrder> => ({
    instanceType: { ...order.instanceType, capacity: { cpu: '4', ...(pods === undefined ? {} : { pods }) } },
  });

  test('has an address for each pod where pods are in the node’s subnet, and one primary', () => {
    const flat = nic({ NETWORK_PLUGIN_MODE: 'none' }, capacity('3')).ipConfigurations ?? [];
    expect(flat.map(({ name, primary }) => [name, primary])).toEqual([
      ['aks-general-0abc', true],
      ['ipconfig1', false],
      ['ipconfig2', false],
    ]);
    expect(flat[2]).toEqual({
      name: 'ipconfig2',
      primary: false,
      privateIPAllocationMethod: 'Dynamic',
      subnet: { id: subnet },
    });
    expect(nic({ NETWORK_PLUGIN_MODE: 'none' }, capacity()).ipConfigurations).toHaveLength(1);
  });

  test.for([
    ['azure', 'overlay'],
    [undefined, undefined],
    ['none', 'none'],
    ['kubenet', undefined],
  ] as const)('has one address where pods are not in the subnet: plugin %s, mode %s', ([plugin, mode]) => {
    const more = {
      ...(plugin === undefined ? {} : { NETWORK_PLUGIN: plugin }),
      ...(mode === undefined ? {} : { NETWORK_PLUGIN_MODE: mode }),
    };
    expect(nic(more, capacity('30')).ipConfigurations).toHaveLength(1);
  });
});
