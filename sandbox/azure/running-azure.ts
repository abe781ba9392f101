import type { Capacity, Exhaustion, Placement } from './state/capacity.ts';
import type { Management } from './management/management.ts';
import type { Delivery } from './events/event-grid.ts';
import type { GridEvent } from './events/event-grid-events.ts';
import type { MaintenanceType } from './machines/eviction.ts';
import type { OrderedFault } from './limits/ordered-fault.ts';
import type { Counters } from './state/ledger.ts';
import type { EventSubscription, FaultRates, Quota } from './state/options.ts';
import type { Usage } from './state/quota.ts';
import type { AzureEvent, VmView } from './arm/resources.ts';
import type { Restriction } from './state/restrictions.ts';
import type { DiskController } from './catalog/sizes.ts';

/** A running double of Azure. */
export interface Azure {
  /** `http://127.0.0.1:PORT`: the `endpoint` of clients, and where prices and the admin surface are. */
  readonly endpoint: string;
  /** Calls the listener for every event from now on, in order; the answer ends it. */
  on(listener: (event: AzureEvent) => void): () => void;
  /** What people's clients have made: deployments, roles, apps, registries. */
  readonly management: Management;
  vms(): ReadonlyArray<VmView>;
  counters(): Counters;
  capacity(): ReturnType<Capacity['read']>;
  quota(): Quota;
  /** Every row of the region's usage list, as of now. */
  usages(): ReadonlyArray<Usage>;
  /** The list of VM sizes as the API has it. */
  skus(): ReadonlyArray<object>;
  /** Whether a VM would be refused for lack of capacity now. */
  isFull(placement: Placement): boolean;
  /** What became of every event for every subscription. */
  deliveries(): ReadonlyArray<Delivery>;
  /** Evicts a spot VM of the node resource group after a notice. Throws for a name that is no spot VM. */
  evict(name: string, options: { readonly noticeSeconds: number }): void;
  /** Announces maintenance of a VM. Throws for an unknown name. */
  schedule(name: string, type: MaintenanceType, options: { readonly noticeSeconds: number }): void;
  /** Lets the host of a VM crash: the machine is gone, ARM still shows the VM. Throws for an unknown name. */
  crash(name: string): void;
  /** Lets every new VM of a zone fail with `ZonalAllocationFailed`. */
  failZone(zone: string): void;
  /** Lets new VMs fail for lack of capacity. */
  exhaust(exhaustion: Exhaustion): void;
  /** Withholds a size from the subscription, on the SKU list and at the PUT. */
  restrict(restriction: Restriction): void;
  /**
   * Lets the set-up of machines that are made from now on end with one of AKS's exit codes: they run, and become no
   * nodes.
   */
  failBoots(exitCode: number): void;
  /** Ends every exhaustion, zone failure, restriction and fault. Quota and prices stay. */
  heal(): void;
  setQuota(quota: Quota): void;
  setFaults(faults: FaultRates): void;
  /** Lets the next requests that match go wrong in a given way. */
  orderFault(fault: OrderedFault): void;
  /** Micro-USD per hour, in the retail feed from now on. Throws for an unknown size. */
  setPrice(size: string, capacityType: 'spot' | 'on-demand', microUsdPerHour: number): void;
  /**
   * What Resource Graph says of a size's spot VMs from now on, such as `20+` percent in an hour. Throws for an unknown
   * size.
   */
  setEvictionRate(size: string, rate: string): void;
  /** Renames the load balancer's backend pools: references to others are refused from now on. */
  setBackendPools(names: ReadonlyArray<string>): void;
  /** What AKS's node images are tagged for from now on: a size without one of these cannot boot them. */
  setImageDiskControllers(controllers: ReadonlyArray<DiskController>): void;
  /** Adds a version (`202611.20.0`) to every node image. */
  publishImage(version: string): void;
  /** Adds a queue, or a webhook after its handshake. Throws when the handshake fails. */
  subscribe(subscription: EventSubscription): Promise<void>;
  /** Ends a subscription. Harmless when there is none of the name. */
  unsubscribe(name: string): Promise<void>;
  /**
   * Calls the listener for every Event Grid event, doubled ones twice: for other destinations. Render it with
   * `renderEventGrid` or `renderCloudEvent` (event-grid-events.ts). The answer ends it.
   */
  onGridEvent(listener: (event: GridEvent) => void): () => void;
  /** Sends an event to every subscription, as Event Grid would. */
  publish(event: GridEvent): void;
  close(): Promise<void>;
}
