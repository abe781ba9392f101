import type { CapacityType, Catalog } from '../model/catalog.ts';
import type { Cluster } from '../model/cluster.ts';

/** A claim of an earlier plan whose node is not there yet, as its decision record has it. */
export interface InFlightClaim {
  /** Uids of the pods planned onto it. */
  readonly pods: ReadonlyArray<string>;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
}

export interface SchedulingPolicy {
  /** `Respect`: preferences are tried as if they were required, then dropped one by one. `Ignore`: never looked at. */
  readonly preferencePolicy: 'Respect' | 'Ignore';
  /** `BestEffort`: a new claim may have fewer values than a NodePool's minValues asks for, when nothing else is possible. */
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
}

/** Bounds on effort, as counts of steps and never as time, so that the same input gives the same plan everywhere. */
export interface WorkLimits {
  /** Steps that packing and its proof may take in all, 5 to 10 ns each. A first plan is made whatever the number. */
  readonly steps: number;
}

/** Half a second on a slow core, if that much is needed: most plans are proved long before (test/bench/packing.ts). */
export const DEFAULT_WORK: WorkLimits = { steps: 80_000_000 };

/** Everything a provisioning decision depends on but the time. */
export interface ProvisioningInput {
  readonly cluster: Cluster;
  readonly catalog: Catalog;
  /** By claim name. */
  readonly inFlight: ReadonlyMap<string, InFlightClaim>;
  readonly policy: SchedulingPolicy;
  readonly work: WorkLimits;
}
