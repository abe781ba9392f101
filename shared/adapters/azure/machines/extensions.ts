import type { VirtualMachine, VirtualMachineExtension } from '@azure/arm-compute';
import type { FailedBoot } from '../../../ports/cloud.ts';
import { wordsOf } from './boot-exit-codes.ts';

/** The name of AKS's extension on a VM. */
export const EXTENSION = 'computeAksLinuxBilling';

/**
 * AKS's extension for VMs that it does not make itself. It brings the node-problem-detector, whose conditions announce
 * evictions and maintenance, and tells Azure that the VM is a node. It carries the tags of its VM.
 */
export function extensionBody(vm: Pick<VirtualMachine, 'location' | 'tags' | 'resources'>): VirtualMachineExtension {
  const { location, tags } = vm;
  const failed = failureOfExtension(vm, EXTENSION);
  return {
    location,
    ...(tags === undefined ? {} : { tags }),
    // Azure runs one that failed again only where this changes; and it is where the tries are counted.
    ...(failed === null ? {} : { forceUpdateTag: String(failed.tries + 1) }),
    publisher: 'Microsoft.AKS',
    typePropertiesType: 'Compute.AKS.Linux.Billing',
    typeHandlerVersion: '1.0',
    autoUpgradeMinorVersion: true,
    settings: {},
  };
}

type Extended = Pick<VirtualMachine, 'resources' | 'instanceView'>;

/**
 * How often an extension is put on a VM, at most: what fails three times fails for a reason that another try does not
 * fix.
 */
const TRIES_MAX = 3;

/** An extension that Azure could not install. */
export interface FailedExtension {
  readonly tries: number;
  /** True: it is not tried again. */
  readonly isLast: boolean;
  /** What it said; empty where Azure does not tell. */
  readonly message: string;
}

/** True where the extension is on the VM, in whatever state. Lists name extensions by id only. */
export function isOn(vm: Extended, name: string): boolean {
  return findExtension(vm, name) !== undefined;
}

/**
 * True where the extension is on the VM or on its way, or has failed too often to be tried again. Not for VMs of a
 * list.
 */
export function hasExtension(vm: Extended, name: string): boolean {
  return isOn(vm, name) && failureOfExtension(vm, name)?.isLast !== false;
}

/** How an extension failed; null where it did not, or is not there. */
export function failureOfExtension(vm: Extended, name: string): FailedExtension | null {
  const found = findExtension(vm, name);
  if (found?.provisioningState !== 'Failed') return null;
  const tries = Number(found.forceUpdateTag ?? '1') || 1;
  const view = vm.instanceView?.extensions?.find((one) => one.name?.toLowerCase() === name.toLowerCase());
  const message = (view?.statuses ?? []).flatMap((one) => one.message ?? []).join(' ');
  return { tries, isLast: tries >= TRIES_MAX, message };
}

function findExtension({ resources = [] }: Extended, name: string): VirtualMachineExtension | undefined {
  return resources.find(({ id = '' }) => id.toLowerCase().endsWith(`/extensions/${name.toLowerCase()}`));
}

/** The name of the extension that asks a node how its set-up ended; the provider's, so that people find it. */
export const DIAGNOSIS = 'cse-agent-karpenter';

/**
 * The node controller's own command for it: waits for the end of the set-up, prints what came of it and exits with
 * that.
 */
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

/**
 * How the set-up ended where `diagnosisBody` has found out that it failed; null while nobody knows, and when it did
 * not.
 */
export function failedBootOf({ instanceView }: Pick<VirtualMachine, 'instanceView'>): FailedBoot | null {
  const view = instanceView?.extensions?.find(({ name = '' }) => name.toLowerCase() === DIAGNOSIS);
  const text = view?.statuses?.map(({ message = '' }) => message).join('\n') ?? '';
  const [, code] = /"ExitCode"\s*:\s*"?(\d+)/i.exec(text) ?? /exit (?:status|code)[ =:]*(\d+)/i.exec(text) ?? [];
  const exitCode = Number(code ?? 0);
  return exitCode === 0 ? null : { exitCode, ...wordsOf(exitCode) };
}
