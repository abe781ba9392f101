import { describe, expect, test } from 'vitest';
import type { PodShape } from '../../../../shared/core/model/cluster.ts';
import type { PodDisruptionBudget } from '../../../../shared/kubernetes/manifest.ts';
import { offering, onDemand, requirement, shape, size, spec, zones } from '../../../kit/core/build.ts';
import {
  disruptable,
  evenOverZones,
  keptFor,
  machine,
  on,
  plan,
  removed,
  types,
  type Machine,
} from '../../../kit/core/build-disruption.ts';

/** Nodes that go or are replaced because it is cheaper. */

const pod = shape(spec('500m', '1Gi'), { app: 'web' });
const typeKey = 'node.kubernetes.io/instance-type';

/**
 * The larger of two sizes with `cheaper` others below it: sizes of 2 cores, each a little dearer than the one before.
 */
const ladder = (cheaper: number) => [
  ...Array.from({ length: cheaper }, (_, index) => size(`Standard_D2s_v${index + 10}`, 2, 8, 100_000 + index * 400)),
  size('Standard_D8s_v5', 8, 32, 400_000),
];

describe('replacing one node', () => {
  const large = { machines: [machine('a', { cpu: 8 })], shapes: [pod], pods: on('a', 0, 2) };

  test('is by the cheapest that holds its pods, on demand where the pool says so [L04]', () => {
    expect(plan({ ...large, types: ladder(20) }).replacements).toMatchObject([
      { instanceType: 'Standard_D2s_v10', capacityType: 'on-demand', price: 100_000 },
    ]);
  });

  test('is not by what costs as much or more, on demand or spot [L04]', () => {
    const dear = size('Standard_D2s_v5', 2, 8, 400_000, {
      offerings: zones.flatMap((zone) => [offering(zone, 'on-demand', 400_000), offering(zone, 'spot', 410_000)]),
    });
    const own = size('Standard_D8s_v5', 8, 32, 400_000, {
      offerings: zones.flatMap((zone) => [offering(zone, 'on-demand', 400_000), offering(zone, 'spot', 420_000)]),
    });
    const nodePools = [disruptable('general', {}, { requirements: [] })];
    expect(plan({ ...large, types: [dear, own], nodePools }).steps).toEqual([]);
  });

  test('is not by what cannot be had now [L04]', () => {
    const away = size('Standard_D2s_v5', 2, 8, 100_000, {
      offerings: zones.map((zone) => offering(zone, 'on-demand', 100_000, false)),
    });
    expect(plan({ ...large, types: [away, size('Standard_D8s_v5', 8, 32, 400_000)] }).steps).toEqual([]);
  });

  test.each([
    [2, ['a']],
    [3, ['a']],
    [4, []],
  ])('needs %i sizes that are cheaper where minValues asks for so many: there are three [L04]', (minValues, gone) => {
    const requirements = [onDemand, { key: typeKey, operator: 'Exists', minValues }];
    const nodePools = [disruptable('general', {}, { requirements })];
    expect(removed(plan({ ...large, types: ladder(3), nodePools }))).toEqual(gone);
  });

  test('waives minValues under no policy [L11]', () => {
    const requirements = [onDemand, { key: typeKey, operator: 'Exists', minValues: 4 }];
    const nodePools = [disruptable('general', {}, { requirements })];
    const policy = { minValuesPolicy: 'BestEffort' } as const;
    expect(plan({ ...large, types: ladder(3), nodePools, policy }).steps).toEqual([]);
  });

  const budget = (namespace: string, disruptionsAllowed: number): PodDisruptionBudget => ({
    metadata: { name: 'web', namespace },
    spec: { selector: { matchLabels: { app: 'web' } } },
    status: { disruptionsAllowed },
  });
  test.each([
    ['that allows one', budget('default', 1), ['a']],
    ['that allows none', budget('default', 0), []],
    ['of another namespace', budget('other', 0), ['a']],
  ])('heeds a budget of its pods %s [L04]', (_, one, gone) => {
    expect(removed(plan({ ...large, podDisruptionBudgets: [one] }))).toEqual(gone);
  });

  test('is not where somebody has said do-not-disrupt, of the node or of a pod [L04]', () => {
    const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
    expect(plan({ ...large, machines: [machine('a', { cpu: 8, annotations })] }).steps).toEqual([]);
    expect(plan({ ...large, shapes: [{ ...pod, annotations }] }).steps).toEqual([]);
  });

  test('keeps pods where their spread over zones wants them [L09]', () => {
    const machines = [1, 2, 3].map((zone) =>
      machine(`z${zone}`, { cpu: zone === 2 ? 8 : 2, zone: `westeurope-${zone}` }),
    );
    const pods = machines.flatMap(({ node }) => on(node.metadata.name, 0, 1));
    const made = plan({ machines, shapes: [evenOverZones], pods });
    expect(made.steps).toMatchObject([{ remove: ['z2'], create: ['general-1'] }]);
    expect(made.replacements).toMatchObject([{ zone: 'westeurope-2' }]);
  });
});

describe('spot for spot', () => {
  const nodePools = [
    disruptable('general', {}, { requirements: [requirement('karpenter.sh/capacity-type', 'In', 'spot')] }),
  ];
  const spot = {
    machines: [machine('a', { cpu: 8, capacityType: 'spot' })],
    shapes: [pod],
    pods: on('a', 0, 2),
    nodePools,
    disruption: { spotToSpot: true },
  };

  test.each([
    [14, []],
    [15, ['a']],
    [30, ['a']],
  ])('of one node is only where 15 sizes are cheaper: %i are [L04]', (cheaper, gone) => {
    expect(removed(plan({ ...spot, types: ladder(cheaper) }))).toEqual(gone);
  });

  test('is not of a node that is among the 15 cheapest, however many there are [L04]', () => {
    const { node, claim } = machine('a', { capacityType: 'spot' });
    const labels = { ...node.metadata.labels, [typeKey]: 'Standard_D2s_v22' };
    const machines = [{ node: { ...node, metadata: { ...node.metadata, labels } }, claim }];
    // Each is so much cheaper than the next that a move would be worth it.
    const steep = Array.from({ length: 30 }, (_, index) =>
      size(`Standard_D2s_v${index + 10}`, 4, 16, 100_000 + index * 20_000),
    );
    expect(plan({ ...spot, machines, types: steep }).steps).toEqual([]);
    expect(removed(plan({ ...spot, machines: [atRung(machines, 'Standard_D2s_v39')], types: steep }))).toEqual(['a']);
  });

  test('of several nodes asks for no such number [L04] [L07]', () => {
    const machines = ['a', 'b'].map((name) => machine(name, { cpu: 8, capacityType: 'spot' }));
    const pods = machines.flatMap(({ node }) => on(node.metadata.name, 0, 12));
    const larger = size('Standard_D16s_v5', 16, 64, 500_000);
    const made = plan({ ...spot, machines, pods, types: [...types, larger] });
    expect(made.steps).toMatchObject([{ remove: ['a', 'b'], create: ['general-1'] }]);
    expect(made.replacements).toMatchObject([{ instanceType: 'Standard_D16s_v5', capacityType: 'spot' }]);
  });

  test('is not while it is switched off, whatever it would save [L04]', () => {
    expect(plan({ ...spot, types: ladder(30), disruption: { spotToSpot: false } }).steps).toEqual([]);
  });
});

function atRung([one]: ReadonlyArray<Machine>, name: string): Machine {
  if (one === undefined) throw new Error('there is a machine');
  const labels = { ...one.node.metadata.labels, [typeKey]: name };
  return { ...one, node: { ...one.node, metadata: { ...one.node.metadata, labels } } };
}

describe('removing a node', () => {
  const both = { shapes: [pod], pods: [...on('a', 0, 1), ...on('b', 0, 3)] };

  test('fills nodes of other pools, and such as are nobody’s [L05]', () => {
    const nodePools = [disruptable(), disruptable('other', { consolidateAfter: 'Never' })];
    const machines = [machine('a'), machine('b', { nodePool: 'other' })];
    expect(removed(plan({ ...both, machines, nodePools }))).toEqual(['a']);
  });

  test('does not fill nodes that are not ready, that are tainted, or that are going [L05]', () => {
    const taints = [{ key: 'team', value: 'x', effect: 'NoSchedule' }];
    const b = machine('b', { conditions: [] });
    const places = [
      machine('b', { conditions: [], nodeConditions: [{ type: 'Ready', status: 'False' }] }),
      { ...b, node: { ...b.node, spec: { ...b.node.spec, taints } } },
      machine('b', { conditions: [], nodeParts: { deletionTimestamp: '1970-01-02T11:59:00Z' } }),
    ];
    const smallest = machine('a', { cpu: 2 });
    const removals = places.map((one) => removed(plan({ ...both, machines: [smallest, one] })));
    expect(removals).toEqual([[], [], []]);
    expect(removed(plan({ ...both, machines: [smallest, b] }))).toEqual(['a']);
  });

  test('may fill a node to which pods have come within consolidateAfter: that keeps it, and is no reason to leave its room [L05]', () => {
    const nodePools = [disruptable('general', { consolidateAfter: '5m' })];
    const machines = [machine('a'), machine('b', { lastPodEventTime: '1970-01-02T11:59:00Z' })];
    expect(removed(plan({ ...both, machines, nodePools }))).toEqual(['a']);
  });

  test('leaves aside a pod that waits for what nobody has [L05]', () => {
    const huge: PodShape = shape(spec('64', '1Gi'));
    const waiting = on('a', 1, 1).map((one) => ({ ...one, uid: 'w', name: 'w', nodeName: null, unschedulable: true }));
    const machines = [machine('a'), machine('b', { conditions: [] })];
    expect(removed(plan({ machines, shapes: [pod, huge], pods: [...both.pods, ...waiting] }))).toEqual(['a']);
  });

  test('is not where one of its pods would wait then [L05]', () => {
    const machines = [machine('a', { cpu: 2 }), machine('b', { cpu: 2 })];
    const withPods = (count: number) =>
      plan({ machines, shapes: [pod], pods: [...on('a', 0, count), ...on('b', 0, 3)] });
    expect([removed(withPods(1)), removed(withPods(2))]).toEqual([['a'], []]);
  });

  test('of nodes whose only other place is full of pods that keep theirs away, is not [L09]', () => {
    const apart = shape(
      spec('100m', '128Mi', {
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'web' } } },
            ],
          },
        },
      }),
      { app: 'web' },
    );
    const machines = ['a', 'b'].map((name) => machine(name, { cpu: 2 }));
    const made = plan({ machines, shapes: [apart], pods: [...on('a', 0, 1), ...on('b', 0, 1)] });
    expect(made.steps).toEqual([]);
  });
});

describe('several nodes at once', () => {
  const big = shape(spec('1200m', '2Gi'));

  test.each([
    ['on demand', ['on-demand', 'on-demand', 'on-demand'], [onDemand]],
    ['spot and on demand', ['spot', 'on-demand', 'on-demand'], []],
  ])('become one: %s [L07]', (_, capacityTypes, requirements) => {
    const machines = capacityTypes.map((capacityType, index) => machine(`n${index}`, { cpu: 4, capacityType }));
    const pods = machines.flatMap(({ node }) => on(node.metadata.name, 0, 1));
    const cheap = size('Standard_E4s_v5', 4, 16, 120_000);
    const nodePools = [disruptable('general', {}, { requirements })];
    const made = plan({ machines, shapes: [big], pods, types: [...types, cheap], nodePools });
    expect(made.after.nodes).toBe(1);
    expect(made.after.cost).toBeLessThan(made.before.cost);
  });

  test('that are all empty go in one step [L07]', () => {
    const machines = ['a', 'b', 'c'].map((name) => machine(name));
    expect(plan({ machines, shapes: [], pods: [] }).steps).toMatchObject([
      { reason: 'Empty', remove: ['a', 'b', 'c'], create: [] },
    ]);
  });

  test('of several NodePools are looked at in one plan: none waits for its turn [L08]', () => {
    const pools = ['p', 'q', 'r'];
    const machines = pools.map((name) => machine(name, { cpu: 8, nodePool: name }));
    const tied = pools.map((name) => shape(spec('500m', '1Gi', { nodeSelector: { 'karpenter.sh/nodepool': name } })));
    const made = plan({
      machines,
      shapes: tied,
      pods: pools.flatMap((name, index) => on(name, index, 2)),
      nodePools: pools.map((name) => disruptable(name)),
    });
    expect(removed(made)).toEqual(pools);
  });

  test('where not all may go, go that save most [L08]', () => {
    const nodePools = [disruptable('general', { budgets: [{ nodes: '1' }] })];
    const machines = [machine('a', { cpu: 4 }), machine('b', { cpu: 8 }), machine('c', { conditions: [] })];
    const made = plan({
      machines,
      shapes: [pod],
      pods: [...on('a', 0, 1), ...on('b', 0, 1), ...on('c', 0, 1)],
      nodePools,
      disruption: { searchSteps: 400_000 },
    });
    expect(made.steps.map(({ remove }) => remove)).toEqual([['b'], ['a']]);
  });
});

test('a pool of a fixed size gives no node to consolidation, and takes pods from it [L11]', () => {
  const fixed = disruptable('fixed');
  const nodePools = [disruptable(), { ...fixed, spec: { ...fixed.spec, replicas: 1 } }];
  const machines = [machine('a', { cpu: 8 }), machine('z', { cpu: 8, nodePool: 'fixed' })];
  const tied = shape(spec('500m', '1Gi', { nodeSelector: { 'karpenter.sh/nodepool': 'fixed' } }));
  const made = plan({ machines, nodePools, shapes: [pod, tied], pods: [...on('a', 0, 7), ...on('z', 1, 1)] });
  expect([removed(made), keptFor(made, 'z')]).toEqual([['a'], 'static-pool']);
});
