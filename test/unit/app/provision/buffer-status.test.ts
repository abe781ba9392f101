import { describe, expect, test } from 'vitest';
import { bufferStatus, writeBufferStatuses } from '../../../../shared/app/provision/buffer-status.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import type { CapacityBuffer } from '../../../../shared/kubernetes/buffer-manifest.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import type { ProvisioningInput } from '../../../../shared/core/model/provisioning-input.ts';
import { input, node, pool, size, spec } from '../../../kit/core/build.ts';

const NOW = Date.UTC(2026, 0, 1);

const template = {
  metadata: { name: 'room', namespace: 'default', generation: 4 },
  template: { spec: spec('1', '1Gi') },
};

const spare = (replicas: number, status?: CapacityBuffer['status']): CapacityBuffer => ({
  metadata: { name: 'spare', namespace: 'default', generation: 2, resourceVersion: '7' },
  spec: { podTemplateRef: { name: 'room' }, replicas },
  ...(status === undefined ? {} : { status }),
});

function situation(buffer: CapacityBuffer, parts: Parameters<typeof input>[0] = {}): ProvisioningInput {
  const types = [size('Standard_D2s_v5', 2, 8, 100_000)];
  return input({ types, nodePools: [pool('general')], capacityBuffers: [buffer], podTemplates: [template], ...parts });
}

function statusAfterPlan(buffer: CapacityBuffer, parts: Parameters<typeof input>[0] = {}) {
  const given = situation(buffer, parts);
  return bufferStatus(given.cluster, buffer, planProvisioning(given, instant(NOW)), NOW);
}

const conditions = (status: ReturnType<typeof statusAfterPlan>) =>
  (status.conditions ?? []).map(({ type, status: is, reason }) => `${type}=${is} ${reason ?? ''}`);

describe('the status of a buffer [M05]', () => {
  test('says where its template is from, for how many pods it is, and how room is kept', () => {
    expect(statusAfterPlan(spare(2))).toMatchObject({
      podTemplateRef: { name: 'room' },
      podTemplateGeneration: 4,
      replicas: 2,
      provisioningStrategy: 'buffer.x-k8s.io/active-capacity',
    });
  });

  test.each<[string, CapacityBuffer, Parameters<typeof input>[0], ReadonlyArray<string>]>([
    ['room that is there', spare(2), { nodes: [node('n', 4, 16)] }, ['True Resolved', 'True FitsExistingCapacity']],
    ['room that is being made', spare(2), {}, ['True Resolved', 'False RequiresNewCapacity']],
    ['room that nothing can give', spare(2), { nodePools: [] }, ['True Resolved', 'False RequiresNewCapacity']],
    ['no room at all', spare(0), {}, ['True Resolved', 'False BufferEmpty']],
    [
      'a missing template',
      spare(2),
      { podTemplates: [] },
      ['False PodTemplateNotFound', 'False NotReadyForProvisioning'],
    ],
  ])('is by Karpenter’s reasons: %s', (_, buffer, parts, [ready = '', provisioned = '']) => {
    expect(conditions(statusAfterPlan(buffer, parts))).toEqual([
      `ReadyForProvisioning=${ready}`,
      `Provisioning=${provisioned}`,
    ]);
  });

  test('tells people how much is missing, and why', () => {
    const [, provisioned] = statusAfterPlan(spare(3), { nodes: [node('n', 1, 8)], nodePools: [] }).conditions ?? [];
    expect(provisioned?.message).toBe(
      'there is room for 1 of 3 pods; none for 2: all pools: there is no NodePool; create a NodePool',
    );
  });

  test('tells people how much is being made', () => {
    const message = (replicas: number, nodes: ReadonlyArray<ReturnType<typeof node>> = []) =>
      (statusAfterPlan(spare(replicas), { nodes }).conditions ?? []).map((one) => one.message);
    expect(message(1)).toEqual([
      'it asks for room for 1 pod',
      'there is room for 0 of 1 pod; nodes for 1 are being made',
    ]);
    expect(message(1, [node('n', 1, 8)])).toEqual([
      'it asks for room for 1 pod',
      'there is room for 1 pod on nodes that exist or are on their way',
    ]);
  });

  test('tells of room for this buffer, whatever others have', () => {
    const other = { ...spare(1), metadata: { ...spare(1).metadata, name: 'another' } };
    const parts = { capacityBuffers: [other, spare(2)], nodes: [node('n', 1, 8)], nodePools: [] };
    const [, provisioned] = statusAfterPlan(spare(2), parts).conditions ?? [];
    expect(provisioned?.message).toContain('there is room for 0 of 2 pods');
  });

  test('is of the generation that was looked at', () => {
    const generations = (buffer: CapacityBuffer) =>
      (statusAfterPlan(buffer).conditions ?? []).map(({ observedGeneration }) => observedGeneration);
    expect(generations(spare(2))).toEqual([2, 2]);
    expect(generations({ ...spare(2), metadata: { name: 'spare', namespace: 'default' } })).toEqual([1, 1]);
  });

  test('that cannot be told says what it last asked for, if it ever did', () => {
    expect(statusAfterPlan(spare(2), { podTemplates: [] })).not.toHaveProperty('replicas');
    expect(statusAfterPlan(spare(2, { replicas: 5 }), { podTemplates: [] })).toMatchObject({ replicas: 5 });
  });

  test('of a workload’s pods names no template', () => {
    const scaled: CapacityBuffer = {
      ...spare(1),
      spec: { scalableRef: { kind: 'Deployment', name: 'web' }, replicas: 1 },
    };
    const web = { metadata: { name: 'web', namespace: 'default' }, spec: { template: { spec: spec('1', '1Gi') } } };
    const status = statusAfterPlan(scaled, { deployments: [web] });
    expect(status).toMatchObject({ replicas: 1 });
    expect(status).not.toHaveProperty('podTemplateRef');
  });

  test('of a plan that does not know the buffer says that it asks for none', () => {
    const given = situation(spare(2));
    const empty = { ...planProvisioning(given, instant(NOW)), buffers: [] };
    const [, provisioned] = bufferStatus(given.cluster, spare(2), empty, NOW).conditions ?? [];
    expect(provisioned).toMatchObject({ status: 'False', reason: 'BufferEmpty' });
  });

  test('keeps its transition times while nothing moves', () => {
    const before = statusAfterPlan(spare(2));
    const given = situation(spare(2, before));
    const later = bufferStatus(given.cluster, spare(2, before), planProvisioning(given, instant(NOW)), NOW + 60_000);
    expect(later).toEqual(before);
  });
});

describe('writing the status of a buffer [M05]', () => {
  /** The part of the API server that holds one buffer. */
  function apiWith(stored: CapacityBuffer | null) {
    const patches: Array<object> = [];
    const kubernetes: Pick<Ports['kubernetes'], 'get' | 'patchStatus'> = {
      get: () => Promise.resolve(stored as never),
      patchStatus: (_, __, patch) => {
        patches.push(patch);
        return Promise.resolve({ kind: 'conflict' });
      },
    };
    const ports = { kubernetes, now: () => NOW } as unknown as Ports;
    const write = async (given: ProvisioningInput): Promise<ReadonlyArray<object>> => {
      await writeBufferStatuses(ports, given, planProvisioning(given, instant(NOW)));
      return patches;
    };
    return { write };
  }

  test('is conditional on what was read, and a conflict is left to the next look', async () => {
    const [patch] = await apiWith(spare(2)).write(situation(spare(2)));
    expect(patch).toMatchObject({ metadata: { resourceVersion: '7' }, status: { replicas: 2 } });
  });

  test('is left undone where it says the same, though the snapshot is older', async () => {
    const written = statusAfterPlan(spare(2));
    expect(await apiWith(null).write(situation(spare(2, written)))).toEqual([]);
    expect(await apiWith(spare(2, written)).write(situation(spare(2)))).toEqual([]);
  });

  test('is done where only the template is another', async () => {
    const stale = { ...statusAfterPlan(spare(2)), podTemplateGeneration: 3 };
    const [patch] = await apiWith(spare(2, stale)).write(situation(spare(2, stale)));
    expect(patch).toMatchObject({ status: { podTemplateGeneration: 4 } });
  });

  test('asks for nothing where the snapshot says the same', async () => {
    const read = { kubernetes: { get: () => Promise.reject(new Error('asked')) }, now: () => NOW } as unknown as Ports;
    const given = situation(spare(2, statusAfterPlan(spare(2))));
    await expect(writeBufferStatuses(read, given, planProvisioning(given, instant(NOW)))).resolves.toBeUndefined();
  });

  test('is left undone for a buffer that has changed or gone meanwhile', async () => {
    const changed = { ...spare(5), metadata: { ...spare(5).metadata, generation: 3 } };
    expect(await apiWith(changed).write(situation(spare(2)))).toEqual([]);
    expect(await apiWith(null).write(situation(spare(2)))).toEqual([]);
  });

  test('is left undone while the gate is closed', async () => {
    const closed = { nodeOverlay: false, staticCapacity: false, capacityBuffer: false, reservedCapacity: false };
    expect(await apiWith(spare(2)).write(situation(spare(2), { policy: { gates: closed } }))).toEqual([]);
  });
});
