import type { SelectorRequirement, Taint } from '../../kubernetes/manifest.ts';
import type { Remedy } from './remedy.ts';

/**
 * Reasons as data: each kind has its own fields, and `render-left-reason.ts` is the only place where they become
 * sentences. Quantities are exact, as Kubernetes writes them: `250m` of CPU, bytes of memory. `remedies` let the pod
 * in, each by itself, as far as the rule of the reason goes; they are what the words propose.
 */

/** Why a pod could not be planned for, whatever the pool. */
export type PodReason =
  | DeviceReason
  | VolumeReason
  /** What it requires of one label in every term cannot be had together; those of the first term. */
  | { readonly kind: 'contradiction'; readonly nodePool: null; readonly wanted: ReadonlyArray<SelectorRequirement> }
  | { readonly kind: 'no-node-pool'; readonly nodePool: null }
  /** A plan for it was made, and broke a rule of the audit: a fault of ours. */
  | { readonly kind: 'plan-refused'; readonly nodePool: null; readonly finding: string };

/** What is wrong with a claim, or with what it names. */
export type ClaimProblem =
  | { readonly kind: 'missing' }
  | { readonly kind: 'deleting' }
  /** A container uses what the pod does not list. */
  | { readonly kind: 'not-listed' }
  | { readonly kind: 'class-missing'; readonly request: string; readonly deviceClass: string }
  | { readonly kind: 'selector'; readonly origin: string; readonly expression: string; readonly error: string }
  /** Of a later version of the API than ours. `known`: what we know in its place. */
  | { readonly kind: 'unknown'; readonly part: string; readonly known: string };

/** Why a pod's resource claims (DRA) keep it from running. Claims are `namespace/name`. */
export type DeviceReason =
  /** IGNORE_DRA_REQUESTS is true. */
  | { readonly kind: 'claims-ignored'; readonly nodePool: null }
  | {
      readonly kind: 'resource-claim';
      readonly nodePool: null;
      /** `ResourceClaim namespace/name`, or the same of a ResourceClaimTemplate. */
      readonly object: string;
      readonly why: ClaimProblem;
    }
  /** Its claim holds devices that it can reach from no node. */
  | { readonly kind: 'claim-elsewhere'; readonly nodePool: null; readonly claim: string }
  /** Nodes have what its claims ask for, and do not take the pod. */
  | { readonly kind: 'devices-elsewhere'; readonly nodePool: null; readonly nodes: ReadonlyArray<string> }
  /** Neither the cluster nor a size of a pool has enough for one request. `free`: of the devices that match. */
  | {
      readonly kind: 'devices-short';
      readonly nodePool: null;
      readonly claim: string;
      readonly request: string;
      readonly classes: ReadonlyArray<string>;
      readonly wanted: number;
      readonly matching: number;
      readonly free: number;
    }
  /** Each request alone can be met, all together cannot. */
  | { readonly kind: 'devices-together'; readonly nodePool: null }
  | { readonly kind: 'device-selector'; readonly nodePool: null; readonly error: string }
  /** The search for devices was given up at its bound. */
  | { readonly kind: 'devices-search'; readonly nodePool: null };

/**
 * Why a pod's volume keeps it from running anywhere yet. `claim` is `namespace/name`, or the volume's name in the pod.
 */
export type VolumeReason =
  | { readonly kind: 'volume-claim-missing'; readonly nodePool: null; readonly claim: string }
  | { readonly kind: 'volume-claim-lost'; readonly nodePool: null; readonly claim: string }
  | { readonly kind: 'volume-missing'; readonly nodePool: null; readonly claim: string; readonly volume: string }
  /** The claim names a volume, and the two are not bound to each other yet. */
  | { readonly kind: 'volume-binding'; readonly nodePool: null; readonly claim: string; readonly volume: string }
  /** `storageClass`: what the claim names; null where it leaves that to the default, of which there is none. */
  | {
      readonly kind: 'storage-class-missing';
      readonly nodePool: null;
      readonly claim: string;
      readonly storageClass: string | null;
    }
  | { readonly kind: 'volume-not-bound'; readonly nodePool: null; readonly claim: string };

/** Why a NodePool is not looked at. */
export type PoolObstacle =
  /** It is another provider's: its class is of this kind and group. */
  | { readonly kind: 'foreign-class'; readonly classKind: string; readonly group: string }
  | { readonly kind: 'deleting' }
  | { readonly kind: 'static' }
  | { readonly kind: 'not-ready'; readonly message: string }
  | { readonly kind: 'without-instance-types' };

/** Why one NodePool could not take a pod: the first rule that ruled it out. */
export type PoolReason =
  | { readonly kind: 'pool-not-usable'; readonly nodePool: string; readonly why: PoolObstacle }
  | { readonly kind: 'taint'; readonly nodePool: string; readonly taint: Taint; readonly remedies: Remedies }
  /** What the pool requires of one label cannot be had together. */
  | {
      readonly kind: 'pool-contradiction';
      readonly nodePool: string;
      readonly wanted: ReadonlyArray<SelectorRequirement>;
      readonly remedies: Remedies;
    }
  /** No available offering meets the pool's own requirements. */
  | {
      readonly kind: 'no-instance-type';
      readonly nodePool: string;
      /** Requirements, the pool's labels among them, that leave nothing: each list together, and no part of it. */
      readonly conflicts: ReadonlyArray<ReadonlyArray<SelectorRequirement>>;
      /** `others`: some that meet all are there, and not available now; `none`: nothing at all is available. */
      readonly available: 'some' | 'others' | 'none';
      readonly remedies: Remedies;
    }
  /**
   * What the pod asks of one label; no node of the pool has it. `pool`: what the pool says of the same label, where the
   * two contradict each other, else empty. `meant`: the label that it is probably a mistyping of.
   */
  | {
      readonly kind: 'requirement';
      readonly nodePool: string;
      readonly wanted: ReadonlyArray<SelectorRequirement>;
      readonly pool: ReadonlyArray<SelectorRequirement>;
      readonly meant: string | null;
      readonly remedies: Remedies;
    }
  /** Each label alone can be had, these together cannot. `pool`: what the pool says that takes part in it. */
  | {
      readonly kind: 'requirements-together';
      readonly nodePool: string;
      readonly wanted: ReadonlyArray<SelectorRequirement>;
      readonly pool: ReadonlyArray<SelectorRequirement>;
      readonly remedies: Remedies;
    }
  /**
   * `most`: what the largest node of the pool has of it beside the daemonsets; `largest`: all that the largest of all
   * sizes has.
   */
  | {
      readonly kind: 'resource';
      readonly nodePool: string;
      readonly resource: string;
      readonly wanted: string;
      readonly most: string;
      readonly largest: string;
      readonly remedies: Remedies;
    }
  /** Each resource alone can be had; no size that the pod may be on has all of them, with its host ports free. */
  | { readonly kind: 'resources-together'; readonly nodePool: string; readonly remedies: Remedies }
  /**
   * `wanted`: what the size that asks least of it would count; `left`: what the limit still allows, negative when over.
   */
  | {
      readonly kind: 'limit';
      readonly nodePool: string;
      readonly resource: string;
      readonly wanted: string;
      readonly left: string;
      readonly remedies: Remedies;
    }
  | {
      readonly kind: 'min-values';
      readonly nodePool: string;
      readonly keys: ReadonlyArray<string>;
      readonly remedies: Remedies;
    }
  | {
      readonly [Kind in TopologyRule]: {
        readonly kind: Kind;
        readonly nodePool: string;
        /** The topology keys that the rule is about. */
        readonly keys: ReadonlyArray<string>;
      };
    }[TopologyRule];

type Remedies = ReadonlyArray<Remedy>;

/** The rules that look at where other pods are. */
export type TopologyRule =
  | 'topology-spread'
  | 'pod-affinity'
  | 'pod-anti-affinity'
  /** Pods that run, or are planned, keep this one away. */
  | 'anti-affinity-of-others'
  /** Each rule alone leaves a domain, all together leave none. */
  | 'topology-together';

/** Why a pod has no place: of one pool, or of the pod itself. */
export type LeftReason = PodReason | PoolReason;
