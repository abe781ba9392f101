import type { Condition, LabelSelector } from '../../../../shared/kubernetes/manifest.ts';
import type { KubernetesObject } from '../../client/objects.ts';
import type { PodTemplate } from '../pod-control.ts';

/** A number or a percentage, as rolling updates and budgets use it. */
export type NumberOrPercent = number | string;

/** apps/v1 ReplicaSet. */
export interface ReplicaSet extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
  };
  readonly status?: {
    readonly replicas?: number;
    readonly fullyLabeledReplicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly observedGeneration?: number;
  };
}

/** apps/v1 Deployment. */
export interface Deployment extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly paused?: boolean;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxSurge?: NumberOrPercent; readonly maxUnavailable?: NumberOrPercent };
    };
  };
  readonly status?: { readonly conditions?: ReadonlyArray<Condition>; readonly collisionCount?: number };
}

/** apps/v1 DaemonSet. */
export interface DaemonSet extends KubernetesObject {
  readonly spec: {
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly minReadySeconds?: number;
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxUnavailable?: NumberOrPercent };
    };
  };
  readonly status?: Readonly<Record<string, unknown>>;
}

/** apps/v1 StatefulSet. */
export interface StatefulSet extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly serviceName?: string;
    readonly template: PodTemplate;
    readonly podManagementPolicy?: string;
    readonly volumeClaimTemplates?: ReadonlyArray<KubernetesObject & { readonly spec: unknown }>;
  };
  readonly status?: Readonly<Record<string, unknown>>;
}

/** batch/v1 Job. */
export interface Job extends KubernetesObject {
  readonly spec: {
    readonly completions?: number;
    readonly parallelism?: number;
    readonly backoffLimit?: number;
    readonly activeDeadlineSeconds?: number;
    readonly ttlSecondsAfterFinished?: number;
    readonly suspend?: boolean;
    readonly completionMode?: string;
    readonly template: PodTemplate;
  };
  readonly status?: {
    readonly succeeded?: number;
    readonly failed?: number;
    readonly active?: number;
    readonly ready?: number;
    readonly startTime?: string;
    readonly completionTime?: string;
    readonly conditions?: ReadonlyArray<Condition>;
    readonly uncountedTerminatedPods?: {
      readonly succeeded?: ReadonlyArray<string>;
      readonly failed?: ReadonlyArray<string>;
    };
  };
}

/** policy/v1 PodDisruptionBudget. */
export interface PodDisruptionBudget extends KubernetesObject {
  readonly spec: {
    readonly selector?: LabelSelector;
    readonly minAvailable?: NumberOrPercent;
    readonly maxUnavailable?: NumberOrPercent;
  };
  readonly status?: {
    readonly disruptedPods?: Readonly<Record<string, string>>;
    readonly conditions?: ReadonlyArray<Condition>;
  };
}

/** The number that `value` means of `total`; percentages round as told. */
export function resolveCount(value: NumberOrPercent, total: number, round: 'up' | 'down'): number {
  if (typeof value === 'number') return value;
  const share = (Number.parseFloat(value) * total) / 100;
  return round === 'up' ? Math.ceil(share) : Math.floor(share);
}
