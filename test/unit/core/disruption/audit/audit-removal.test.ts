import { describe, expect, test } from 'vitest';
import { auditRemoval } from '../../../../../shared/core/disruption/audit/audit-removal.ts';
import type { Pod } from '../../../../../shared/core/model/cluster.ts';
import type { Nomination } from '../../../../../shared/core/model/plan.ts';
import { instant } from '../../../../../shared/core/quantity/units.ts';
import { emptyPlan } from '../../../../../shared/core/recovery/empty-plan.ts';
import { node, pods, shape, spec } from '../../../../kit/core/build.ts';
import { disruptable, disruptionInput, machine, NOW, on, type Machine } from '../../../../kit/core/build-disruption.ts';

const plain = shape(spec('500m', '1Gi'));
const owned = (kind: string) => ({ ...plain, owner: { apiVersion: 'v1', kind, name: 'o', uid: 'o' } });

/** What is said where `b` goes, with all its pods of shape 0 to come to this target. */
function said(others: ReadonlyArray<Machine>, target: Nomination['target'], more: ReadonlyArray<Pod> = []) {
  const own = on('b', 0, 2);
  const given = disruptionInput({
    machines: [machine('b'), ...others],
    shapes: [plain, owned('DaemonSet'), owned('Node')],
    pods: [...own, ...more],
  });
  const nominations = [{ target, pods: own.map(({ name, uid }) => ({ name, namespace: 'default', uid })) }];
  const removal = { nodes: [{ name: 'b', reason: 'Underutilized' as const }], plan: { ...emptyPlan(), nominations } };
  return auditRemoval(removal, given, instant(NOW)).map(({ rule, text }) => `${rule}: ${text}`);
}

const to = (name: string) => ({ kind: 'node' as const, name });
const without = (rule: (one: Machine) => Machine): Machine => rule(machine('a'));

describe('a node that is removed', () => {
  test('needs places for its own pods alone: not for waiting ones, nor for those of others', () => {
    expect(said([machine('a')], to('a'), [...on('a', 0, 1), ...pods(0, 1)])).toEqual([]);
  });

  test('needs none for what goes with it', () => {
    expect(said([machine('a')], to('a'), [...on('b', 1, 1), ...on('b', 2, 1)])).toEqual([]);
  });

  test('needs them on a node, and not on one that is still to come, whatever its name', () => {
    expect(said([machine('a')], { kind: 'claim', name: 'a' })).toEqual([
      'target: pod s0-b-0000 is to go to a, which is not in use',
      'target: pod s0-b-0001 is to go to a, which is not in use',
    ]);
  });
});

describe('a pod may come', () => {
  test.each<[string, Machine]>([
    [
      'with a taint that says nothing of going',
      without((one) => ({
        ...one,
        node: { ...one.node, spec: { ...one.node.spec, taints: [{ key: 'gpu', effect: 'NoSchedule' }] } },
      })),
    ],
    [
      'that says nothing of taints',
      without((one) => ({ ...one, node: { ...one.node, spec: { providerID: 'azure:///a' } } })),
    ],
    ['of nobody’s pool, as it is', { node: node('a', 4, 16), claim: machine('z').claim }],
    [
      'of nobody’s pool that says as little as can be',
      {
        node: { metadata: { name: 'a' }, status: node('a', 4, 16).status ?? {} },
        claim: machine('z').claim,
      },
    ],
  ])('to a node %s', (_, other) => {
    expect(said([other], to('a'))).toEqual([]);
  });

  test.each<[string, Machine]>([
    ['is being deleted', machine('a', { nodeParts: { deletionTimestamp: '1970-01-02T11:00:00Z' } })],
    [
      'is marked beside other taints',
      without((one) => ({
        ...one,
        node: {
          ...one.node,
          spec: {
            ...one.node.spec,
            taints: [
              { key: 'gpu', effect: 'NoSchedule' },
              { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' },
            ],
          },
        },
      })),
    ],
  ])('to no node that %s', (_, other) => {
    expect(said([other], to('a'))).toHaveLength(2);
  });
});

test('nodes that go together for several reasons are as many as the least of their budgets lets go', () => {
  const machines = [machine('a'), machine('b'), machine('c', { conditions: [{ type: 'Drifted', status: 'True' }] })];
  const nodes = [
    { name: 'b', reason: 'Empty' as const },
    { name: 'c', reason: 'Drifted' as const },
  ];
  const found = (least: string) => {
    const budgets = [
      { nodes: least, reasons: ['Empty'] },
      { nodes: '5', reasons: ['Drifted'] },
    ];
    const given = disruptionInput({ machines, shapes: [], pods: [], nodePools: [disruptable('general', { budgets })] });
    return auditRemoval({ nodes, plan: emptyPlan() }, given, instant(NOW)).map(({ rule }) => rule);
  };
  expect([found('2'), found('1')]).toEqual([[], ['budget']]);
});
