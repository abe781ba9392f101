import { join } from 'node:path';
import type { CapacityError, Exhaustion } from './capacity.ts';
import { Cloud, groupAndName } from './cloud.ts';
import { evictVm } from './eviction.ts';
import { FaultPlan, type OrderedFault } from './faults.ts';
import type { Counters } from './ledger.ts';
import type { AzureOptions, FaultRates, Quota } from './options.ts';
import type { AzureEvent, VmView } from './resources.ts';
import { computeRoutes } from './routes/compute.ts';
import { networkRoutes } from './routes/network.ts';
import { operationRoutes } from './routes/operations.ts';
import { startArmServer } from './server.ts';
import { readSizes } from './sizes.ts';

/** A running double of Azure. */
export interface Azure {
  /** `http://127.0.0.1:PORT`: the `endpoint` of clients. */
  readonly endpoint: string;
  /** Calls the listener for every event from now on, in order; the answer ends it. */
  on(listener: (event: AzureEvent) => void): () => void;
  vms(): ReadonlyArray<VmView>;
  counters(): Counters;
  /** Evicts a spot VM after a notice. Throws for a name that is no spot VM. */
  evict(name: string, options: { readonly noticeSeconds: number }): void;
  /** Lets every new VM of a zone fail with `ZonalAllocationFailed`. */
  failZone(zone: string): void;
  /** Lets new VMs fail for lack of capacity. */
  exhaust(exhaustion: Exhaustion): void;
  /** Ends every exhaustion, zone failure and fault. */
  heal(): void;
  setQuota(quota: Quota): void;
  setFaults(faults: FaultRates): void;
  orderFault(fault: OrderedFault): void;
  close(): Promise<void>;
}

export type { CapacityError };

/**
 * Starts a double of the parts of Azure that Nodewright calls: Azure Resource Manager for VMs, network interfaces and
 * disks, on loopback, in memory. It is a verified fake: test/contract/azure drives it through `@azure/arm-compute` and
 * `@azure/arm-network`, and the cases that do not need a seed can run against a real subscription.
 */
export async function startAzure(options: AzureOptions): Promise<Azure> {
  const folder = options.dataFolder ?? join(import.meta.dirname, 'data');
  const cloud = new Cloud(options, readSizes(folder, options.region));
  const faults = new FaultPlan(cloud);
  const arm = [...computeRoutes(cloud), ...networkRoutes(cloud), ...operationRoutes(cloud)];
  const server = await startArmServer(cloud, { arm, open: [] }, faults);
  return {
    endpoint: `http://127.0.0.1:${server.port}`,
    on: (listener) => cloud.on(listener),
    vms: () => [...cloud.vms.values()].map((vm) => cloud.view(vm)),
    counters: () => cloud.ledger.read(),
    evict: (name, { noticeSeconds }) => {
      const vm = cloud.vms.get(groupAndName(options.resourceGroup, name));
      if (vm === undefined) throw new Error(`There is no VM '${name}' to evict.`);
      evictVm(cloud, vm, noticeSeconds);
    },
    failZone: (zone) => {
      cloud.capacity.failZone(zone);
    },
    exhaust: (exhaustion) => {
      cloud.capacity.exhaust(exhaustion);
    },
    heal: () => {
      cloud.capacity.restore();
      faults.clear();
      cloud.faults = options.faults;
    },
    setQuota: (quota) => {
      cloud.quota = quota;
    },
    setFaults: (rates) => {
      cloud.faults = rates;
    },
    orderFault: (fault) => {
      faults.order(fault);
    },
    close: () => server.close(),
  };
}
