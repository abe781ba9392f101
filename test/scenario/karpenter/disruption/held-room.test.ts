import { describe, expect, test } from 'vitest';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { KARPENTER_POLICY } from '../../../../shared/core/model/provisioning-input.ts';
import { onDemand, requirement, shape, size, spec, zones } from '../../../kit/core/build.ts';
import { disruptable, keptFor, machine, on, plan, removed } from '../../../kit/core/build-disruption.ts';

/** Buffers, reservations and devices: what keeps a node beside its pods. */

const pod = shape(spec('500m', '1Gi'));

describe('room that is kept for a CapacityBuffer', () => {
  const buffered = (cpu: string) => ({
    capacityBuffers: [
      {
        metadata: { name: 'spare', namespace: 'default' },
        spec: { podTemplateRef: { name: 'room' }, replicas: 1 },
      },
    ],
    podTemplates: [
      { metadata: { name: 'room', namespace: 'default', generation: 1 }, template: { spec: spec(cpu, '1Gi') } },
    ],
  });
  const machines = [machine('full'), machine('m'), machine('n')];
  const given = { machines, shapes: [pod], pods: on('full', 0, 7) };

  test('keeps one empty node, and no more [L11] [M02]', () => {
    expect(removed(plan(given))).toEqual(['m', 'n']);
    const made = plan({ ...given, ...buffered('3') });
    expect(removed(made)).toHaveLength(1);
    expect(made.kept.map(({ reason }) => reason.kind)).toContain('holds-buffer');
  });

  test('keeps none where it fits beside pods: that node stays instead, and takes no others [L11]', () => {
    const made = plan({ ...given, pods: on('full', 0, 6), ...buffered('1') });
    expect([removed(made), keptFor(made, 'full')]).toEqual([['m', 'n'], 'holds-buffer']);
  });

  test('is not taken by the pods of a node that would go [L11]', () => {
    const pair = [machine('a', { cpu: 2 }), machine('b', { cpu: 4, conditions: [] })];
    const both = { machines: pair, shapes: [pod], pods: [...on('a', 0, 2), ...on('b', 0, 2)] };
    expect(removed(plan(both))).toEqual(['a']);
    expect(removed(plan({ ...both, ...buffered('3') }))).toEqual([]);
  });

  test('is none while the gate is closed [L11]', () => {
    expect(removed(plan({ ...given, ...buffered('3'), policy: { gates: KARPENTER_POLICY.gates } }))).toEqual([
      'm',
      'n',
    ]);
  });
});

describe('a reservation', () => {
  const reservation = { id: 'r', remaining: 5 };
  const label = 'karpenter.azure.com/capacity-reservation-id';
  const reserved = size('Standard_D2s_v5', 2, 8, 100_000, {
    offerings: zones.map((zone) => ({
      zone,
      capacityType: 'reserved' as const,
      price: microUsdPerHour(1),
      available: true,
      labels: { [label]: 'r' },
      reservation,
    })),
  });
  const requirements = [requirement('karpenter.sh/capacity-type', 'In', 'reserved', 'on-demand')];
  const nodePools = [disruptable('general', {}, { requirements })];

  test('is not drawn on to replace a node [L11]', () => {
    const machines = [machine('a', { cpu: 8 })];
    const types = [reserved, size('Standard_D8s_v5', 8, 32, 400_000)];
    expect(plan({ machines, shapes: [pod], pods: on('a', 0, 2), types, nodePools }).steps).toEqual([]);
    const sold = [size('Standard_D2s_v5', 2, 8, 100_000), size('Standard_D8s_v5', 8, 32, 400_000)];
    expect(removed(plan({ machines, shapes: [pod], pods: on('a', 0, 2), types: sold, nodePools }))).toEqual(['a']);
  });
});

test('devices keep a node that is underutilized or drifted, and no other [L11]', () => {
  const gpu = shape(spec('500m', '1Gi', { resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] }));
  const drifted = { type: 'Drifted', status: 'True', lastTransitionTime: '1970-01-02T00:00:00Z' };
  const machines = [machine('d', { conditions: [drifted] }), machine('e'), machine('u')];
  const made = plan({
    machines,
    shapes: [pod, gpu],
    pods: [...on('d', 1, 1), ...on('u', 1, 1)],
    nodePools: [disruptable('general', {}, { requirements: [onDemand] })],
  });
  expect([removed(made), keptFor(made, 'd'), keptFor(made, 'u')]).toEqual([['e'], 'pod-devices', 'pod-devices']);
});
