import { describe, expect, test } from 'vitest';
import { judgeNodes } from '../../../../../shared/core/disruption/candidates/judge-nodes.ts';
import { poolsFor } from '../../../../../shared/core/disruption/candidates/pools.ts';
import type { Rollout } from '../../../../../shared/core/model/disruption-input.ts';
import type { Condition, NodePool } from '../../../../../shared/kubernetes/manifest.ts';
import { instant } from '../../../../../shared/core/quantity/units.ts';
import { shape, spec } from '../../../../kit/core/build.ts';
import { disruptable, disruptionInput, machine, NOW, on, type Machine } from '../../../../kit/core/build-disruption.ts';

const yes = (type: string): Condition => ({ type, status: 'True' });
const DISRUPTED = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };

describe('what counts of a pool', () => {
  const pools = (machines: ReadonlyArray<Machine>, nodePools: ReadonlyArray<NodePool> = [disruptable()]) =>
    poolsFor(disruptionInput({ machines, shapes: [], pods: [], nodePools }).provisioning.cluster, instant(NOW));
  const counts = (one: Machine): ReadonlyArray<number> => {
    const found = pools([machine('x'), one]);
    return [found.nodes('general'), found.leaving('general'), found.disrupting('general')];
  };
  const inUse = ['a', 'b', 'c'].map((name) => machine(name));
  const draining = (name: string): Machine => {
    const { node, claim } = machine(name);
    const metadata = { ...claim.metadata, deletionTimestamp: '1970-01-02T11:00:00Z' };
    return { node: { ...node, spec: { ...node.spec, taints: [DISRUPTED] } }, claim: { ...claim, metadata } };
  };

  test.each([
    ['is at its limit', { replicas: 3, nodes: '3', drains: [] }, 'Drifted', 1],
    ['is below its limit', { replicas: 3, nodes: '4', drains: [] }, 'Drifted', 1],
    ['is past its limit while one drains', { replicas: 3, nodes: '3', drains: ['d'] }, 'Expired', 0],
    ['is at its limit while one drains', { replicas: 3, nodes: '4', drains: ['d'] }, 'Expired', 0],
    ['is below its limit while one drains', { replicas: 3, nodes: '5', drains: ['d'] }, 'Expired', 1],
    ['has no limit', { replicas: 3, nodes: undefined, drains: ['d', 'e'] }, 'Drifted', 1],
    ['asks for more than its limit', { replicas: 5, nodes: '3', drains: ['d', 'e'] }, 'Drifted', 0],
    ['is past its limit, and the node is sick', { replicas: 3, nodes: '3', drains: ['d'] }, 'Unhealthy', 1],
  ] as const)('of a static pool that %s', (_, { replicas, nodes, drains }, reason, most) => {
    const pool = disruptable();
    const limits = nodes === undefined ? {} : { limits: { nodes } };
    const nodePools = [{ ...pool, spec: { ...pool.spec, replicas, ...limits } }];
    const machines = [...inUse, ...drains.map(draining)];
    expect(pools(machines, nodePools).replaceable('general', reason)).toBe(most);
  });

  const silent = ({ node, claim }: Machine): Machine => ({ node: { ...node, status: {} }, claim });
  const bare = ({ node, claim }: Machine): Machine => {
    const { status: _, ...plain } = node;
    return { node: plain, claim };
  };
  const marked = ({ node, claim }: Machine): Machine => ({
    node: { ...node, spec: { ...node.spec, taints: [DISRUPTED] } },
    claim,
  });

  test.each<[string, Machine, ReadonlyArray<number>]>([
    ['a node in use', machine('a'), [2, 0, 0]],
    ['one that says nothing of being ready', silent(machine('a')), [2, 0, 0]],
    ['one that says nothing at all', bare(machine('a')), [2, 0, 0]],
    [
      'one that is ready, and short of memory',
      machine('a', { nodeConditions: [{ type: 'MemoryPressure', status: 'False' }, yes('Ready')] }),
      [2, 0, 0],
    ],
    [
      'one that is not ready, whatever else it says',
      machine('a', { nodeConditions: [yes('MemoryPressure'), { type: 'Ready', status: 'False' }] }),
      [2, 0, 1],
    ],
    ['one that is marked', marked(machine('a')), [2, 1, 1]],
    [
      'one whose machine is being removed',
      machine('a', { conditions: [yes('Ready'), yes('InstanceTerminating')] }),
      [1, 0, 0],
    ],
    [
      'one whose machine is not',
      machine('a', { conditions: [{ type: 'InstanceTerminating', status: 'False' }] }),
      [2, 0, 0],
    ],
  ])('%s', (_, one, expected) => {
    expect(counts(one)).toEqual(expected);
  });

  test('of one that nobody knows nothing goes, and nothing is wrong with it', () => {
    const found = pools([machine('a')]);
    expect([found.nodes('z'), found.allowed('z', 'Empty'), found.error('z'), found.isBalanced('z')]).toEqual([
      0,
      0,
      null,
      false,
    ]);
  });

  test('its policy and what is wrong with its budgets', () => {
    const found = pools(
      [],
      [disruptable('a', { consolidationPolicy: 'Balanced' }), disruptable('b', { budgets: [{ nodes: 'x' }] })],
    );
    expect([found.isBalanced('a'), found.isBalanced('b'), found.error('a'), found.error('b')]).toEqual([
      true,
      false,
      null,
      'nodes x',
    ]);
  });

  test('without a budget any number goes beside those that have begun', () => {
    const found = pools([machine('a'), marked(machine('b'))], [disruptable('general', { budgets: [] })]);
    expect(found.allowed('general', 'Empty')).toBe(Infinity);
    expect(pools([machine('a'), marked(machine('b'))]).allowed('general', 'Empty')).toBe(1);
  });

  test.each(['Drifted', 'Expired', 'Unhealthy'] as const)(
    'with a fixed number one is followed by another at a time, of those that go as %s',
    (reason) => {
      const fixed = [{ ...disruptable(), spec: { ...disruptable().spec, replicas: 2 } }];
      const deleted = (one: Machine): Machine => ({
        ...one,
        claim: { ...one.claim, metadata: { ...one.claim.metadata, deletionTimestamp: '1970-01-02T11:00:00Z' } },
      });
      expect(pools([machine('a')], fixed).replaceable('general', reason)).toBe(1);
      expect(pools([machine('a'), marked(machine('b'))], fixed).replaceable('general', reason)).toBe(0);
      expect(
        pools(
          ['b', 'c'].map((name) => marked(machine(name))),
          fixed,
        ).replaceable('general', reason),
      ).toBe(0);
      expect(pools([machine('a'), deleted(marked(machine('b')))], fixed).replaceable('general', reason)).toBe(1);
      expect(pools([machine('a')]).replaceable('general', reason)).toBe(Infinity);
      expect(pools([machine('a')], fixed).replaceable('general', 'StaticSurplus')).toBe(Infinity);
    },
  );
});

describe('while nodes behind a new image wait,', () => {
  const plain = shape(spec('500m', '1Gi'));
  const drifted = (reason: string): Parameters<typeof machine>[1] => ({
    conditions: [yes('Consolidatable'), { type: 'Drifted', status: 'True', reason }],
  });
  const born = (one: Machine): Machine => ({
    ...one,
    claim: { ...one.claim, metadata: { ...one.claim.metadata, creationTimestamp: '1970-01-01T00:00:00Z' } },
  });
  /** Why each stays, or for what it goes; with so many pods on each. */
  function judged(
    rollout: Rollout | null,
    machines: ReadonlyArray<Machine>,
    loads: ReadonlyArray<number>,
    replicas?: number,
  ) {
    const general = disruptable();
    const given = disruptionInput({
      machines,
      shapes: [plain],
      pods: machines.flatMap(({ node }, index) => on(node.metadata.name, 0, loads[index] ?? 0)),
      nodePools: [{ ...general, spec: { ...general.spec, ...(replicas === undefined ? {} : { replicas }) } }],
      disruption: { rollouts: new Map(rollout === null ? [] : [['general', rollout]]) },
    });
    return judgeNodes(given, instant(NOW)).map(({ verdict }) =>
      verdict.kind === 'stays' ? verdict.reason.kind : verdict.reason,
    );
  }
  const behind = (name: string, reason = 'ImageDrift') => machine(name, drifted(reason));
  const halted: Rollout = { kind: 'halted', why: 'it was bad' };

  test('the one goes first that disturbs least, or is first by name', () => {
    const all = ['a', 'b', 'c'].map((name) => behind(name));
    expect(judged({ kind: 'canary' }, all, [3, 1, 2])).toEqual(['pool-braked', 'Drifted', 'pool-braked']);
    expect(judged({ kind: 'canary' }, all, [2, 2, 2])).toEqual(['Drifted', 'pool-braked', 'pool-braked']);
    expect(judged(halted, all, [1, 1, 1])).toEqual(['pool-braked', 'pool-braked', 'pool-braked']);
    expect(judged(null, all, [1, 1, 1])).toEqual(['Drifted', 'Drifted', 'Drifted']);
  });

  test('the one is of those that are behind, whoever else disturbs less', () => {
    expect(judged({ kind: 'canary' }, [behind('a'), machine('b')], [3, 1])).toEqual(['Drifted', 'Underutilized']);
  });

  test('those of other pools do not wait', () => {
    const other = machine('b', { ...drifted('ImageDrift'), nodePool: 'other' });
    const given = disruptionInput({
      machines: [behind('a'), other],
      shapes: [plain],
      pods: [...on('a', 0, 1), ...on('b', 0, 1)],
      nodePools: [disruptable(), disruptable('other')],
      disruption: { rollouts: new Map([['general', halted]]) },
    });
    expect(judgeNodes(given, instant(NOW)).map(({ verdict }) => verdict.kind)).toEqual(['stays', 'must']);
  });

  test('those go for which nothing of it comes: another drift, age, no pods in a pool without a number', () => {
    const old = born(machine('c', { ...drifted('ImageDrift'), claimSpec: { expireAfter: '1h' } }));
    const all = [behind('a', 'NodePoolDrifted'), behind('b', 'K8sVersionDrift'), old, behind('d'), machine('e')];
    expect(judged(halted, all, [1, 1, 1, 0, 1])).toEqual([
      'Drifted',
      'pool-braked',
      'Expired',
      'Drifted',
      'Underutilized',
    ]);
    expect(judged(halted, [behind('d')], [0], 1)).toEqual(['pool-braked']);
  });
});
