import { refuseOtherRegion } from '../admit/location.ts';
import { refuseOddTags } from '../admit/tags.ts';
import { ArmError, type ArmErrorBody, requiredParameter } from '../arm/arm-error.ts';
import type { Cloud } from '../state/cloud.ts';
import { textAt, type JsonObject } from '../arm/json.ts';
import { enter, refuseMarkedForDeletion } from './machines.ts';
import type { Written } from './network.ts';
import type { Extension, Vm } from '../arm/resources.ts';

const TYPE = 'Microsoft.Compute/virtualMachines/extensions';

/** Creates or updates an extension of a VM, which must be running: its agent is who installs it. */
export function putExtension(cloud: Cloud, vm: Vm, name: string, body: JsonObject): Written<Extension> {
  refuseMarkedForDeletion(vm);
  refuseOtherRegion(cloud, body['location'], { type: TYPE, id: `${vm.id}/extensions/${name}`, referenced: vm.id });
  refuseOddTags(body);
  for (const required of ['publisher', 'type', 'typeHandlerVersion'])
    if (textAt(body, `properties.${required}`) === null) throw requiredParameter(required);
  // As reported in terraform-provider-azurerm#477. That a VM without hardware yet counts as not running is assumed.
  if (vm.powerState !== 'running')
    throw new ArmError(409, {
      code: 'OperationNotAllowed',
      message: 'Cannot modify extensions in the VM when the VM is not running.',
    });
  const existing = vm.extensions.get(name.toLowerCase());
  const extension: Extension = existing ?? { name, body, provisioningState: 'Creating', failure: null };
  extension.body = body;
  extension.provisioningState = existing === undefined ? 'Creating' : 'Updating';
  vm.extensions.set(name.toLowerCase(), extension);
  const operation = cloud.operations.start('Microsoft.Compute', { isPaced: false });
  cloud.clock.after(cloud.draw('extension', cloud.options.latency.extension), () => {
    const gone = cloud.vms.get(`${vm.group}/${vm.name}`.toLowerCase()) !== vm;
    const error = gone ? preempted(vm) : ran(vm, extension);
    extension.provisioningState = error === null ? 'Succeeded' : 'Failed';
    if (error !== null && !gone) failByExtension(cloud, vm, extension, error);
    cloud.operations.end(operation, error === null ? { status: 'Succeeded' } : { error });
  });
  return { resource: extension, created: existing === undefined, operation };
}

/** Deletes an extension of a VM; null when there is none. */
export function deleteExtension(cloud: Cloud, vm: Vm, name: string): string | null {
  const key = name.toLowerCase();
  const extension = vm.extensions.get(key);
  if (extension === undefined) return null;
  refuseMarkedForDeletion(vm);
  const operation = cloud.operations.start('Microsoft.Compute', { isPaced: false });
  cloud.clock.after(cloud.draw('extension', cloud.options.latency.extension), () => {
    if (vm.extensions.get(key) === extension) vm.extensions.delete(key);
    cloud.operations.end(operation, { status: 'Succeeded' });
  });
  return operation;
}

function preempted({ name }: Vm): ArmErrorBody {
  return { code: 'OperationPreempted', message: `VM '${name}' was deleted before its extension was ready.` };
}

/** A script that waits for the end of the node's set-up ends with what that ended with; null where it ends well. */
function ran({ bootExitCode }: Vm, { name, body }: Extension): ArmErrorBody | null {
  if (bootExitCode === 0 || textAt(body, 'properties.type') !== 'CustomScript') return null;
  const output = JSON.stringify({ ExitCode: String(bootExitCode), Output: '', Error: '', ExecDuration: '60' });
  const message = `VM has reported a failure when processing extension '${name}'. Error message: 'Enable failed: failed to execute command: command terminated with exit status=${bootExitCode}\n[stdout]\n${output}\n[stderr]\n'.`;
  return { code: 'VMExtensionProvisioningError', message };
}

/** Azure shows the VM itself as failed then, though it runs. */
function failByExtension(cloud: Cloud, vm: Vm, extension: Extension, error: ArmErrorBody): void {
  extension.failure = error.message;
  enter(cloud, vm, 'Failed');
  vm.failure = error;
}
