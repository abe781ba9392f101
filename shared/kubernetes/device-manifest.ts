import type { NodeSelectorTerm, ObjectMeta, OwnerReference } from './manifest.ts';

/**
 * The kinds of dynamic resource allocation, as far as decisions read them. Source: Kubernetes API 1.36,
 * resource.k8s.io/v1.
 */

/** One value, or a list of values of one type. */
export interface DeviceAttribute {
  readonly int?: number;
  readonly bool?: boolean;
  readonly string?: string;
  readonly version?: string;
  readonly ints?: ReadonlyArray<number>;
  readonly bools?: ReadonlyArray<boolean>;
  readonly strings?: ReadonlyArray<string>;
  readonly versions?: ReadonlyArray<string>;
}

/** How a share of a capacity may be sized. */
export interface CapacityRequestPolicy {
  readonly default?: string | number;
  readonly validValues?: ReadonlyArray<string | number>;
  readonly validRange?: {
    readonly min?: string | number;
    readonly max?: string | number;
    readonly step?: string | number;
  };
}

export interface DeviceCapacity {
  readonly value: string | number;
  readonly requestPolicy?: CapacityRequestPolicy;
}

export interface DeviceTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

export interface DeviceToleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

type Counters = Readonly<Record<string, { readonly value: string | number }>>;

interface Selector {
  readonly nodeSelectorTerms: ReadonlyArray<NodeSelectorTerm>;
}

/** A device as its driver publishes it. */
export interface PublishedDevice {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, DeviceAttribute>>;
  readonly capacity?: Readonly<Record<string, DeviceCapacity>>;
  readonly consumesCounters?: ReadonlyArray<{ readonly counterSet: string; readonly counters?: Counters }>;
  readonly nodeName?: string;
  readonly nodeSelector?: Selector;
  readonly allNodes?: boolean;
  readonly taints?: ReadonlyArray<DeviceTaint>;
  readonly allowMultipleAllocations?: boolean;
}

/** Part of a pool of devices. */
export interface ResourceSliceSpec {
  readonly driver: string;
  readonly pool: { readonly name: string; readonly generation: number; readonly resourceSliceCount: number };
  readonly nodeName?: string;
  readonly nodeSelector?: Selector;
  readonly allNodes?: boolean;
  readonly perDeviceNodeSelection?: boolean;
  readonly devices?: ReadonlyArray<PublishedDevice>;
  readonly sharedCounters?: ReadonlyArray<{ readonly name: string; readonly counters?: Counters }>;
}

export interface ResourceSlice {
  readonly metadata: ObjectMeta;
  readonly spec: ResourceSliceSpec;
}

/** `cel` is absent in selectors of a kind that we do not know. */
export interface DeviceSelector {
  readonly cel?: { readonly expression: string };
}

export interface DeviceClass {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly selectors?: ReadonlyArray<DeviceSelector> };
}

/** What one request, or one alternative of it, asks for. */
export interface ExactDeviceRequest {
  readonly deviceClassName?: string;
  readonly selectors?: ReadonlyArray<DeviceSelector>;
  readonly allocationMode?: string;
  readonly count?: number;
  readonly adminAccess?: boolean;
  readonly tolerations?: ReadonlyArray<DeviceToleration>;
  readonly capacity?: { readonly requests?: Readonly<Record<string, string | number>> };
}

export interface DeviceRequest {
  readonly name: string;
  readonly exactly?: ExactDeviceRequest;
  readonly firstAvailable?: ReadonlyArray<ExactDeviceRequest & { readonly name: string }>;
}

export interface DeviceConstraint {
  readonly requests?: ReadonlyArray<string>;
  readonly matchAttribute?: string;
  readonly distinctAttribute?: string;
}

export interface ResourceClaimSpec {
  readonly devices?: {
    readonly requests?: ReadonlyArray<DeviceRequest>;
    readonly constraints?: ReadonlyArray<DeviceConstraint>;
  };
}

/** One device that a claim holds. */
export interface AllocatedDevice {
  readonly request: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly adminAccess?: boolean;
  readonly shareID?: string;
  readonly consumedCapacity?: Readonly<Record<string, string | number>>;
}

export interface ResourceClaim {
  readonly metadata: ObjectMeta;
  readonly spec: ResourceClaimSpec;
  readonly status?: {
    readonly allocation?: {
      readonly devices?: { readonly results?: ReadonlyArray<AllocatedDevice> };
      readonly nodeSelector?: Selector;
    };
    readonly reservedFor?: ReadonlyArray<{ readonly resource: string } & Pick<OwnerReference, 'name' | 'uid'>>;
  };
}

export interface ResourceClaimTemplate {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly spec: ResourceClaimSpec };
}

/** On a claim that was made from a pod's template: under which name the pod lists it. */
export const POD_CLAIM_NAME = 'resource.kubernetes.io/pod-claim-name';
