import { describe, expect, test } from 'vitest';
import { applyEnds } from '../../../../shared/core/disruption/apply-ends.ts';
import type { PlannedReplacement } from '../../../../shared/core/disruption/plan/disruption-plan.ts';
import { planDisruption } from '../../../../shared/core/disruption/plan-disruption.ts';
import { instant, microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { offering, pods, requirement, shape, size, spec } from '../../../kit/core/build.ts';
import { disruptable, disruptionInput, machine, NOW, on } from '../../../kit/core/build-disruption.ts';

/** The cluster as a search finds it in its next round: once all that it has decided has happened. */

const taints = [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }];
const types = [
  size('Standard_D2s_v5', 2, 8, 100_000, {
    labels: { 'kubernetes.io/arch': ['amd64'], family: ['D'], either: ['a', 'b'] },
    offerings: [
      { ...offering('westeurope-1', 'on-demand', 3), labels: { scope: 'other-type' } },
      { ...offering('westeurope-1', 'spot', 2), labels: { scope: 'other-zone' } },
      { ...offering('westeurope-2', 'on-demand', 2), labels: { scope: 'other-capacity' } },
      { ...offering('westeurope-2', 'spot', 1), labels: { scope: 'regional' } },
    ],
  }),
  size('Standard_D4s_v5', 4, 16, 200_000),
];
const pool = disruptable(
  'general',
  {},
  {
    taints,
    labels: { team: 'blue' },
    requirements: [
      requirement('rack', 'In', 'r1'),
      requirement('either', 'In', 'a'),
      requirement('family', 'In', 'E'),
      requirement('tier', 'DoesNotExist'),
    ],
  },
);
const bare = machine('d');
const { status: _, ...starting } = machine('s').claim;
const given = disruptionInput({
  machines: [machine('a'), machine('b'), { node: bare.node, claim: machine('other').claim }],
  shapes: [shape(spec('500m', '1Gi'))],
  pods: [...on('a', 0, 2), ...on('b', 0, 1), ...pods(0, 1)],
  nodePools: [pool],
  types,
}).provisioning;
const input = { ...given, cluster: { ...given.cluster, nodeClaims: [...given.cluster.nodeClaims, starting] } };

const replacement = (name: string, more: Partial<PlannedReplacement> = {}): PlannedReplacement => ({
  name,
  nodePool: 'general',
  instanceType: 'Standard_D2s_v5',
  zone: 'westeurope-2',
  capacityType: 'spot',
  price: microUsdPerHour(1),
  ...more,
});
const applied = (gone: ReadonlyArray<string>, created: ReadonlyArray<PlannedReplacement>, homes: object = {}) =>
  applyEnds(input, {
    gone: new Set(gone),
    created: new Map(created.map((one) => [one.name, one])),
    homes: new Map(Object.entries(homes)),
  }).cluster;
const names = (all: ReadonlyArray<{ readonly metadata: { readonly name: string } }>) =>
  all.map(({ metadata }) => metadata.name);

describe('once all has happened', () => {
  test('nodes that go are gone with their claims, and all others are there, with theirs', () => {
    const { nodes, nodeClaims } = applied(['a'], []);
    expect(names(nodes)).toEqual(['b', 'd']);
    expect(names(nodeClaims)).toEqual(['claim-b', 'claim-other', 'claim-s']);
  });

  test('a claim goes with its node, whether it names that or its machine', () => {
    const { claim } = machine('a');
    const of = (status: object) => {
      const nodeClaims = [{ ...claim, status }, machine('b').claim];
      const cluster = { ...input.cluster, nodeClaims };
      const ends = { gone: new Set(['a']), created: new Map(), homes: new Map() };
      return names(applyEnds({ ...input, cluster }, ends).cluster.nodeClaims);
    };
    expect(of({ providerID: 'azure:///a' })).toEqual(['claim-b']);
    expect(of({ nodeName: 'a' })).toEqual(['claim-b']);
    expect(of({ providerID: 'azure:///z', nodeName: 'z' })).toEqual(['claim-a', 'claim-b']);
  });

  test('pods are where they were to go; those that go with their node are gone, and those that wait do so', () => {
    const homes = { 's0-a-0000': 'b' };
    const found = applied(['a'], [], homes).pods.map(({ uid, nodeName }) => [uid, nodeName]);
    expect(found).toEqual([
      ['s0-a-0000', 'b'],
      ['s0-b-0000', 'b'],
      ['s0-0000', null],
    ]);
  });

  test('new nodes are there by name, and none of what is not to be had', () => {
    const created = [
      replacement('y'),
      replacement('x'),
      replacement('w', { nodePool: 'gone' }),
      replacement('v', { instanceType: 'Standard_D64s_v5' }),
    ];
    const { nodes, nodeClaims } = applied([], created);
    expect(names(nodes)).toEqual(['a', 'b', 'd', 'x', 'y']);
    expect(names(nodeClaims).slice(-2)).toEqual(['x', 'y']);
  });

  test('a new node is complete, in use, and of its pool, size and place', () => {
    const { nodes, nodeClaims } = applied([], [replacement('x')]);
    const [node, claim] = [nodes.at(-1), nodeClaims.at(-1)];
    if (node === undefined || claim === undefined) throw new Error('nothing is new');
    const labels = {
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/hostname': 'x',
      'karpenter.sh/capacity-type': 'spot',
      'karpenter.sh/initialized': 'true',
      'karpenter.sh/nodepool': 'general',
      'karpenter.sh/registered': 'true',
      'node.kubernetes.io/instance-type': 'Standard_D2s_v5',
      'topology.kubernetes.io/zone': 'westeurope-2',
      // Of its size and no other, whatever the pool asks for; of its offering; of its pool.
      family: 'D',
      scope: 'regional',
      rack: 'r1',
      team: 'blue',
    };
    expect(node.metadata.labels).toMatchObject(labels);
    expect(node.metadata.labels, 'nobody knows which').not.toHaveProperty('either');
    expect(node.metadata.labels, 'the pool gives it none').not.toHaveProperty('tier');
    expect(claim.metadata.labels).toEqual(node.metadata.labels);
    expect(node).toMatchObject({ spec: { taints }, status: { conditions: [{ type: 'Ready', status: 'True' }] } });
    expect(claim.status?.conditions?.map(({ type, status }) => [type, status])).toEqual(
      ['Launched', 'Registered', 'Initialized', 'Consolidatable', 'Ready'].map((type) => [type, 'True']),
    );
    expect([claim.status?.nodeName, claim.status?.providerID, claim.spec['expireAfter']]).toEqual([
      'x',
      node.spec?.providerID,
      'Never',
    ]);
  });
});

test('a plan counts what might go for each reason, in pools of ours alone', () => {
  const drifted = { type: 'Drifted', status: 'True' };
  const foreign = machine('f').node;
  const { 'karpenter.sh/nodepool': __, ...labels } = foreign.metadata.labels ?? {};
  const counted = disruptionInput({
    machines: [
      machine('e'),
      machine('g'),
      machine('h', { conditions: [drifted] }),
      machine('i', { conditions: [] }),
      { node: { ...foreign, metadata: { ...foreign.metadata, labels } }, claim: machine('z').claim },
    ],
    shapes: [shape(spec('500m', '1Gi'))],
    pods: on('i', 0, 1),
  });
  const { eligible, before } = planDisruption(counted, instant(NOW));
  expect(eligible).toEqual({ Empty: 2, Drifted: 1 });
  expect(before).toEqual({ nodes: 4, cost: 800_000 });
});
