import type { CapacityBuffer, PodTemplate, ScalableWorkload } from '../../kubernetes/buffer-manifest.ts';
import type {
  DeviceClass,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
} from '../../kubernetes/device-manifest.ts';
import type {
  CsiNode,
  DaemonSet,
  Labels,
  LimitRange,
  Namespace,
  Node,
  NodeClaim,
  NodeOverlay,
  NodePool,
  OwnerReference,
  PersistentVolume,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  PodSpec,
  StorageClass,
} from '../../kubernetes/manifest.ts';

/**
 * What pods that are alike share: namespace, labels, controller, annotations a decision reads, and the reduced spec.
 */
export interface PodShape {
  readonly namespace: string;
  readonly labels: Labels;
  readonly annotations: Readonly<Record<string, string>>;
  /** The controller, else the first owner; null for a bare pod. */
  readonly owner: OwnerReference | null;
  readonly spec: PodSpec;
}

/** One pod that is neither Succeeded nor Failed. Times in milliseconds since the epoch. */
export interface Pod {
  readonly name: string;
  readonly uid: string;
  /** Index into `Cluster.shapes`. */
  readonly shape: number;
  readonly createdAtMs: number;
  /** When its kubelet acknowledged it; null before. */
  readonly startedAtMs: number | null;
  /** The node it is bound to; null while it waits. */
  readonly nodeName: string | null;
  readonly nominatedNodeName: string | null;
  /** True while its PodScheduled condition is False with reason Unschedulable. */
  readonly unschedulable: boolean;
  readonly deleting: boolean;
  readonly running: boolean;
  readonly ready: boolean;
}

/** Everything a decision reads about the cluster, at one moment. Lists are in no particular order. */
export interface Cluster {
  readonly shapes: ReadonlyArray<PodShape>;
  readonly pods: ReadonlyArray<Pod>;
  readonly nodes: ReadonlyArray<Node>;
  readonly nodeClaims: ReadonlyArray<NodeClaim>;
  readonly nodePools: ReadonlyArray<NodePool>;
  readonly nodeOverlays: ReadonlyArray<NodeOverlay>;
  readonly daemonSets: ReadonlyArray<DaemonSet>;
  readonly podDisruptionBudgets: ReadonlyArray<PodDisruptionBudget>;
  readonly persistentVolumeClaims: ReadonlyArray<PersistentVolumeClaim>;
  readonly persistentVolumes: ReadonlyArray<PersistentVolume>;
  readonly storageClasses: ReadonlyArray<StorageClass>;
  readonly csiNodes: ReadonlyArray<CsiNode>;
  readonly namespaces: ReadonlyArray<Namespace>;
  readonly limitRanges: ReadonlyArray<LimitRange>;
  readonly resourceSlices: ReadonlyArray<ResourceSlice>;
  readonly deviceClasses: ReadonlyArray<DeviceClass>;
  readonly resourceClaims: ReadonlyArray<ResourceClaim>;
  readonly resourceClaimTemplates: ReadonlyArray<ResourceClaimTemplate>;
  readonly capacityBuffers: ReadonlyArray<CapacityBuffer>;
  /** These four only as far as a buffer refers to them. */
  readonly podTemplates: ReadonlyArray<PodTemplate>;
  readonly deployments: ReadonlyArray<ScalableWorkload>;
  readonly replicaSets: ReadonlyArray<ScalableWorkload>;
  readonly statefulSets: ReadonlyArray<ScalableWorkload>;
}
