import { ArmError } from '../arm/arm-error.ts';
import type { Cloud } from '../state/cloud.ts';
import { drawGuid } from '../arm/guid.ts';
import { removeVm } from './machines.ts';
import { recordVm } from './render-vm.ts';
import type { AzureEvent, Vm } from '../arm/resources.ts';

/**
 * Evicts a spot VM as Azure does: a notice, then the VM is deleted or deallocated as its policy says. A second eviction
 * of a VM that has its notice changes nothing. The answer is the notice.
 */
export function evictVm(
  cloud: Cloud,
  vm: Vm,
  noticeSeconds: number,
): { readonly eventId: string; readonly notBefore: number } {
  if (vm.capacityType !== 'spot')
    throw new ArmError(409, {
      code: 'OperationNotAllowed',
      message: "Operation 'simulateEviction' is allowed only for Spot Virtual Machines",
    });
  if (vm.notice !== null) return vm.notice;
  const noticeMs = noticeSeconds * 1_000;
  vm.notice = {
    eventId: drawGuid(cloud.rng('scheduled-events')).toUpperCase(),
    notBefore: cloud.clock.now() + noticeMs,
  };
  cloud.emit({ kind: 'vm-preempt-notice', vm: cloud.view(vm), ...vm.notice });
  cloud.clock.after(noticeMs, () => {
    if (isGone(cloud, vm)) return;
    if (vm.evictionPolicy === 'Delete') {
      if (vm.operation !== null)
        cloud.operations.end(vm.operation, {
          error: { code: 'OperationPreempted', message: `VM '${vm.name}' was evicted before the operation ended.` },
        });
      removeVm(cloud, vm, 'evicted');
      return;
    }
    vm.powerState = 'deallocated';
    vm.notice = null;
    recordVm(cloud, vm);
    cloud.emit({ kind: 'vm-gone', name: vm.name, id: vm.id, reason: 'evicted' });
  });
  return vm.notice;
}

/** The kinds of scheduled events that are no preemption. */
export type MaintenanceType = Extract<AzureEvent, { kind: 'vm-scheduled-event' }>['eventType'];

/** Announces maintenance of a VM. The double tells of it and does no more: what the guest does is the world's part. */
export function scheduleMaintenance(cloud: Cloud, vm: Vm, eventType: MaintenanceType, noticeSeconds: number): void {
  cloud.emit({
    kind: 'vm-scheduled-event',
    vm: cloud.view(vm),
    eventId: drawGuid(cloud.rng('scheduled-events')).toUpperCase(),
    eventType,
    notBefore: cloud.clock.now() + noticeSeconds * 1_000,
  });
}

/** Lets the host of a VM crash for good: the VM stays in ARM, stopped, until somebody deletes it. */
export function crashVm(cloud: Cloud, vm: Vm): void {
  vm.powerState = 'stopped';
  recordVm(cloud, vm);
  cloud.emit({ kind: 'vm-gone', name: vm.name, id: vm.id, reason: 'failed' });
}

function isGone(cloud: Cloud, vm: Vm): boolean {
  return cloud.vms.get(`${vm.group}/${vm.name}`.toLowerCase()) !== vm;
}
