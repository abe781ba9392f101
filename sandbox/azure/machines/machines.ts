import { refuseUnknownIdentities } from '../admit/identity.ts';
import { refuseOddTags } from '../admit/tags.ts';
import {
  ArmError,
  etagMismatch,
  notFound,
  preconditionFailed,
  propertyChangeNotAllowed,
  resourceNotFound,
  type ArmErrorBody,
} from '../arm/arm-error.ts';
import { groupAndName, type Cloud } from '../state/cloud.ts';
import { canonicalJson, objectAt, textAt, valueAt, type JsonObject } from '../arm/json.ts';
import { admitVm, unknownSize } from './admit-vm.ts';
import { recordNic, removeNic, type Written } from './network.ts';
import { quotaRefusal } from '../state/quota.ts';
import { recordVm } from './render-vm.ts';
import type { Vm } from '../arm/resources.ts';

const TYPE = 'Microsoft.Compute/virtualMachines';

/** What cannot change after creation. The size can: that is a resize. */
const IMMUTABLE = [
  'zones',
  'properties.priority',
  'properties.osProfile.computerName',
  'properties.osProfile.adminUsername',
  'properties.storageProfile.imageReference',
  'properties.storageProfile.osDisk.diffDiskSettings',
] as const;

/**
 * Creates or updates a VM. Refuses at once what quota, the size or the network do not allow; what capacity does not
 * allow fails later, in the operation. An identical PUT answers with the VM and, while that lasts, with the operation
 * that creates it.
 */
export function putVm(
  cloud: Cloud,
  at: { readonly group: string; readonly name: string },
  body: JsonObject,
  { ifNoneMatch, ifMatch }: { readonly ifNoneMatch: string | null; readonly ifMatch: string | null },
): Written<Vm> {
  cloud.ledger.putReceived(at.name);
  const existing = cloud.vms.get(groupAndName(at.group, at.name));
  if (existing === undefined) return createVm(cloud, admitVm(cloud, at, body), body);
  if (ifNoneMatch === '*') throw preconditionFailed(at.name);
  refuseOtherEtag(existing, ifMatch);
  refuseMarkedForDeletion(existing);
  refuseOddTags(body);
  refuseUnknownIdentities(cloud, body, existing.id);
  refuseImmutableChanges(existing, body);
  return updateVm(cloud, existing, withImageOf(existing, body));
}

/** What a VM was made from stays with it, said again or not. */
function withImageOf({ body: before }: Vm, body: JsonObject): JsonObject {
  const path = 'properties.storageProfile';
  const properties = objectAt(body, 'properties');
  const storageProfile = {
    imageReference: valueAt(before, `${path}.imageReference`),
    ...objectAt(body, path),
  };
  return { ...body, properties: { ...properties, storageProfile } };
}

/** Changes tags, identities, size or policies of a VM. */
export function patchVm(cloud: Cloud, group: string, name: string, patch: JsonObject): Written<Vm> {
  const vm = findVm(cloud, group, name);
  refuseMarkedForDeletion(vm);
  refuseOddTags(patch);
  refuseUnknownIdentities(cloud, patch, vm.id);
  const body = {
    ...vm.body,
    ...(patch['tags'] === undefined ? {} : { tags: patch['tags'] }),
    ...(patch['identity'] === undefined ? {} : { identity: mergeIdentity(vm.body['identity'], patch['identity']) }),
    properties: { ...objectAt(vm.body, 'properties'), ...objectAt(patch, 'properties') },
  };
  refuseImmutableChanges(vm, body);
  return updateVm(cloud, vm, body);
}

/** Deletes a VM, with the network interfaces and the OS disk whose `deleteOption` says so. Null when there is none. */
export function deleteVm(cloud: Cloud, group: string, name: string): string | null {
  const vm = cloud.vms.get(groupAndName(group, name));
  if (vm === undefined) return null;
  if (vm.provisioningState === 'Deleting' && vm.operation !== null) return vm.operation;
  vm.cancel();
  if (vm.operation !== null)
    cloud.operations.end(vm.operation, {
      error: { code: 'OperationPreempted', message: `The operation on '${name}' was preempted by its deletion.` },
    });
  const operation = cloud.operations.start('Microsoft.Compute');
  enter(cloud, vm, 'Deleting');
  vm.operation = operation;
  recordVm(cloud, vm);
  vm.cancel = cloud.clock.after(cloud.draw('vm-delete', cloud.options.latency.vmDelete), () => {
    removeVm(cloud, vm, 'deleted');
    cloud.operations.end(operation, { status: 'Succeeded' });
  });
  return operation;
}

/** Takes a VM out of the world at once, cascading as its `deleteOption`s say. */
export function removeVm(cloud: Cloud, vm: Vm, reason: 'deleted' | 'evicted' | 'failed'): void {
  vm.cancel();
  cloud.vms.delete(groupAndName(vm.group, vm.name));
  cloud.graph.record(vm.id, null);
  for (const { nic, deleteWithVm } of vm.nics) {
    nic.vmId = null;
    if (deleteWithVm) removeNic(cloud, nic);
    else {
      nic.reserved = { vmName: vm.name, until: cloud.clock.now() + cloud.options.nicReservedSeconds * 1_000 };
      recordNic(cloud, nic);
    }
  }
  if (vm.disk !== null) {
    vm.disk.disk.managedBy = null;
    if (vm.disk.deleteWithVm) cloud.disks.delete(groupAndName(vm.group, vm.disk.disk.name));
  }
  cloud.ledger.gone(vm.vmId, reason);
  cloud.emit({ kind: 'vm-gone', name: vm.name, id: vm.id, reason });
}

/** The VM, or a 404: Compute's own for one that was there, as the gateway still knows it, and else the gateway's. */
export function findVm(cloud: Cloud, group: string, name: string): Vm {
  const vm = cloud.vms.get(groupAndName(group, name));
  if (vm !== undefined) return vm;
  if (cloud.known.has(cloud.idOf(TYPE, group, name).toLowerCase()))
    throw notFound('The entity was not found in this Azure location.');
  throw resourceNotFound(`${TYPE}/${name}`, group);
}

/** Brings a VM into a state, and notes when. */
export function enter(cloud: Cloud, vm: Vm, state: Vm['provisioningState']): void {
  vm.provisioningState = state;
  vm.since = cloud.clock.now();
}

function refuseOtherEtag(vm: Vm, ifMatch: string | null): void {
  const wanted = ifMatch?.replace(/^(?:W\/)?"(.*)"$/, '$1');
  if (wanted === undefined || wanted === '*' || wanted === String(vm.etag)) return;
  throw etagMismatch(wanted, String(vm.etag));
}

/** Refuses any change to a VM that is being deleted. The code is the one of quota errors: only the words differ. */
export function refuseMarkedForDeletion(vm: Vm): void {
  if (vm.provisioningState !== 'Deleting') return;
  throw new ArmError(409, {
    code: 'OperationNotAllowed',
    message: `The operation is not allowed on VM '${vm.name}' since the VM is marked for deletion. Only its deletion can be tried again.`,
  });
}

function createVm(cloud: Cloud, vm: Vm, body: JsonObject): Written<Vm> {
  cloud.vms.set(groupAndName(vm.group, vm.name), vm);
  cloud.known.add(vm.id.toLowerCase());
  for (const { nic } of vm.nics) {
    nic.vmId = vm.id;
    nic.reserved = null;
    recordNic(cloud, nic);
  }
  if (vm.disk !== null) {
    cloud.disks.set(groupAndName(vm.group, vm.disk.disk.name), vm.disk.disk);
    cloud.known.add(vm.disk.disk.id.toLowerCase());
  }
  vm.body = withoutSecrets(body);
  cloud.ledger.created({
    name: vm.name,
    vmId: vm.vmId,
    size: vm.size,
    zone: vm.zone,
    capacityType: vm.capacityType,
  });
  recordVm(cloud, vm);
  return { resource: vm, created: true, operation: allocate(cloud, vm) };
}

function allocate(cloud: Cloud, vm: Vm): string {
  const { latency, region } = cloud.options;
  const operation = cloud.operations.start('Microsoft.Compute');
  vm.operation = operation;
  enter(cloud, vm, 'Creating');
  vm.powerState = 'starting';
  vm.failure = null;
  vm.cancel = cloud.clock.after(cloud.draw('allocation', latency.allocation), () => {
    const refusal = cloud.capacity.allocate(vm, region);
    if (refusal !== null) {
      failVm(cloud, vm, refusal);
      return;
    }
    vm.powerState = 'running';
    cloud.ledger.reached(vm.vmId, 'allocatedAt');
    recordVm(cloud, vm);
    cloud.emit({ kind: 'vm-allocated', vm: cloud.view(vm) });
    provision(cloud, vm, operation);
  });
  return operation;
}

function provision(cloud: Cloud, vm: Vm, operation: string): void {
  const fails = cloud.rng('provisioning-failure').chance(cloud.faults.provisioningFailurePercent);
  vm.cancel = cloud.clock.after(cloud.draw('provisioning', cloud.options.latency.provisioning), () => {
    if (fails) {
      failVm(cloud, vm, {
        code: 'OSProvisioningTimedOut',
        message: `OS provisioning for VM '${vm.name}' did not finish in the allotted time.`,
      });
      return;
    }
    enter(cloud, vm, 'Succeeded');
    vm.etag += 1;
    vm.operation = null;
    cloud.ledger.reached(vm.vmId, 'runningAt');
    recordVm(cloud, vm);
    cloud.operations.end(operation, { status: 'Succeeded' });
    cloud.emit({ kind: 'vm-running', vm: cloud.view(vm) });
  });
}

/** The VM stays, in state Failed, until somebody deletes it; it counts against quota all the while. */
function failVm(cloud: Cloud, vm: Vm, error: ArmErrorBody): void {
  if (vm.operation !== null) cloud.operations.end(vm.operation, { error });
  vm.operation = null;
  enter(cloud, vm, 'Failed');
  vm.failure = error;
  if (vm.powerState === 'starting') vm.powerState = 'unknown';
  cloud.ledger.count('refusals', error.code);
  recordVm(cloud, vm);
  cloud.emit({ kind: 'vm-failed', vm: cloud.view(vm), error });
}

function updateVm(cloud: Cloud, vm: Vm, body: JsonObject): Written<Vm> {
  const size = textAt(body, 'properties.hardwareProfile.vmSize') ?? vm.size;
  const resized = size.toLowerCase() !== vm.size.toLowerCase();
  if (resized) resize(cloud, vm, size);
  const before = vm.body;
  vm.body = withoutSecrets(body);
  if (vm.provisioningState === 'Failed') return { resource: vm, created: false, operation: allocate(cloud, vm) };
  if (vm.provisioningState === 'Creating') return { resource: vm, created: false, operation: vm.operation };
  vm.etag += 1;
  // As recorded, the answer says `Updating` and names no operation; by the next look nothing is left to do.
  if (!resized && canonicalJson(before) === canonicalJson(vm.body))
    return { resource: vm, created: false, operation: null };
  const operation = cloud.operations.start('Microsoft.Compute');
  enter(cloud, vm, 'Updating');
  vm.operation = operation;
  vm.cancel = cloud.clock.after(cloud.draw('extension', cloud.options.latency.extension), () => {
    enter(cloud, vm, 'Succeeded');
    vm.operation = null;
    recordVm(cloud, vm);
    cloud.operations.end(operation, { status: 'Succeeded' });
  });
  recordVm(cloud, vm);
  return { resource: vm, created: false, operation };
}

function resize(cloud: Cloud, vm: Vm, name: string): void {
  const size = cloud.sizes.get(name.toLowerCase());
  if (size === undefined) throw unknownSize(cloud, name);
  const others = [...cloud.vms.values()].filter((other) => other !== vm);
  const counted = others.flatMap((other) => {
    const otherSize = cloud.sizes.get(other.size.toLowerCase());
    return otherSize === undefined ? [] : [{ size: otherSize, capacityType: other.capacityType }];
  });
  const refusal = quotaRefusal({ size, capacityType: vm.capacityType }, counted, cloud.quota, cloud.options.region);
  if (refusal !== null) throw refusal;
  vm.size = size.name;
  cloud.ledger.count('totals', 'resizes');
}

function refuseImmutableChanges(vm: Vm, body: JsonObject): void {
  for (const path of IMMUTABLE) {
    const wanted = valueAt(body, path);
    if (wanted === undefined) continue;
    if (canonicalJson(wanted) !== canonicalJson(valueAt(vm.body, path) ?? (path === 'zones' ? [] : wanted)))
      throw propertyChangeNotAllowed(path.replace(/^properties\./, ''));
  }
  const customData = textAt(body, 'properties.osProfile.customData');
  if (customData !== null && customData !== vm.customData) throw propertyChangeNotAllowed('osProfile.customData');
}

/** What a GET never shows again: customData and passwords. */
function withoutSecrets(body: JsonObject): JsonObject {
  const properties = objectAt(body, 'properties');
  const { customData: _data, adminPassword: _password, ...osProfile } = objectAt(properties, 'osProfile');
  const { provisioningState: _state, instanceView: _view, vmId: _id, timeCreated: _time, ...rest } = properties;
  return { ...body, properties: { ...rest, osProfile } };
}

function mergeIdentity(before: unknown, patch: unknown): JsonObject {
  const identities = {
    ...objectAt(before, 'userAssignedIdentities'),
    ...objectAt(patch, 'userAssignedIdentities'),
  };
  return { ...objectAt(before, ''), ...objectAt(patch, ''), userAssignedIdentities: identities };
}
