import type { Clock } from '../../base/clock.ts';
import type { Rng } from '../../base/rng.ts';
import { Capacity } from './capacity.ts';
import { EvictionRates } from '../catalog/eviction-rates.ts';
import { GraphReplica } from './graph-replica.ts';
import type { ImageShelf } from '../catalog/images.ts';
import { kubeletIdentity } from './kubelet-identity.ts';
import { Ledger } from './ledger.ts';
import { Operations } from '../arm/operations.ts';
import type { JsonObject } from '../arm/json.ts';
import type { AzureOptions, FaultRates, Quota, Span } from './options.ts';
import { Restrictions } from './restrictions.ts';
import type { AzureEvent, Disk, Nic, Vm, VmView } from '../arm/resources.ts';
import { objectAt, textAt } from '../arm/json.ts';
import { renderResourceId } from '../arm/resource-id.ts';
import type { Counted } from './quota.ts';
import type { DiskController, Size } from '../catalog/sizes.ts';

/** What there is of Azure beside the sizes. */
export interface Surroundings {
  readonly locations?: ReadonlyArray<string>;
  readonly images?: ImageShelf | null;
}

/**
 * Everything the double holds, in memory. It knows nothing of HTTP: the state machine can run on a virtual clock alone.
 */
export class Cloud {
  readonly options: AzureOptions;
  readonly clock: Clock;
  readonly sizes: ReadonlyMap<string, Size>;
  /** Names of all of Azure's regions, its own among them. */
  readonly locations: ReadonlySet<string>;
  /** AKS's node images; null: any image is taken, and nothing is known of it. */
  readonly images: ImageShelf | null;
  /** Ids of the user-assigned identities there are, in lower case. */
  readonly identities: ReadonlySet<string>;
  readonly operations: Operations;
  readonly ledger: Ledger;
  readonly capacity = new Capacity();
  readonly restrictions = new Restrictions();
  readonly graph: GraphReplica;
  readonly evictionRates: EvictionRates;
  /** Keyed by `groupAndName`. */
  readonly vms = new Map<string, Vm>();
  readonly nics = new Map<string, Nic>();
  readonly disks = new Map<string, Disk>();
  /** Ids in lower case of all that ever was: of these the gateway asks the provider, also when they have gone. */
  readonly known = new Set<string>();
  /** Planned maintenance of the managed cluster, by name in lower case, as it is shown. */
  readonly maintenance = new Map<string, JsonObject>();
  /** Resource groups that were made here, by name in lower case, as they are shown. */
  readonly groups = new Map<string, JsonObject>();
  /** Properties of the managed cluster that were said otherwise than it began with. */
  clusterProperties: JsonObject = {};
  /** May be replaced while the double runs. */
  quota: Quota;
  faults: FaultRates;
  /** What the set-up of machines that are made from now on ends with. */
  bootExitCode = 0;
  /** What AKS's node images are tagged for. */
  imageDiskControllers: ReadonlyArray<DiskController>;
  /** Names of the load balancer's backend pools. */
  backendPools: ReadonlyArray<string> = ['aksOutboundBackendPool', 'kubernetes'];
  readonly #listeners = new Set<(event: AzureEvent) => void>();
  readonly #draws = new Map<string, Rng>();
  #addresses = 0;

  constructor(
    options: AzureOptions,
    sizes: ReadonlyMap<string, Size>,
    { locations = [options.region], images = null }: Surroundings = {},
  ) {
    this.options = options;
    this.clock = options.clock;
    this.sizes = sizes;
    this.locations = new Set(locations);
    this.images = images;
    const identities = [kubeletIdentity(options).resourceId, ...options.identities];
    this.identities = new Set(identities.map((id) => id.toLowerCase()));
    this.quota = options.quota;
    this.faults = options.faults;
    this.imageDiskControllers = options.imageDiskControllers;
    this.operations = new Operations(options.clock, options.rng.split('operations'));
    this.ledger = new Ledger(options.clock);
    this.graph = new GraphReplica(options.clock, options.graphLagMs);
    this.evictionRates = new EvictionRates(options.rng.split('eviction-rates'), options.region, options.evictionRates);
    for (const exhaustion of options.exhaustions) this.capacity.exhaust(exhaustion);
    for (const restriction of options.restrictions) this.restrictions.restrict(restriction);
  }

  /** The source of draws for one purpose; the same one every time. */
  rng(purpose: string): Rng {
    const known = this.#draws.get(purpose);
    if (known !== undefined) return known;
    const rng = this.options.rng.split(purpose);
    this.#draws.set(purpose, rng);
    return rng;
  }

  /** Draws a duration for one purpose. */
  draw(purpose: string, { minMs, maxMs }: Span): number {
    return minMs + this.rng(purpose).below(maxMs - minMs + 1);
  }

  /** The next free address of the subnet, 10.224.0.0/12; they are not handed out twice. */
  nextAddress(): string {
    const number = 4 + this.#addresses++;
    return `10.${224 + ((number >> 16) & 15)}.${(number >> 8) & 255}.${number & 255}`;
  }

  /** Calls the listener for every event from now on; the answer ends it. */
  on(listener: (event: AzureEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  emit(event: AzureEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** What counts against quota now. */
  counted(): ReadonlyArray<Counted> {
    return [...this.vms.values()].flatMap((vm) => {
      const size = this.sizes.get(vm.size.toLowerCase());
      return size === undefined ? [] : [{ size, capacityType: vm.capacityType }];
    });
  }

  idOf(type: string, group: string, name: string): string {
    return renderResourceId({ subscription: this.options.subscriptionId, group, type, name });
  }

  view(vm: Vm): VmView {
    return {
      name: vm.name,
      id: vm.id,
      resourceGroup: vm.group,
      region: this.options.region,
      zone: vm.zone,
      size: vm.size,
      capacityType: vm.capacityType,
      provisioningState: vm.provisioningState,
      powerState: vm.powerState,
      computerName: textAt(vm.body, 'properties.osProfile.computerName') ?? vm.name,
      privateIp: vm.nics[0]?.nic.privateIp ?? null,
      tags: objectAt(vm.body, 'tags'),
      customData: vm.customData,
      bootExitCode: vm.bootExitCode,
      extensions: [...vm.extensions.values()]
        .filter(({ provisioningState }) => provisioningState === 'Succeeded')
        .map(({ name }) => name.toLowerCase()),
      createdAt: vm.createdAt,
    };
  }
}

/** Whether a location of a body is the double's region; ARM takes display names as well. */
export function isRegion(cloud: Cloud, location: unknown): boolean {
  return typeof location === 'string' && location.toLowerCase().replaceAll(' ', '') === cloud.options.region;
}

/** The key of a resource: ARM's names know no case. */
export function groupAndName(group: string, name: string): string {
  return `${group}/${name}`.toLowerCase();
}
