import { configOf } from '../../shared/adapters/azure/bootstrap/custom-data.ts';
import { mapAt, textAt } from '../input/json-fields.ts';
import type { Sent } from './recording-azure.ts';
import type { LaunchDocument } from '../documents/launch-format.ts';

/** The document of one launch, from what was sent for it. */
export function toLaunchDocument(sent: ReadonlyArray<Sent>): LaunchDocument {
  const vm = only(sent, 'virtualMachines');
  const extension = only(sent, 'virtualMachines/extensions');
  const customData = textAt(vm.body, 'properties', 'osProfile', 'customData');
  const nodeConfig = configOf(customData) ?? {};
  return {
    vm: { name: vm.name, ...withoutCustomData(vm.body) },
    nic: only(sent, 'networkInterfaces').body,
    extension: { name: extension.name, type: `Microsoft.Compute/${extension.type}`, ...extension.body },
    nodeConfig,
    kubeletFlags: mapAt(nodeConfig, 'kubelet_config', 'kubelet_flags'),
    nodeLabels: mapAt(nodeConfig, 'kubelet_config', 'kubelet_node_labels'),
    customData,
  };
}

function only(sent: ReadonlyArray<Sent>, type: string): Sent {
  const found = sent.find((one) => one.type === type);
  if (found === undefined) throw new Error(`no ${type} was sent`);
  return found;
}

function withoutCustomData(body: Sent['body']): object {
  const properties = mapAt(body, 'properties');
  const { customData: _data, ...osProfile } = mapAt(properties, 'osProfile');
  return { ...body, properties: { ...properties, osProfile } };
}
