import type { CheaperReason } from './cheaper.ts';
import type { CapacityType } from './catalog.ts';
import type { Labels, Requirement, ResourceList, Taint } from '../../kubernetes/manifest.ts';
import type { MicroUsdPerHour } from '../quantity/units.ts';
import type { LeftReason } from './left-reason.ts';

/** Offerings of one pool, cheaper than a claim's, that were ruled out for one reason. */
export interface CheaperOfferings {
  readonly nodePool: string;
  readonly reason: CheaperReason;
  readonly offerings: number;
  readonly instanceTypes: number;
  /** Of those too small the one that lacks least, which the reason is about; else the cheapest. */
  readonly example: PlannedOffering;
}

/** A pod as plans name it: `namespace/name`, and the uid that tells it from a later pod of the same name. */
export interface PodReference {
  readonly name: string;
  readonly uid: string;
}

/** One offering of one size, ready to launch. */
export interface PlannedOffering {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  /** Which reservation a node of type `reserved` is taken from; absent for all others. */
  readonly reservationId?: string;
  /** What Azure asks. */
  readonly price: MicroUsdPerHour;
  /** Absent where evictions add nothing to what it counts as. */
  readonly risk?: OfferingRisk;
}

/** How often Azure evicts such a VM, and what it counts as for that, where choices are made. */
export interface OfferingRisk {
  /** The chance within an hour, above 0 and up to 1; above that while spot machines like it are evicted in numbers. */
  readonly evictionsPerHour: number;
  /** The price, and what evictions cost on average. */
  readonly weighedPrice: MicroUsdPerHour;
}

/** Launch tries at most this many other offerings before the pods are planned again: later ones are far dearer. */
export const MAX_FALLBACKS = 20;

/**
 * Karpenter's mark on claims that have fewer choices than their pool's minValues asks for: `true`, or `false` where it
 * has enough.
 */
export const MIN_VALUES_RELAXED = 'karpenter.sh/nodeclaim-min-values-relaxed';

/** A node to be created, with every choice made. Its order in the plan gives it its name when the plan is committed. */
export interface PlannedClaim {
  readonly nodePool: string;
  readonly offering: PlannedOffering;
  /** What to launch when that one is refused, best first. Each holds the claim's pods and meets its requirements. */
  readonly fallbacks: ReadonlyArray<PlannedOffering>;
  /** The next best choice, which counts as much or more; null when there is none. */
  readonly runnerUp: PlannedOffering | null;
  /** Why nothing cheaper was chosen, offerings ruled out for one reason together. Empty: nothing is cheaper. */
  readonly cheaper: ReadonlyArray<CheaperOfferings>;
  /** The NodeClaim's `spec.requirements`: the pool's, narrowed by the pods, with the instance types still possible. */
  readonly requirements: ReadonlyArray<Requirement>;
  readonly labels: Labels;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: ReadonlyArray<Taint>;
  readonly startupTaints: ReadonlyArray<Taint>;
  /** The requests of its pods, of the room that buffers hold there and of daemons: `spec.resources.requests`. */
  readonly requests: ResourceList;
  readonly pods: ReadonlyArray<PodReference>;
}

/** Pods that fit capacity which exists, or is on its way. */
export interface Nomination {
  readonly target: { readonly kind: 'node'; readonly name: string } | { readonly kind: 'claim'; readonly name: string };
  readonly pods: ReadonlyArray<PodReference>;
}

/** A pod without a place, with the first rule that ruled each NodePool out. */
export interface LeftPod {
  readonly pod: PodReference;
  /** By the name that decision records have for them. */
  readonly refusals: ReadonlyArray<LeftReason>;
}

/** Devices that the plan counts on for one resource claim. kube-scheduler may choose others that do as well. */
export interface DeviceAssignment {
  /** `namespace/name`, or `namespace/pod/name in the pod` of a claim that is still to be made. */
  readonly claim: string;
  /** Uids of the pods that use it. */
  readonly pods: ReadonlyArray<string>;
  /** On planned claims, for which instance types; null where the pods go to existing capacity. */
  readonly instanceTypes: ReadonlyArray<string> | null;
  readonly devices: ReadonlyArray<{
    /** `request`, or `request/alternative`. */
    readonly request: string;
    readonly driver: string;
    readonly pool: string;
    readonly device: string;
  }>;
}

/**
 * Where the room of one CapacityBuffer is, told as pods that do not exist: `capacity-buffer-<buffer>-<number>`, counted
 * from 1. Nobody nominates, binds or evicts them.
 */
export interface PlannedBuffer {
  /** `namespace/name`. */
  readonly buffer: string;
  /** Room on capacity which exists, or is on its way, that all pods of the plan leave free. */
  readonly nominations: ReadonlyArray<Nomination>;
  /** Room on planned claims, each by its place in `Plan.claims`. */
  readonly claims: ReadonlyArray<{ readonly claim: number; readonly pods: ReadonlyArray<PodReference> }>;
  readonly left: ReadonlyArray<LeftPod>;
}

/** What to do, and why the rest was left undone. Complete: executing it needs no further choice. */
export interface Plan {
  readonly claims: ReadonlyArray<PlannedClaim>;
  readonly nominations: ReadonlyArray<Nomination>;
  readonly left: ReadonlyArray<LeftPod>;
  /** By name. The pods above are real ones: what buffers hold is told here alone. */
  readonly buffers: ReadonlyArray<PlannedBuffer>;
  readonly devices: ReadonlyArray<DeviceAssignment>;
  /** Of the planned claims together, at plain prices. */
  readonly cost: MicroUsdPerHour;
  /** No plan for the same pods and buffers can cost less. Certified in integers; 0 when nothing better is known. */
  readonly lowerBound: MicroUsdPerHour;
  /** The same two with risk: what the plan was chosen by. Equal to them where no offering has any. */
  readonly weighed: WeighedCost;
}

/** What claims count as, risk included, and what no plan for the same pods can count as less than. */
export interface WeighedCost {
  readonly cost: MicroUsdPerHour;
  readonly lowerBound: MicroUsdPerHour;
}
