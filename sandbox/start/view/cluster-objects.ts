import { vmNameOf } from '../../../shared/contract/vm-name.ts';
import { annotation, label } from '../../../shared/contract/names.ts';
import type { Condition } from '../../../shared/kubernetes/manifest.ts';
import type { KubernetesObject, Pod } from '../../kubernetes/client/objects.ts';

/** The parts of a NodeClaim that the display reads. */
export interface NodeClaim extends KubernetesObject {
  readonly spec?: { readonly startupTaints?: ReadonlyArray<{ readonly key: string; readonly effect: string }> };
  readonly status?: {
    readonly nodeName?: string;
    readonly conditions?: ReadonlyArray<Condition>;
  };
}

/** The parts of an Event that the display reads. */
export interface ClusterEvent extends KubernetesObject {
  readonly involvedObject: {
    readonly kind?: string;
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
  };
  readonly reason?: string;
  readonly message?: string;
  /** When it happened last, in whole seconds. */
  readonly lastTimestamp?: string;
}

/**
 * Size, zone and capacity type of a claim's machine: what runs once it runs, what is planned before. Empty: unknown.
 */
export interface Offering {
  readonly size: string;
  readonly zone: string;
  readonly capacityType: 'spot' | 'on-demand' | '';
}

/** The machine of a NodeClaim, or of a Node, whose labels are the same. */
export function offeringOf({ metadata }: KubernetesObject): Offering {
  const labels = metadata.labels ?? {};
  const [plannedSize = '', plannedZone = '', plannedType = ''] = (
    metadata.annotations?.[annotation.plannedOffering] ?? ''
  ).split('/');
  const capacityType = labels[label.capacityType] ?? plannedType;
  return {
    size: labels[label.instanceType] ?? plannedSize,
    zone: labels[label.zone] ?? plannedZone,
    capacityType: capacityType === 'spot' || capacityType === 'on-demand' ? capacityType : '',
  };
}

/** The name of a claim's Node, which its VM and computer share. */
export function nodeNameOf(claim: NodeClaim): string {
  return claim.status?.nodeName ?? vmNameOf(claim.metadata.name);
}

/** Namespaces whose pods are the cluster's own. */
const SYSTEM_NAMESPACES: ReadonlySet<string> = new Set(['kube-system', 'nodewright-system', 'kube-node-lease']);

/** True for a pod that belongs to the user and is to stay. */
export function isOwnPod({ metadata }: Pod): boolean {
  return !SYSTEM_NAMESPACES.has(metadata.namespace ?? '') && metadata.deletionTimestamp === undefined;
}

/** True once the pod does what it is there for, or has done it. */
export function isRunning(pod: Pod): boolean {
  return pod.status?.phase === 'Running' || pod.status?.phase === 'Succeeded';
}
