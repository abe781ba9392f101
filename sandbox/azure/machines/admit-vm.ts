import { refuseUnknownIdentities } from '../admit/identity.ts';
import { admitImage, refuseUnbootable } from '../admit/image.ts';
import { linkedInvalidPropertyId } from '../admit/linked-id.ts';
import { refuseOtherRegion } from '../admit/location.ts';
import { refuseOddOsDisk } from '../admit/os-disk.ts';
import { refuseOddOsProfile } from '../admit/os-profile.ts';
import { refuseOddSecurity } from '../admit/security.ts';
import { isSpot, refuseOddSpot } from '../admit/spot.ts';
import { refuseOddTags } from '../admit/tags.ts';
import { ArmError, invalidParameter, invalidReference, requiredParameter } from '../arm/arm-error.ts';
import { skuNotAvailable } from '../state/capacity.ts';
import { groupAndName, type Cloud } from '../state/cloud.ts';
import { drawGuid } from '../arm/guid.ts';
import { IMAGE_DISK_GB, type ImageFacts } from '../catalog/images.ts';
import { listAt, objectAt, textAt, valueAt, type JsonObject } from '../arm/json.ts';
import { nicInUse, putNic, refuseReserved } from './network.ts';
import { quotaRefusal } from '../state/quota.ts';
import { parseResourceId } from '../arm/resource-id.ts';
import type { Disk, FilledIn, Nic, Vm } from '../arm/resources.ts';
import { diskControllers, type Size } from '../catalog/sizes.ts';

const TYPE = 'Microsoft.Compute/virtualMachines';

/**
 * The VM that a PUT would create. Throws what Azure would refuse at once: names, logins, size, zone, disk, quota,
 * restriction, network.
 */
export function admitVm(cloud: Cloud, at: { readonly group: string; readonly name: string }, body: JsonObject): Vm {
  const id = cloud.idOf(TYPE, at.group, at.name);
  refuseOddPlace(cloud, body, id);
  refuseOddTags(body);
  refuseOddOsProfile(at.name, body);
  const { size, zone, image } = admitHardware(cloud, body);
  refuseUnknownIdentities(cloud, body, id);
  const capacityType = isSpot(body) ? 'spot' : 'on-demand';
  refuseNoRoom(cloud, { size, zone, capacityType });
  const nics = admitNics(cloud, { ...at, id }, body, size);
  const filled = fillIn(cloud, at, body, { size, image });
  return {
    name: at.name,
    group: at.group,
    id,
    vmId: drawGuid(cloud.rng('guids')),
    zone,
    capacityType,
    evictionPolicy: textAt(body, 'properties.evictionPolicy')?.toLowerCase() === 'delete' ? 'Delete' : 'Deallocate',
    customData: textAt(body, 'properties.osProfile.customData'),
    createdAt: cloud.clock.now(),
    nics,
    disk: diskOf(cloud, at, body, { zone, id, filled }),
    filled,
    extensions: new Map(),
    size: size.name,
    body,
    etag: 1,
    provisioningState: 'Creating',
    since: cloud.clock.now(),
    powerState: 'starting',
    failure: null,
    bootExitCode: cloud.bootExitCode,
    operation: null,
    cancel: () => {},
    notice: null,
  };
}

function refuseOddPlace(cloud: Cloud, body: JsonObject, id: string): void {
  const [first] = listAt(body, 'properties.networkProfile.networkInterfaces');
  refuseOtherRegion(cloud, body['location'], { type: TYPE, id, referenced: textAt(first, 'id') ?? id });
}

/** The size and the zone, which fit each other, the image and the disk. */
function admitHardware(
  cloud: Cloud,
  body: JsonObject,
): { readonly size: Size; readonly zone: string | null; readonly image: ImageFacts | null } {
  if (valueAt(body, 'properties.storageProfile.imageReference') === undefined)
    throw requiredParameter('storageProfile.imageReference');
  const size = admitSize(cloud, body);
  const zone = admitZone(body, size, cloud.options.region);
  refuseOddSpot(body, size);
  const image = admitImage(cloud.images, body, cloud.options.region);
  refuseOddSecurity(body, size, image);
  if (image !== null) refuseUnbootable(image, size, cloud.imageDiskControllers);
  refuseOddOsDisk(body, size, image);
  return { size, zone, image };
}

function admitSize(cloud: Cloud, body: JsonObject): Size {
  const name = textAt(body, 'properties.hardwareProfile.vmSize') ?? '';
  const size = cloud.sizes.get(name.toLowerCase());
  if (size === undefined) throw unknownSize(cloud, name);
  return size;
}

/** As reported in terraform-examples#62: all sizes of the region follow. */
export function unknownSize(cloud: Cloud, name: string): ArmError {
  const names = [...cloud.sizes.values()].map((size) => size.name).join(',');
  return invalidParameter(
    'vmSize',
    `The value ${name} provided for the VM size is not valid. The valid sizes in the current region are: ${names}.`,
  );
}

function admitZone(body: JsonObject, size: Size, region: string): string | null {
  const zones = listAt(body, 'zones').map(String);
  if (zones.length > 1) throw invalidParameter('zones', 'A VM can be in one zone at most.');
  const zone = zones[0] ?? null;
  if (zone !== null && !size.zones.includes(zone))
    throw new ArmError(409, {
      code: 'SkuNotAvailable',
      message: skuNotAvailable(size.name, region),
    });
  return zone;
}

function refuseNoRoom(
  cloud: Cloud,
  { size, zone, capacityType }: { size: Size; zone: string | null; capacityType: 'spot' | 'on-demand' },
): void {
  const { region } = cloud.options;
  const refusal = quotaRefusal({ size, capacityType }, cloud.counted(), cloud.quota, region);
  if (refusal !== null) throw refusal;
  if (cloud.restrictions.forbids(size.name, zone))
    throw new ArmError(409, {
      code: 'SkuNotAvailable',
      message: skuNotAvailable(size.name, region),
    });
  const unavailable = cloud.capacity.refusalAtOnce({ size: size.name, zone, capacityType }, region);
  if (unavailable !== null) throw new ArmError(409, unavailable);
}

function admitNics(
  cloud: Cloud,
  at: { readonly group: string; readonly name: string; readonly id: string },
  body: JsonObject,
  size: Size,
): Vm['nics'] {
  const inline = listAt(body, 'properties.networkProfile.networkInterfaceConfigurations');
  const references = listAt(body, 'properties.networkProfile.networkInterfaces');
  if (inline.length + references.length === 0)
    throw invalidParameter('networkProfile', `VM '${at.name}' must have at least one network interface.`);
  if (inline.length > 0 && textAt(body, 'properties.networkProfile.networkApiVersion') === null)
    throw requiredParameter('networkProfile.networkApiVersion');
  const referenced = references.map((reference, index) => ({
    nic: admitNic(cloud, textAt(reference, 'id') ?? '', at, index),
    deleteWithVm: isDelete(textAt(reference, 'properties.deleteOption')),
  }));
  for (const { nic } of referenced) refuseSlowSize(nic, size, at.id);
  const made = inline.map((configuration) => ({
    nic: putNic(
      cloud,
      { group: at.group, name: inlineName(cloud, configuration) },
      inlineNic(cloud, configuration),
      null,
    ).resource,
    deleteWithVm: isDelete(textAt(configuration, 'properties.deleteOption')),
  }));
  return [...referenced, ...made];
}

function isDelete(option: string | null): boolean {
  return option?.toLowerCase() === 'delete';
}

function admitNic(cloud: Cloud, id: string, vm: { readonly name: string; readonly id: string }, index: number): Nic {
  const parsed = parseResourceId(id);
  if (parsed === null) throw linkedInvalidPropertyId(id, `properties.networkProfile.networkInterfaces[${index}].id`);
  const nic = cloud.nics.get(groupAndName(parsed.group, parsed.name));
  if (nic === undefined || nic.deleting !== null) throw invalidReference(id, vm.id);
  if (nic.vmId !== null)
    throw new ArmError(400, {
      code: 'NicInUse',
      message: nicInUse(nic.id, nic.vmId),
    });
  refuseReserved(cloud, nic, vm.name);
  return nic;
}

/** As reported in terraform-azurerm-aks#1. */
function refuseSlowSize(nic: Nic, size: Size, vmId: string): void {
  const accelerated = valueAt(nic.body, 'properties.enableAcceleratedNetworking') === true;
  if (!accelerated || size.capabilities['AcceleratedNetworkingEnabled'] === 'True') return;
  throw new ArmError(400, {
    code: 'VMSizeIsNotPermittedToEnableAcceleratedNetworking',
    message:
      `Virtual Machine size ${size.name} is not in the allowed list of VM sizes for accelerated networking to be enabled ` +
      `on Network Interface ${vmId}.`,
  });
}

/** Azure adds characters of its own to the name of an interface that is made with its VM. */
function inlineName(cloud: Cloud, configuration: unknown): string {
  return `${textAt(configuration, 'name') ?? 'nic'}-${drawGuid(cloud.rng('guids')).slice(0, 8)}`;
}

/** What a network interface has of one that is made with its VM: how it ends is the VM's affair. */
function inlineNic(cloud: Cloud, configuration: unknown): JsonObject {
  const { deleteOption: _end, primary: _primary, ...properties } = objectAt(configuration, 'properties');
  return { location: cloud.options.region, properties };
}

function diskOf(
  cloud: Cloud,
  at: { readonly group: string; readonly name: string },
  body: JsonObject,
  of: { readonly zone: string | null; readonly id: string; readonly filled: FilledIn },
): Vm['disk'] {
  if (textAt(body, `${OS_DISK}.diffDiskSettings.option`)?.toLowerCase() === 'local') return null;
  const { diskName: name, diskSizeGb, generation, storage } = of.filled;
  const disk: Disk = {
    name,
    group: at.group,
    id: cloud.idOf('Microsoft.Compute/disks', at.group, name),
    zone: of.zone,
    sizeGb: diskSizeGb,
    generation,
    storage,
    uniqueId: drawGuid(cloud.rng('disk-guids')),
    createdAt: cloud.clock.now(),
    managedBy: of.id,
  };
  return { disk, deleteWithVm: isDelete(textAt(body, `${OS_DISK}.deleteOption`)) };
}

const OS_DISK = 'properties.storageProfile.osDisk';
const IMAGE = 'properties.storageProfile.imageReference';

/**
 * What Azure makes of what was left open, as recorded: the disk as large as the image, and premium where the size can.
 */
function fillIn(
  cloud: Cloud,
  at: { readonly name: string },
  body: JsonObject,
  { size, image }: { readonly size: Size; readonly image: ImageFacts | null },
): FilledIn {
  const sizeGb = valueAt(body, `${OS_DISK}.diskSizeGB`);
  const sku = textAt(body, `${IMAGE}.sku`) ?? '';
  const generation = image?.generation ?? (sku.includes('gen2') ? 'V2' : 'V1');
  const version = textAt(body, `${IMAGE}.version`);
  const premium = size.capabilities['PremiumIO'] === 'True' ? 'Premium_LRS' : 'Standard_LRS';
  return {
    diskName:
      textAt(body, `${OS_DISK}.name`) ?? `${at.name}_OsDisk_1_${drawGuid(cloud.rng('guids')).replaceAll('-', '')}`,
    diskSizeGb: typeof sizeGb === 'number' ? sizeGb : (image?.diskGb ?? IMAGE_DISK_GB),
    storage: textAt(body, `${OS_DISK}.managedDisk.storageAccountType`) ?? premium,
    generation,
    diskController: generation === 'V2' ? (diskControllers(size)[0] ?? null) : null,
    exactVersion: version === 'latest' ? '1.0.0' : version,
  };
}
