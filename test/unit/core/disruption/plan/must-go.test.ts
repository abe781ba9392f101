import { describe, expect, test } from 'vitest';
import type { PodShape } from '../../../../../shared/core/model/cluster.ts';
import { renderKept } from '../../../../../shared/core/disruption/plan/render-kept.ts';
import type { Condition } from '../../../../../shared/kubernetes/manifest.ts';
import { onDemand, pods, requirement, shape, spec } from '../../../../kit/core/build.ts';
import {
  CONSOLIDATABLE,
  disruptable,
  evenOverZones,
  machine,
  on,
  plan,
  type Machine,
} from '../../../../kit/core/build-disruption.ts';

/**
 * What must go has pods that rules about other pods, or what they prefer, leave one place only: a new node of the right
 * kind.
 */

const since = '1970-01-02T00:00:00Z';
const drifted: Condition = { type: 'Drifted', status: 'True', lastTransitionTime: since };

/** For each of the reasons that are not about money. */
const REASONS = ['Drifted', 'Expired'] as const;

function mustGo(reason: (typeof REASONS)[number], name: string, cpu: 4 | 8 = 4): Machine {
  if (reason === 'Drifted') return machine(name, { cpu, conditions: [drifted] });
  const { node, claim } = machine(name, { cpu, conditions: [], claimSpec: { expireAfter: '1h' } });
  return { node, claim: { ...claim, metadata: { ...claim.metadata, creationTimestamp: since } } };
}

/** Pools of nodes that stay, so that no other node takes what has to move. */
const nodePools = [disruptable('general', { consolidateAfter: 'Never' })];

const twoCores = requirement('karpenter.azure.com/sku-cpu', 'In', '2');

/** Of a pool that has it by now: pods do not tolerate it. */
const SOFT = [{ key: 'dedicated', value: 'x', effect: 'PreferNoSchedule' }] as const;

const web = { app: 'web' };

/** With a rule about pods of `web` in the same zone. */
function affine(kind: 'podAffinity' | 'podAntiAffinity', cpu = '500m'): PodShape {
  const term = { topologyKey: 'topology.kubernetes.io/zone', labelSelector: { matchLabels: web } };
  return shape(spec(cpu, '1Gi', { affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } }));
}

/** That would rather be in that zone. */
function preferring(cpu: string, zone: string): PodShape {
  const preference = { matchExpressions: [requirement('topology.kubernetes.io/zone', 'In', zone)] };
  const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }] };
  return shape(spec(cpu, '1Gi', { affinity: { nodeAffinity } }));
}

function zoneOf(made: ReturnType<typeof plan>): string | undefined {
  return made.replacements[0]?.zone;
}

describe.each(REASONS)(
  'a node that is %s goes, and its pods have the zone that rules about others leave them',
  (reason) => {
    test('where a spread asks for a zone that has none', () => {
      const made = plan({
        machines: [mustGo(reason, 'a'), machine('b', { cpu: 2, conditions: [CONSOLIDATABLE] })],
        shapes: [evenOverZones],
        pods: [...on('a', 0, 1), ...pods(0, 1, { nodeName: 'b', uid: 'other' })],
        nodePools,
      });
      expect(made.steps).toMatchObject([{ reason, remove: ['a'], create: [expect.any(String)] }]);
      expect(zoneOf(made)).not.toBe('westeurope-1');
    });

    test('where pods must be beside one in another zone', () => {
      const made = plan({
        machines: [mustGo(reason, 'a'), machine('b', { zone: 'westeurope-3', cpu: 2 })],
        shapes: [affine('podAffinity', '1500m'), shape(spec('1500m', '1Gi'), web)],
        pods: [...on('a', 0, 1), ...on('b', 1, 1)],
        nodePools,
      });
      expect(made.steps).toMatchObject([{ reason, remove: ['a'], create: [expect.any(String)] }]);
      expect(zoneOf(made)).toBe('westeurope-3');
    });

    test('where two nodes are needed, in that zone, too', () => {
      const small = disruptable('general', { consolidateAfter: 'Never' }, { requirements: [onDemand, twoCores] });
      const made = plan({
        machines: [mustGo(reason, 'a'), machine('b', { zone: 'westeurope-3', cpu: 2 })],
        shapes: [affine('podAffinity', '1500m'), shape(spec('1500m', '1Gi'), web)],
        pods: [...on('a', 0, 2), ...on('b', 1, 1)],
        nodePools: [small],
      });
      expect(made.steps).toMatchObject([{ reason, remove: ['a'], create: [expect.any(String), expect.any(String)] }]);
      expect(made.replacements.map(({ zone }) => zone)).toEqual(['westeurope-3', 'westeurope-3']);
    });

    test('where pods may not be beside one in their own zone', () => {
      const made = plan({
        machines: [mustGo(reason, 'a'), machine('b', { zone: 'westeurope-1', cpu: 2 })],
        shapes: [affine('podAntiAffinity', '1500m'), shape(spec('1500m', '1Gi'), web)],
        pods: [...on('a', 0, 1), ...on('b', 1, 1)],
        nodePools,
      });
      expect(made.steps).toMatchObject([{ reason, remove: ['a'], create: [expect.any(String)] }]);
      expect(zoneOf(made)).not.toBe('westeurope-1');
    });

    test('where the pool has a soft taint by now that its pods do not tolerate', () => {
      const made = plan({
        machines: [mustGo(reason, 'a')],
        shapes: [shape(spec('500m', '1Gi'))],
        pods: on('a', 0, 1),
        nodePools: [disruptable('general', { consolidateAfter: 'Never' }, { taints: SOFT })],
      });
      expect(made.steps).toMatchObject([{ reason, remove: ['a'], create: [expect.any(String)] }]);
    });
  },
);

test('a node that need not go stays where its pods would have to give up what they prefer', () => {
  const made = plan({
    machines: [machine('a', { cpu: 8 })],
    shapes: [shape(spec('500m', '1Gi'))],
    pods: on('a', 0, 1),
    nodePools: [disruptable('general', {}, { taints: SOFT })],
  });
  expect(made.steps).toEqual([]);
});

describe('a node that has to go and cannot says what stands in the way', () => {
  const why = (parts: Partial<Parameters<typeof plan>[0]>): string => {
    const given = {
      machines: [mustGo('Drifted', 'a')],
      shapes: [shape(spec('500m', '1Gi'))],
      pods: on('a', 0, 1),
      nodePools,
      ...parts,
    };
    const kept = plan(given).kept.find(({ node }) => node === 'a');
    return kept === undefined ? '' : renderKept(kept.reason, 'USD');
  };
  const zone1 = { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['westeurope-1'] } as const;
  const never = { consolidateAfter: 'Never' };

  test('a label that its pod asks for and the pool never gives', () => {
    expect(why({ shapes: [shape(spec('500m', '1Gi', { nodeSelector: { disk: 'fast' } }))] })).toBe(
      'it has drifted, but no other node has room for pod default/s0-a-0000, and no new node can be created for it (NodePool general: the pod asks for disk In [fast], which no node of the NodePool has)',
    );
  });

  test('a taint that the pool has by now', () => {
    const taints = [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }] as const;
    expect(why({ nodePools: [disruptable('general', never, { taints })] })).toBe(
      'it has drifted, but no other node has room for pod default/s0-a-0000, and no new node can be created for it (NodePool general: taint dedicated=x:NoSchedule is not tolerated)',
    );
  });

  test('the limit of the pool, which the node and its successor would pass together', () => {
    expect(why({ nodePools: [disruptable('general', never, { limits: { cpu: '4' } })] })).toBe(
      'it has drifted, but no other node has room for pod default/s0-a-0000, and no new node can be created for it (NodePool general: no size that holds the pod is within the limits: one takes 2 cpu, and 0 is left)',
    );
  });

  test('a rule about other pods', () => {
    expect(
      why({
        machines: [mustGo('Expired', 'a'), machine('b', { zone: 'westeurope-1', cpu: 2 })],
        shapes: [affine('podAntiAffinity', '1500m'), shape(spec('1500m', '1Gi'), web)],
        pods: [...on('a', 0, 1), ...on('b', 1, 1)],
        nodePools: [disruptable('general', never, { requirements: [zone1] })],
      }),
    ).toBe(
      'it has expired, but no other node has room for pod default/s0-a-0000, and no new node can be created for it (NodePool general: its pod anti-affinity allows no topology.kubernetes.io/zone that the NodePool can give a node)',
    );
  });

  test('of its pods the one that cannot go, and not those that can', () => {
    const stays = shape(spec('100m', '1Gi', { nodeSelector: { disk: 'fast' } }));
    const shapes = [shape(spec('2', '1Gi')), stays];
    expect(why({ shapes, pods: [...on('a', 0, 1), ...on('a', 1, 1)] })).toBe(
      'it has drifted, but no other node has room for pod default/s1-a-0000, and no new node can be created for it (NodePool general: the pod asks for disk In [fast], which no node of the NodePool has)',
    );
  });

  test('that only all together cannot, where each could by itself', () => {
    const nodePool = disruptable('general', never, { limits: { cpu: '6' } });
    expect(why({ pods: on('a', 0, 7), nodePools: [nodePool] })).toBe(
      'it has drifted, and no nodes that can be created have room for all its pods together',
    );
  });

  test('none of its pods that has room on another node, nor one for which a single NodePool can create a node', () => {
    const stays = shape(spec('100m', '1Gi', { nodeSelector: { disk: 'fast' } }));
    const stuck = /no other node has room for pod default\/s1-a-0000, /;
    const small = disruptable('general', never, { requirements: [onDemand, twoCores] });
    expect(
      why({
        machines: [mustGo('Drifted', 'a'), machine('b', { cpu: 8 })],
        shapes: [shape(spec('3', '1Gi')), stays, shape(spec('100m', '1Gi'))],
        pods: [...on('a', 0, 1), ...on('a', 1, 1), ...on('b', 2, 1)],
        nodePools: [small],
      }),
    ).toMatch(stuck);
    const choosy = shape(spec('3', '1Gi', { nodeSelector: { 'karpenter.sh/nodepool': 'other' } }));
    expect(
      why({
        shapes: [choosy, stays],
        pods: [...on('a', 0, 1), ...on('a', 1, 1)],
        nodePools: [...nodePools, disruptable('other', never)],
      }),
    ).toMatch(stuck);
  });

  test('and as data too: which pod, for what, and nothing more where no single pod is in the way', () => {
    const nodePool = disruptable('general', never, { limits: { cpu: '6' } });
    const made = plan({
      machines: [mustGo('Expired', 'a')],
      shapes: [shape(spec('500m', '1Gi'))],
      pods: on('a', 0, 7),
      nodePools: [nodePool],
    });
    expect(made.kept.map(({ reason }) => reason)).toEqual([
      { kind: 'not-replaced', because: 'Expired', pod: null, refusals: [] },
    ]);
  });
});

describe('of pods that nothing new meets the preferences of', () => {
  test('a node that must go is followed by one where one holds them all', () => {
    const made = plan({
      machines: [mustGo('Drifted', 'a')],
      shapes: [shape(spec('1500m', '1Gi')), shape(spec('1200m', '1Gi'))],
      pods: [...on('a', 0, 1), ...on('a', 1, 1)],
      nodePools: [disruptable('general', { consolidateAfter: 'Never' }, { taints: SOFT })],
    });
    expect(made.steps).toMatchObject([{ remove: ['a'] }]);
    expect(made.replacements.map(({ instanceType }) => instanceType)).toEqual(['Standard_D4s_v5']);
  });

  test('a node that must go is followed by several where none holds them all', () => {
    const made = plan({
      machines: [mustGo('Drifted', 'a')],
      shapes: [shape(spec('1500m', '1Gi'))],
      pods: on('a', 0, 2),
      nodePools: [
        disruptable('general', { consolidateAfter: 'Never' }, { taints: SOFT, requirements: [onDemand, twoCores] }),
      ],
    });
    expect(made.steps).toMatchObject([{ remove: ['a'] }]);
    expect(made.replacements.map(({ instanceType }) => instanceType)).toEqual(['Standard_D2s_v5', 'Standard_D2s_v5']);
  });
});

test('a node that must go is followed by one though its pods spread over hosts and give up what they prefer', () => {
  const labelSelector = { matchLabels: web };
  const spread = {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector,
  };
  const made = plan({
    machines: [mustGo('Drifted', 'a')],
    shapes: [shape(spec('500m', '1Gi', { topologySpreadConstraints: [spread] }), web)],
    pods: on('a', 0, 3),
    nodePools: [disruptable('general', { consolidateAfter: 'Never' }, { taints: SOFT })],
  });
  expect(made.steps).toMatchObject([{ remove: ['a'] }]);
  expect(made.replacements).toHaveLength(1);
});

test('a node that must go fills what room there is elsewhere, and new nodes come for the pods that find none', () => {
  const made = plan({
    machines: [mustGo('Drifted', 'a', 8), machine('b', { zone: 'westeurope-2' })],
    shapes: [preferring('3', 'westeurope-1'), shape(spec('1500m', '1Gi'))],
    pods: [...on('a', 0, 1), ...on('a', 1, 2)],
    nodePools: [disruptable('general', { consolidateAfter: 'Never' }, { requirements: [onDemand, twoCores] })],
  });
  expect(made.steps).toMatchObject([{ remove: ['a'] }]);
  expect(made.replacements.map(({ instanceType }) => instanceType)).toEqual(['Standard_D2s_v5', 'Standard_D2s_v5']);
});

describe.each(REASONS)('pods of a node that is %s keep the zone that they prefer', (reason) => {
  test('on a new node there, though another zone has room', () => {
    const made = plan({
      machines: [mustGo(reason, 'a'), machine('b', { cpu: 8, zone: 'westeurope-2' })],
      shapes: [preferring('1500m', 'westeurope-1')],
      pods: on('a', 0, 1),
      nodePools,
    });
    expect(made.steps).toMatchObject([{ remove: ['a'] }]);
    expect(made.replacements.map(({ zone }) => zone)).toEqual(['westeurope-1']);
  });

  test('on several new nodes there, though another zone has room', () => {
    const requirements = [onDemand, twoCores];
    const made = plan({
      machines: [mustGo(reason, 'a'), machine('b', { cpu: 8, zone: 'westeurope-2' })],
      shapes: [preferring('1500m', 'westeurope-1')],
      pods: on('a', 0, 2),
      nodePools: [disruptable('general', { consolidateAfter: 'Never' }, { requirements })],
    });
    expect(made.steps).toMatchObject([{ remove: ['a'] }]);
    expect(made.replacements.map(({ zone }) => zone)).toEqual(['westeurope-1', 'westeurope-1']);
  });

  test('and give it up for room elsewhere rather than hold the node, where nothing new can be there', () => {
    const elsewhere = requirement('topology.kubernetes.io/zone', 'In', 'westeurope-2');
    const made = plan({
      machines: [mustGo(reason, 'a'), machine('b', { cpu: 8, zone: 'westeurope-2' })],
      shapes: [preferring('1500m', 'westeurope-1')],
      pods: on('a', 0, 1),
      nodePools: [disruptable('general', { consolidateAfter: 'Never' }, { requirements: [onDemand, elsewhere] })],
    });
    expect(made.steps).toMatchObject([{ remove: ['a'] }]);
    expect(made.replacements).toEqual([]);
  });
});
