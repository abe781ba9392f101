import type { CapacityType, Catalog } from './catalog.ts';
import type { DeviceTemplates } from './device-templates.ts';
import type { CompileSelector } from './device-selector.ts';
import type { Cluster } from './cluster.ts';
import type { Amounts } from '../../kubernetes/text/quantity.ts';
import type { NodePool, TopologySpreadConstraint } from '../../kubernetes/manifest.ts';

/** A claim of an earlier plan whose node is not there yet, as its decision record has it. */
export interface InFlightClaim {
  /** Uids of the pods planned onto it, those that stand for the room of buffers included. */
  readonly pods: ReadonlyArray<string>;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
}

export interface SchedulingPolicy {
  /** `Respect`: preferences are tried as if they were required, then dropped one by one. `Ignore`: never looked at. */
  readonly preferencePolicy: 'Respect' | 'Ignore';
  /**
   * `BestEffort`: a new claim may have fewer values than a NodePool's minValues asks for, when nothing else is
   * possible.
   */
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  /** The spread of pods that ask for none, over pods of their own controller. Karpenter's `defaultConstraints`. */
  readonly defaultSpread: ReadonlyArray<Omit<TopologySpreadConstraint, 'labelSelector' | 'matchLabelKeys'>>;
  readonly gates: SchedulingGates;
}

/** Karpenter's feature gates that a plan depends on. */
export interface SchedulingGates {
  /** NodeOverlays count. */
  readonly nodeOverlay: boolean;
  /** NodePools with `spec.replicas` are kept at that number of nodes. */
  readonly staticCapacity: boolean;
  /** CapacityBuffers are filled. */
  readonly capacityBuffer: boolean;
  /** Nodes are taken from capacity reservations. */
  readonly reservedCapacity: boolean;
}

/** What Karpenter does when nothing is set. */
export const KARPENTER_POLICY: SchedulingPolicy = {
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  defaultSpread: [],
  gates: { nodeOverlay: false, staticCapacity: false, capacityBuffer: false, reservedCapacity: true },
};

/**
 * Bounds on effort, as counts of operations and never as time, so that the same input gives the same plan everywhere.
 */
export interface WorkLimits {
  /**
   * Operations that packing and its proof may take in all, 3 to 8 ns each. A first plan is made whatever the number.
   */
  readonly operations: number;
}

/**
 * About 0.4 s of an idle core where that much is needed; most plans are proved before (test/bench/planning/packing.ts).
 */
export const DEFAULT_WORK: WorkLimits = { operations: 120_000_000 };

/** Pods with resource claims (DRA) are left, or planned with the means to read them. */
export type DeviceSupport =
  | { readonly kind: 'ignored' }
  | {
      readonly kind: 'planned';
      readonly compile: CompileSelector;
      readonly templates: DeviceTemplates;
    };

/** Karpenter's default. */
export const DEVICES_IGNORED: DeviceSupport = { kind: 'ignored' };

/** A machine that pools' limits count beside those of the cluster. */
export interface HeldMachine {
  readonly nodePool: string;
  readonly capacity: Amounts;
}

/** Everything a provisioning decision depends on but the time. */
export interface ProvisioningInput {
  /** Its pools are those whose nodes are ours to make. */
  readonly cluster: Cluster;
  /** The pools of other providers: nothing is planned for them, and the events of pods without a place say so. */
  readonly foreignPools: ReadonlyArray<NodePool>;
  readonly catalog: Catalog;
  /** By claim name. */
  readonly inFlight: ReadonlyMap<string, InFlightClaim>;
  readonly policy: SchedulingPolicy;
  readonly work: WorkLimits;
  readonly devices: DeviceSupport;
  /**
   * By NodePool that says so: what the eviction of a node costs, in whole milliseconds for which the node is paid. 0:
   * price alone decides. In all others it is DEFAULT_EVICTION_COST_MS.
   */
  readonly evictionCostMs: ReadonlyMap<string, number>;
  /** Machines that are planned around as if they had gone, and that may stay: limits hold with them too. */
  readonly held: ReadonlyArray<HeldMachine>;
  /**
   * By index into `Cluster.shapes`: pods that spread over hosts and leave nodes that must go, with how many of those
   * that the spread counts may be on one host, as many as were on one that goes. They come once that has gone, from
   * when on it counts no more. Absent: none.
   */
  readonly crowds?: ReadonlyMap<number, number>;
}
