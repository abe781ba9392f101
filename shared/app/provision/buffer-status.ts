import type { CapacityBuffer } from '../../kubernetes/buffer-manifest.ts';
import type { Cluster } from '../../core/model/cluster.ts';
import type { Plan, PlannedBuffer } from '../../core/model/plan.ts';
import { renderLeftReason } from '../../core/telling/reasons/render-left-reason.ts';
import {
  ACTIVE_CAPACITY,
  activeBuffers,
  bufferDemand,
  bufferName,
  namespaceOf,
  type BufferDemand,
} from '../../core/present/buffer-demand.ts';
import type { ProvisioningInput } from '../../core/model/provisioning-input.ts';
import { type ConditionChange, putConditions, sameConditions } from '../facts/conditions.ts';
import { eachAlone } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';
import { tellUnwritten } from '../tell/tell-unwritten.ts';

/** Status patches in flight at once: about 5 ms each. */
const WRITES_AT_ONCE = 8;

type Status = NonNullable<CapacityBuffer['status']>;

/**
 * Says on every CapacityBuffer what it asks for and whether the room is there, as a plan found it. As Karpenter
 * (karpenter-core.md §2.20). What already says so is not written; a buffer that has changed meanwhile has its next
 * look.
 */
export async function writeBufferStatuses(ports: Ports, input: ProvisioningInput, plan: Plan): Promise<void> {
  const nextOf = (buffer: CapacityBuffer): Status => bufferStatus(input.cluster, buffer, plan, ports.now());
  const outdated = activeBuffers(input).filter((buffer) => !isSame(buffer.status ?? {}, nextOf(buffer)));
  const settled = await eachAlone(outdated, WRITES_AT_ONCE, async (buffer) => {
    const { name, generation } = buffer.metadata;
    const key = { name, namespace: namespaceOf(buffer) };
    // The snapshot may be older than our own last write: what is there now decides, or transition times would move.
    const fresh = await ports.kubernetes.get('CapacityBuffer', key);
    if (fresh === null || fresh.metadata.generation !== generation) return null;
    const status = nextOf(fresh);
    if (isSame(fresh.status ?? {}, status)) return null;
    const { resourceVersion } = fresh.metadata;
    return ports.kubernetes.patchStatus('CapacityBuffer', key, {
      metadata: { resourceVersion },
      // A merge patch keeps what it does not name.
      status: { podTemplateRef: null, podTemplateGeneration: null, ...status },
    });
  });
  await tellUnwritten(
    ports,
    outdated.map(({ metadata }) => metadata.name),
    settled,
  );
}

function isSame(current: Status, next: Status): boolean {
  const text = ({ podTemplateRef, podTemplateGeneration, provisioningStrategy, replicas }: Status): string =>
    JSON.stringify([podTemplateRef?.name, podTemplateGeneration, provisioningStrategy, replicas]);
  return text(current) === text(next) && sameConditions(current.conditions, next.conditions ?? []);
}

/** The status that a buffer should have after a plan for the cluster, with transition times as they are or will be. */
export function bufferStatus(cluster: Cluster, buffer: CapacityBuffer, plan: Plan, nowMs: number): Status {
  const demand = bufferDemand(cluster, buffer);
  const told = plan.buffers.find((one) => one.buffer === bufferName(buffer)) ?? null;
  const { replicas: before } = buffer.status ?? {};
  const conditions = putConditions(buffer.status?.conditions, [readiness(demand), provisioning(demand, told)], {
    generation: buffer.metadata.generation ?? 1,
    nowMs,
  });
  const common = { provisioningStrategy: buffer.spec.provisioningStrategy ?? ACTIVE_CAPACITY, conditions };
  if (demand.kind === 'unresolved') return { ...common, ...(before === undefined ? {} : { replicas: before }) };
  const { replicas, podTemplate } = demand;
  if (podTemplate === null) return { ...common, replicas };
  return {
    ...common,
    replicas,
    podTemplateRef: { name: podTemplate.name },
    podTemplateGeneration: podTemplate.generation,
  };
}

function readiness(demand: BufferDemand): ConditionChange {
  const type = 'ReadyForProvisioning';
  if (demand.kind === 'resolved') {
    return { type, status: 'True', reason: 'Resolved', message: `it asks for room for ${pods(demand.replicas)}` };
  }
  return { type, status: 'False', reason: demand.reason, message: demand.message };
}

function provisioning(demand: BufferDemand, told: PlannedBuffer | null): ConditionChange {
  const type = 'Provisioning';
  if (demand.kind === 'unresolved') {
    return { type, status: 'False', reason: 'NotReadyForProvisioning', message: 'see ReadyForProvisioning' };
  }
  if (demand.replicas === 0 || told === null) {
    return { type, status: 'False', reason: 'BufferEmpty', message: 'it asks for no room' };
  }
  const there = told.nominations.reduce((sum, one) => sum + one.pods.length, 0);
  if (there === demand.replicas) {
    const message = `there is room for ${pods(there)} on nodes that exist or are on their way`;
    return { type, status: 'True', reason: 'FitsExistingCapacity', message };
  }
  return { type, status: 'False', reason: 'RequiresNewCapacity', message: shortage(demand.replicas, there, told) };
}

function shortage(wanted: number, there: number, { left }: PlannedBuffer): string {
  const found = `there is room for ${there} of ${pods(wanted)}`;
  const onNew = wanted - there - left.length;
  const ordered = onNew === 0 ? '' : `; nodes for ${onNew} are being made`;
  const reasons = (left[0]?.refusals ?? []).map((reason) => {
    const { detail, fix } = renderLeftReason(reason);
    return `${reason.nodePool ?? 'all pools'}: ${detail}; ${fix}`;
  });
  return `${found}${ordered}${left.length === 0 ? '' : `; none for ${left.length}: ${reasons.join(' | ')}`}`;
}

function pods(count: number): string {
  return count === 1 ? '1 pod' : `${count} pods`;
}
