import type { ResourceDeleteSuccessEventData } from '@azure/eventgrid';

/** An event before it is put into a schema. */
export interface GridEvent {
  readonly id: string;
  /** `Microsoft.ResourceNotifications.HealthResources.ResourceAnnotated` and so on. */
  readonly type: string;
  /** The subscription's path: what the topic is a topic of. */
  readonly source: string;
  readonly subject: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly data: object;
}

/** What an event is about. */
export interface EventTarget {
  readonly subscriptionId: string;
  /** The VM's ARM id. */
  readonly vmId: string;
  readonly vmName: string;
  readonly eventId: string;
  readonly at: number;
}

/** Scheduled events' kinds, as IMDS names them. */
export type ScheduledEventType = 'Freeze' | 'Reboot' | 'Redeploy' | 'Preempt' | 'Terminate';

/**
 * The health annotation that Azure Resource Health publishes; `VirtualMachinePreempted` for an evicted spot VM.
 * Field names: learn "Azure Resource Notifications - Health Resources events", annotations of 2025-06.
 */
export function resourceAnnotated(
  target: EventTarget,
  annotation: {
    readonly name: string;
    readonly context: 'Platform Initiated' | 'Customer Initiated' | 'VM Initiated' | 'Unknown';
    readonly category: 'Planned' | 'Unplanned' | 'Not Applicable' | 'Unknown';
    readonly summary: string;
  },
): GridEvent {
  return health(target, 'ResourceAnnotated', 'resourceAnnotations', {
    annotationName: annotation.name,
    reason: annotation.name,
    summary: annotation.summary,
    context: annotation.context,
    category: annotation.category,
  });
}

/** The health annotation of an eviction. */
export function virtualMachinePreempted(target: EventTarget): GridEvent {
  return resourceAnnotated(target, {
    name: 'VirtualMachinePreempted',
    context: 'Platform Initiated',
    category: 'Unplanned',
    summary: 'This Spot virtual machine was preempted for lack of capacity.',
  });
}

/** The change of a VM's availability. */
export function availabilityStatusChanged(
  target: EventTarget,
  change: { readonly from: string; readonly to: 'Available' | 'Unavailable' | 'Degraded' | 'Unknown' },
): GridEvent {
  return health(target, 'AvailabilityStatusChanged', 'availabilityStatuses', {
    previousAvailabilityState: change.from,
    availabilityState: change.to,
  });
}

/**
 * The scheduled event that Event Grid shows for VMs that opted in (preview): learn "Maintenance Resources events".
 * Ids come in lower case there, and a preemption is announced as well as Azure can.
 */
export function scheduledEventEmitted(
  target: EventTarget,
  event: {
    readonly type: ScheduledEventType;
    readonly status: 'Scheduled' | 'Started' | 'Completed' | 'Canceled';
    readonly notBefore: number | null;
    readonly durationSeconds: number;
    readonly source: 'Platform' | 'User';
  },
): GridEvent {
  const id = target.vmId.toLowerCase();
  const scheduledEventId = `${id}/providers/microsoft.maintenance/scheduledevents/${target.eventId.toLowerCase()}`;
  return {
    id: `${target.eventId.toLowerCase()}-${event.status.toLowerCase()}`,
    type: 'Microsoft.ResourceNotifications.MaintenanceResources.ScheduledEventEmitted',
    source: `/subscriptions/${target.subscriptionId}`,
    subject: id,
    at: target.at,
    data: {
      resourceInfo: {
        id: scheduledEventId,
        name: target.eventId.toLowerCase(),
        type: 'microsoft.maintenance/scheduledevents',
        properties: {
          EventId: target.eventId,
          EventType: event.type,
          EventStatus: event.status,
          NotBefore: event.notBefore === null ? '' : new Date(event.notBefore).toUTCString(),
          Resources: [target.vmName],
          ResourceType: 'VirtualMachine',
          EventSource: event.source,
          Description: `${event.type} of the virtual machine.`,
          DurationInSeconds: event.durationSeconds,
        },
      },
      operationalInfo: { resourceEventTime: new Date(target.at).toISOString() },
      apiVersion: '2023-10-01-preview',
    },
  };
}

/**
 * What the topics of a resource group and of a subscription tell when somebody's request has deleted a resource. Of an
 * eviction they tell nothing that could be relied on. Field names: learn "Azure resource group as an Event Grid
 * source".
 */
export function resourceDeleted(target: EventTarget, caller: string): GridEvent {
  const { subscriptionId, vmId, eventId, at } = target;
  const operationName = 'Microsoft.Compute/virtualMachines/delete';
  const data: ResourceDeleteSuccessEventData = {
    authorization: { scope: vmId, action: operationName, evidence: { role: 'Contributor' } },
    claims: { appid: caller },
    correlationId: eventId,
    httpRequest: { clientRequestId: eventId, clientIpAddress: '127.0.0.1', method: 'DELETE', url: vmId },
    resourceGroup: vmId.split('/')[4] ?? '',
    resourceProvider: 'Microsoft.Compute',
    resourceUri: vmId,
    operationName,
    status: 'Succeeded',
    subscriptionId,
    tenantId: '00000000-0000-0000-0000-000000000000',
  };
  const source = `/subscriptions/${subscriptionId}`;
  return { id: eventId, type: 'Microsoft.Resources.ResourceDeleteSuccess', source, subject: vmId, at, data };
}

/** The body that the `EventGridSchema` delivers to a webhook: an array of one. */
export function renderEventGrid(event: GridEvent, topic: string): ReadonlyArray<object> {
  return [renderGridEvent(event, topic)];
}

/** An event in the `EventGridSchema`. */
export function renderGridEvent(event: GridEvent, topic: string): object {
  return {
    id: event.id,
    topic,
    subject: event.subject,
    eventType: event.type,
    eventTime: new Date(event.at).toISOString(),
    data: event.data,
    dataVersion: '1',
    metadataVersion: '1',
  };
}

/** The body that the `CloudEventSchemaV1_0` delivers: one object. */
export function renderCloudEvent(event: GridEvent): object {
  return {
    specversion: '1.0',
    id: event.id,
    source: event.source,
    subject: event.subject,
    type: event.type,
    time: new Date(event.at).toISOString(),
    data: event.data,
  };
}

function health(target: EventTarget, kind: string, resource: string, properties: object): GridEvent {
  const type = `Microsoft.ResourceHealth/${resource}`;
  const occurredTime = new Date(target.at).toISOString();
  return {
    id: target.eventId,
    type: `Microsoft.ResourceNotifications.HealthResources.${kind}`,
    source: `/subscriptions/${target.subscriptionId}`,
    subject: target.vmId,
    at: target.at,
    data: {
      resourceInfo: {
        id: `${target.vmId}/providers/${type}/${target.eventId}`,
        name: target.eventId,
        type,
        properties: {
          targetResourceId: target.vmId,
          targetResourceType: 'Microsoft.Compute/virtualMachines',
          occurredTime,
          ...properties,
        },
      },
      operationalInfo: { resourceEventTime: occurredTime },
      apiVersion: '2023-12-01',
    },
  };
}
