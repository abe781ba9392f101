import type { VirtualMachine, VirtualMachineExtension } from '@azure/arm-compute';
import type { FailedBoot } from '../../ports/cloud.ts';
import { wordsOf } from './boot-exit-codes.ts';

/** The name of AKS's extension on a VM. */
export const EXTENSION = 'computeAksLinuxBilling';

/**
 * AKS's extension for VMs that it does not make itself. It brings the node-problem-detector, whose conditions announce evictions and
 * maintenance, and tells Azure that the VM is a node. It carries the tags of its VM.
 */
export function extensionBody({ location, tags }: Pick<VirtualMachine, 'location' | 'tags'>): VirtualMachineExtension {
  return {
    location,
    ...(tags === undefined ? {} : { tags }),
    publisher: 'Microsoft.AKS',
    typePropertiesType: 'Compute.AKS.Linux.Billing',
    typeHandlerVersion: '1.0',
    autoUpgradeMinorVersion: true,
    settings: {},
  };
}

/** True where the extension is on the VM, or on its way. Lists name extensions by id only. */
export function hasExtension({ resources = [] }: Pick<VirtualMachine, 'resources'>, name: string): boolean {
  return resources.some(({ id = '' }) => id.toLowerCase().endsWith(`/extensions/${name.toLowerCase()}`));
}

/** The name of the extension that asks a node how its set-up ended; the provider's, so that people find it. */
export const DIAGNOSIS = 'cse-agent-karpenter';

/** The node controller's own command for it: waits for the end of the set-up, prints what came of it and exits with that. */
export function diagnosisBody({ location, tags }: Pick<VirtualMachine, 'location' | 'tags'>): VirtualMachineExtension {
  return {
    location,
    ...(tags === undefined ? {} : { tags }),
    publisher: 'Microsoft.Azure.Extensions',
    typePropertiesType: 'CustomScript',
    typeHandlerVersion: '2.0',
    autoUpgradeMinorVersion: true,
    settings: {},
    protectedSettings: { commandToExecute: '/opt/azure/containers/aks-node-controller provision-wait' },
  };
}

/** How the set-up ended where `diagnosisBody` has found out that it failed; null while nobody knows, and when it did not. */
export function failedBootOf({ instanceView }: Pick<VirtualMachine, 'instanceView'>): FailedBoot | null {
  const view = instanceView?.extensions?.find(({ name = '' }) => name.toLowerCase() === DIAGNOSIS);
  const text = view?.statuses?.map(({ message = '' }) => message).join('\n') ?? '';
  const [, code] = /"ExitCode"\s*:\s*"?(\d+)/i.exec(text) ?? /exit (?:status|code)[ =:]*(\d+)/i.exec(text) ?? [];
  const exitCode = Number(code ?? 0);
  return exitCode === 0 ? null : { exitCode, ...wordsOf(exitCode) };
}
