import type { Cloud } from './cloud.ts';
import type { JsonObject } from './json.ts';
import { refuseMarkedForDeletion } from './machines.ts';
import type { Written } from './network.ts';
import type { Extension, Vm } from './resources.ts';

/** Creates or updates an extension of a VM. */
export function putExtension(cloud: Cloud, vm: Vm, name: string, body: JsonObject): Written<Extension> {
  refuseMarkedForDeletion(vm);
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
