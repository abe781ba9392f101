import type { CapacityBuffer, PodTemplateSpec } from '../../kubernetes/buffer-manifest.ts';
import type { Pod, PodShape } from '../model/cluster.ts';
import { activeBuffers, bufferDemand, bufferName, namespaceOf } from './buffer-demand.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';

/** Uids of real pods have no slash. */
const UID_PREFIX = 'capacity-buffer/';

/** Is the pod one that stands for a buffer's room? */
export function isBufferPod({ uid }: { readonly uid: string }): boolean {
  return uid.startsWith(UID_PREFIX);
}

/** The pods that stand for a buffer's room. */
export interface BufferPods {
  readonly buffer: string;
  readonly pods: ReadonlyArray<Pod>;
}

/** An input with the shapes of all buffers' pods after those of pods, and the buffers' pods. */
export interface BufferedInput {
  readonly input: ProvisioningInput;
  readonly buffers: ReadonlyArray<BufferPods>;
}

/** Buffers that ask for nothing, or cannot be read, have no pods. */
export function withBufferShapes(input: ProvisioningInput): BufferedInput {
  const shapes = [...input.cluster.shapes];
  const buffers = activeBuffers(input).flatMap((buffer): ReadonlyArray<BufferPods> => {
    const demand = bufferDemand(input.cluster, buffer);
    if (demand.kind === 'unresolved' || demand.replicas <= 0) return [];
    const shape = shapes.push(bufferShape(buffer, demand.template)) - 1;
    const name = bufferName(buffer);
    return [
      {
        buffer: name,
        pods: Array.from({ length: demand.replicas }, (_, index) => bufferPod(buffer, shape, index + 1)),
      },
    ];
  });
  if (buffers.length === 0) return { input, buffers };
  return { input: { ...input, cluster: { ...input.cluster, shapes } }, buffers };
}

/** Below the priority of any pod. Source: Kubernetes' least value, 32 bits; Karpenter's virtual pods have it. */
const LEAST_PRIORITY = -(2 ** 31);

/** Room has no volumes yet, and belongs to nobody. */
function bufferShape(buffer: CapacityBuffer, { metadata = {}, spec }: PodTemplateSpec): PodShape {
  const { volumes: _, ...others } = spec;
  return {
    namespace: namespaceOf(buffer),
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    owner: null,
    spec: { ...others, priority: LEAST_PRIORITY },
  };
}

function bufferPod(buffer: CapacityBuffer, shape: number, number: number): Pod {
  return {
    name: `capacity-buffer-${buffer.metadata.name}-${number}`,
    uid: `${UID_PREFIX}${bufferName(buffer)}/${number}`,
    shape,
    createdAtMs: number,
    startedAtMs: null,
    nodeName: null,
    nominatedNodeName: null,
    unschedulable: true,
    deleting: false,
    running: false,
    ready: false,
  };
}

/** The input as if no buffer asked for room. A plan for it is audited against it. */
export function withoutBuffers(input: ProvisioningInput): ProvisioningInput {
  return input.cluster.capacityBuffers.length === 0
    ? input
    : { ...input, cluster: { ...input.cluster, capacityBuffers: [] } };
}
