import type { ResourceSku } from '@azure/arm-compute';
import { describe, expect, test } from 'vitest';
import { toSku } from '../../../../../shared/adapters/azure/catalog/sku.ts';

const usual = {
  vCPUs: '4',
  MemoryGB: '16',
  HyperVGenerations: 'V1,V2',
  CpuArchitectureType: 'x64',
  LowPriorityCapable: 'True',
  AcceleratedNetworkingEnabled: 'True',
  PremiumIO: 'True',
  EncryptionAtHostSupported: 'True',
  EphemeralOSDiskSupported: 'True',
  CachedDiskBytes: '107374182400',
};

/** A size with these capabilities; undefined takes one away. */
function size(
  changes: Readonly<Record<string, string | undefined>> = {},
  more: Partial<ResourceSku> = {},
): ResourceSku {
  const capabilities = Object.entries({ ...usual, ...changes }).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value }],
  );
  return {
    resourceType: 'virtualMachines',
    name: 'Standard_D4s_v5',
    family: 'standardDSv5Family',
    locationInfo: [{ location: 'WestEurope', zones: ['3', '1', '2'] }],
    capabilities,
    ...more,
  };
}

const read = (raw: ResourceSku) => toSku(raw, 'westeurope');

test('a size is read as the region has it', () => {
  expect(read(size())).toEqual({
    name: 'Standard_D4s_v5',
    quotaFamily: 'standardDSv5Family',
    vCpus: 4,
    memoryGib: 16,
    arch: 'amd64',
    gpus: 0,
    zones: ['1', '2', '3'],
    spot: true,
    acceleratedNetworking: true,
    premiumStorage: true,
    encryptionAtHost: true,
    trustedLaunch: true,
    hyperVGenerations: ['1', '2'],
    diskControllers: [],
    ultraSsdZones: [],
    ephemeralOsDisk: { maxGb: 107, placement: 'CacheDisk' },
  });
});

test('a size of which Azure says little can little', () => {
  const { capabilities: _, locationInfo: __, family: ___, ...bare } = size();
  expect(
    read({ ...bare, capabilities: [{ name: 'vCPUs', value: '2' }, { name: 'MemoryGB', value: '3.5' }, {}] }),
  ).toEqual({
    name: 'Standard_D4s_v5',
    quotaFamily: '',
    vCpus: 2,
    memoryGib: 3.5,
    arch: 'amd64',
    gpus: 0,
    zones: [],
    spot: false,
    acceleratedNetworking: false,
    premiumStorage: false,
    encryptionAtHost: false,
    trustedLaunch: false,
    hyperVGenerations: [],
    diskControllers: [],
    ultraSsdZones: [],
    ephemeralOsDisk: null,
  });
});

test.for<readonly [string, ResourceSku]>([
  ['no VM', size({}, { resourceType: 'disks' })],
  ['refused by AKS', size({}, { name: 'Standard_B1ms' })],
  ['restricted in the whole region', size({}, { restrictions: [{ type: 'Zone' }, { type: 'Location' }] })],
  ['of one core', size({ vCPUs: '1' })],
  ['of too little memory', size({ MemoryGB: '3.49' })],
  ['of which nothing is known', { resourceType: 'virtualMachines' }],
])('what is %s is no size for nodes', ([, raw]) => {
  expect(read(raw)).toBeNull();
});

test.for([
  'Standard_A0',
  'Standard_A1',
  'Standard_A1_v2',
  'Standard_B1s',
  'Standard_B1ms',
  'Standard_F1',
  'Standard_F1s',
  'Standard_E64i_v3',
  'Standard_E64is_v3',
])('%s is no size for nodes, whatever it can: AKS refuses it', (name) => {
  expect(read(size({}, { name }))).toBeNull();
});

test('the region is the same in any case', () => {
  expect(toSku(size(), 'WESTeurope')?.zones).toEqual(['1', '2', '3']);
});

describe('the zones of a size', () => {
  const restricted = (...zones: ReadonlyArray<string>): Partial<ResourceSku> => ({
    restrictions: [{ type: 'Zone', restrictionInfo: { zones: [...zones] } }, { type: 'Zone' }],
  });

  test('are those that are not restricted for us', () => {
    expect(read(size({}, restricted('1', '3')))?.zones).toEqual(['2']);
    expect(read(size({}, restricted('1', '2', '3')))?.zones).toEqual([]);
  });

  test('are the region’s own', () => {
    const locationInfo = [{}, { location: 'northeurope', zones: ['9'] }, { location: 'WESTEUROPE', zones: ['2'] }];
    expect(read(size({}, { locationInfo }))?.zones).toEqual(['2']);
    expect(read(size({}, { locationInfo: [{ location: 'WESTEUROPE' }] }))?.zones).toEqual([]);
  });

  test('that have ultra disks are those that say so', () => {
    const detail = (zone: string, name: string, value: string) => ({ name: [zone], capabilities: [{ name, value }] });
    const zoneDetails = [
      detail('1', 'UltraSSDAvailable', 'True'),
      detail('2', 'UltraSSDAvailable', 'False'),
      detail('3', 'Other', 'True'),
      { capabilities: [{ name: 'UltraSSDAvailable', value: 'True' }] },
      { name: ['4'] },
      {
        name: ['5'],
        capabilities: [
          { name: 'Other', value: 'x' },
          { name: 'UltraSSDAvailable', value: 'True' },
        ],
      },
    ];
    const locationInfo = [{ location: 'westeurope', zones: ['1'], zoneDetails }];
    expect(read(size({}, { locationInfo }))?.ultraSsdZones).toEqual(['1', '5']);
  });
});

describe('a size', () => {
  test.for([
    ['spot', 'LowPriorityCapable'],
    ['acceleratedNetworking', 'AcceleratedNetworkingEnabled'],
    ['premiumStorage', 'PremiumIO'],
    ['encryptionAtHost', 'EncryptionAtHostSupported'],
  ] as const)('has %s by %s alone, in any case of "true"', ([field, capability]) => {
    expect(read(size({ [capability]: 'False' }))).toMatchObject({ [field]: false });
    expect(read(size({ [capability]: undefined }))).toMatchObject({ [field]: false });
    expect(read(size({ [capability]: 'TRUE' }))).toMatchObject({ [field]: true });
    const others = Object.fromEntries(Object.keys(usual).map((key) => [key, undefined]));
    const alone = { ...others, vCPUs: '4', MemoryGB: '16', [capability]: 'true' };
    expect(read(size(alone))).toMatchObject({ [field]: true });
  });

  test('is of Arm, and has GPUs, where Azure says so', () => {
    expect(read(size({ CpuArchitectureType: 'Arm64', GPUs: '2' }))).toMatchObject({ arch: 'arm64', gpus: 2 });
  });

  test('can do trusted launch on the second generation, unless it says that it cannot', () => {
    const canWith = (changes: Record<string, string>) => read(size(changes))?.trustedLaunch;
    expect(canWith({ HyperVGenerations: 'V2' })).toBe(true);
    expect(canWith({ HyperVGenerations: 'V1' })).toBe(false);
    expect(canWith({ TrustedLaunchDisabled: 'True' })).toBe(false);
    expect(canWith({ TrustedLaunchDisabled: 'False' })).toBe(true);
  });
});

describe('an OS disk on the machine itself', () => {
  const on = (changes: Record<string, string | undefined>) =>
    read(size({ CachedDiskBytes: undefined, ...changes }))?.ephemeralOsDisk;

  test('is on the first kind of local disk that the size has, though another is larger', () => {
    const all = { NvmeDiskSizeInMiB: '10240', SupportedEphemeralOSDiskPlacements: 'ResourceDisk,NvmeDisk' };
    const more = { CachedDiskBytes: '30000000000', MaxResourceVolumeMB: '102400' };
    expect(on({ ...all, ...more })).toEqual({ maxGb: 10, placement: 'NvmeDisk' });
    expect(on(more)).toEqual({ maxGb: 30, placement: 'CacheDisk' });
    expect(on({ ...more, CachedDiskBytes: '0' })).toEqual({ maxGb: 107, placement: 'ResourceDisk' });
  });

  test('is on NVMe only where the size lets it be', () => {
    const nvme = { NvmeDiskSizeInMiB: '10240' };
    expect(on({ ...nvme, SupportedEphemeralOSDiskPlacements: 'ResourceDisk', MaxResourceVolumeMB: '1024' })).toEqual({
      maxGb: 1,
      placement: 'ResourceDisk',
    });
    expect(on(nvme)).toBeNull();
    expect(on({ SupportedEphemeralOSDiskPlacements: 'NvmeDisk' })).toBeNull();
  });

  test('is none where the size has no local disk, or says that it cannot', () => {
    expect(on({})).toBeNull();
    expect(on({ MaxResourceVolumeMB: '102400', EphemeralOSDiskSupported: 'False' })).toBeNull();
  });
});

test.for([
  ['SCSI, NVMe', ['SCSI', 'NVMe']],
  ['NVMe', ['NVMe']],
  ['', []],
] as const)('a size whose disks are attached by "%s" says so', ([value, diskControllers]) => {
  const { capabilities = [] } = size();
  const more = [...capabilities, { name: 'DiskControllerTypes', value }];
  expect(read({ ...size(), capabilities: more })).toMatchObject({ diskControllers });
});
