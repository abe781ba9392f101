import type { Cloud } from '../state/cloud.ts';
import {
  availabilityStatusChanged,
  resourceAnnotated,
  resourceDeleted,
  scheduledEventEmitted,
  virtualMachinePreempted,
  type EventTarget,
  type GridEvent,
  type ScheduledEventType,
} from './event-grid-events.ts';
import type { EventGrid } from './event-grid.ts';
import { drawGuid } from '../arm/guid.ts';
import { valueAt } from '../arm/json.ts';

const OPT_IN =
  'properties.scheduledEventsPolicy.scheduledEventsAdditionalPublishingTargets.eventGridAndResourceGraph.enable';

/**
 * Tells Event Grid what happens to VMs: scheduled events of those that opted into them, deletions that somebody asked
 * for, and, once an eviction or a crash has happened, what Resource Health knows of it. The answer ends it.
 */
export function publishEvents(cloud: Cloud, grid: EventGrid): () => void {
  return cloud.on((event) => {
    if (event.kind === 'vm-preempt-notice') publishScheduled(cloud, grid, { ...event, eventType: 'Preempt' });
    if (event.kind === 'vm-scheduled-event') publishScheduled(cloud, grid, event);
    if (event.kind === 'vm-gone' && event.reason !== 'deleted') publishHealth(cloud, grid, event);
    if (event.kind === 'vm-gone' && event.reason === 'deleted') publishDeletion(cloud, grid, event);
  });
}

function publishScheduled(
  cloud: Cloud,
  grid: EventGrid,
  {
    vm: { id, name },
    eventId,
    eventType,
    notBefore,
  }: {
    readonly vm: { readonly id: string; readonly name: string };
    readonly eventId: string;
    readonly eventType: ScheduledEventType;
    readonly notBefore: number;
  },
): void {
  const vm = [...cloud.vms.values()].find((other) => other.id === id);
  if (vm === undefined || valueAt(vm.body, OPT_IN) !== true) return;
  const { subscriptionId, scheduledEventDelayMs } = cloud.options;
  const target = { subscriptionId, vmId: id, vmName: name, eventId, at: cloud.clock.now() };
  const event = { type: eventType, status: 'Scheduled', notBefore, durationSeconds: -1, source: 'Platform' } as const;
  cloud.clock.after(scheduledEventDelayMs, () => {
    grid.publish(scheduledEventEmitted(target, event));
  });
}

interface Gone {
  readonly id: string;
  readonly name: string;
  readonly reason: string;
}

function publishDeletion(cloud: Cloud, grid: EventGrid, gone: Gone): void {
  const target = targetOf(cloud, gone, 'deletion-events');
  cloud.clock.after(cloud.options.deletionEventDelayMs, () => {
    grid.publish(resourceDeleted(target(), 'somebody'));
  });
}

/** Makes targets of events about a VM that is gone, each with an id of its own. */
function targetOf(cloud: Cloud, gone: Gone, draws: string): () => EventTarget {
  const { subscriptionId } = cloud.options;
  const at = cloud.clock.now();
  return () => ({ subscriptionId, vmId: gone.id, vmName: gone.name, eventId: drawGuid(cloud.rng(draws)), at });
}

function publishHealth(cloud: Cloud, grid: EventGrid, gone: Gone): void {
  const target = targetOf(cloud, gone, 'health-events');
  cloud.clock.after(cloud.options.healthEventDelayMs, () => {
    grid.publish(gone.reason === 'evicted' ? virtualMachinePreempted(target()) : hostCrashed(target()));
    grid.publish(availabilityStatusChanged(target(), { from: 'Available', to: 'Unavailable' }));
  });
}

function hostCrashed(target: EventTarget): GridEvent {
  return resourceAnnotated(target, {
    name: 'VirtualMachineHostCrashed',
    context: 'Platform Initiated',
    category: 'Unplanned',
    summary: 'The host of this virtual machine crashed.',
  });
}
