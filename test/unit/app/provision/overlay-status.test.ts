import { describe, expect, test } from 'vitest';
import { usableOverlays } from '../../../../shared/app/facts/api-rules.ts';
import type { Gathered } from '../../../../shared/app/gather/gather.ts';
import { writeOverlayStatuses } from '../../../../shared/app/provision/overlay-status.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import type { Condition, NodeOverlay, Requirement, ResourceList } from '../../../../shared/kubernetes/manifest.ts';
import { KARPENTER_POLICY } from '../../../../shared/core/model/provisioning-input.ts';
import { input, pool, requirement, size } from '../../../kit/core/build.ts';

const NOW = Date.UTC(2026, 0, 1);
const TYPE = 'node.kubernetes.io/instance-type';
const D2 = requirement(TYPE, 'In', 'Standard_D2s_v5');
const D4 = requirement(TYPE, 'In', 'Standard_D4s_v5');

const ZONE = 'topology.kubernetes.io/zone';
const zone = (number: string) => requirement(ZONE, 'In', `westeurope-${number}`);
const capacityType = (type: string) => requirement('karpenter.sh/capacity-type', 'In', type);
const ofPool = (name: string) => requirement('karpenter.sh/nodepool', 'In', name);

interface Parts {
  readonly weight?: number;
  readonly capacity?: ResourceList;
  readonly conditions?: ReadonlyArray<Condition>;
}

function overlay(name: string, is: Requirement, { conditions, ...parts }: Parts = {}): NodeOverlay {
  return {
    metadata: { name, generation: 3, resourceVersion: '7', creationTimestamp: '2025-01-01T00:00:00Z' },
    spec: { requirements: [is], ...(parts.capacity === undefined ? { price: '0.05' } : {}), ...parts },
    ...(conditions === undefined ? {} : { status: { conditions } }),
  };
}

interface Patch {
  readonly metadata: { readonly resourceVersion: string };
  readonly status: { readonly conditions: ReadonlyArray<Condition> };
}

/** What is written for a cluster with the overlays; the API server has `stored` of them. */
async function written(
  nodeOverlays: ReadonlyArray<NodeOverlay>,
  { stored = nodeOverlays, nodeOverlay = true, valid = nodeOverlays } = {},
): Promise<ReadonlyMap<string, Patch>> {
  const patches = new Map<string, Patch>();
  const kubernetes = {
    get: (_: string, { name }: { readonly name: string }) =>
      Promise.resolve(stored.find(({ metadata }) => metadata.name === name) ?? null),
    patchStatus: (_: string, { name }: { readonly name: string }, patch: Patch) => {
      patches.set(name, patch);
      return Promise.resolve({ kind: 'conflict' });
    },
  };
  const types = [size('Standard_D2s_v5', 2, 8, 100_000), size('Standard_D4s_v5', 4, 16, 200_000)];
  const given = input({
    types,
    nodePools: [pool('general', { requirements: [] }), pool('other')],
    nodeOverlays: valid,
    policy: { gates: { ...KARPENTER_POLICY.gates, nodeOverlay } },
  });
  const gathered = { snapshot: { ...given.cluster, nodeOverlays }, input: given } as unknown as Gathered;
  await writeOverlayStatuses({ kubernetes, now: () => NOW } as unknown as Ports, gathered);
  return patches;
}

async function told(...overlays: ReadonlyArray<NodeOverlay>): Promise<ReadonlyArray<string>> {
  const patches = await written(overlays);
  return [...patches].flatMap(([name, { status }]) =>
    status.conditions.map((one) => `${name} ${one.type}=${one.status} ${one.reason ?? ''}`),
  );
}

describe('the status of an overlay [M03]', () => {
  test('is ready where it is valid and alone', async () => {
    expect(await told(overlay('a', D2))).toEqual([
      'a ValidationSucceeded=True ValidationSucceeded',
      'a Ready=True Ready',
    ]);
  });

  test('tells a conflict on the one whose name comes first, and with whom', async () => {
    const both = [overlay('a', D2), overlay('b', D2)];
    expect(await told(...both)).toEqual([
      'a ValidationSucceeded=False Conflict',
      'a Ready=False UnhealthyDependents',
      'b ValidationSucceeded=True ValidationSucceeded',
      'b Ready=True Ready',
    ]);
    expect((await written(both)).get('a')?.status.conditions[0]?.message).toBe(
      'conflict with another overlay: b changes the same with the same weight; give one of them more',
    );
  });

  test.each<[string, NodeOverlay, NodeOverlay]>([
    ['other sizes', overlay('a', D2), overlay('b', D4)],
    ['other zones', overlay('a', zone('1')), overlay('b', zone('2'))],
    ['other capacity types', overlay('a', capacityType('spot')), overlay('b', capacityType('on-demand'))],
    ['other pools', overlay('a', ofPool('general')), overlay('b', ofPool('other'))],
    ['other weights', overlay('a', D2), overlay('b', D2, { weight: 1 })],
    ['price and capacity', overlay('a', D2), overlay('b', D2, { capacity: { 'example.com/fpga': '1' } })],
  ])('tells no conflict between %s', async (_, a, b) => {
    expect((await told(a, b)).filter((text) => text.includes('False'))).toEqual([]);
  });

  test.each<[string, NodeOverlay, NodeOverlay]>([
    ['a size and a zone', overlay('a', D2), overlay('b', zone('1'))],
    ['a size and all of a pool', overlay('a', D2), overlay('b', ofPool('general'))],
    [
      'one zone, named and not excluded',
      overlay('a', zone('1')),
      overlay('b', requirement(ZONE, 'NotIn', 'westeurope-2')),
    ],
  ])('tells a conflict where both reach some offering: %s', async (_, a, b) => {
    expect((await told(a, b)).filter((text) => text.includes('Conflict'))).toEqual([
      'a ValidationSucceeded=False Conflict',
    ]);
  });

  test('tells a conflict no more when the other one is gone, or weighs more', async () => {
    const conflicting = (await written([overlay('a', D2), overlay('b', D2)])).get('a')?.status.conditions ?? [];
    const settled = overlay('a', D2, { conditions: conflicting });
    for (const others of [[], [overlay('b', D2, { weight: 2 })]]) {
      expect((await told(settled, ...others)).slice(0, 2)).toEqual([
        'a ValidationSucceeded=True ValidationSucceeded',
        'a Ready=True Ready',
      ]);
    }
  });

  test('tells a conflict on one resource of capacity', async () => {
    const fpga = { capacity: { 'example.com/fpga': '1' } };
    expect(await told(overlay('a', D2, fpga), overlay('b', D2, fpga))).toContain(
      'a ValidationSucceeded=False Conflict',
    );
  });

  test('tells what the API server let pass, with its field, and that overlay changes nothing', async () => {
    const wrong = overlay('a', requirement('karpenter.sh/unheard-of', 'In', 'x'));
    const all = [wrong, overlay('b', D2)];
    const valid = usableOverlays(all);
    expect(valid).toEqual([overlay('b', D2)]);
    const patches = await written(all, { valid });
    expect(patches.get('a')?.status.conditions[0]).toMatchObject({ status: 'False', reason: 'RuntimeValidation' });
    expect(patches.get('a')?.status.conditions[0]?.message).toContain('spec.requirements[0].key');
  });

  test('is not written again, and its transition times stay', async () => {
    const conditions = (await written([overlay('a', D2)])).get('a')?.status.conditions ?? [];
    const settled = overlay('a', D2, { conditions });
    expect((await written([settled])).size).toBe(0);
    expect((await written([overlay('a', D2)], { stored: [settled] })).size).toBe(0);
    const old = conditions.map((one) => ({
      ...one,
      lastTransitionTime: '2025-06-01T00:00:00Z',
      observedGeneration: 2,
    }));
    const next = (await written([overlay('a', D2, { conditions: old })])).get('a')?.status.conditions;
    expect(next?.map((one) => one.lastTransitionTime)).toEqual(['2025-06-01T00:00:00Z', '2025-06-01T00:00:00Z']);
  });

  test('is conditional on what was read, and left undone for one that has changed or gone meanwhile', async () => {
    const fresh = (await written([overlay('a', D2)])).get('a');
    expect(fresh?.metadata).toEqual({ resourceVersion: '7' });
    expect(fresh?.status.conditions.map(({ observedGeneration }) => observedGeneration)).toEqual([3, 3]);
    const changed = { ...overlay('a', D4), metadata: { ...overlay('a', D4).metadata, generation: 4 } };
    expect((await written([overlay('a', D2)], { stored: [changed] })).size).toBe(0);
    expect((await written([overlay('a', D2)], { stored: [] })).size).toBe(0);
  });

  test('is left undone while the gate is closed', async () => {
    expect((await written([overlay('a', D2)], { nodeOverlay: false })).size).toBe(0);
  });
});
