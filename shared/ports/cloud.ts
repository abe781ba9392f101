import type { Maintenance } from './maintenance.ts';
import type { CapacityType, InstanceType } from '../core/model/catalog.ts';
import type { Labels, ResourceList, Taint } from '../kubernetes/manifest.ts';
import type { PlannedOffering } from '../core/model/plan.ts';
import type { SpotStorm } from '../core/offerings/spot-storms.ts';
import type { NodeClass } from './kubernetes.ts';

/** Everything a VM for one NodeClaim is made from. The VM is named after the claim, so asking twice makes one VM. */
export interface LaunchOrder {
  readonly claim: string;
  readonly nodePool: string | null;
  /**
   * The decision that the claim comes from, which its machine is tagged with; null for a claim that somebody made by
   * hand.
   */
  readonly decision: string | null;
  readonly nodeClass: NodeClass;
  readonly offering: PlannedOffering;
  /** As the catalog has it for this node class. */
  readonly instanceType: InstanceType;
  /** Labels, taints and startup taints the kubelet registers with, the unregistered taint not included. */
  readonly labels: Labels;
  readonly taints: ReadonlyArray<Taint>;
  readonly startupTaints: ReadonlyArray<Taint>;
}

/** What a VM turned out to be. */
export interface Machine {
  readonly claim: string;
  /** As it must stand in `Node.spec.providerID`. */
  readonly providerId: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly imageId: string;
}

/**
 * What an offering was refused for, and so what should not be tried again for a while. `offering`: this size, zone and
 * capacity type. `size`: this size everywhere with this capacity type. `zone`: this size in this zone, spot and
 * on-demand.
 * `family`: sizes of the family at least as large, with this capacity type. `spot`: all spot. `region`: all of this
 * capacity type.
 */
export type RefusalScope = 'offering' | 'size' | 'zone' | 'family' | 'spot' | 'region';

/** What can happen when a launch is asked for. Anything else the port throws. */
export type LaunchOutcome =
  | { readonly kind: 'accepted'; readonly machine: Machine }
  /** A VM of this name is there already: ours, from an earlier delivery. Its size may differ from the order's. */
  | { readonly kind: 'exists'; readonly machine: Machine }
  | {
      readonly kind: 'unavailable';
      readonly scope: RefusalScope;
      readonly retryAfterMs: number;
      /** Karpenter's condition reason, such as `ZonalAllocationFailure`. */
      readonly reason: string;
      readonly message: string;
    }
  /** Azure does not want what it was asked for, in words that nobody here knows: it may be the size, or all of it. */
  | { readonly kind: 'doubtful'; readonly reason: string; readonly message: string }
  /** No offering will help: policy, permissions, a class that Azure refuses. */
  | { readonly kind: 'rejected'; readonly reason: string; readonly message: string };

export type ObservedMachine =
  | { readonly kind: 'gone' }
  | {
      readonly kind: 'present';
      readonly state: 'creating' | 'running' | 'deleting';
      readonly machine: Machine;
      /** It has what AKS adds to its machines, or has failed to get it too often: see `equip`. */
      readonly isEquipped: boolean;
      /** Why its set-up as a node failed, once that is known: see `diagnose`. */
      readonly failedBoot: FailedBoot | null;
    }
  | {
      readonly kind: 'failed';
      readonly machine: Machine;
      /** Null when the failure says nothing about the offering. */
      readonly refusal: { readonly scope: RefusalScope; readonly retryAfterMs: number } | null;
      readonly reason: string;
      readonly message: string;
    };

/** How the set-up of a machine as a node ended, where it ended badly. */
export interface FailedBoot {
  /** What the node's own scripts ended with. */
  readonly exitCode: number;
  readonly message: string;
  /** True: the same may happen to every machine of this size and image, and to no other. */
  readonly isOfSize: boolean;
}

/** A VM or NIC of ours that the sweep found in the node resource group. */
export interface InventoryItem {
  readonly kind: 'vm' | 'nic';
  readonly claim: string;
  /** Milliseconds since the epoch; null when Azure does not say. */
  readonly createdAtMs: number | null;
  /** A VM that runs and lacks what `equip` gives, or may lack it: `equip` finds out. */
  readonly lacksEquipment: boolean;
}

/** Azure, as far as machines go. Throws RetryableError (with Azure's Retry-After) on 429, 5xx and broken answers. */
export interface Cloud {
  /** NIC, then VM. Returns when Azure has accepted the VM, long before it runs. Idempotent by name. */
  launch(order: LaunchOrder): Promise<LaunchOutcome>;
  observe(claim: string): Promise<ObservedMachine>;
  /**
   * Gives a machine that runs what AKS adds to its own: the extension by which a node learns of evictions and
   * maintenance. Idempotent; returns when Azure has accepted it. A machine that is gone, or goes, is left alone. Throws
   * TerminalError where it has failed too often to be tried again.
   */
  equip(claim: string): Promise<void>;
  /** Has a machine that does not join report how its set-up ended; `observe` tells, some time later. Idempotent. */
  diagnose(claim: string): Promise<void>;
  /**
   * Revokes what let the machine ask for its certificate: it has one. Idempotent. `areSeveral`: what the claim's
   * annotation says (`annotation.severalTokens`); else there is one.
   */
  revokeTokens(claim: string, areSeveral: boolean): Promise<void>;
  /** Starts or continues the removal of VM, NIC and disk. `gone` once nothing of them is left. Idempotent. */
  delete(claim: string): Promise<'gone' | 'deleting'>;
  /** All VMs and NICs that carry our cluster's tags. */
  inventory(): Promise<ReadonlyArray<InventoryItem>>;
}

/** What came of looking whether a class can be used. `reason`: a condition's, in one word. */
export type ClassVerdict =
  { readonly kind: 'ready' } | { readonly kind: 'refused'; readonly reason: string; readonly message: string };

export interface NodeImage {
  readonly id: string;
  readonly requirements: ReadonlyArray<{
    readonly key: string;
    readonly operator: string;
    readonly values: ReadonlyArray<string>;
  }>;
}

/** Azure, as far as an AKSNodeClass's readiness goes. */
export interface NodeClassFacts {
  subnet(nodeClass: NodeClass): Promise<ClassVerdict>;
  /** Whether the deployment itself has all that nodes are made with. */
  deployment(): Promise<ClassVerdict>;
  /** Client id of the identity that the kubelets of new nodes get; null where it is not known. Never throws. */
  kubeletIdentity(): Promise<string | null>;
  /** When images that nodes run on may be replaced by newer ones. */
  maintenance(): Promise<Maintenance>;
  /** The newest images for the class, in order of preference; empty when there are none. */
  images(nodeClass: NodeClass, kubernetesVersion: string): Promise<ReadonlyArray<NodeImage>>;
}

/** Marks an offering as refused until a time; what it covers follows from the scope. */
export interface RefusedOffering {
  readonly scope: RefusalScope;
  readonly offering: PlannedOffering;
  readonly untilMs: number;
  readonly reason: string;
}

/** A quota of the region that something counts against, in cores. `name`: Azure's, in lower case. */
export interface QuotaInUse {
  readonly name: string;
  readonly used: number;
  readonly limit: number;
}

/** What came of asking Azure for its quotas. */
export type QuotasOutcome =
  | { readonly kind: 'read'; readonly inUse: ReadonlyArray<QuotaInUse> }
  | { readonly kind: 'unknown'; readonly why: string };

/** What came of asking Azure how often it evicts spot VMs. */
export type EvictionRatesOutcome =
  /** Asked a short while ago, with whatever success. */
  | { readonly kind: 'recent' }
  /** `unreadable`: what Azure says of some sizes and nobody here understands. These have no rate. */
  | { readonly kind: 'read'; readonly unreadable: ReadonlyArray<string> }
  /** `fix`: what a person has to do; null where it may pass, or nobody here can tell. */
  | { readonly kind: 'unknown'; readonly why: string; readonly fix: string | null };

/** A spot machine that Azure evicts. */
export interface EvictedMachine {
  readonly claim: string;
  readonly instanceType: string;
  readonly zone: string;
  /** Spot machines of the cluster in that zone, by size, this one too; empty where nobody knows. */
  readonly spotInZone: ReadonlyMap<string, number>;
}

/** Sizes and prices, with what Azure has refused lately taken into account. Shared by all instances of the app. */
export interface Catalogs {
  /** What all prices are in, such as `USD` (ISO 4217): a micro-USD of the code is a millionth of that. */
  readonly currency: string;
  /** All instance types that a node of `nodeClass` could have, with offerings that are not available marked so. */
  instanceTypes(nodeClass: NodeClass): Promise<ReadonlyArray<InstanceType>>;
  /** The names of these. Reads no more than sizes: what is refused, left of quota or evicted is no matter of it. */
  instanceTypeNames(nodeClass: NodeClass): Promise<ReadonlySet<string>>;
  /** Remembers refusals for all instances. A longer time wins over a shorter one for the same scope and offering. */
  refuse(refusals: ReadonlyArray<RefusedOffering>): Promise<void>;
  /**
   * Remembers for all instances that spot machines are evicted, once per claim. Returns the storms that they are part
   * of: what these are about counts as more until they have passed.
   */
  evicted(machines: ReadonlyArray<EvictedMachine>): Promise<ReadonlyArray<SpotStorm>>;
  /** Reads sizes and prices from Azure again, for all instances. */
  refresh(): Promise<void>;
  /** Reads from Azure what quotas there are and how much of them is used, for all instances. Never throws. */
  refreshQuotas(): Promise<QuotasOutcome>;
  /** Reads from Azure how often it evicts spot VMs of each size, for all instances, if that is due. Never throws. */
  refreshEvictionRates(): Promise<EvictionRatesOutcome>;
  /** When the first refusal now in force ends, milliseconds since the epoch; null when there is none. */
  nextRetryMs(): Promise<number | null>;
}

export type { InstanceType, ResourceList };
