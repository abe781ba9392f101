import { describe, expect, test } from 'vitest';
import { auditDisruption } from '../../../../shared/core/disruption/audit/audit-disruption.ts';
import type { Rollout } from '../../../../shared/core/model/disruption-input.ts';
import { planDisruption } from '../../../../shared/core/disruption/plan-disruption.ts';
import type { PlannedReplacement } from '../../../../shared/core/disruption/plan/disruption-plan.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import type { PodDisruptionBudget } from '../../../../shared/kubernetes/manifest.ts';
import { onDemand, pods as podsOf, requirement, shape, size, spec } from '../../../kit/core/build.ts';
import {
  audited,
  CONSOLIDATABLE,
  disruptable,
  disruptionInput,
  evenOverZones,
  keptFor,
  machine,
  NOW,
  on,
  plan,
  removed,
  types,
} from '../../../kit/core/build-disruption.ts';

const small = shape(spec('500m', '1Gi'), { app: 'web' });
const annotated = (annotations: Readonly<Record<string, string>>) => ({ ...small, annotations });
const drifted = { type: 'Drifted', status: 'True', lastTransitionTime: '1970-01-02T00:00:00Z' };

/** Two nodes of 4 cores with three small pods each: one holds them all, and nothing smaller does. */
const half = {
  machines: [machine('a'), machine('b')],
  shapes: [small],
  pods: [...on('a', 0, 3), ...on('b', 0, 3)],
};

const pdb = (parts: Partial<PodDisruptionBudget>, name = 'web'): PodDisruptionBudget => ({
  metadata: { name, namespace: 'default' },
  spec: { selector: { matchLabels: { app: 'web' } } },
  status: { disruptionsAllowed: 0 },
  ...parts,
});

describe('emptiness', () => {
  test('a node with no pods goes, and no pod moves [L03]', () => {
    const made = plan({ ...half, pods: on('a', 0, 6) });
    expect(made.steps).toMatchObject([{ reason: 'Empty', remove: ['b'], create: [], moves: [] }]);
    expect(made.before.cost - made.after.cost).toBe(200_000);
  });

  test.each(['WhenEmpty', 'WhenEmptyOrUnderutilized', 'Balanced'])(
    'an empty node goes under the policy %s [L03]',
    (policy) => {
      const nodePools = [disruptable('general', { consolidationPolicy: policy })];
      expect(removed(plan({ ...half, pods: on('a', 0, 6), nodePools }))).toEqual(['b']);
    },
  );

  test('a node whose pods cost nothing to evict counts as empty, and its pods find a place all the same [L03]', () => {
    const cheap = annotated({ 'controller.kubernetes.io/pod-deletion-cost': '-2147483647' });
    const made = plan({ ...half, shapes: [small, cheap], pods: [...on('a', 0, 6), ...on('b', 1, 1)] });
    expect(made.steps).toMatchObject([{ reason: 'Empty', remove: ['b'], moves: [{ to: { name: 'a' } }] }]);
  });

  test('a node that takes the pods of others is not removed for being empty when it is the cheaper one', () => {
    const machines = [machine('a', { cpu: 8 }), machine('b', { cpu: 4 })];
    const made = plan({ ...half, machines, pods: on('a', 0, 4) });
    expect(made.after.cost).toBeLessThanOrEqual(200_000);
  });

  test('consolidateAfter: Never keeps empty nodes too [L03]', () => {
    const nodePools = [disruptable('general', { consolidateAfter: 'Never' })];
    expect(keptFor(plan({ ...half, pods: on('a', 0, 6), nodePools }), 'b')).toBe('consolidation-off');
  });
});

describe('consolidation', () => {
  test('a node goes whose pods fit on others [L05]', () => {
    const made = plan(half);
    expect(made.steps).toMatchObject([{ reason: 'Underutilized', remove: ['a'], create: [] }]);
    expect(made.steps[0]?.moves).toHaveLength(3);
    expect(keptFor(made, 'b')).toBe('receives');
  });

  test('each move names its pod with its namespace, where it is and where it goes', () => {
    const [step] = plan({ ...half, machines: [machine('a', { cpu: 8 })], pods: on('a', 0, 1) }).steps;
    expect(step?.moves).toEqual([
      { pod: 'default/s0-a-0000', uid: 's0-a-0000', from: 'a', to: { kind: 'claim', name: 'general-1' } },
    ]);
  });

  test('a new node has a name that neither a node has nor a claim whose node is yet to come', () => {
    const of = (name: string): PlannedReplacement['name'] | undefined => {
      const machines = [machine('a', { cpu: 8 }), machine(name, { cpu: 2, conditions: [] })];
      const given = disruptionInput({ ...half, machines, pods: [...on('a', 0, 2), ...on(name, 0, 3)] });
      return audited(given).replacements[0]?.name;
    };
    expect([of('general-2'), of('general-1')]).toEqual(['general-1', 'general-2']);
    const { claim } = machine('general-1');
    const coming = { ...claim, metadata: { ...claim.metadata, name: 'general-1' }, status: {} };
    const given = disruptionInput({ ...half, machines: [machine('a', { cpu: 8 })], pods: on('a', 0, 2) });
    const { cluster } = given.provisioning;
    const provisioning = {
      ...given.provisioning,
      cluster: { ...cluster, nodeClaims: [...cluster.nodeClaims, coming] },
    };
    expect(planDisruption({ ...given, provisioning }, instant(NOW)).replacements[0]?.name).toBe('general-2');
  });

  test('a node is replaced by a cheaper one that holds its pods [L04]', () => {
    const made = plan({ ...half, machines: [machine('a', { cpu: 8 })], pods: on('a', 0, 2) });
    expect(made.steps).toMatchObject([{ reason: 'Underutilized', remove: ['a'], create: ['general-1'] }]);
    expect(made.replacements).toMatchObject([{ instanceType: 'Standard_D2s_v5', price: 100_000 }]);
  });

  test('several nodes become one that costs less than they do together [L07]', () => {
    const machines = ['a', 'b', 'c'].map((name) => machine(name, { cpu: 4 }));
    const big = shape(spec('2200m', '4Gi'));
    const made = plan({
      machines,
      shapes: [big],
      pods: ['a', 'b', 'c'].flatMap((name) => on(name, 0, 1)),
      disruption: { searchSteps: 400_000 },
    });
    expect(made.after.cost).toBe(400_000);
    expect(made.steps.flatMap(({ moves }) => moves).length).toBeGreaterThan(0);
  });

  test('two full nodes are not swapped for another of the same size [L07]', () => {
    const made = plan({ ...half, pods: [...on('a', 0, 7), ...on('b', 0, 7)] });
    expect(made.steps).toEqual([]);
  });

  test('WhenEmpty keeps nodes with pods [L05]', () => {
    const nodePools = [disruptable('general', { consolidationPolicy: 'WhenEmpty' })];
    expect(keptFor(plan({ ...half, nodePools }), 'a')).toBe('only-when-empty');
  });

  test('a claim that is not Consolidatable keeps its node [L05]', () => {
    const machines = [machine('a', { conditions: [] }), machine('b', { conditions: [] })];
    expect(keptFor(plan({ ...half, machines }), 'a')).toBe('not-consolidatable');
  });

  test('pods that came within consolidateAfter keep a node, whatever its condition says', () => {
    const lately = { lastPodEventTime: '1970-01-02T11:59:00Z' };
    const nodePools = [disruptable('general', { consolidateAfter: '5m' })];
    const made = plan({ ...half, machines: [machine('a', lately), machine('b', lately)], nodePools });
    expect(keptFor(made, 'b')).toBe('not-consolidatable');
  });

  test('a node that the catalog has no price for stays [L01]', () => {
    const made = plan({
      ...half,
      machines: [machine('a', { zone: 'elsewhere' }), machine('b', { zone: 'elsewhere' })],
    });
    expect(keptFor(made, 'a')).toBe('unknown-price');
  });

  test('pods that wait keep the room that they will find [L01] [L10]', () => {
    const waiting = on('a', 0, 1).map((pod) => ({ ...pod, uid: 'w', name: 'w', nodeName: null, unschedulable: true }));
    const made = plan({ ...half, pods: [...half.pods, ...waiting] });
    expect(made.kept.map(({ reason }) => reason.kind)).toContain('awaits-pods');
  });

  test('pods without an owner are moved like others [L05]', () => {
    expect(half.shapes.every(({ owner }) => owner === null)).toBe(true);
    expect(removed(plan(half))).toHaveLength(1);
  });

  test('a node that is not initialized is neither removed nor filled [L01] [L05]', () => {
    const made = plan({
      ...half,
      machines: [machine('a', { initialized: false }), machine('b', { cpu: 2 })],
      pods: on('b', 0, 2),
    });
    expect(made.steps).toEqual([]);
    expect(keptFor(made, 'a')).toBe('not-initialized');
  });

  test('a pool of fixed size is not consolidated [L11]', () => {
    const fixed = disruptable();
    const nodePools = [{ ...fixed, spec: { ...fixed.spec, replicas: 2 } }];
    expect(keptFor(plan({ ...half, nodePools }), 'a')).toBe('static-pool');
  });

  test('what a static pool has too many of goes, and its pods find a place first', () => {
    const fixed = disruptable();
    const nodePools = [{ ...fixed, spec: { ...fixed.spec, replicas: 1 } }];
    const made = plan({ ...half, pods: [...on('a', 0, 2), ...on('b', 0, 1)], nodePools });
    expect(made.steps).toMatchObject([{ reason: 'StaticSurplus', remove: ['b'] }]);
  });

  test('a pool may say that a move costs so much that none is worth it', () => {
    const made = plan({ ...half, disruption: { moveCostOf: new Map([['general', 10]]) } });
    expect(keptFor(made, 'a')).toBe('not-worth');
    // A node of 200,000 counts as one, and each of its pods does: four share what it saves, and what is asked of it.
    expect(made.kept.map(({ reason }) => reason)).toMatchObject([
      { kind: 'not-worth', saving: 50_000, pods: 3, least: 500_000 },
      { kind: 'not-worth', saving: 50_000, pods: 3, least: 500_000 },
    ]);
  });

  test('minValues is not waived: with too few cheaper sizes nothing is replaced [L04]', () => {
    const requirements = [onDemand, { key: 'node.kubernetes.io/instance-type', operator: 'Exists', minValues: 3 }];
    const one = { ...half, machines: [machine('a', { cpu: 8 })], pods: on('a', 0, 2) };
    expect(plan({ ...one, nodePools: [disruptable('general', {}, { requirements })] }).steps).toEqual([]);
  });

  test('a limit of the pool that leaves no room for a new node keeps the old one', () => {
    const nodePools = [disruptable('general', {}, { limits: { cpu: '8' } })];
    expect(plan({ ...half, machines: [machine('a', { cpu: 8 })], pods: on('a', 0, 2), nodePools }).steps).toEqual([]);
  });
});

describe('spot', () => {
  const nodePools = [disruptable('general', {}, { requirements: [] })];
  const spot = { ...half, nodePools, machines: [machine('a', { cpu: 8, capacityType: 'spot' })], pods: on('a', 0, 2) };

  test('a spot node is not replaced by another spot node [L04]', () => {
    expect(plan(spot).steps).toEqual([]);
  });

  test('with spot to spot it is not while fewer than 15 sizes are cheaper [L04]', () => {
    expect(plan({ ...spot, disruption: { spotToSpot: true } }).steps).toEqual([]);
  });

  test('an on-demand node is replaced by spot where its pool allows it [L04]', () => {
    const made = plan({ ...spot, machines: [machine('a', { cpu: 8 })] });
    expect(made.replacements).toMatchObject([{ capacityType: 'spot', instanceType: 'Standard_D2s_v5' }]);
  });

  describe('while it storms', () => {
    const storm = { evicted: 3, of: 4, evictionsPerHour: 20, until: '1970-01-02T13:00:00Z' };
    const stormy = types.map((type) => ({
      ...type,
      offerings: type.offerings.map((one) => (one.capacityType === 'spot' ? { ...one, storm } : one)),
    }));
    const paid = { ...spot, machines: [machine('a', { cpu: 2 })] };

    test('no on-demand node becomes spot, and each does when that has passed', () => {
      expect(plan({ ...paid, types: stormy }).steps).toEqual([]);
      const made = plan({ ...paid, types });
      expect(made.replacements).toMatchObject([{ capacityType: 'spot', instanceType: 'Standard_D2s_v5' }]);
    });

    test('spot nodes that it has left alone are not moved for it', () => {
      // On demand a smaller one costs a little less: less than a move is worth, but for the storm.
      const lesser = size('Standard_D2s_v5', 2, 8, 99_000);
      const large = size('Standard_D8s_v5', 8, 32, 400_000);
      const machines = [machine('a', { cpu: 8, capacityType: 'spot' })];
      const both = (storms: boolean) =>
        [lesser, large].map((type) => ({
          ...type,
          offerings: type.offerings.map((one) => (one.capacityType === 'spot' && storms ? { ...one, storm } : one)),
        }));
      expect(plan({ ...spot, machines, types: both(false) }).steps).toEqual([]);
      expect(plan({ ...spot, machines, types: both(true) }).steps).toEqual([]);
    });
  });

  test('a spot node goes where its pods fit on others [L05]', () => {
    const machines = ['a', 'b'].map((name) => machine(name, { capacityType: 'spot' }));
    expect(removed(plan({ ...half, nodePools, machines }))).toHaveLength(1);
  });
});

describe('who may not be disturbed', () => {
  test('do-not-disrupt on a node keeps it [L01]', () => {
    const mark = { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } };
    const made = plan({ ...half, machines: [machine('a', mark), machine('b', mark)] });
    expect(keptFor(made, 'a')).toBe('do-not-disrupt');
  });

  test('do-not-disrupt on a pod keeps its node, and others may still come to it [L01]', () => {
    const shapes = [small, annotated({ 'karpenter.sh/do-not-disrupt': 'true' })];
    const made = plan({ ...half, shapes, pods: [...on('a', 1, 3), ...on('b', 0, 3)] });
    expect(removed(made)).toEqual(['b']);
    expect(keptFor(made, 'a')).toBe('pod-do-not-disrupt');
  });

  test('do-not-disrupt on a pod of a DaemonSet keeps its node too [L01]', () => {
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'd' };
    const daemon = { ...annotated({ 'karpenter.sh/do-not-disrupt': 'true' }), owner };
    const made = plan({ ...half, shapes: [small, daemon], pods: [...half.pods, ...on('a', 1, 1)] });
    expect(keptFor(made, 'a')).toBe('pod-do-not-disrupt');
  });

  test.each([
    ['48h', []],
    ['1h', ['a']],
    ['soon', ['a']],
  ])('do-not-disrupt for %s after a pod was started a day and a half ago [L05]', (text, gone) => {
    const shapes = [annotated({ 'karpenter.sh/do-not-disrupt': text })];
    expect(removed(plan({ ...half, shapes }))).toEqual(gone);
  });

  test.each([
    ['started an hour ago', NOW - 3_600_000, []],
    ['started two hours ago', NOW - 7_200_000, ['a']],
    ['has not started', null, []],
  ])(
    'do-not-disrupt for 2h on a pod that waited for long and %s counts from the start [L05]',
    (_, startedAtMs, gone) => {
      const shapes = [annotated({ 'karpenter.sh/do-not-disrupt': '2h' })];
      const pods = half.pods.map((pod) => ({ ...pod, createdAtMs: 0, startedAtMs }));
      expect(removed(plan({ ...half, shapes, pods }))).toEqual(gone);
    },
  );

  test('a budget that allows no disruption keeps the node of its pod [L01]', () => {
    expect(keptFor(plan({ ...half, podDisruptionBudgets: [pdb({})] }), 'a')).toBe('pod-budget');
  });

  test('one disruption allowed is enough for any number of pods, which go one after another [L05]', () => {
    expect(removed(plan({ ...half, podDisruptionBudgets: [pdb({ status: { disruptionsAllowed: 1 } })] }))).toEqual([
      'a',
    ]);
  });

  test('a budget whose status says nothing allows nothing', () => {
    const { status: _, ...unknown } = pdb({});
    const made = plan({ ...half, podDisruptionBudgets: [unknown] });
    expect(made.kept[0]?.reason).toMatchObject({ kind: 'pod-budget', known: false });
  });

  test('two budgets over one pod keep its node, whatever they allow [L01]', () => {
    const allowing = { status: { disruptionsAllowed: 5 } };
    const made = plan({ ...half, podDisruptionBudgets: [pdb(allowing, 'one'), pdb(allowing, 'two')] });
    expect(keptFor(made, 'a')).toBe('two-pod-budgets');
  });

  test('a pod that is not ready is let go where its budget says AlwaysAllow', () => {
    const budget = pdb({
      spec: { selector: { matchLabels: { app: 'web' } }, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
    });
    const made = plan({
      ...half,
      pods: half.pods.map((pod) => ({ ...pod, ready: false })),
      podDisruptionBudgets: [budget],
    });
    expect(removed(made)).toEqual(['a']);
  });

  test('a budget in another namespace is not asked [L05]', () => {
    const elsewhere = pdb({ metadata: { name: 'web', namespace: 'other' } });
    expect(removed(plan({ ...half, podDisruptionBudgets: [elsewhere] }))).toEqual(['a']);
  });

  test('a node whose pod uses devices stays [L11]', () => {
    const gpu = shape(spec('500m', '1Gi', { resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] }));
    expect(keptFor(plan({ ...half, shapes: [gpu] }), 'a')).toBe('pod-devices');
  });

  test('a node of no NodePool stays, and takes pods [L01]', () => {
    const stray = machine('z');
    const { 'karpenter.sh/nodepool': _, ...labels } = stray.node.metadata.labels ?? {};
    const node = { ...stray.node, metadata: { name: 'z', labels } };
    const given = { ...half, machines: [machine('a'), { node, claim: machine('y').claim }], pods: on('a', 0, 2) };
    const made = plan(given);
    expect(removed(made)).toEqual(['a']);
    expect(keptFor(made, 'z')).toBe('unmanaged');
  });
});

describe('budgets of nodes', () => {
  const many = {
    machines: Array.from({ length: 10 }, (_, index) => machine(`n${index}`)),
    shapes: [small],
    pods: on('n0', 0, 5),
  };

  test.each([
    ['3', [3, 3, 3]],
    ['50%', [5, 3, 1]],
    ['100%', [9]],
  ])('with %s at a time empty nodes go in steps [L03]', (nodes, sizes) => {
    const nodePools = [disruptable('general', { budgets: [{ nodes }] })];
    expect(plan({ ...many, nodePools }).steps.map(({ remove }) => remove.length)).toEqual(sizes);
  });

  test('without budgets the default of 10 % holds, and 10 % of one node is one [L03]', () => {
    const { budgets: _, ...disruption } = disruptable().spec.disruption ?? {};
    const general = disruptable();
    const nodePools = [{ ...general, spec: { ...general.spec, disruption } }];
    expect(plan({ ...many, nodePools }).steps.every(({ remove }) => remove.length === 1)).toBe(true);
  });

  test('a budget of 0 keeps all nodes, and says so [L03]', () => {
    const nodePools = [disruptable('general', { budgets: [{ nodes: '0' }] })];
    const made = plan({ ...many, nodePools });
    expect(made.steps).toEqual([]);
    expect(keptFor(made, 'n5')).toBe('node-budget');
  });

  test('a budget for another reason is not asked [M04]', () => {
    const nodePools = [disruptable('general', { budgets: [{ nodes: '0', reasons: ['Drifted'] }] })];
    expect(removed(plan({ ...many, nodePools }))).toHaveLength(9);
  });

  test.each([
    ['0 12 * * *', 0],
    ['0 8 * * *', 0],
    ['0 3 * * *', 9],
    ['@hourly', 0],
  ])('a budget with the schedule %s and a duration of 5 h at noon lets %i nodes go [M04]', (schedule, count) => {
    const nodePools = [disruptable('general', { budgets: [{ nodes: '0', schedule, duration: '5h' }] })];
    expect(removed(plan({ ...many, nodePools }))).toHaveLength(count);
  });

  test('a budget that cannot be read lets none go [M04]', () => {
    const nodePools = [disruptable('general', { budgets: [{ nodes: '100%', schedule: 'noon', duration: '1h' }] })];
    const made = plan({ ...many, nodePools });
    expect(made.kept[1]?.reason).toMatchObject({ kind: 'node-budget', error: 'schedule noon' });
  });

  test.each([
    ['100%', 4],
    ['60%', 1],
    ['50%', 0],
  ])('of ten nodes, five of which drain, a budget of %s lets %i more go at once [L02]', (nodes, count) => {
    const draining = { nodeParts: { deletionTimestamp: '1970-01-02T11:59:00Z' } };
    const machines = many.machines.map((one, index) => (index < 5 ? one : machine(`n${index}`, draining)));
    const nodePools = [disruptable('general', { budgets: [{ nodes }] })];
    expect(plan({ ...many, machines, nodePools }).steps[0]?.remove ?? []).toHaveLength(count);
  });

  test('shares are of nodes that are complete, and whose machine is not being deleted [L02]', () => {
    const starting = machine('n8', { initialized: false });
    const ending = machine('n9', {
      nodeParts: { deletionTimestamp: '1970-01-02T11:59:00Z' },
      conditions: [{ type: 'InstanceTerminating', status: 'True' }],
    });
    const machines = [...many.machines.slice(0, 8), starting, ending];
    const draining = machines.map((one, index) =>
      index === 7 ? machine('n7', { nodeParts: { deletionTimestamp: '1970-01-02T11:59:00Z' } }) : one,
    );
    const nodePools = [disruptable('general', { budgets: [{ nodes: '12%' }] })];
    // 12 % of eight is one, which drains; of nine or ten it would be two.
    expect(plan({ ...many, machines: draining, nodePools }).steps).toEqual([]);
  });

  test('nodes that are not ready count as being in disruption [L02]', () => {
    const sick = machine('n9', { nodeConditions: [{ type: 'Ready', status: 'False' }] });
    const machines = [...many.machines.slice(0, 9), sick];
    const nodePools = [disruptable('general', { budgets: [{ nodes: '1' }] })];
    expect(plan({ ...many, machines, nodePools }).steps).toEqual([]);
  });
});

describe('nodes that must go', () => {
  test('a drifted node is replaced though that saves nothing, and even where consolidation is off [L03]', () => {
    const nodePools = [disruptable('general', { consolidateAfter: 'Never' })];
    const made = plan({ ...half, machines: [machine('a', { conditions: [drifted] })], pods: on('a', 0, 7), nodePools });
    expect(made.steps).toMatchObject([{ reason: 'Drifted', remove: ['a'], create: ['general-1'], saved: 0 }]);
  });

  test('the pods of a drifted node fill room that is there before a new node is made [L03]', () => {
    const made = plan({ ...half, machines: [machine('a', { conditions: [drifted] }), machine('b')] });
    expect(made.steps).toMatchObject([{ reason: 'Drifted', remove: ['a'], create: [] }]);
  });

  test('a pod that must not be disrupted keeps a drifted node, unless the claim has a terminationGracePeriod [L01]', () => {
    const shapes = [annotated({ 'karpenter.sh/do-not-disrupt': 'true' })];
    const with_ = (terminationGracePeriod: string | undefined) =>
      plan({
        ...half,
        shapes,
        machines: [
          machine('a', {
            conditions: [drifted],
            claimSpec: terminationGracePeriod === undefined ? {} : { terminationGracePeriod },
          }),
        ],
        pods: on('a', 0, 2),
      });
    expect(keptFor(with_(undefined), 'a')).toBe('pod-do-not-disrupt');
    expect(with_('1h').steps).toMatchObject([{ reason: 'Drifted', remove: ['a'] }]);
  });

  test('a drifted node whose pods find no place stays, with the pod that finds none [L03]', () => {
    const huge = shape(spec('7', '1Gi', { nodeSelector: { 'kubernetes.io/hostname': 'a' } }));
    const made = plan({
      ...half,
      machines: [machine('a', { cpu: 8, conditions: [drifted] })],
      shapes: [huge],
      pods: on('a', 0, 1),
    });
    expect(made.kept[0]?.reason).toMatchObject({ kind: 'not-replaced', because: 'Drifted', pod: 'default/s0-a-0000' });
  });

  test('a node is expired from the millisecond at which its time is over, and never with Never or without a limit [J07]', () => {
    const bornMs = NOW - 24 * 3_600_000;
    const reasonAt = (afterMs: number, claimSpec: { readonly expireAfter?: string }) => {
      const old = machine('a', { conditions: [], claimSpec });
      const creationTimestamp = new Date(bornMs - afterMs).toISOString();
      const claim = { ...old.claim, metadata: { ...old.claim.metadata, creationTimestamp } };
      return plan({ ...half, machines: [{ ...old, claim }], pods: on('a', 0, 7) }).steps.map(({ reason }) => reason);
    };
    expect(reasonAt(-1, { expireAfter: '24h' })).toEqual([]);
    expect(reasonAt(0, { expireAfter: '24h' })).toEqual(['Expired']);
    expect(reasonAt(365 * 24 * 3_600_000, { expireAfter: 'Never' })).toEqual([]);
    expect(reasonAt(365 * 24 * 3_600_000, {})).toEqual([]);
  });

  test('a node that never came into use expires as any other, and does not drift [J07]', () => {
    const reasonsOf = (conditions: ReadonlyArray<typeof drifted>, expireAfter: string) => {
      const old = machine('a', { initialized: false, conditions, claimSpec: { expireAfter } });
      const claim = { ...old.claim, metadata: { ...old.claim.metadata, creationTimestamp: '1970-01-01T11:00:00Z' } };
      return plan({ ...half, machines: [{ ...old, claim }], pods: on('a', 0, 7) }).steps.map(({ reason }) => reason);
    };
    expect([reasonsOf([], '24h'), reasonsOf([drifted], 'Never')]).toEqual([['Expired'], []]);
  });

  test('an expired node is replaced, and asks no budget [J07]', () => {
    const old = machine('a', { claimSpec: { expireAfter: '24h' } });
    const claim = { ...old.claim, metadata: { ...old.claim.metadata, creationTimestamp: '1970-01-01T11:00:00Z' } };
    const nodePools = [disruptable('general', { budgets: [{ nodes: '0' }] })];
    const made = plan({ ...half, machines: [{ ...old, claim }], pods: on('a', 0, 7), nodePools });
    expect(made.steps).toMatchObject([{ reason: 'Expired', remove: ['a'], create: ['general-1'] }]);
  });

  test('a sick node is replaced after its toleration, and not where a fifth of the pool is exceeded [L15]', () => {
    const sick = { type: 'Ready', status: 'False', lastTransitionTime: '1970-01-02T11:00:00Z' };
    const repairs = [{ conditionType: 'Ready', conditionStatus: 'False', tolerationMs: 600_000 }];
    const machines = ['a', 'b', 'c'].map((name, index) =>
      machine(name, index === 0 ? { nodeConditions: [sick] } : { conditions: [] }),
    );
    const given = { ...half, machines, pods: on('a', 0, 2), disruption: { repairs } };
    expect(plan(given).steps).toMatchObject([{ reason: 'Unhealthy', remove: ['a'] }]);
    const sickSince = (lastTransitionTime: string, creationTimestamp: string) => {
      const [first, ...others] = machines;
      if (first === undefined) throw new Error('there are three');
      const { node, claim } = first;
      const metadata = { ...node.metadata, creationTimestamp };
      const one = {
        node: { ...node, metadata, status: { ...node.status, conditions: [{ ...sick, lastTransitionTime }] } },
        claim,
      };
      return plan({ ...given, machines: [one, ...others] }).steps[0]?.reason === 'Unhealthy';
    };
    // By the node's own clock, which is a year ahead: since when is not known, and it is not waited for that year.
    expect(sickSince('1971-01-02T11:00:00Z', '1970-01-02T11:00:00Z')).toBe(true);
    expect(sickSince('1971-01-02T11:00:00Z', '1970-01-02T11:59:00Z')).toBe(false);
    expect(sickSince('when it broke', '1970-01-02T11:00:00Z')).toBe(false);
    const allSick = machines.map(({ node, claim }) => ({
      node: { ...node, status: { ...node.status, conditions: [sick] } },
      claim,
    }));
    expect(keptFor(plan({ ...given, machines: allSick }), 'a')).toBe('too-many-unhealthy');
  });
});

describe('rules about other pods', () => {
  const apart = shape(
    spec('500m', '1Gi', {
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

  test('anti-affinity keeps a node whose pod could be only where others of its kind are [L09]', () => {
    const made = plan({ ...half, shapes: [apart], pods: [...on('a', 0, 1), ...on('b', 0, 1)] });
    expect(made.steps.every(({ create }) => create.length > 0)).toBe(true);
  });

  test('zones stay even: nothing goes that would leave a spread too uneven [L09]', () => {
    const machines = [1, 2, 3].map((zone) => machine(`z${zone}`, { cpu: 2, zone: `westeurope-${zone}` }));
    const made = plan({
      ...half,
      machines,
      shapes: [evenOverZones],
      pods: machines.flatMap(({ node }) => on(node.metadata.name, 0, 1)),
    });
    expect(made.steps).toEqual([]);
  });

  test('a pod that prefers where it is does not move to where it would rather not be [L11]', () => {
    const preference = {
      matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['westeurope-1'] }],
    };
    const choosy = shape(
      spec('500m', '1Gi', {
        affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }] } },
      }),
    );
    const machines = [machine('a', { cpu: 2 }), machine('b', { cpu: 2, zone: 'westeurope-2', conditions: [] })];
    const given = { ...half, machines, shapes: [choosy], pods: [...on('a', 0, 1), ...on('b', 0, 1)] };
    expect(plan(given).steps).toEqual([]);
    expect(removed(plan({ ...given, policy: { preferencePolicy: 'Ignore' } }))).toEqual(['a']);
  });

  describe('and that has its like beside it, while its spread over hosts would have it elsewhere,', () => {
    const labelSelector = { matchLabels: { app: 'web' } };
    const overHosts = {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector,
    };
    const others = ['b', 'c'].map((name) => machine(name, { cpu: 2, zone: 'westeurope-2', conditions: [] }));
    const tiny = shape(spec('100m', '100Mi'));
    const busy = [...on('b', 1, 1), ...on('c', 1, 1)];
    const given = { ...half, machines: [machine('a', { cpu: 2 }), ...others], pods: [...on('a', 0, 2), ...busy] };
    const spreading = (affinity: object) =>
      shape(spec('500m', '1Gi', { affinity, topologySpreadConstraints: [overHosts] }), { app: 'web' });

    test('stays where it prefers to be', () => {
      const preference = { matchExpressions: [requirement('topology.kubernetes.io/zone', 'In', 'westeurope-1')] };
      const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }] };
      const shapes = [spreading({ nodeAffinity }), tiny];
      expect(plan({ ...given, shapes }).steps).toEqual([]);
      expect(removed(plan({ ...given, shapes, policy: { preferencePolicy: 'Ignore' } }))).toEqual(['a']);
    });

    test('moves where it prefers to be beside pods that are nowhere', () => {
      const podAffinityTerm = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'db' } } };
      const podAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm }] };
      expect(removed(plan({ ...given, shapes: [spreading({ podAffinity }), tiny] }))).toEqual(['a']);
    });
  });
});

describe('while a pod waits for room on a node that is there', () => {
  const waiting = (index: number) => podsOf(index, 1, { nodeName: null, uid: 'waiting', name: 'waiting' });
  const machines = [
    machine('a', { conditions: [drifted] }),
    machine('b', { cpu: 8, zone: 'westeurope-2' }),
    machine('c', { cpu: 8, zone: 'westeurope-3', conditions: [] }),
  ];
  const running = [...on('a', 0, 1), ...on('b', 0, 1), ...on('c', 0, 1)];

  test('nodes stay whose pods spread with it: in which order they would come nobody knows', () => {
    const made = plan({ machines, shapes: [evenOverZones], pods: [...running, ...waiting(0)] });
    expect([made.steps, keptFor(made, 'a')]).toEqual([[], 'pods-first']);
  });

  test('the others go', () => {
    const other = shape(spec('500m', '1Gi'), { app: 'other' });
    const made = plan({ machines, shapes: [evenOverZones, other], pods: [...running, ...waiting(1)] });
    expect(removed(made)).toContain('a');
  });
});

describe('a node that has become empty and may not go yet, as pods have just left it', () => {
  const empty = machine('empty', { cpu: 8, conditions: [] });
  const shapes = [small];

  test('receives nothing from nodes that go for money: it goes by itself, and no pod moves', () => {
    const machines = [machine('a'), machine('b'), empty];
    const nodePools = [disruptable('general', {}, { requirements: [onDemand] })];
    const made = plan({ ...half, machines, nodePools, pods: [...on('a', 0, 8), ...on('b', 0, 8)] });
    expect(made.steps).toEqual([]);
    expect(keptFor(made, 'a')).toBe('empty-first');
    expect(keptFor(made, 'empty')).toBe('not-consolidatable');
  });

  test('keeps no node that its pods have room for elsewhere', () => {
    expect(removed(plan({ ...half, machines: [machine('a'), machine('b'), empty] }))).toHaveLength(1);
  });

  test('receives the pods of a node that has to go, rather than a new one', () => {
    const machines = [machine('a', { conditions: [drifted] }), empty];
    const made = plan({ machines, shapes, pods: on('a', 0, 6) });
    expect(made.steps).toMatchObject([{ reason: 'Drifted', remove: ['a'], create: [] }]);
  });

  test('receives pods where its pool keeps it, empty or not', () => {
    const nodePools = [disruptable(), disruptable('other', { consolidateAfter: 'Never' })];
    const kept = machine('empty', { cpu: 8, conditions: [], nodePool: 'other' });
    const made = plan({ machines: [machine('a'), kept], shapes, pods: on('a', 0, 6), nodePools });
    expect(removed(made)).toEqual(['a']);
  });
});

describe('Balanced', () => {
  const nodePools = [disruptable('general', { consolidationPolicy: 'Balanced' })];

  test('a removal that saves more of the pool than it disturbs is made [L13]', () => {
    expect(removed(plan({ ...half, nodePools, pods: [...on('a', 0, 1), ...on('b', 0, 5)] }))).toEqual(['a']);
  });

  test('a removal that saves little for many pods is not [L13]', () => {
    const tiny = shape(spec('50m', '100Mi'));
    const machines = [machine('a', { cpu: 2 }), machine('b', { cpu: 8 })];
    const made = plan({ ...half, machines, shapes: [tiny], pods: [...on('a', 0, 20), ...on('b', 0, 1)], nodePools });
    expect(made.steps.every(({ remove }) => !remove.includes('a'))).toBe(true);
  });
});

test('a plan is the same whatever the order of the lists', () => {
  const machines = [machine('a'), machine('b'), machine('c', { cpu: 8 })];
  const given = { ...half, machines, pods: [...half.pods, ...on('c', 0, 3)] };
  const other = { ...given, machines: machines.toReversed(), pods: given.pods.toReversed() };
  expect(plan(other)).toEqual(plan(given));
});

test('a node that is left out stays, whatever speaks against it, and takes pods', () => {
  const without = (...names: ReadonlyArray<string>) => plan({ ...half, disruption: { leftOut: new Set(names) } });
  const [gone = ''] = removed(plan(half));
  const other = gone === 'a' ? 'b' : 'a';
  expect(removed(without(gone))).toEqual([other]);
  expect(removed(without('a', 'b'))).toEqual([]);
  const machines = ['a', 'b'].map((name) => machine(name, { conditions: [drifted] }));
  expect(removed(plan({ ...half, machines, disruption: { leftOut: new Set(['a']) } }))).toEqual(['b']);
});

test('every node is told of once, gone or kept', () => {
  const made = plan({ ...half, machines: [...half.machines, machine('c', { conditions: [CONSOLIDATABLE] })] });
  expect([...removed(made), ...made.kept.map(({ node }) => node)].toSorted()).toEqual(['a', 'b', 'c']);
});

describe('a pool with a new image and a bake time', () => {
  const behind = (reason: string) => [{ ...drifted, reason }];
  const given = (conditions = behind('ImageDrift')) => ({
    ...half,
    machines: ['a', 'b', 'c'].map((name) => machine(name, { conditions })),
    pods: [...on('a', 0, 3), ...on('b', 0, 2), ...on('c', 0, 4)],
  });
  const rolling = (rollout: Rollout) => ({ disruption: { rollouts: new Map([['general', rollout]]) } });
  const waiting: Rollout = { kind: 'baking', claim: 'n', until: '1970-01-02T13:00:00Z' };

  test('has the node replaced first that disturbs least, and keeps the others', () => {
    const made = plan({ ...given(), ...rolling({ kind: 'canary' }) });
    expect([removed(made), keptFor(made, 'a'), keptFor(made, 'c')]).toEqual([['b'], 'pool-braked', 'pool-braked']);
  });

  test.each([waiting, { kind: 'starting', claim: 'n' }, { kind: 'halted', why: 'it crashes' }] as const)(
    'keeps all that are behind: $kind',
    (rollout) => {
      expect(removed(plan({ ...given(), ...rolling(rollout) }))).toEqual([]);
      expect(removed(plan({ ...given(behind('K8sVersionDrift')), ...rolling(rollout) }))).toEqual([]);
    },
  );

  test('lets nodes go that drifted for another reason, and those of other pools', () => {
    expect(removed(plan({ ...given(behind('NodeClassDrift')), ...rolling(waiting) }))).toEqual(['a', 'b', 'c']);
    const others = { disruption: { rollouts: new Map([['other', waiting]]) } };
    expect(removed(plan({ ...given(), ...others }))).toEqual(['a', 'b', 'c']);
  });

  test('lets nodes without pods go, unless as many come in their place', () => {
    const empty = { ...given(), pods: [...on('a', 0, 3), ...on('c', 0, 4)] };
    expect(removed(plan({ ...empty, ...rolling(waiting) }))).toEqual(['b']);
    const fixed = disruptable();
    const nodePools = [{ ...fixed, spec: { ...fixed.spec, replicas: 3 } }];
    expect(removed(plan({ ...empty, nodePools, ...rolling(waiting) }))).toEqual([]);
  });

  test.each([[{ kind: 'canary' }, 2] as const, [waiting, 3] as const])(
    'is missed by a plan that did not know of it, and its audit says so: $0.kind',
    (rollout, findings) => {
      const unknown = disruptionInput(given());
      const made = planDisruption(unknown, instant(NOW));
      const known = { ...unknown, policy: { ...unknown.policy, ...rolling(rollout).disruption } };
      const rules = auditDisruption(made, known, instant(NOW)).map(({ text }) => text);
      expect(rules.filter((text) => text.includes('waits for a canary'))).toHaveLength(findings);
    },
  );
});

describe('a pool that is held back', () => {
  const brakes = new Map([['general', { kind: 'paused', until: null } as const]]);

  test('keeps nodes that would go of our own choice, empty ones too', () => {
    const made = plan({ ...half, pods: on('a', 0, 6), disruption: { brakes } });
    expect(made.steps).toEqual([]);
    expect(keptFor(made, 'b')).toBe('pool-braked');
  });

  test('holds back no other pool', () => {
    const others = new Map([['other', { kind: 'paused', until: null } as const]]);
    expect(plan({ ...half, disruption: { brakes: others } }).steps).toHaveLength(1);
  });

  test('is missed by a plan that did not know of it, and its audit says so', () => {
    const given = disruptionInput(half);
    const made = planDisruption(given, instant(NOW));
    const held = { ...given, policy: { ...given.policy, brakes } };
    const rules = auditDisruption(made, held, instant(NOW)).map(({ text }) => text);
    expect(rules).toContainEqual(expect.stringContaining('is of a pool that is held back'));
  });
});
