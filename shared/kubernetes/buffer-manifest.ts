import type { Condition, Labels, ObjectMeta, PodSpec, ResourceList } from './manifest.ts';

/**
 * What CapacityBuffers are and refer to, as far as decisions read it. Source: autoscaling.x-k8s.io/v1beta1; Kubernetes
 * API 1.36.
 */

/** Room that is kept for pods that do not exist yet. */
export interface CapacityBuffer {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly provisioningStrategy?: string;
    readonly podTemplateRef?: { readonly name: string };
    readonly scalableRef?: { readonly apiGroup?: string; readonly kind: string; readonly name: string };
    readonly replicas?: number;
    readonly percentage?: number;
    readonly limits?: ResourceList;
  };
  readonly status?: {
    readonly podTemplateRef?: { readonly name: string };
    readonly replicas?: number;
    readonly podTemplateGeneration?: number;
    readonly provisioningStrategy?: string;
    readonly conditions?: ReadonlyArray<Condition>;
  };
}

/** What pods are made from. */
export interface PodTemplateSpec {
  readonly metadata?: { readonly labels?: Labels; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: PodSpec;
}

/** A template that stands by itself. */
export interface PodTemplate {
  readonly metadata: ObjectMeta;
  readonly template: PodTemplateSpec;
}

/** A Deployment, ReplicaSet or StatefulSet that a buffer refers to. */
export interface ScalableWorkload {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly replicas?: number; readonly template: PodTemplateSpec };
}
