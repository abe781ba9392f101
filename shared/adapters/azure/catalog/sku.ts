import type { ResourceSku } from '@azure/arm-compute';

/** A VM size of the region as the catalog blob keeps it: what labels, capacity and offerings are made from. */
export interface Sku {
  readonly name: string;
  /** The name that quota goes by. */
  readonly quotaFamily: string;
  readonly vCpus: number;
  readonly memoryGib: number;
  readonly arch: 'amd64' | 'arm64';
  readonly gpus: number;
  /** Logical zones without those that are restricted for us: `['1','2','3']`; empty where the size has no zones. */
  readonly zones: ReadonlyArray<string>;
  readonly spot: boolean;
  readonly acceleratedNetworking: boolean;
  readonly premiumStorage: boolean;
  readonly encryptionAtHost: boolean;
  readonly trustedLaunch: boolean;
  readonly hyperVGenerations: ReadonlyArray<string>;
  /** How its disks are attached: `['SCSI', 'NVMe']`; empty where Azure does not say, which means SCSI. */
  readonly diskControllers: ReadonlyArray<string>;
  readonly ultraSsdZones: ReadonlyArray<string>;
  /** The largest OS disk that can live on the machine itself, and where; null when none can. */
  readonly ephemeralOsDisk: { readonly maxGb: number; readonly placement: string } | null;
  /** Millionths of the currency of prices per hour; null when Azure publishes none. */
  readonly onDemandMicroUsd: number | null;
  readonly spotMicroUsd: number | null;
}

/** Sizes AKS does not accept for nodes, by its own list and by Karpenter's. */
const REFUSED = new Set([
  'Standard_A0',
  'Standard_A1',
  'Standard_A1_v2',
  'Standard_B1s',
  'Standard_B1ms',
  'Standard_F1',
  'Standard_F1s',
  'Standard_E64i_v3',
  'Standard_E64is_v3',
]);

/** Reads one entry of the SKU list; null for what is no VM size, or none a node can have in `location`. */
// oxlint-disable-next-line complexity -- a table: one line for each capability
export function toSku(raw: ResourceSku, location: string): Omit<Sku, 'onDemandMicroUsd' | 'spotMicroUsd'> | null {
  const { name = '', family = '', restrictions = [], capabilities = [] } = raw;
  if (raw.resourceType !== 'virtualMachines' || REFUSED.has(name)) return null;
  if (restrictions.some(({ type }) => type === 'Location')) return null;
  const has = new Map(capabilities.map((capability) => [capability.name ?? '', capability.value ?? '']));
  const generations = (has.get('HyperVGenerations') ?? '').split(',').map((one) => one.replace('V', ''));
  const flag = (key: string): boolean => has.get(key)?.toLowerCase() === 'true';
  const number = (key: string): number => Number(has.get(key) ?? 0);
  const info = raw.locationInfo?.find((one) => one.location?.toLowerCase() === location.toLowerCase());
  const barred = new Set(restrictions.flatMap(({ restrictionInfo }) => restrictionInfo?.zones ?? []));
  const [vCpus, memoryGib, gpus] = [number('vCPUs'), number('MemoryGB'), number('GPUs')];
  if (vCpus < 2 || memoryGib < 3.5) return null;
  return {
    name,
    quotaFamily: family,
    vCpus,
    memoryGib,
    arch: has.get('CpuArchitectureType') === 'Arm64' ? 'arm64' : 'amd64',
    gpus,
    zones: (info?.zones ?? []).filter((zone) => !barred.has(zone)).toSorted(),
    spot: flag('LowPriorityCapable'),
    acceleratedNetworking: flag('AcceleratedNetworkingEnabled'),
    premiumStorage: flag('PremiumIO'),
    encryptionAtHost: flag('EncryptionAtHostSupported'),
    trustedLaunch: !flag('TrustedLaunchDisabled') && generations.includes('2'),
    hyperVGenerations: generations.filter(Boolean),
    diskControllers: (has.get('DiskControllerTypes') ?? '').split(',').flatMap((one) => one.trim() || []),
    ultraSsdZones: ultraSsdZones(info?.zoneDetails ?? []),
    ephemeralOsDisk: flag('EphemeralOSDiskSupported') ? ephemeralOsDisk(has) : null,
  };
}

function ultraSsdZones(
  details: ReadonlyArray<{
    readonly name?: ReadonlyArray<string>;
    readonly capabilities?: ReadonlyArray<{ readonly name?: string; readonly value?: string }>;
  }>,
): ReadonlyArray<string> {
  return details.flatMap(({ name = [], capabilities = [] }) =>
    capabilities.some((one) => one.name === 'UltraSSDAvailable' && one.value === 'True') ? name : [],
  );
}

/** The first kind of local disk that the size has decides, even if it is small: as AKS does. Decimal gigabytes. */
function ephemeralOsDisk(has: ReadonlyMap<string, string>): Sku['ephemeralOsDisk'] {
  const number = (key: string): number => Number(has.get(key) ?? 0);
  const toGb = (mebibytes: number): number => Math.floor((mebibytes * 2 ** 20) / 1e9);
  const nvme = number('NvmeDiskSizeInMiB');
  if (nvme > 0 && (has.get('SupportedEphemeralOSDiskPlacements') ?? '').includes('NvmeDisk')) {
    return { maxGb: toGb(nvme), placement: 'NvmeDisk' };
  }
  const cached = number('CachedDiskBytes');
  if (cached > 0) return { maxGb: Math.floor(cached / 1e9), placement: 'CacheDisk' };
  const resource = number('MaxResourceVolumeMB');
  return resource > 0 ? { maxGb: toGb(resource), placement: 'ResourceDisk' } : null;
}
