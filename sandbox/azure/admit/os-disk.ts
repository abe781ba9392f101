import { ArmError, invalidParameter } from '../arm/arm-error.ts';
import type { ImageFacts } from '../catalog/images.ts';
import { textAt, valueAt, type JsonObject } from '../arm/json.ts';
import type { Size } from '../catalog/sizes.ts';
import { isSpot } from './spot.ts';

const DISK = 'properties.storageProfile.osDisk';

/** Learn "Scalability and performance targets for VM disks": an OS disk has at most this many GiB. */
const DISK_GB_MAX = 4_095;

const GIB = 2 ** 30;

/** Refuses an OS disk that the image does not fit on, or that the machine has no place for. */
export function refuseOddOsDisk(body: JsonObject, size: Size, image: ImageFacts | null): void {
  const given = valueAt(body, `${DISK}.diskSizeGB`);
  const diskGb = typeof given === 'number' ? given : (image?.diskGb ?? null);
  // As reported in skypilot#2219.
  if (image !== null && diskGb !== null && diskGb < image.diskGb)
    throw new ArmError(
      409,
      {
        code: 'OperationNotAllowed',
        message:
          `The specified disk size ${diskGb} GB is smaller than the size of the corresponding disk in the VM image: ` +
          `${image.diskGb} GB. This is not allowed. Please choose equal or greater size or do not specify an explicit size.`,
      },
      { target: 'osDisk.diskSizeGB' },
    );
  // The code is assumed.
  if (diskGb !== null && (diskGb < 1 || diskGb > DISK_GB_MAX))
    throw invalidParameter(
      'osDisk.diskSizeGB',
      `The value '${diskGb}' of parameter 'osDisk.diskSizeGB' is out of range. ` +
        `The value must be between '1' and '${DISK_GB_MAX}', inclusive.`,
    );
  const option = textAt(body, `${DISK}.diffDiskSettings.option`);
  if (option?.toLowerCase() === 'local') refuseOddEphemeralDisk(body, size, diskGb);
}

/**
 * Where a size can keep an ephemeral OS disk, and how many GiB there; the first is what Azure takes when none is named.
 */
export function ephemeralPlaces(size: Size): ReadonlyMap<string, number> {
  const { capabilities } = size;
  const number = (name: string): number => Number(capabilities[name] ?? 0);
  if (capabilities['EphemeralOSDiskSupported'] !== 'True') return new Map();
  const given = (capabilities['SupportedEphemeralOSDiskPlacements'] ?? 'CacheDisk,ResourceDisk').split(',');
  const room: { readonly [place: string]: number } = {
    CacheDisk: number('CachedDiskBytes') / GIB,
    ResourceDisk: number('MaxResourceVolumeMB') / 1_024,
    NvmeDisk: number('NvmeDiskSizeInMiB') / 1_024,
  };
  const places = Object.entries(room).filter(([place, gib]) => given.includes(place) && gib >= 1);
  return new Map(places.map(([place, gib]) => [place, Math.floor(gib)]));
}

/**
 * The first two refusals have the code of the third, which is as reported (bosh-azure-cpi-release#674); the last two
 * are assumed.
 */
function refuseOddEphemeralDisk(body: JsonObject, size: Size, diskGb: number | null): void {
  const places = ephemeralPlaces(size);
  if (places.size === 0) throw notSupported(`OS disk of Ephemeral VM is not supported for VM size ${size.name}.`);
  const wanted = textAt(body, `${DISK}.diffDiskSettings.placement`) ?? [...places.keys()][0] ?? '';
  const [place, roomGb] = [...places].find(([name]) => name.toLowerCase() === wanted.toLowerCase()) ?? [];
  if (place === undefined || roomGb === undefined)
    throw notSupported(`The DiffDiskPlacement ${wanted} is not supported for VM size ${size.name}.`);
  if (diskGb !== null && diskGb > roomGb)
    throw notSupported(
      `OS disk of Ephemeral VM with size greater than ${roomGb} GB is not allowed for VM size ${size.name} ` +
        `when the DiffDiskPlacement is ${place}. Please refer to https://aka.ms/Ephemeral for more details.`,
    );
  if (textAt(body, `${DISK}.caching`)?.toLowerCase() !== 'readonly')
    throw invalidParameter('osDisk.caching', "An ephemeral OS disk needs the caching 'ReadOnly'.");
  // A local disk cannot be put by: terraform-provider-azurerm#17226.
  if (isSpot(body) && textAt(body, 'properties.evictionPolicy')?.toLowerCase() !== 'delete')
    throw invalidParameter('evictionPolicy', "A Spot VM with an ephemeral OS disk needs the eviction policy 'Delete'.");
}

function notSupported(message: string): ArmError {
  return new ArmError(409, { code: 'NotSupported', message });
}
