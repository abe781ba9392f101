/**
 * The parts of Kubernetes objects that decisions read, under Kubernetes' own JSON names and in its own forms
 * (quantities and times as strings). What is absent in the API is absent here, so an object read from the API server,
 * reduced or whole, is a value of these types without a copy. Source: Kubernetes API 1.36.
 */

/** Resource name to quantity, as in `requests: {cpu: 500m, memory: 1Gi}`. */
export type ResourceList = Readonly<Record<string, string | number>>;

export type Labels = Readonly<Record<string, string>>;

export interface ResourceRequirements {
  readonly requests?: ResourceList;
  readonly limits?: ResourceList;
  readonly claims?: ReadonlyArray<{ readonly name: string; readonly request?: string }>;
}

export interface Container {
  readonly name?: string;
  readonly resources?: ResourceRequirements;
  /**
   * What its node holds for it while an in-place resize is under way, from the container's status; the largest counts.
   */
  readonly held?: ReadonlyArray<ResourceList>;
  readonly ports?: ReadonlyArray<{ readonly hostPort?: number; readonly hostIP?: string; readonly protocol?: string }>;
  /** On init containers only: `Always` makes it a sidecar. */
  readonly restartPolicy?: string;
}

export interface SelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: ReadonlyArray<string>;
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: ReadonlyArray<SelectorRequirement>;
  readonly matchFields?: ReadonlyArray<SelectorRequirement>;
}

export interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: ReadonlyArray<SelectorRequirement>;
}

export interface PodAffinityTerm {
  readonly topologyKey: string;
  readonly labelSelector?: LabelSelector;
  readonly namespaces?: ReadonlyArray<string>;
  readonly namespaceSelector?: LabelSelector;
  readonly matchLabelKeys?: ReadonlyArray<string>;
  readonly mismatchLabelKeys?: ReadonlyArray<string>;
}

export interface WeightedPodAffinityTerm {
  readonly weight: number;
  readonly podAffinityTerm: PodAffinityTerm;
}

export interface PodAffinityRules {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: ReadonlyArray<PodAffinityTerm>;
  readonly preferredDuringSchedulingIgnoredDuringExecution?: ReadonlyArray<WeightedPodAffinityTerm>;
}

export interface Affinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: {
      readonly nodeSelectorTerms: ReadonlyArray<NodeSelectorTerm>;
    };
    readonly preferredDuringSchedulingIgnoredDuringExecution?: ReadonlyArray<{
      readonly weight: number;
      readonly preference: NodeSelectorTerm;
    }>;
  };
  readonly podAffinity?: PodAffinityRules;
  readonly podAntiAffinity?: PodAffinityRules;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

export interface TopologySpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: string;
  readonly labelSelector?: LabelSelector;
  readonly minDomains?: number;
  readonly nodeAffinityPolicy?: string;
  readonly nodeTaintsPolicy?: string;
  readonly matchLabelKeys?: ReadonlyArray<string>;
}

export interface Volume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly ephemeral?: { readonly volumeClaimTemplate?: { readonly spec?: PersistentVolumeClaimSpec } };
}

export interface PersistentVolumeClaimSpec {
  readonly storageClassName?: string | null;
  readonly volumeName?: string;
}

export interface PodSpec {
  readonly containers: ReadonlyArray<Container>;
  readonly initContainers?: ReadonlyArray<Container>;
  readonly overhead?: ResourceList;
  /** Pod-level resources. */
  readonly resources?: ResourceRequirements;
  readonly nodeSelector?: Labels;
  readonly affinity?: Affinity;
  readonly tolerations?: ReadonlyArray<Toleration>;
  readonly topologySpreadConstraints?: ReadonlyArray<TopologySpreadConstraint>;
  readonly priority?: number;
  readonly priorityClassName?: string;
  readonly preemptionPolicy?: string;
  readonly schedulerName?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly volumes?: ReadonlyArray<Volume>;
  readonly resourceClaims?: ReadonlyArray<{
    readonly name: string;
    readonly resourceClaimName?: string;
    readonly resourceClaimTemplateName?: string;
  }>;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Labels;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly ownerReferences?: ReadonlyArray<OwnerReference>;
  readonly generation?: number;
  readonly resourceVersion?: string;
  readonly finalizers?: ReadonlyArray<string>;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

export interface Node {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly providerID?: string;
    readonly taints?: ReadonlyArray<Taint>;
    readonly unschedulable?: boolean;
  };
  readonly status?: {
    readonly capacity?: ResourceList;
    readonly allocatable?: ResourceList;
    readonly conditions?: ReadonlyArray<Condition>;
    readonly nodeInfo?: { readonly kubeletVersion?: string };
  };
}

export interface Requirement extends SelectorRequirement {
  readonly minValues?: number;
}

export interface NodeClassReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

export interface NodeClaimTemplateSpec {
  readonly nodeClassRef: NodeClassReference;
  readonly requirements: ReadonlyArray<Requirement>;
  readonly taints?: ReadonlyArray<Taint>;
  readonly startupTaints?: ReadonlyArray<Taint>;
  readonly expireAfter?: string;
  readonly terminationGracePeriod?: string;
}

export interface NodePool {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly template: {
      readonly metadata?: { readonly labels?: Labels; readonly annotations?: Readonly<Record<string, string>> };
      readonly spec: NodeClaimTemplateSpec;
    };
    readonly disruption?: {
      readonly consolidateAfter?: string;
      readonly consolidationPolicy?: string;
      readonly budgets?: ReadonlyArray<{
        readonly nodes: string;
        readonly reasons?: ReadonlyArray<string>;
        readonly schedule?: string;
        readonly duration?: string;
      }>;
    };
    readonly limits?: ResourceList;
    readonly weight?: number;
    readonly replicas?: number;
  };
  readonly status?: {
    readonly conditions?: ReadonlyArray<Condition>;
    readonly resources?: ResourceList;
    readonly nodes?: number;
  };
}

export interface NodeClaim {
  readonly metadata: ObjectMeta;
  readonly spec: NodeClaimTemplateSpec & { readonly resources?: { readonly requests?: ResourceList } };
  readonly status?: {
    readonly providerID?: string;
    readonly nodeName?: string;
    readonly imageID?: string;
    readonly capacity?: ResourceList;
    readonly allocatable?: ResourceList;
    readonly conditions?: ReadonlyArray<Condition>;
    readonly lastPodEventTime?: string;
  };
}

export interface NodeOverlay {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly requirements: ReadonlyArray<SelectorRequirement>;
    readonly price?: string;
    readonly priceAdjustment?: string;
    readonly capacity?: ResourceList;
    readonly weight?: number;
  };
  readonly status?: { readonly conditions?: ReadonlyArray<Condition> };
}

export interface DaemonSet {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly template: { readonly metadata?: { readonly labels?: Labels }; readonly spec: PodSpec };
  };
}

export interface PodDisruptionBudget {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly selector?: LabelSelector;
    readonly minAvailable?: string | number;
    readonly maxUnavailable?: string | number;
    readonly unhealthyPodEvictionPolicy?: string;
  };
  readonly status?: { readonly disruptionsAllowed?: number };
}

export interface PersistentVolumeClaim {
  readonly metadata: ObjectMeta;
  readonly spec?: PersistentVolumeClaimSpec;
  readonly status?: { readonly phase?: string };
}

export interface PersistentVolume {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly csi?: { readonly driver?: string };
    readonly azureDisk?: object;
    readonly azureFile?: object;
    readonly local?: object;
    readonly hostPath?: object;
    readonly nodeAffinity?: { readonly required?: { readonly nodeSelectorTerms: ReadonlyArray<NodeSelectorTerm> } };
  };
}

export interface StorageClass {
  readonly metadata: ObjectMeta;
  readonly provisioner?: string;
  readonly volumeBindingMode?: string;
  readonly allowedTopologies?: ReadonlyArray<{
    readonly matchLabelExpressions?: ReadonlyArray<{ readonly key: string; readonly values: ReadonlyArray<string> }>;
  }>;
}

export interface CsiNode {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly drivers?: ReadonlyArray<{ readonly name: string; readonly allocatable?: { readonly count?: number } }>;
  };
}

export interface Namespace {
  readonly metadata: ObjectMeta;
}

/**
 * Default requests and limits of a namespace; the API server applies them to pods, not to the templates of daemonsets.
 */
export interface LimitRange {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly limits?: ReadonlyArray<{
      readonly type: string;
      readonly default?: ResourceList;
      readonly defaultRequest?: ResourceList;
    }>;
  };
}
