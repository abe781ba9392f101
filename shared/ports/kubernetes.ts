import type { CapacityBuffer } from '../kubernetes/buffer-manifest.ts';
import type { ResourceSlice } from '../kubernetes/device-manifest.ts';
import type {
  Condition,
  LabelSelector,
  Labels,
  Node,
  NodeClaim,
  NodeOverlay,
  NodePool,
  ObjectMeta,
  PodSpec,
  ResourceList,
} from '../kubernetes/manifest.ts';

/** A pod as a drain needs it, read from the API server when the drain happens. */
export interface NodePod {
  readonly metadata: ObjectMeta & {
    readonly namespace: string;
    readonly uid: string;
    readonly deletionGracePeriodSeconds?: number;
  };
  readonly spec: PodSpec & { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly startTime?: string;
    readonly nominatedNodeName?: string;
    readonly containerStatuses?: ReadonlyArray<{
      readonly restartCount?: number;
      readonly state?: { readonly waiting?: { readonly reason?: string } };
    }>;
  };
}

/** The parts of an AKSNodeClass that launching and readiness read. */
export interface NodeClass {
  readonly metadata: ObjectMeta;
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly vnetSubnetID?: string;
    readonly osDiskSizeGB?: number;
    readonly imageFamily?: string;
    readonly tags?: Readonly<Record<string, string>>;
    readonly maxPods?: number;
    readonly localDNS?: { readonly mode?: string };
  };
  readonly status?: {
    readonly images?: ReadonlyArray<{
      readonly id: string;
      readonly requirements: ReadonlyArray<{
        readonly key: string;
        readonly operator: string;
        readonly values?: ReadonlyArray<string>;
      }>;
    }>;
    readonly kubernetesVersion?: string;
    /** `Enabled` or `Disabled`. */
    readonly localDNSState?: string;
    readonly conditions?: ReadonlyArray<Condition>;
  };
}

export interface Lease {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseTransitions?: number;
    readonly renewTime?: string;
  };
}

/** What each kind's objects look like. The keys are the kinds we read or write by name. */
export interface Kinds {
  readonly Node: Node;
  readonly NodeClaim: NodeClaim;
  readonly NodePool: NodePool;
  readonly AKSNodeClass: NodeClass;
  readonly CapacityBuffer: CapacityBuffer;
  readonly NodeOverlay: NodeOverlay;
  readonly Pod: NodePod;
  readonly Lease: Lease;
  readonly Event: { readonly metadata: ObjectMeta; readonly count?: number; readonly lastTimestamp?: string };
  readonly VolumeAttachment: {
    readonly metadata: ObjectMeta;
    readonly spec: { readonly nodeName: string; readonly source: { readonly persistentVolumeName?: string } };
  };
  readonly PersistentVolumeClaim: { readonly metadata: ObjectMeta; readonly spec: { readonly volumeName?: string } };
  readonly PodDisruptionBudget: {
    readonly metadata: ObjectMeta;
    readonly spec?: { readonly selector?: LabelSelector };
  };
  readonly ResourceSlice: ResourceSlice;
  readonly Secret: { readonly metadata: ObjectMeta; readonly type?: string; readonly stringData?: Labels };
}

export type Kind = keyof Kinds;

/** One write that the API server refused. */
export interface Refusal {
  readonly act: 'create' | 'patch' | 'patch the status of' | 'delete' | 'evict';
  readonly kind: Kind;
  readonly key: Key;
  /** In the API server's words. */
  readonly reason: string;
  /** Who denies it, such as `ValidatingAdmissionPolicy 'a'`; null where the API server's own rules do. */
  readonly policy: string | null;
}

export interface Key {
  readonly name: string;
  /** Null for cluster-scoped kinds. */
  readonly namespace: string | null;
}

/** `conflict`: somebody changed the object since it was read, or it is not the one that was meant. */
export type WriteOutcome<T> =
  | { readonly kind: 'written'; readonly object: T }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'conflict' }
  | Refused;

export type CreateOutcome<T> = { readonly kind: 'created'; readonly object: T } | { readonly kind: 'exists' } | Refused;

/** The API server does not take this write, and will not until somebody changes a policy or what is written. */
export interface Refused {
  readonly kind: 'refused';
  /** In the API server's words. */
  readonly reason: string;
  readonly refusal: Refusal;
}

/**
 * `blocked`: a PodDisruptionBudget does not allow it now, or it is refused, of which `refusal` tells. `status` is the
 * API server's, of HTTP.
 */
export type EvictOutcome =
  | { readonly kind: 'evicted' | 'gone'; readonly status: number }
  | { readonly kind: 'blocked'; readonly status: number; readonly reason: string; readonly refusal: Refusal | null };

/**
 * The cluster's API server. Every call throws RetryableError when the server cannot be reached, answers 429 or 5xx, or
 * knows no right of ours (401, 403), which roles on their way explain. What a policy or the server's rules refuse of
 * one object is an outcome; of a deletion a RefusedError. Nothing here is cached: what is read is what is there.
 */
export interface Kubernetes {
  get<K extends Kind>(kind: K, key: Key): Promise<Kinds[K] | null>;
  /**
   * All objects, read in pages. Selectors in Kubernetes' own string form. `mayBeOld`: from what the API server has in
   * memory, which may be behind by a moment, in one page; else it waits until that is up to date.
   */
  list<K extends Kind>(
    kind: K,
    selectors?: { readonly labels?: string; readonly fields?: string; readonly mayBeOld?: boolean },
  ): Promise<ReadonlyArray<Kinds[K]>>;
  create<K extends Kind>(kind: K, object: object): Promise<CreateOutcome<Kinds[K]>>;
  /** JSON merge patch. Put `metadata.resourceVersion` or `metadata.uid` into the patch to make it conditional. */
  patch<K extends Kind>(kind: K, key: Key, patch: object): Promise<WriteOutcome<Kinds[K]>>;
  /** As `patch`, on the status subresource. */
  patchStatus<K extends Kind>(kind: K, key: Key, patch: object): Promise<WriteOutcome<Kinds[K]>>;
  /**
   * Marks for deletion, or deletes. Missing objects and objects with another uid are `not-found`; where a version is
   * named, one that has changed since is a `conflict`, and so is one with another uid. `isTrial`: everything is asked
   * that a deletion asks, and nothing is deleted. Throws RefusedError where it is refused.
   */
  delete(
    kind: Kind,
    key: Key,
    options?: {
      readonly uid?: string;
      readonly resourceVersion?: string;
      readonly gracePeriodSeconds?: number;
      readonly isTrial?: boolean;
    },
  ): Promise<'deleted' | 'not-found' | 'conflict'>;
  evict(pod: { readonly namespace: string; readonly name: string; readonly uid: string }): Promise<EvictOutcome>;
  /** The server's version without the leading `v`, such as `1.36.3`. */
  serverVersion(): Promise<string>;
}

/**
 * NodePools and AKSNodeClasses as they are or were a moment ago (`DEFINITIONS_AGE_MS`): for what many claims ask of the
 * few there are. What is written back, or decides by a change that has just been hinted at, is read by `Kubernetes`.
 */
export interface Definitions {
  nodePool(name: string): Promise<NodePool | null>;
  nodeClass(name: string): Promise<NodeClass | null>;
}

/** How old a definition may be. Claims that follow a change of theirs are looked at when this has passed. */
export const DEFINITIONS_AGE_MS = 1_000;

export type { Condition, Labels, Node, NodeClaim, NodePool, ResourceList };
