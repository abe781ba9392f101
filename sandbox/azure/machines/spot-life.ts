import { groupAndName, type Cloud } from '../state/cloud.ts';
import { evictVm } from './eviction.ts';

/** Draws are made from this many steps. */
const STEPS = 1_000_000;

/** Evicts spot VMs after a life drawn from the seed, exponential around the option's mean. The answer ends it. */
export function letSpotVmsDie(cloud: Cloud): () => void {
  return cloud.on((event) => {
    const mean = cloud.options.spotMeanLifeMinutes;
    if (mean === null || event.kind !== 'vm-running' || event.vm.capacityType !== 'spot') return;
    const draw = (1 + cloud.rng('spot-life').below(STEPS)) / STEPS;
    const { name, id, resourceGroup } = event.vm;
    cloud.clock.after(-Math.log(draw) * mean * 60_000, () => {
      const vm = cloud.vms.get(groupAndName(resourceGroup, name));
      if (vm?.id === id && vm.createdAt === event.vm.createdAt) evictVm(cloud, vm, cloud.options.evictionNoticeSeconds);
    });
  });
}
