import type { SignalHint } from './messages.ts';

/** What an annotation of Resource Health leads to. */
export type AnnotationMeaning =
  /** The machine is replaced. */
  | { readonly does: 'replace'; readonly event: SignalHint['event'] }
  /** Whether the machine is still there is asked of Azure, and it is replaced when it is not. */
  | { readonly does: 'look' }
  /** It stands on the NodeClaim as an event, for people who ask what happened to their pods. */
  | { readonly does: 'note' }
  /** It says nothing that anybody would act on or ask for. */
  | { readonly does: 'ignore'; readonly why: string };

const note = { does: 'note' } as const;
const look = { does: 'look' } as const;
const replace = (event: SignalHint['event']): AnnotationMeaning => ({ does: 'replace', event });
const ignore = (why: string): AnnotationMeaning => ({ does: 'ignore', why });

/**
 * Every annotation of single VMs that Azure documents ("Resource Health virtual machine Health Annotations", 2025-06),
 * and one seen in people's queries. The rule: what Azure takes away, or takes down with a reboot, is replaced; where it
 * asks to leave the host by a deadline too. What people do to a machine is theirs: it is looked at where the machine
 * may be gone by it, and noted else. A pause of seconds is noted. docs/interruptions.md shows the same for people.
 */
export const annotations: Readonly<Record<string, AnnotationMeaning>> = {
  VirtualMachinePreempted: replace('preempt'),

  VirtualMachineMigrationScheduledForDegradedHardware: replace('degraded'),
  VirtualMachinePossiblyDegradedDueToHardwareFailure: replace('degraded'),
  PossiblyDegradedDueToHardwareFailureWithRedeployDeadline: replace('degraded'),
  VirtualMachinePossiblyDegradedDueToHardwareFailureWithRedeployDeadline: replace('degraded'),
  VirtualMachineScheduledForServiceHealing: replace('degraded'),

  VirtualMachineStorageOffline: replace('degraded'),
  VirtualMachineHostCrashed: replace('reboot'),
  VirtualMachineHostRebootedForRepair: replace('reboot'),
  VirtualMachineRebootInitiatedForPlannedMaintenance: replace('reboot'),
  VirtualMachineMigrationInitiatedForRepair: replace('redeploy'),
  VirtualMachineMigrationInitiatedForPlannedMaintenance: replace('redeploy'),

  VirtualMachineDeallocationInitiated: look,
  VirtualMachineStopInitiatedByControlPlane: look,
  VirtualMachineStoppedInternally: look,
  VirtualMachineProvisioningTimedOut: look,

  VirtualMachineCrashed: note,
  VirtualMachineFailedToSecureBoot: note,
  VirtualMachineRestarted: note,
  VirtualMachineRebootInitiatedByControlPlane: note,
  VirtualMachineRedeployInitiatedByControlPlane: note,
  VirtualMachineRedeployInitiatedByControlPlaneDueToPlannedMaintenance: note,
  VirtualMachineStartInitiatedByControlPlane: note,
  VirtualMachineSizeChanged: note,
  LiveMigrationSucceeded: note,
  LiveMigrationFailure: note,
  VirtualMachinePlannedFreezeStarted: note,
  VirtualMachinePlannedFreezeSucceeded: note,
  VirtualMachinePlannedFreezeFailed: note,
  AccelnetUnhealthy: note,

  VirtualMachineAllocated: ignore('every machine of ours is allocated once'),
  VirtualMachineConfigurationUpdated: ignore('tags and extensions change it, ours too'),
};
