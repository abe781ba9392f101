import type { Clock } from '../../base/clock.ts';
import type { Rng } from '../../base/rng.ts';
import type { Exhaustion } from './capacity.ts';
import type { OrderedFault } from '../limits/ordered-fault.ts';
import type { Restriction } from './restrictions.ts';
import type { DiskController } from '../catalog/sizes.ts';

/** A duration to draw uniformly from, both ends included, in milliseconds. */
export interface Span {
  readonly minMs: number;
  readonly maxMs: number;
}

/** How long Azure takes. */
export interface Latency {
  /** From a request's arrival to its answer. */
  readonly request: Span;
  /** From the accepted request on a network interface to its operation's end, where there is one. */
  readonly nic: Span;
  /** From the accepted PUT of a VM to the allocator's word: running hardware, or an allocation error. */
  readonly allocation: Span;
  /** From allocation to `Succeeded`: the guest agent has reported. */
  readonly provisioning: Span;
  readonly vmDelete: Span;
  readonly extension: Span;
  /**
   * Of Azure's own waits in `Retry-After`: 1 for the waits as they were recorded (routes/operations.ts), less for a
   * quicker pace. With zero the SDK keeps to its own interval.
   */
  readonly retryAfterShare: number;
}

/** Cores the subscription may use in the region. VMs count from their PUT to the end of their deletion. */
export interface Quota {
  readonly totalRegionalCores: number;
  readonly lowPriorityCores: number;
  readonly virtualMachines: number;
  /** The limit of every family that `families` does not name. */
  readonly familyCores: number;
  /** Limits by family name as the SKU list spells it. */
  readonly families: { readonly [family: string]: number };
}

/**
 * Faults by rate, in percent of the requests to ARM, drawn in this order from one seed. Zero everywhere is no fault.
 */
export interface FaultRates {
  /** 429 before anything is done: Compute's, the network provider's or ARM's, by what is asked for. */
  readonly throttlePercent: number;
  /** 500 before anything is done. */
  readonly serverErrorPercent: number;
  /** 503 before anything is done. */
  readonly unavailablePercent: number;
  /** The answer comes `slowMs` late. */
  readonly slowPercent: number;
  readonly slowMs: number;
  /** The work is done, the connection is reset before the answer. */
  readonly lostResponsePercent: number;
  /** The work is done, the answer is no JSON. */
  readonly garbagePercent: number;
  /** What the 429 says in `Retry-After`, but for the network provider's, which says nothing. */
  readonly retryAfterSeconds: number;
  /** Events that Event Grid delivers twice, in percent of events. */
  readonly duplicateEventPercent: number;
  /** VMs that are allocated and then never report: `OSProvisioningTimedOut`, in percent of VMs. */
  readonly provisioningFailurePercent: number;
}

/** Where Event Grid delivers to, and how it words it. */
export interface EventSubscription {
  readonly name: string;
  readonly schema: 'EventGrid' | 'CloudEvents';
  /** A webhook's URL, or a queue of a Service Bus namespace. */
  readonly destination: string | { readonly connectionString: string; readonly queue: string };
}

/** What a double of Azure is started with. `azureDefaults` has all that has a sensible default. */
export interface AzureOptions {
  /** 0 lets the system pick. */
  readonly port: number;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly region: string;
  readonly subscriptionId: string;
  /** The node resource group: VMs, network interfaces, disks, the load balancer, the VNet. */
  readonly resourceGroup: string;
  /** The resource group and name of the managed cluster itself. */
  readonly clusterResourceGroup: string;
  readonly clusterName: string;
  /** Eight digits in the names of the VNet and the security group. */
  readonly clusterId: string;
  /** Kubeconfig that `listClusterUserCredential` hands out. */
  readonly kubeconfig: string;
  readonly kubernetesVersion: string;
  /** `ready`: it has all that Nodewright asks of a cluster; `plain`: as `az aks create` makes it with nothing said. */
  readonly cluster: 'ready' | 'plain';
  /** Ids of user-assigned identities that exist beside the cluster's kubelet identity. */
  readonly identities: ReadonlyArray<string>;
  readonly latency: Latency;
  readonly quota: Quota;
  readonly faults: FaultRates;
  /** Due from the first request on, as those that are ordered while the double runs. */
  readonly orderedFaults: ReadonlyArray<OrderedFault>;
  /** Where there is no room from the start. */
  readonly exhaustions: ReadonlyArray<Exhaustion>;
  /** Sizes withheld from the start. */
  readonly restrictions: ReadonlyArray<Restriction>;
  /**
   * Enforces ARM's request budget (reads 250 at 25/s, writes and deletes 200 at 10/s each) and Compute's limits for
   * each VM.
   */
  readonly throttle: boolean;
  /**
   * PUTs of a network interface that are answered while it is `Updating`, with an operation; the others have succeeded
   * at once.
   */
  readonly nicUpdatingPercent: number;
  /** DELETEs of a network interface that are answered with 200 when it has gone, and not with 202. */
  readonly nicGonePercent: number;
  /** VMs and network interfaces in whose ids lists have the resource group in upper case, whatever a GET says. */
  readonly upperCaseGroupPercent: number;
  /**
   * What AKS's node images are tagged for: both since about 2026-04 (karpenter-provider-azure#1642), SCSI alone before.
   */
  readonly imageDiskControllers: ReadonlyArray<DiskController>;
  /** A network interface left behind by a deleted VM cannot be used by another VM or deleted for this long. */
  readonly nicReservedSeconds: number;
  /** Resource Graph shows a change this much later. */
  readonly graphLagMs: number;
  /** Which queries see the spot tables: those that name no subscription, as reported of Azure, or all. */
  readonly spotTables: 'tenant' | 'everywhere';
  /**
   * `{ Standard_D4s_v5: '20+' }`: how many percent of a size's spot VMs are evicted in an hour; of others it is drawn.
   */
  readonly evictionRates: { readonly [size: string]: string };
  /** Elements on a page of a list. */
  readonly pageSize: number;
  /** Rows on a page of retail prices. */
  readonly pricePageSize: number;
  /** Mean life of a spot VM in minutes; null: no VM is evicted unless told to. */
  readonly spotMeanLifeMinutes: number | null;
  /** From notice to eviction. Azure promises 30 s at best. */
  readonly evictionNoticeSeconds: number;
  /** From the eviction to Event Grid's `VirtualMachinePreempted`. */
  readonly healthEventDelayMs: number;
  /** From the notice to Event Grid's scheduled event, for VMs that opted in. */
  readonly scheduledEventDelayMs: number;
  /** From the end of a deletion that somebody asked for to Event Grid's `ResourceDeleteSuccess`. */
  readonly deletionEventDelayMs: number;
  readonly subscriptions: ReadonlyArray<EventSubscription>;
  /**
   * Folder with REGION.json, observed-skus.json, locations.json and images.json; null: the one that comes with the
   * double.
   */
  readonly dataFolder: string | null;
}

const span = (minMs: number, maxMs: number): Span => ({ minMs, maxMs });

/**
 * Latencies like Azure's, for a sandbox that should feel real. Recorded: 24 to 45 s for a VM (median 32), up to 41 s
 * for its deletion (26), 10 to 169 s for an extension (20, so that the few long ones are left out).
 */
export const realLatency: Latency = {
  request: span(60, 250),
  nic: span(500, 2_000),
  allocation: span(4_000, 10_000),
  provisioning: span(20_000, 35_000),
  vmDelete: span(12_000, 41_000),
  extension: span(10_000, 30_000),
  retryAfterShare: 1,
};

/** Latencies that keep the order of events and no more, for tests. */
export const quickLatency: Latency = {
  request: span(0, 0),
  nic: span(0, 2),
  allocation: span(2, 5),
  provisioning: span(5, 15),
  vmDelete: span(5, 15),
  extension: span(2, 5),
  retryAfterShare: 0,
};

/** No fault by rate. */
export const noFaults: FaultRates = {
  throttlePercent: 0,
  serverErrorPercent: 0,
  unavailablePercent: 0,
  slowPercent: 0,
  slowMs: 5_000,
  lostResponsePercent: 0,
  garbagePercent: 0,
  retryAfterSeconds: 60,
  duplicateEventPercent: 0,
  provisioningFailurePercent: 0,
};

/** Everything but the port, the clock and the seed. The subscription is the placeholder of Azure's documentation. */
export const azureDefaults = {
  region: 'westeurope',
  subscriptionId: '00000000-0000-0000-0000-000000000000',
  resourceGroup: 'MC_nodewright_sandbox_westeurope',
  clusterResourceGroup: 'nodewright',
  clusterName: 'sandbox',
  clusterId: '12345678',
  kubeconfig: '',
  kubernetesVersion: '1.36.3',
  cluster: 'ready',
  identities: [],
  latency: quickLatency,
  quota: {
    totalRegionalCores: 2_000,
    lowPriorityCores: 1_000,
    virtualMachines: 25_000,
    familyCores: 500,
    families: {},
  },
  faults: noFaults,
  orderedFaults: [],
  exhaustions: [],
  restrictions: [],
  throttle: false,
  nicUpdatingPercent: 8,
  nicGonePercent: 40,
  upperCaseGroupPercent: 20,
  imageDiskControllers: ['SCSI', 'NVMe'],
  nicReservedSeconds: 180,
  graphLagMs: 0,
  spotTables: 'tenant',
  evictionRates: {},
  pageSize: 100,
  pricePageSize: 1_000,
  spotMeanLifeMinutes: null,
  evictionNoticeSeconds: 30,
  healthEventDelayMs: 5_000,
  scheduledEventDelayMs: 3_000,
  deletionEventDelayMs: 3_000,
  subscriptions: [],
  dataFolder: null,
} as const satisfies Omit<AzureOptions, 'port' | 'clock' | 'rng'>;
