import type { Cloud } from './cloud.ts';
import { availabilityStatusChanged, scheduledEventEmitted, virtualMachinePreempted } from './event-grid-events.ts';
import type { EventGrid } from './event-grid.ts';
import { drawGuid } from './guid.ts';
import { valueAt } from './json.ts';

const OPT_IN =
  'properties.scheduledEventsPolicy.scheduledEventsAdditionalPublishingTargets.eventGridAndResourceGraph.enable';

/**
 * Tells Event Grid what happens to VMs: the notice of an eviction for those that opted into scheduled events, then,
 * after the eviction, that the VM was preempted and is unavailable. The answer ends it.
 */
export function publishEvents(cloud: Cloud, grid: EventGrid): () => void {
  const { subscriptionId, scheduledEventDelayMs, healthEventDelayMs } = cloud.options;
  return cloud.on((event) => {
    if (event.kind === 'vm-preempt-notice') {
      const vm = [...cloud.vms.values()].find(({ id }) => id === event.vm.id);
      if (vm === undefined || valueAt(vm.body, OPT_IN) !== true) return;
      const { eventId, notBefore } = event;
      const target = { subscriptionId, vmId: vm.id, vmName: vm.name, eventId, at: cloud.clock.now() };
      cloud.clock.after(scheduledEventDelayMs, () => {
        grid.publish(
          scheduledEventEmitted(target, {
            type: 'Preempt',
            status: 'Scheduled',
            notBefore,
            durationSeconds: -1,
            source: 'Platform',
          }),
        );
      });
    }
    if (event.kind === 'vm-gone' && event.reason === 'evicted') {
      const at = cloud.clock.now();
      const target = (): Parameters<typeof virtualMachinePreempted>[0] => {
        const eventId = drawGuid(cloud.rng('health-events'));
        return { subscriptionId, vmId: event.id, vmName: event.name, eventId, at };
      };
      cloud.clock.after(healthEventDelayMs, () => {
        grid.publish(virtualMachinePreempted(target()));
        grid.publish(availabilityStatusChanged(target(), { from: 'Available', to: 'Unavailable' }));
      });
    }
  });
}
