import type { SignalHint } from './messages.ts';

/**
 * What an Azure event about a VM means for its node, or null when it means nothing. Understands the Event Grid schema and
 * CloudEvents 1.0. Throws TypeError when `event` is neither. Event and annotation names: Azure Resource Notifications,
 * health and maintenance resources, 2026-05.
 */
export function toSignal(event: unknown, cluster: string): SignalHint | null {
  if (!isRecord(event)) throw new TypeError('not an Event Grid event: not an object');
  const type = event['eventType'] ?? event['type'];
  if (typeof type !== 'string') throw new TypeError('not an Event Grid event: neither eventType nor type is a string');
  const id = typeof event['id'] === 'string' ? event['id'] : null;
  const properties = propertiesOf(event['data']);
  const base = { kind: 'signal', version: 1, cluster, nodeName: null, source: 'event-grid' } as const;
  switch (type) {
    case 'Microsoft.ResourceNotifications.HealthResources.ResourceAnnotated': {
      const meaning = annotations[text(properties['annotationName'])];
      const vmId = text(properties['targetResourceId']);
      if (meaning === undefined || vmId === '') return null;
      return { ...base, event: meaning, vmId, notBeforeMs: null, eventId: id };
    }
    case 'Microsoft.ResourceNotifications.MaintenanceResources.ScheduledEventEmitted': {
      const meaning = scheduled[text(properties['EventType'])];
      const vmId = text(event['subject']);
      const over = ['Completed', 'Canceled'].includes(text(properties['EventStatus']));
      if (meaning === undefined || vmId === '' || over) return null;
      const eventId = text(properties['EventId']) || id;
      return { ...base, event: meaning, vmId, notBeforeMs: toMs(text(properties['NotBefore'])), eventId };
    }
    default:
      return null;
  }
}

const annotations: Readonly<Record<string, SignalHint['event']>> = {
  VirtualMachinePreempted: 'gone',
  VirtualMachineStorageOffline: 'degraded',
  VirtualMachineHostCrashed: 'reboot',
  VirtualMachineHostRebootedForRepair: 'reboot',
  VirtualMachineMigrationScheduledForDegradedHardware: 'degraded',
  VirtualMachinePossiblyDegradedDueToHardwareFailure: 'degraded',
  PossiblyDegradedDueToHardwareFailureWithRedeployDeadline: 'degraded',
  VirtualMachineScheduledForServiceHealing: 'degraded',
};

const scheduled: Readonly<Record<string, SignalHint['event']>> = {
  Preempt: 'preempt',
  Terminate: 'terminate',
  Redeploy: 'redeploy',
  Reboot: 'reboot',
  Freeze: 'freeze',
};

function propertiesOf(data: unknown): Readonly<Record<string, unknown>> {
  const info = isRecord(data) ? data['resourceInfo'] : undefined;
  const properties = isRecord(info) ? info['properties'] : undefined;
  return isRecord(properties) ? properties : {};
}

/** RFC 1123, as scheduled events write it; an empty one means that the event has started. */
function toMs(when: string): number | null {
  const at = Date.parse(when);
  return Number.isNaN(at) ? null : at;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
