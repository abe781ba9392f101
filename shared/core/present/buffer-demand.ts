import type { CapacityBuffer, PodTemplateSpec, ScalableWorkload } from '../../kubernetes/buffer-manifest.ts';
import type { Cluster } from '../model/cluster.ts';
import type { PodSpec } from '../../kubernetes/manifest.ts';
import { parseAmounts } from '../../kubernetes/text/quantity.ts';
import { hasDeviceClaims } from '../devices/device-claims.ts';
import { byCodeUnit } from '../rules/label-rule.ts';
import { podRequests } from '../rules/pod-requests.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';

/**
 * What a CapacityBuffer asks for, or why that cannot be told. Reasons are Karpenter's, of the condition
 * ReadyForProvisioning.
 */
export type BufferDemand =
  | {
      readonly kind: 'resolved';
      readonly replicas: number;
      readonly template: PodTemplateSpec;
      /** The PodTemplate that it is from; null where it is a workload's. */
      readonly podTemplate: { readonly name: string; readonly generation: number } | null;
    }
  | {
      readonly kind: 'unresolved';
      readonly reason: 'ScalableRefNotFound' | 'PodTemplateNotFound' | 'ResolutionFailed';
      readonly message: string;
    };

/** The one way of keeping room that is known: nodes that run. */
export const ACTIVE_CAPACITY = 'buffer.x-k8s.io/active-capacity';

/** More pods than this in one buffer is a number mistyped: as many as 300 nodes can hold. */
const BUFFER_PODS_MAX = 10_000;

/** The buffers that plans are to fill, by name; none while the gate is closed. */
export function activeBuffers({ cluster, policy }: ProvisioningInput): ReadonlyArray<CapacityBuffer> {
  if (!policy.gates.capacityBuffer) return [];
  return cluster.capacityBuffers
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .toSorted((a, b) => byCodeUnit(bufferName(a), bufferName(b)));
}

/** `namespace/name`. */
export function bufferName(buffer: CapacityBuffer): string {
  return `${namespaceOf(buffer)}/${buffer.metadata.name}`;
}

/**
 * How much room a buffer asks for, and of what shape. The larger of `replicas` and the percentage of the workload's
 * replicas, as far as `limits` allow; without both, as much as they allow. As Karpenter (karpenter-core.md §2.20).
 */
export function bufferDemand(cluster: Cluster, buffer: CapacityBuffer): BufferDemand {
  const { spec } = buffer;
  const strategy = spec.provisioningStrategy ?? ACTIVE_CAPACITY;
  if (strategy !== ACTIVE_CAPACITY) {
    return unresolved('ResolutionFailed', `provisioningStrategy ${strategy} is not known: use ${ACTIVE_CAPACITY}`);
  }
  if (spec.podTemplateRef !== undefined) return demandOfTemplate(cluster, buffer, spec.podTemplateRef.name);
  if (spec.scalableRef !== undefined) return demandOfWorkload(cluster, buffer, spec.scalableRef);
  return unresolved('ResolutionFailed', 'neither podTemplateRef nor scalableRef is set: set one of them');
}

type Unresolved = Extract<BufferDemand, { readonly kind: 'unresolved' }>;

function unresolved(reason: Unresolved['reason'], message: string): BufferDemand {
  return { kind: 'unresolved', reason, message };
}

function demandOfTemplate(cluster: Cluster, buffer: CapacityBuffer, name: string): BufferDemand {
  const found = cluster.podTemplates.find((one) => isNamed(one, buffer, name));
  if (found === undefined) {
    return unresolved('PodTemplateNotFound', `PodTemplate ${namespaceOf(buffer)}/${name} does not exist: create it`);
  }
  const podTemplate = { name, generation: found.metadata.generation ?? 0 };
  return counted({ template: found.template, podTemplate }, buffer, null);
}

type ScalableRef = NonNullable<CapacityBuffer['spec']['scalableRef']>;

function demandOfWorkload(cluster: Cluster, buffer: CapacityBuffer, ref: ScalableRef): BufferDemand {
  const lists: Readonly<Record<string, ReadonlyArray<ScalableWorkload>>> = {
    Deployment: cluster.deployments,
    ReplicaSet: cluster.replicaSets,
    StatefulSet: cluster.statefulSets,
  };
  const { apiGroup = '', kind, name } = ref;
  const list = apiGroup === '' || apiGroup === 'apps' ? lists[kind] : undefined;
  if (list === undefined) {
    const group = apiGroup === '' ? '' : ` of ${apiGroup}`;
    return unresolved(
      'ResolutionFailed',
      `scalableRef names a ${kind}${group}: use ${Object.keys(lists).join(', ')} of apps`,
    );
  }
  const found = list.find((one) => isNamed(one, buffer, name));
  if (found === undefined) {
    return unresolved('ScalableRefNotFound', `${kind} ${namespaceOf(buffer)}/${name} does not exist: create it`);
  }
  return counted({ template: found.spec.template, podTemplate: null }, buffer, found.spec.replicas ?? 1);
}

function isNamed(one: Pick<ScalableWorkload, 'metadata'>, buffer: CapacityBuffer, name: string): boolean {
  return one.metadata.name === name && namespaceOf(one) === namespaceOf(buffer);
}

/** The namespace of a buffer, or of what it names, which is in the same one. */
export function namespaceOf({ metadata }: Pick<CapacityBuffer, 'metadata'>): string {
  return metadata.namespace ?? 'default';
}

type Source = Pick<Extract<BufferDemand, { readonly kind: 'resolved' }>, 'template' | 'podTemplate'>;

function counted(source: Source, { spec }: CapacityBuffer, workloadReplicas: number | null): BufferDemand {
  if (hasDeviceClaims(source.template.spec)) {
    return unresolved(
      'ResolutionFailed',
      'its pods claim devices (DRA), and devices are not held for pods that do not exist',
    );
  }
  const shares = workloadReplicas === null || workloadReplicas === 0 ? [] : shareOf(workloadReplicas, spec.percentage);
  const wanted = [...shares, ...(spec.replicas === undefined ? [] : [spec.replicas])];
  const most = withinLimits(spec.limits, source.template.spec);
  const replicas = wanted.length === 0 ? (most ?? 0) : Math.min(Math.max(...wanted), most ?? Infinity);
  if (replicas <= BUFFER_PODS_MAX) return { kind: 'resolved', replicas, ...source };
  const fix = 'lower replicas or percentage, or set limits';
  return unresolved(
    'ResolutionFailed',
    `it asks for ${replicas} pods, and at most ${BUFFER_PODS_MAX} are held: ${fix}`,
  );
}

function shareOf(replicas: number, percentage: number | undefined): ReadonlyArray<number> {
  return percentage === undefined ? [] : [Math.ceil((replicas * percentage) / 100)];
}

/** How many pods the limits allow; null where they name nothing that the pods request. */
function withinLimits(limits: CapacityBuffer['spec']['limits'], spec: PodSpec): number | null {
  const requests = podRequests(spec);
  const counts = [...parseAmounts(limits, 'down')].flatMap(([name, limit]) => {
    const request = name === 'pods' ? 0 : (requests.get(name) ?? 0);
    return request === 0 ? [] : [Math.floor(limit / request)];
  });
  return counts.length === 0 ? null : Math.min(...counts);
}
