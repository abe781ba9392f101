import { refuseOtherRegion } from './admit/location.ts';
import { refuseOddTags } from './admit/tags.ts';
import { ArmError, requiredParameter } from './arm-error.ts';
import type { Cloud } from './cloud.ts';
import { textAt, type JsonObject } from './json.ts';
import { refuseMarkedForDeletion } from './machines.ts';
import type { Written } from './network.ts';
import type { Extension, Vm } from './resources.ts';

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
  const extension: Extension = existing ?? { name, body, provisioningState: 'Creating' };
  extension.body = body;
  extension.provisioningState = existing === undefined ? 'Creating' : 'Updating';
  vm.extensions.set(name.toLowerCase(), extension);
  const operation = cloud.operations.start('Microsoft.Compute');
  cloud.clock.after(cloud.draw('extension', cloud.options.latency.extension), () => {
    const gone = cloud.vms.get(`${vm.group}/${vm.name}`.toLowerCase()) !== vm;
    extension.provisioningState = gone ? 'Failed' : 'Succeeded';
    cloud.operations.end(
      operation,
      gone
        ? {
            error: {
              code: 'OperationPreempted',
              message: `VM '${vm.name}' was deleted before its extension was ready.`,
            },
          }
        : { status: 'Succeeded' },
    );
  });
  return { resource: extension, created: existing === undefined, operation };
}
