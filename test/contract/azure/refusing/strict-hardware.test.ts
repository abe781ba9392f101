import { afterAll, beforeAll, expect, test } from 'vitest';
import { nicBody } from '../kit/bodies.ts';
import { group, promptly, startWithClients } from '../kit/clients.ts';
import { type Case, type Change, expectRefused, putVm, refuse } from '../kit/refused.ts';

let running: Awaited<ReturnType<typeof startWithClients>>;
const NAME = 'aks-strict';

beforeAll(async () => {
  running = await startWithClients({});
  await running.network.networkInterfaces.createOrUpdate(group, NAME, nicBody(NAME), promptly);
});
afterAll(() => running.azure.close());

const disk = 'properties.storageProfile.osDisk';
const image = 'properties.storageProfile.imageReference';
const gallery = '/CommunityGalleries/AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2/images';
const imageOf = (definition: string): Change => ({
  [image]: { communityGalleryImageId: `${gallery}/${definition}/versions/202608.01.0` },
});
const sized = (vmSize: string): Change => ({ 'properties.hardwareProfile.vmSize': vmSize });
const local = (placement: string, diskSizeGB: number, caching: string | undefined = 'ReadOnly'): Change => ({
  [`${disk}.diffDiskSettings`]: { option: 'Local', placement },
  [`${disk}.diskSizeGB`]: diskSizeGB,
  [`${disk}.caching`]: caching,
});
const TRUSTED = { 'properties.securityProfile': { securityType: 'TrustedLaunch' } };

const hardware: ReadonlyArray<Case> = [
  ['no image', { [image]: undefined }, refuse(400, 'InvalidParameter', /imageReference' is missing/)],
  [
    'an image that there is not',
    imageOf('1804containerd'),
    refuse(404, 'GalleryImageNotFound', /1804containerd.* is not available in westeurope/, 'imageReference'),
  ],
  [
    'an image of a gallery that has no such id',
    { [image]: { communityGalleryImageId: `${gallery}/2204containerd` } },
    refuse(400, 'InvalidParameter', /communityGalleryImageId is invalid/),
  ],
  [
    'an image of a shared gallery that its size cannot boot',
    {
      [image]: {
        id: '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/galleries/a/images/V3gen2arm64fips',
      },
    },
    refuse(400, 'BadRequest', /'Arm64' was given/),
  ],
  [
    'a disk smaller than its image',
    { ...imageOf('2204gen2containerd'), [`${disk}.diskSizeGB`]: 29 },
    refuse(409, 'OperationNotAllowed', /disk size 29 GB is smaller.*30 GB/, 'osDisk.diskSizeGB'),
  ],
  [
    'a disk of 4,096 GB',
    { [`${disk}.diskSizeGB`]: 4_096 },
    refuse(400, 'InvalidParameter', /between '1' and '4095'/, 'osDisk.diskSizeGB'),
  ],
  [
    'a local disk on a size without',
    { ...sized('Standard_D2s_v5'), ...local('CacheDisk', 30) },
    refuse(409, 'NotSupported', /Ephemeral VM is not supported for VM size Standard_D2s_v5/),
  ],
  [
    'a local disk where the size has none',
    { ...sized('Standard_D2s_v3'), ...local('NvmeDisk', 30) },
    refuse(409, 'NotSupported', /NvmeDisk is not supported/),
  ],
  [
    'a local disk that is too large',
    { ...sized('Standard_D2s_v3'), ...local('CacheDisk', 51) },
    refuse(
      409,
      'NotSupported',
      /greater than 50 GB is not allowed for VM size Standard_D2s_v3 when the DiffDiskPlacement is CacheDisk/,
    ),
  ],
  [
    'a local disk with a cache that writes',
    { ...sized('Standard_D2s_v3'), ...local('CacheDisk', 50, 'ReadWrite') },
    refuse(400, 'InvalidParameter', /'ReadOnly'/, 'osDisk.caching'),
  ],
  [
    'a local disk on a spot VM that is only put by',
    {
      ...sized('Standard_D2s_v3'),
      ...local('CacheDisk', 50),
      'properties.priority': 'Spot',
      'properties.evictionPolicy': 'Deallocate',
    },
    refuse(400, 'InvalidParameter', /needs the eviction policy 'Delete'/, 'evictionPolicy'),
  ],
  [
    'an end for spot VMs that it is not',
    { 'properties.evictionPolicy': 'Delete' },
    refuse(409, 'EvictionPolicyCanBeSetOnlyOnAzureSpotVirtualMachines', /Eviction policy/),
  ],
  [
    'a price for spot VMs that it is not',
    { 'properties.billingProfile': { maxPrice: -1 } },
    refuse(409, 'MaxPriceIsSupportedOnlyForAzureSpotVirtualMachines', /Max price/),
  ],
  [
    'a spot price of nothing',
    { 'properties.priority': 'Spot', 'properties.billingProfile': { maxPrice: 0 } },
    refuse(409, 'MaxPriceValueInvalid', /-1 or greater than 0/),
  ],
  [
    'a generation that its size cannot boot',
    { ...sized('Standard_D2as_v6'), zones: ['2'], ...imageOf('2204containerd') },
    refuse(400, 'BadRequest', /'Standard_D2as_v6' cannot boot Hypervisor Generation '1'/),
  ],
  [
    'an image for another processor',
    imageOf('2204gen2arm64containerd'),
    refuse(400, 'BadRequest', /CPU Architecture of 'x64'.*'Arm64' was given/),
  ],
  [
    'trusted launch of a generation 1 image',
    { ...TRUSTED, ...imageOf('2204containerd') },
    refuse(400, 'BadRequest', /TrustedLaunch setting is not supported for the provided image/),
  ],
  [
    'trusted launch of an image without',
    { ...TRUSTED, ...imageOf('2204gen2containerd') },
    refuse(400, 'BadRequest', /TrustedLaunch setting is not supported for the provided image/),
  ],
  [
    'trusted launch of a size without',
    { ...TRUSTED, ...sized('Standard_D2ps_v5'), ...imageOf('2204gen2arm64containerd') },
    refuse(400, 'BadRequest', /'Standard_D2ps_v5' is not supported.*'TrustedLaunch'/),
  ],
  [
    'firmware settings and no security type',
    { 'properties.securityProfile': { uefiSettings: { vTpmEnabled: true } } },
    refuse(400, 'InvalidParameter', /needs 'securityProfile.securityType'/),
  ],
  [
    'encryption at a host that cannot',
    { ...sized('Standard_D2_v2'), 'properties.securityProfile': { encryptionAtHost: true } },
    refuse(400, 'InvalidParameter', /does not support 'securityProfile.encryptionAtHost'/),
  ],
  [
    'ultra disks without a zone',
    { zones: [], 'properties.additionalCapabilities': { ultraSSDEnabled: true } },
    refuse(
      400,
      'InvalidParameter',
      /only with Virtual Machine in an Availability Zone/,
      'additionalCapabilities.ultraSSDEnabled',
    ),
  ],
  [
    'ultra disks of a size without',
    { ...sized('Standard_D2_v2'), 'properties.additionalCapabilities': { ultraSSDEnabled: true } },
    refuse(400, 'InvalidParameter', /UltraSSD is not supported for the VM size/),
  ],
  [
    'an accelerated network interface on a size without',
    sized('Standard_B1ms'),
    refuse(400, 'VMSizeIsNotPermittedToEnableAcceleratedNetworking', /Standard_B1ms/),
  ],
];

test.for(hardware)('a VM with %s is refused', async ([, change, refusal]) => {
  await expectRefused(putVm(running.azure, NAME, change), refusal);
  expect(running.azure.vms()).toEqual([]);
});
