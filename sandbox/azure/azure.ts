import { join } from 'node:path';
import { Cloud, groupAndName } from './state/cloud.ts';
import { EventGrid } from './events/event-grid.ts';
import { EventLog } from './events/event-log.ts';
import { crashVm, evictVm, scheduleMaintenance } from './machines/eviction.ts';
import { FaultPlan } from './faults.ts';
import { ImageShelf } from './catalog/images.ts';
import { listAt, textAt } from './arm/json.ts';
import type { AzureOptions } from './state/options.ts';
import { publishEvents } from './events/publish-events.ts';
import type { Vm } from './arm/resources.ts';
import { adminRoutes } from './routes/admin.ts';
import { catalogRoutes, listSkus, usagesOf } from './routes/catalog.ts';
import { Management } from './management/management.ts';
import { managementRoutes } from './management/routes.ts';
import { hostsOf } from './management/served/hosts.ts';
import { clusterRoutes } from './routes/cluster.ts';
import { computeRoutes } from './routes/compute.ts';
import { graphRoutes } from './routes/graph.ts';
import { networkRoutes } from './routes/network.ts';
import { operationRoutes } from './routes/operations.ts';
import { PriceBook, priceRoutes } from './routes/prices.ts';
import { startArmServer, type ArmServer } from './server.ts';
import { readJson, readSizes } from './catalog/sizes.ts';
import { letSpotVmsDie } from './machines/spot-life.ts';
import type { Azure } from './running-azure.ts';

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
    management: new Management(cloud),
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
      ...managementRoutes(parts.management),
    ],
    hosts: hostsOf(parts.management),
    open: [...priceRoutes(cloud, parts.prices), ...adminRoutes(() => azure, parts.log)],
  };
  const server = await startArmServer(cloud, routes, parts.faults);
  const azure = faceOf(parts, server);
  for (const subscription of options.subscriptions) await azure.subscribe(subscription);
  return azure;
}

interface Parts {
  readonly cloud: Cloud;
  readonly management: Management;
  readonly faults: FaultPlan;
  readonly prices: PriceBook;
  readonly images: ImageShelf;
  readonly grid: EventGrid;
  readonly log: EventLog;
}

function faceOf({ cloud, management, faults, prices, images, grid }: Parts, server: ArmServer): Azure {
  return {
    endpoint: `http://127.0.0.1:${server.port}`,
    on: (listener) => cloud.on(listener),
    vms: () => [...cloud.vms.values()].map((vm) => cloud.view(vm)),
    management,
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
