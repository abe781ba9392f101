import { ArmError, invalidParameter, invalidReference } from './arm-error.ts';
import { groupAndName, isRegion, type Cloud } from './cloud.ts';
import { drawGuid } from './guid.ts';
import { listAt, textAt, valueAt, type JsonObject } from './json.ts';
import { putNic, refuseReserved } from './network.ts';
import { quotaRefusal } from './quota.ts';
import { parseResourceId } from './resource-id.ts';
import type { Disk, Nic, Vm } from './resources.ts';
import type { Size } from './sizes.ts';

/** Linux takes at most this many characters for a VM's and a computer's name. */
const NAME_LENGTH = 64;

/** The VM that a PUT would create. Throws what Azure would refuse at once: shape, size, zone, quota, restriction, network. */
export function admitVm(cloud: Cloud, at: { readonly group: string; readonly name: string }, body: JsonObject): Vm {
  if (at.name.length > NAME_LENGTH)
    throw invalidParameter('vmName', `The VM name '${at.name}' is longer than ${NAME_LENGTH} characters.`);
  if (!isRegion(cloud, body['location']))
    throw invalidParameter('location', `The location of VM '${at.name}' must be '${cloud.options.region}'.`);
  const computerName = textAt(body, 'properties.osProfile.computerName') ?? at.name;
  if (computerName.length > NAME_LENGTH)
    throw invalidParameter('osProfile.computerName', `The computer name is longer than ${NAME_LENGTH} characters.`);
  checkProfiles(body);
  const size = admitSize(cloud, body);
  const zone = admitZone(body, size);
  const capacityType = textAt(body, 'properties.priority') === 'Spot' ? 'spot' : 'on-demand';
  if (capacityType === 'spot' && !size.lowPriorityCapable)
    throw new ArmError(400, {
      code: 'SpotNotSupported',
      message: `The VM size '${size.name}' does not support Spot priority.`,
    });
  const id = cloud.idOf('Microsoft.Compute/virtualMachines', at.group, at.name);
  refuseNoRoom(cloud, { size, zone, capacityType });
  const nics = admitNics(cloud, at, body, id);
  return {
    name: at.name,
    group: at.group,
    id,
    vmId: drawGuid(cloud.rng('guids')),
    zone,
    capacityType,
    evictionPolicy: textAt(body, 'properties.evictionPolicy') === 'Delete' ? 'Delete' : 'Deallocate',
    customData: textAt(body, 'properties.osProfile.customData'),
    createdAt: cloud.clock.now(),
    nics,
    disk: diskOf(cloud, at, body, { zone, id }),
    extensions: new Map(),
    size: size.name,
    body,
    etag: drawGuid(cloud.rng('etags')),
    provisioningState: 'Creating',
    powerState: 'starting',
    failure: null,
    operation: null,
    cancel: () => {},
    notice: null,
  };
}

function checkProfiles(body: JsonObject): void {
  for (const path of ['properties.storageProfile.imageReference', 'properties.osProfile.adminUsername'])
    if (valueAt(body, path) === undefined)
      throw invalidParameter(path.slice('properties.'.length), `Required parameter '${path}' is missing (null).`);
}

function admitSize(cloud: Cloud, body: JsonObject): Size {
  const name = textAt(body, 'properties.hardwareProfile.vmSize') ?? '';
  const size = cloud.sizes.get(name.toLowerCase());
  if (size === undefined)
    throw invalidParameter('vmSize', `The value '${name}' provided for the VM size is not valid in this region.`);
  return size;
}

function admitZone(body: JsonObject, size: Size): string | null {
  const zones = listAt(body, 'zones').map(String);
  if (zones.length > 1) throw invalidParameter('zones', 'A VM can be in one zone at most.');
  const zone = zones[0] ?? null;
  if (zone !== null && !size.zones.includes(zone))
    throw new ArmError(409, {
      code: 'SkuNotAvailable',
      message: `The requested VM size '${size.name}' is not available in zone '${zone}'. It is in zones '${size.zones.join(',')}'.`,
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
      message: `The requested VM size '${size.name}' is not available for this subscription in location '${region}'.`,
    });
  const unavailable = cloud.capacity.refusalAtOnce({ size: size.name, zone, capacityType }, region);
  if (unavailable !== null) throw new ArmError(409, unavailable);
}

function admitNics(
  cloud: Cloud,
  at: { readonly group: string; readonly name: string },
  body: JsonObject,
  vmId: string,
): Vm['nics'] {
  const inline = listAt(body, 'properties.networkProfile.networkInterfaceConfigurations');
  const references = listAt(body, 'properties.networkProfile.networkInterfaces');
  if (inline.length + references.length === 0)
    throw invalidParameter('networkProfile', `VM '${at.name}' must have at least one network interface.`);
  const referenced = references.map((reference) => ({
    nic: admitNic(cloud, textAt(reference, 'id') ?? '', at.name, vmId),
    deleteWithVm: textAt(reference, 'properties.deleteOption') === 'Delete',
  }));
  const made = inline.map((configuration) => ({
    nic: putNic(
      cloud,
      { group: at.group, name: inlineName(cloud, configuration) },
      inlineNic(cloud, configuration),
      null,
    ).resource,
    deleteWithVm: textAt(configuration, 'properties.deleteOption') === 'Delete',
  }));
  return [...referenced, ...made];
}

function admitNic(cloud: Cloud, id: string, vmName: string, vmId: string): Nic {
  const parsed = parseResourceId(id);
  const nic = parsed === null ? undefined : cloud.nics.get(groupAndName(parsed.group, parsed.name));
  if (nic === undefined || nic.deleting !== null) throw invalidReference(id, vmId);
  if (nic.vmId !== null)
    throw new ArmError(400, {
      code: 'NicInUse',
      message: `Network Interface ${nic.id} is used by existing resource ${nic.vmId}.`,
    });
  refuseReserved(cloud, nic, vmName);
  return nic;
}

/** Azure adds characters of its own to the name of an interface that is made with its VM. */
function inlineName(cloud: Cloud, configuration: unknown): string {
  return `${textAt(configuration, 'name') ?? 'nic'}-${drawGuid(cloud.rng('guids')).slice(0, 8)}`;
}

function inlineNic(cloud: Cloud, configuration: unknown): JsonObject {
  return { location: cloud.options.region, properties: valueAt(configuration, 'properties') };
}

function diskOf(
  cloud: Cloud,
  at: { readonly group: string; readonly name: string },
  body: JsonObject,
  of: { readonly zone: string | null; readonly id: string },
): Vm['disk'] {
  const path = 'properties.storageProfile.osDisk';
  if (textAt(body, `${path}.diffDiskSettings.option`) === 'Local') return null;
  const name =
    textAt(body, `${path}.name`) ?? `${at.name}_OsDisk_1_${drawGuid(cloud.rng('guids')).replaceAll('-', '')}`;
  const sizeGb = valueAt(body, `${path}.diskSizeGB`);
  const disk: Disk = {
    name,
    group: at.group,
    id: cloud.idOf('Microsoft.Compute/disks', at.group, name),
    zone: of.zone,
    sizeGb: typeof sizeGb === 'number' ? sizeGb : 128,
    createdAt: cloud.clock.now(),
    managedBy: of.id,
  };
  return { disk, deleteWithVm: textAt(body, `${path}.deleteOption`) === 'Delete' };
}
