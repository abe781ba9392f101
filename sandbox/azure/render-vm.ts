import type { Cloud } from './cloud.ts';
import { objectAt, textAt, type JsonObject } from './json.ts';
import type { Disk, Extension, Vm } from './resources.ts';

/** The VM as ARM shows it; with its instance view when that is asked for. */
export function renderVm(cloud: Cloud, vm: Vm, withInstanceView: boolean): JsonObject {
  return {
    name: vm.name,
    id: vm.id,
    type: 'Microsoft.Compute/virtualMachines',
    location: cloud.options.region,
    tags: objectAt(vm.body, 'tags'),
    ...(vm.zone === null ? {} : { zones: [vm.zone] }),
    ...(vm.body['identity'] === undefined ? {} : { identity: vm.body['identity'] }),
    etag: `"${vm.etag}"`,
    properties: {
      ...objectAt(vm.body, 'properties'),
      hardwareProfile: { ...objectAt(vm.body, 'properties.hardwareProfile'), vmSize: vm.size },
      vmId: vm.vmId,
      provisioningState: vm.provisioningState,
      timeCreated: new Date(vm.createdAt).toISOString(),
      networkProfile: {
        networkInterfaces: vm.nics.map(({ nic, deleteWithVm }, index) => ({
          id: nic.id,
          properties: { primary: index === 0, deleteOption: deleteWithVm ? 'Delete' : 'Detach' },
        })),
      },
      ...(withInstanceView ? { instanceView: renderInstanceView(vm) } : {}),
    },
    ...(vm.extensions.size === 0
      ? {}
      : { resources: [...vm.extensions.values()].map((extension) => renderExtension(cloud, vm, extension)) }),
  };
}

/** The instance view of a VM. */
export function renderInstanceView(vm: Vm): JsonObject {
  const provisioning =
    vm.failure === null
      ? { code: `ProvisioningState/${vm.provisioningState.toLowerCase()}`, level: 'Info' }
      : {
          code: `ProvisioningState/failed/${vm.failure.code}`,
          level: 'Error',
          displayStatus: 'Provisioning failed',
          message: vm.failure.message,
        };
  const ready = vm.provisioningState === 'Succeeded' && vm.powerState === 'running';
  const power = vm.powerState === 'unknown' ? [] : [{ code: `PowerState/${vm.powerState}`, level: 'Info' }];
  return {
    computerName: textAt(vm.body, 'properties.osProfile.computerName') ?? vm.name,
    hyperVGeneration: 'V2',
    vmAgent: {
      statuses: [{ code: `ProvisioningState/${ready ? 'succeeded' : 'Unavailable'}`, level: 'Info' }],
    },
    disks: vm.disk === null ? [] : [{ name: vm.disk.disk.name }],
    ...(vm.extensions.size === 0 ? {} : { extensions: [...vm.extensions.values()].map(renderExtensionView) }),
    statuses: [provisioning, ...power],
  };
}

function renderExtensionView({ name, body, provisioningState, failure }: Extension): JsonObject {
  const state = provisioningState.toLowerCase();
  return {
    name,
    type: `${textAt(body, 'properties.publisher') ?? ''}.${textAt(body, 'properties.type') ?? ''}`,
    typeHandlerVersion: textAt(body, 'properties.typeHandlerVersion') ?? '',
    statuses: [
      failure === null
        ? { code: `ProvisioningState/${state}`, level: 'Info', displayStatus: 'Ready' }
        : {
            code: `ProvisioningState/${state}/1`,
            level: 'Error',
            displayStatus: 'Provisioning failed',
            message: failure,
          },
    ],
  };
}

/** The extension as ARM shows it; protected settings never come back. */
export function renderExtension(cloud: Cloud, vm: Vm, extension: Extension): JsonObject {
  const { protectedSettings: _secret, ...properties } = objectAt(extension.body, 'properties');
  return {
    name: extension.name,
    id: `${vm.id}/extensions/${extension.name}`,
    type: 'Microsoft.Compute/virtualMachines/extensions',
    location: cloud.options.region,
    tags: objectAt(extension.body, 'tags'),
    properties: { ...properties, provisioningState: extension.provisioningState },
  };
}

/** The disk as ARM shows it. */
export function renderDisk(cloud: Cloud, disk: Disk): JsonObject {
  return {
    name: disk.name,
    id: disk.id,
    type: 'Microsoft.Compute/disks',
    location: cloud.options.region,
    tags: {},
    sku: { name: 'Premium_LRS', tier: 'Premium' },
    ...(disk.zone === null ? {} : { zones: [disk.zone] }),
    ...(disk.managedBy === null ? {} : { managedBy: disk.managedBy }),
    properties: {
      osType: 'Linux',
      diskSizeGB: disk.sizeGb,
      creationData: { createOption: 'FromImage' },
      timeCreated: new Date(disk.createdAt).toISOString(),
      provisioningState: 'Succeeded',
      diskState: disk.managedBy === null ? 'Unattached' : 'Attached',
    },
  };
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
    tags,
    zones: zones ?? null,
    identity: identity ?? null,
    properties: {
      ...objectAt(properties, ''),
      extended: { instanceView: { powerState: { code: `PowerState/${vm.powerState}` } } },
    },
  });
}
