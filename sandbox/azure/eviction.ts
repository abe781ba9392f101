import { ArmError } from './arm-error.ts';
import type { Cloud } from './cloud.ts';
import { drawGuid } from './guid.ts';
import { removeVm } from './machines.ts';
import { recordVm } from './render-vm.ts';
import type { Vm } from './resources.ts';

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
      message: `VM '${vm.name}' is no Spot VM: it is not evicted.`,
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

function isGone(cloud: Cloud, vm: Vm): boolean {
  return cloud.vms.get(`${vm.group}/${vm.name}`.toLowerCase()) !== vm;
}
