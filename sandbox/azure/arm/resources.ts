import type { ArmErrorBody } from './arm-error.ts';
import type { JsonObject } from './json.ts';

/** A network interface as the double keeps it. Only `network.ts` and `machines.ts` change one. */
export interface Nic {
  readonly name: string;
  readonly group: string;
  readonly id: string;
  readonly guid: string;
  readonly createdAt: number;
  privateIp: string;
  body: JsonObject;
  etag: string;
  provisioningState: 'Updating' | 'Succeeded' | 'Failed' | 'Deleting';
  vmId: string | null;
  /** The VM that it was taken from, for whose name alone it can be used until then. */
  reserved: { readonly vmName: string; readonly until: number } | null;
  deleting: string | null;
}

/** An OS disk as the double keeps it. */
export interface Disk {
  readonly name: string;
  readonly group: string;
  readonly id: string;
  readonly zone: string | null;
  readonly sizeGb: number;
  readonly generation: 'V1' | 'V2';
  readonly storage: string;
  readonly uniqueId: string;
  readonly createdAt: number;
  managedBy: string | null;
}

/** A VM extension as the double keeps it; its protected settings are never kept. */
export interface Extension {
  readonly name: string;
  body: JsonObject;
  provisioningState: 'Creating' | 'Updating' | 'Succeeded' | 'Failed';
  /** What its handler printed where it failed; null while it did not. */
  failure: string | null;
}

/** What Azure shows of a VM's OS disk and image beyond what was asked for. */
export interface FilledIn {
  readonly diskName: string;
  readonly diskSizeGb: number;
  readonly storage: string;
  readonly generation: 'V1' | 'V2';
  /** Null for images of which nothing is known. */
  readonly diskController: string | null;
  readonly exactVersion: string | null;
}

/** A VM as the double keeps it. Only `machines.ts` and `eviction.ts` change one. */
export interface Vm {
  readonly name: string;
  readonly group: string;
  readonly id: string;
  readonly vmId: string;
  readonly zone: string | null;
  readonly capacityType: 'spot' | 'on-demand';
  readonly evictionPolicy: 'Delete' | 'Deallocate';
  /** SHA-free: customData is compared, and never shown again. */
  readonly customData: string | null;
  readonly createdAt: number;
  readonly nics: ReadonlyArray<{ readonly nic: Nic; readonly deleteWithVm: boolean }>;
  /** Null for a disk that is local to the machine: it is no resource of its own. */
  readonly disk: { readonly disk: Disk; readonly deleteWithVm: boolean } | null;
  /** What the platform fills in of the disk and the image. */
  readonly filled: FilledIn;
  readonly extensions: Map<string, Extension>;
  size: string;
  body: JsonObject;
  /** Counts what was changed, from 1. */
  etag: number;
  provisioningState: 'Creating' | 'Updating' | 'Succeeded' | 'Failed' | 'Deleting';
  /** When it came into its state; milliseconds since the Unix epoch. */
  since: number;
  powerState: 'starting' | 'running' | 'stopped' | 'deallocated' | 'unknown';
  failure: ArmErrorBody | null;
  /** What the node's scripts end with once it runs: 0, or one of AKS's exit codes. */
  bootExitCode: number;
  /** The operation under way: creation or deletion. */
  operation: string | null;
  /** Cancels what is still to happen to it. */
  cancel: () => void;
  /** The notice that it will be evicted. */
  notice: { readonly eventId: string; readonly notBefore: number } | null;
}

/** What listeners and the admin surface are told of a VM. */
export interface VmView {
  readonly name: string;
  readonly id: string;
  readonly resourceGroup: string;
  readonly region: string;
  readonly zone: string | null;
  readonly size: string;
  readonly capacityType: 'spot' | 'on-demand';
  readonly provisioningState: string;
  readonly powerState: string;
  readonly computerName: string;
  readonly privateIp: string | null;
  readonly tags: JsonObject;
  readonly customData: string | null;
  /** What the node's scripts end with: 0 where it becomes a node. */
  readonly bootExitCode: number;
  /** Names of the extensions that work, in lower case. */
  readonly extensions: ReadonlyArray<string>;
  readonly createdAt: number;
}

/** What happens in the double, told to listeners as it happens, in order. */
export type AzureEvent =
  | { readonly kind: 'vm-allocated'; readonly vm: VmView }
  | { readonly kind: 'vm-running'; readonly vm: VmView }
  | { readonly kind: 'vm-failed'; readonly vm: VmView; readonly error: ArmErrorBody }
  | {
      readonly kind: 'vm-preempt-notice';
      readonly vm: VmView;
      readonly eventId: string;
      /** Milliseconds since the Unix epoch. */
      readonly notBefore: number;
    }
  | {
      /** A scheduled event other than a preemption, as IMDS would announce it inside the VM. */
      readonly kind: 'vm-scheduled-event';
      readonly vm: VmView;
      readonly eventId: string;
      readonly eventType: 'Freeze' | 'Reboot' | 'Redeploy' | 'Terminate';
      /** Milliseconds since the Unix epoch. */
      readonly notBefore: number;
    }
  | {
      /** The machine is no more. `failed`: its host crashed, and ARM still shows the VM. */
      readonly kind: 'vm-gone';
      readonly name: string;
      readonly id: string;
      readonly reason: 'deleted' | 'evicted' | 'failed';
    };
