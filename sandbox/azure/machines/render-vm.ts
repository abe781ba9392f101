import type { Cloud } from '../state/cloud.ts';
import { drawGuid } from '../arm/guid.ts';
import { listAt, objectAt, textAt, type JsonObject } from '../arm/json.ts';
import { kubeletIdentity } from '../state/kubelet-identity.ts';
import { renderInstanceView } from './render-instance-view.ts';
import type { Disk, Extension, Vm } from '../arm/resources.ts';

/** The VM as ARM shows it, which is more than it was sent; with its instance view when that is asked for. */
export function renderVm(cloud: Cloud, vm: Vm, withInstanceView: boolean): JsonObject {
  const identity = renderIdentity(cloud, vm);
  return {
    name: vm.name,
    id: vm.id,
    type: 'Microsoft.Compute/virtualMachines',
    location: cloud.options.region,
    ...(vm.body['tags'] === undefined ? {} : { tags: vm.body['tags'] }),
    ...(vm.zone === null ? {} : { zones: [vm.zone] }),
    ...(identity === null ? {} : { identity }),
    etag: `"${vm.etag}"`,
    properties: {
      ...objectAt(vm.body, 'properties'),
      hardwareProfile: { ...objectAt(vm.body, 'properties.hardwareProfile'), vmSize: vm.size },
      storageProfile: renderStorage(cloud, vm),
      osProfile: renderOsProfile(vm),
      networkProfile: { networkInterfaces: renderNicReferences(vm) },
      vmId: vm.vmId,
      provisioningState: vm.provisioningState,
      timeCreated: new Date(vm.createdAt).toISOString(),
      ...(withInstanceView ? { instanceView: renderInstanceView(vm) } : {}),
    },
    ...(vm.extensions.size === 0
      ? {}
      : { resources: [...vm.extensions.values()].map((extension) => renderExtension(cloud, vm, extension)) }),
  };
}

/**
 * The VM as a list has it: of its extensions the ids, and at times the name of its group in upper case, always in the
 * same VM's id and never in what it refers to (recorded: test_vm_list_filter).
 */
export function renderListedVm(cloud: Cloud, vm: Vm, withInstanceView: boolean): JsonObject {
  const shown = renderVm(cloud, vm, withInstanceView);
  const id = listedId(cloud, vm);
  if (vm.extensions.size === 0) return { ...shown, id };
  return {
    ...shown,
    id,
    resources: [...vm.extensions.values()].map(({ name }) => ({ id: `${id}/extensions/${name}` })),
  };
}

/** The id of a VM or a network interface as lists have it. */
export function listedId(cloud: Cloud, { id, group }: { readonly id: string; readonly group: string }): string {
  const { rng, upperCaseGroupPercent } = cloud.options;
  if (!rng.split(`listed/${id.toLowerCase()}`).chance(upperCaseGroupPercent)) return id;
  return id.replace(`/resourceGroups/${group}/`, `/resourceGroups/${group.toUpperCase()}/`);
}

/** User-assigned identities with the ids that they have in the directory, which nobody sends. */
function renderIdentity(cloud: Cloud, { body }: Vm): JsonObject | null {
  const identity = objectAt(body, 'identity');
  if (textAt(identity, 'type') === null || textAt(identity, 'type') === 'None') return null;
  const { userAssignedIdentities: given, ...kind } = identity;
  // Null took one away, in a PATCH.
  const assigned = Object.entries(objectAt(given, '')).filter(([, value]) => value !== null);
  if (assigned.length === 0) return kind;
  const entries = assigned.map(([id]) => [id, directoryIdsOf(cloud, id)] as const);
  return { ...kind, userAssignedIdentities: Object.fromEntries(entries) };
}

function directoryIdsOf(cloud: Cloud, id: string): JsonObject {
  const kubelet = kubeletIdentity(cloud.options);
  if (id.toLowerCase() === kubelet.resourceId.toLowerCase())
    return { principalId: kubelet.objectId, clientId: kubelet.clientId };
  const rng = cloud.options.rng.split(`identity/${id.toLowerCase()}`);
  return { principalId: drawGuid(rng), clientId: drawGuid(rng) };
}

/** The disk has its name when the allocator is through; a VM without a machine does not say how large it is. */
function renderStorage(cloud: Cloud, { group, body, filled, provisioningState, powerState }: Vm): JsonObject {
  const path = 'properties.storageProfile';
  const { diskSizeGB: _size, managedDisk, ...given } = objectAt(body, `${path}.osDisk`);
  const isThere = provisioningState !== 'Creating' || powerState === 'running';
  const id = cloud.idOf('Microsoft.Compute/disks', group, filled.diskName);
  const isMade = powerState !== 'deallocated';
  const storageAccount = isMade ? { storageAccountType: filled.storage } : {};
  return {
    ...objectAt(body, path),
    imageReference: {
      ...objectAt(body, `${path}.imageReference`),
      ...(filled.exactVersion === null ? {} : { exactVersion: filled.exactVersion }),
    },
    osDisk: {
      createOption: 'FromImage',
      caching: 'ReadWrite',
      deleteOption: 'Detach',
      ...given,
      osType: 'Linux',
      ...(isThere ? { name: filled.diskName } : {}),
      managedDisk: { ...withoutStorage(managedDisk), ...storageAccount, ...(isThere ? { id } : {}) },
      ...(isMade ? { diskSizeGB: filled.diskSizeGb } : {}),
    },
    dataDisks: listAt(body, `${path}.dataDisks`),
    ...(filled.diskController === null ? {} : { diskControllerType: filled.diskController }),
  };
}

function withoutStorage(managedDisk: unknown): JsonObject {
  const { storageAccountType: _account, ...kept } = objectAt(managedDisk, '');
  return kept;
}

function renderOsProfile({ name, body }: Vm): JsonObject {
  const given = objectAt(body, 'properties.osProfile');
  return {
    computerName: name,
    ...given,
    linuxConfiguration: {
      disablePasswordAuthentication: false,
      provisionVMAgent: true,
      patchSettings: { patchMode: 'ImageDefault', assessmentMode: 'ImageDefault' },
      enableVMAgentPlatformUpdates: false,
      ...objectAt(given, 'linuxConfiguration'),
    },
    secrets: [],
    allowExtensionOperations: true,
    requireGuestProvisionSignal: true,
  };
}

/** What was said of a network interface that was made before; of one that was made with the VM all there is to say. */
function renderNicReferences({ body, nics }: Vm): ReadonlyArray<JsonObject> {
  const given = listAt(body, 'properties.networkProfile.networkInterfaces');
  return nics.map(({ nic, deleteWithVm }, index) => {
    const reference = given.find((one) => textAt(one, 'id')?.toLowerCase() === nic.id.toLowerCase());
    const said = objectAt(reference, 'properties');
    if (reference !== undefined) return { id: nic.id, ...(Object.keys(said).length === 0 ? {} : { properties: said }) };
    return { id: nic.id, properties: { primary: index === 0, deleteOption: deleteWithVm ? 'Delete' : 'Detach' } };
  });
}

/** The extension as ARM shows it; protected settings never come back. */
export function renderExtension(cloud: Cloud, vm: Vm, extension: Extension): JsonObject {
  const { protectedSettings: _secret, ...properties } = objectAt(extension.body, 'properties');
  return {
    name: extension.name,
    id: `${vm.id}/extensions/${extension.name}`,
    type: 'Microsoft.Compute/virtualMachines/extensions',
    location: cloud.options.region,
    ...(extension.body['tags'] === undefined ? {} : { tags: extension.body['tags'] }),
    properties: {
      autoUpgradeMinorVersion: false,
      settings: {},
      ...properties,
      provisioningState: extension.provisioningState,
    },
  };
}

/** The disk as ARM shows it. */
export function renderDisk(cloud: Cloud, disk: Disk): JsonObject {
  return {
    name: disk.name,
    id: disk.id,
    type: 'Microsoft.Compute/disks',
    location: cloud.options.region,
    sku: { name: disk.storage, tier: disk.storage.replace(/(?:V2)?_.*$/, '') },
    ...(disk.zone === null ? {} : { zones: [disk.zone] }),
    ...(disk.managedBy === null ? {} : { managedBy: disk.managedBy }),
    properties: {
      osType: 'Linux',
      hyperVGeneration: disk.generation,
      diskSizeGB: disk.sizeGb,
      diskSizeBytes: disk.sizeGb * GIB,
      ...performanceOf(disk),
      encryption: { type: 'EncryptionAtRestWithPlatformKey' },
      networkAccessPolicy: 'AllowAll',
      publicNetworkAccess: 'Enabled',
      creationData: { createOption: 'FromImage' },
      timeCreated: new Date(disk.createdAt).toISOString(),
      provisioningState: 'Succeeded',
      diskState: disk.managedBy === null ? 'Unattached' : 'Attached',
      uniqueId: disk.uniqueId,
    },
  };
}

const GIB = 2 ** 30;

/** Learn "Azure managed disk types" (2026-08): premium disks by the GiB that they reach up to. */
const PREMIUM_TIERS: ReadonlyArray<readonly [upToGib: number, tier: string, iops: number, mbps: number]> = [
  [4, 'P1', 120, 25],
  [8, 'P2', 120, 25],
  [16, 'P3', 120, 25],
  [32, 'P4', 120, 25],
  [64, 'P6', 240, 50],
  [128, 'P10', 500, 100],
  [256, 'P15', 1_100, 125],
  [512, 'P20', 2_300, 150],
  [1_024, 'P30', 5_000, 200],
  [2_048, 'P40', 7_500, 250],
  [4_096, 'P50', 7_500, 250],
];

/** What a disk does in a second; all others than premium ones have what was recorded of a standard disk. */
function performanceOf({ storage, sizeGb }: Disk): JsonObject {
  const found = storage.startsWith('Premium_') ? PREMIUM_TIERS.find(([upToGib]) => sizeGb <= upToGib) : undefined;
  if (found === undefined) return { diskIOPSReadWrite: 500, diskMBpsReadWrite: 60 };
  return { tier: found[1], diskIOPSReadWrite: found[2], diskMBpsReadWrite: found[3] };
}

/** Writes the VM's present form to Resource Graph. */
export function recordVm(cloud: Cloud, vm: Vm): void {
  const { tags, zones, identity, properties } = renderVm(cloud, vm, false);
  cloud.graph.record(vm.id, {
    id: vm.id,
    name: vm.name,
    type: 'microsoft.compute/virtualmachines',
    resourceGroup: vm.group.toLowerCase(),
    location: cloud.options.region,
    subscriptionId: cloud.options.subscriptionId,
    tags: tags ?? null,
    zones: zones ?? null,
    identity: identity ?? null,
    properties: {
      ...objectAt(properties, ''),
      extended: { instanceView: { powerState: { code: `PowerState/${vm.powerState}` } } },
    },
  });
}
