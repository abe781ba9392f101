import type { Affinity, Condition, Toleration, TopologySpreadConstraint } from '../../../shared/kubernetes/manifest.ts';

/**
 * The parts of the Kubernetes wire types that the sandbox's kubelets, controllers and scheduler read and write.
 * Optional fields are the wire's: absent means the API's default.
 */

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export type StringMap = Readonly<Record<string, string>>;

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: StringMap;
  readonly annotations?: StringMap;
  readonly ownerReferences?: ReadonlyArray<OwnerReference>;
  readonly finalizers?: ReadonlyArray<string>;
}

export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

export interface ContainerPort {
  readonly containerPort: number;
  readonly hostPort?: number;
  readonly hostIP?: string;
  readonly protocol?: string;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly ports?: ReadonlyArray<ContainerPort>;
  readonly restartPolicy?: string;
  readonly resources?: { readonly requests?: StringMap; readonly limits?: StringMap };
}

export interface Volume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly ephemeral?: unknown;
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly schedulerName?: string;
  readonly containers: ReadonlyArray<Container>;
  readonly initContainers?: ReadonlyArray<Container>;
  readonly overhead?: StringMap;
  readonly resources?: { readonly requests?: StringMap };
  readonly nodeSelector?: StringMap;
  readonly affinity?: Affinity;
  readonly tolerations?: ReadonlyArray<Toleration>;
  readonly topologySpreadConstraints?: ReadonlyArray<TopologySpreadConstraint>;
  readonly schedulingGates?: ReadonlyArray<{ readonly name: string }>;
  readonly priority?: number;
  readonly preemptionPolicy?: string;
  readonly restartPolicy?: string;
  readonly hostNetwork?: boolean;
  readonly volumes?: ReadonlyArray<Volume>;
  readonly terminationGracePeriodSeconds?: number;
}

export interface PodStatus {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: ReadonlyArray<Condition>;
  readonly nominatedNodeName?: string;
  readonly startTime?: string;
  readonly podIP?: string;
  readonly containerStatuses?: ReadonlyArray<{
    readonly name: string;
    readonly state?: Readonly<Record<string, unknown>>;
  }>;
}

export interface Pod extends KubernetesObject {
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

export interface Node extends KubernetesObject {
  readonly spec?: {
    readonly providerID?: string;
    readonly unschedulable?: boolean;
    readonly taints?: ReadonlyArray<Taint>;
  };
  readonly status?: {
    readonly capacity?: StringMap;
    readonly allocatable?: StringMap;
    readonly conditions?: ReadonlyArray<Condition>;
  };
}

export interface Lease extends KubernetesObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly renewTime?: string;
  };
}

/** `namespace/name`, or the name alone of what has no namespace: unique within one kind. */
export function keyOf(object: KubernetesObject): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** The API path of a pod. */
export function podPath(pod: KubernetesObject): string {
  return `/api/v1/namespaces/${pod.metadata.namespace ?? 'default'}/pods/${pod.metadata.name}`;
}

/** The owner that controls `object`, if one does. */
export function controllerOf(object: KubernetesObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/** True once every container of the pod has ended: it holds no resources any more. */
export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** True when the condition of that type is True. */
export function hasCondition(conditions: ReadonlyArray<Condition> | undefined, type: string): boolean {
  return conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
}
