import { join } from 'node:path';
import type { Capacity, Exhaustion, Placement } from './state/capacity.ts';
import { Cloud, groupAndName } from './state/cloud.ts';
import { EventGrid, type Delivery } from './events/event-grid.ts';
import type { GridEvent } from './events/event-grid-events.ts';
import { EventLog } from './events/event-log.ts';
import { crashVm, evictVm, scheduleMaintenance, type MaintenanceType } from './machines/eviction.ts';
import { FaultPlan, type OrderedFault } from './limits/faults.ts';
import { ImageShelf } from './catalog/images.ts';
import { listAt, textAt } from './arm/json.ts';
import type { Counters } from './state/ledger.ts';
import type { AzureOptions, EventSubscription, FaultRates, Quota } from './state/options.ts';
import { publishEvents } from './events/publish-events.ts';
import type { Usage } from './state/quota.ts';
import type { AzureEvent, Vm, VmView } from './arm/resources.ts';
import type { Restriction } from './state/restrictions.ts';
import { adminRoutes } from './routes/admin.ts';
import { catalogRoutes, listSkus, usagesOf } from './routes/catalog.ts';
import { clusterRoutes } from './routes/cluster.ts';
import { computeRoutes } from './routes/compute.ts';
import { graphRoutes } from './routes/graph.ts';
import { networkRoutes } from './routes/network.ts';
import { operationRoutes } from './routes/operations.ts';
import { PriceBook, priceRoutes } from './routes/prices.ts';
import { startArmServer, type ArmServer } from './server.ts';
import { readJson, readSizes, type DiskController } from './catalog/sizes.ts';
import { letSpotVmsDie } from './machines/spot-life.ts';

/** A running double of Azure. */
export interface Azure {
  /** `http://127.0.0.1:PORT`: the `endpoint` of clients, and where prices and the admin surface are. */
  readonly endpoint: string;
  /** Calls the listener for every event from now on, in order; the answer ends it. */
  on(listener: (event: AzureEvent) => void): () => void;
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
  /** Lets the set-up of machines that are made from now on end with one of AKS's exit codes: they run, and become no nodes. */
  failBoots(exitCode: number): void;
  /** Ends every exhaustion, zone failure, restriction and fault. Quota and prices stay. */
  heal(): void;
  setQuota(quota: Quota): void;
  setFaults(faults: FaultRates): void;
  /** Lets the next requests that match go wrong in a given way. */
  orderFault(fault: OrderedFault): void;
  /** Micro-USD per hour, in the retail feed from now on. Throws for an unknown size. */
  setPrice(size: string, capacityType: 'spot' | 'on-demand', microUsdPerHour: number): void;
  /** What Resource Graph says of a size's spot VMs from now on, such as `20+` percent in an hour. Throws for an unknown size. */
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

/**
 * Starts a double of the parts of Azure that Nodewright calls: Azure Resource Manager for VMs, network interfaces and
 * disks, quota, sizes and images, Resource Graph, the retail price feed, and Event Grid's webhooks; on loopback, in
 * memory. It is a verified fake: test/contract/azure drives it through Azure's own clients,
 * and the cases that do not steer it run against a real subscription where the environment names one.
 */
export async function startAzure(options: AzureOptions): Promise<Azure> {
  const folder = options.dataFolder ?? join(import.meta.dirname, 'data');
  const locations = listAt(readJson(folder, 'locations.json'), 'locations').map((row) => textAt(row, 'name') ?? '');
  const images = new ImageShelf(folder, options.region, options.clock);
  const cloud = new Cloud(options, readSizes(folder, options.region), { locations, images });
  const parts: Parts = {
    cloud,
    faults: new FaultPlan(cloud),
    prices: new PriceBook(cloud),
    images,
    grid: new EventGrid(options.clock, `/subscriptions/${options.subscriptionId}`, () =>
      cloud.rng('duplicate-events').chance(cloud.faults.duplicateEventPercent),
    ),
    log: new EventLog(options.clock),
  };
  cloud.on((event) => {
    parts.log.append(event);
  });
  publishEvents(cloud, parts.grid);
  letSpotVmsDie(cloud);
  const routes = {
    arm: [
      ...computeRoutes(cloud),
      ...networkRoutes(cloud),
      ...operationRoutes(cloud),
      ...catalogRoutes(cloud, { folder, images: parts.images }),
      ...clusterRoutes(cloud),
      ...graphRoutes(cloud),
    ],
    open: [...priceRoutes(cloud, parts.prices), ...adminRoutes(() => azure, parts.log)],
  };
  const server = await startArmServer(cloud, routes, parts.faults);
  const azure = faceOf(parts, server);
  for (const subscription of options.subscriptions) await azure.subscribe(subscription);
  return azure;
}

interface Parts {
  readonly cloud: Cloud;
  readonly faults: FaultPlan;
  readonly prices: PriceBook;
  readonly images: ImageShelf;
  readonly grid: EventGrid;
  readonly log: EventLog;
}

function faceOf({ cloud, faults, prices, images, grid }: Parts, server: ArmServer): Azure {
  return {
    endpoint: `http://127.0.0.1:${server.port}`,
    on: (listener) => cloud.on(listener),
    vms: () => [...cloud.vms.values()].map((vm) => cloud.view(vm)),
    counters: () => cloud.ledger.read(),
    capacity: () => cloud.capacity.read(),
    quota: () => cloud.quota,
    usages: () => usagesOf(cloud),
    skus: () => listSkus(cloud),
    isFull: (placement) => cloud.capacity.isFull(placement),
    deliveries: () => grid.deliveries(),
    evict: (name, { noticeSeconds }) => {
      evictVm(cloud, nodeOf(cloud, name), noticeSeconds);
    },
    schedule: (name, type, { noticeSeconds }) => {
      scheduleMaintenance(cloud, nodeOf(cloud, name), type, noticeSeconds);
    },
    crash: (name) => {
      crashVm(cloud, nodeOf(cloud, name));
    },
    failZone: (zone) => {
      cloud.capacity.failZone(zone);
    },
    exhaust: (exhaustion) => {
      cloud.capacity.exhaust(exhaustion);
    },
    restrict: (restriction) => {
      cloud.restrictions.restrict(restriction);
    },
    failBoots: (exitCode) => {
      cloud.bootExitCode = exitCode;
    },
    heal: () => {
      cloud.capacity.restore();
      cloud.restrictions.clear();
      faults.clear();
      cloud.faults = cloud.options.faults;
      cloud.bootExitCode = 0;
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
    setPrice: (size, capacityType, microUsdPerHour) => {
      prices.set(size, capacityType, microUsdPerHour);
    },
    setEvictionRate: (size, rate) => {
      if (!cloud.sizes.has(size.toLowerCase()))
        throw new Error(`There is no size '${size}' in ${cloud.options.region}.`);
      cloud.evictionRates.set(size, rate);
    },
    setBackendPools: (names) => {
      cloud.backendPools = names;
    },
    setImageDiskControllers: (controllers) => {
      cloud.imageDiskControllers = controllers;
    },
    publishImage: (version) => {
      images.publish(version);
    },
    subscribe: (subscription) => grid.subscribe(subscription),
    unsubscribe: (name) => grid.unsubscribe(name),
    onGridEvent: (listener) => grid.on(listener),
    publish: (event) => {
      grid.publish(event);
    },
    close: async () => {
      await grid.close();
      await server.close();
    },
  };
}

function nodeOf(cloud: Cloud, name: string): Vm {
  const vm = cloud.vms.get(groupAndName(cloud.options.resourceGroup, name));
  if (vm === undefined) throw new Error(`There is no VM '${name}' in ${cloud.options.resourceGroup}.`);
  return vm;
}
