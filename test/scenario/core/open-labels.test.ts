import { describe, expect, test } from 'vitest';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import type { ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import { input, node, onDemand, pods, pool, requirement, shape, size, spec, zones } from '../../kit/core/build.ts';
import { planned } from '../../kit/core/render.ts';

const TIER = 'example.com/tier';
const zoneKey = 'topology.kubernetes.io/zone';
const types = [size('Standard_D2s_v5', 2, 8, 100_000), size('Standard_D8s_v5', 8, 32, 390_000)];
const web = { matchLabels: { app: 'web' } };
const spreadOver = (topologyKey: string) => [
  { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector: web },
];
const leaving = (operator: string, ...values: ReadonlyArray<string>) =>
  pool('a', { requirements: [onDemand, requirement(TIER, operator, ...values)] });

/** The value of the label on each new node, with how many pods are there. */
function tiers(given: ProvisioningInput): ReadonlyArray<string> {
  const plan = planProvisioning(given, instant(0));
  expect(auditPlan(plan, given)).toEqual([]);
  return plan.claims.map((claim) => `${claim.labels[TIER] ?? 'none'}: ${claim.pods.length}`).toSorted();
}

describe('a spread that looks at nodes with one value of an open label', () => {
  const topologySpreadConstraints = spreadOver('karpenter.sh/capacity-type');
  const of = (tier: string) =>
    shape(spec('1500m', '1Gi', { nodeSelector: { [TIER]: tier }, topologySpreadConstraints }), { app: 'web' });
  // Of another pool, so that the capacity type that the spread has no pods in is one that there is.
  const spot = pool('spot', { requirements: [requirement('karpenter.sh/capacity-type', 'In', 'spot')] });

  test('does not count pods on new nodes that have become another', () => {
    const given = input({
      types,
      nodePools: [leaving('Exists'), spot],
      shapes: [of('gold'), of('bronze')],
      pods: [...pods(0, 1), ...pods(1, 1)],
    });
    expect(tiers(given)).toEqual(['bronze: 1', 'gold: 1']);
  });

  test('does not count pods on new nodes for which nobody asked for a value, and that get another', () => {
    const plain = shape(spec('1900m', '1Gi', { nodeSelector: { 'karpenter.sh/capacity-type': 'on-demand' } }), {
      app: 'web',
    });
    const given = input({
      types,
      nodePools: [leaving('In', 'bronze', 'gold'), spot],
      shapes: [plain, of('gold')],
      pods: [...pods(0, 1), ...pods(1, 1)],
    });
    expect(tiers(given)).toEqual(['bronze: 1', 'gold: 1']);
  });
});

describe('a topology over a label that the pool leaves open', () => {
  const plain = shape(spec('100m', '1Gi'), { app: 'web' });
  const spread = shape(spec('100m', '1Gi', { topologySpreadConstraints: spreadOver(TIER) }), { app: 'web' });
  const wanting = shape(spec('100m', '1Gi', { nodeSelector: { [TIER]: 'gold' } }), { app: 'db' });

  test('puts pods of a spread on nodes of each value that the pool lists', () => {
    const given = input({ types, nodePools: [leaving('In', 'gold', 'silver')], shapes: [spread], pods: pods(0, 2) });
    expect(tiers(given)).toEqual(['gold: 1', 'silver: 1']);
  });

  test('spreads over the values that pods name, and the one that nodes have without, where the pool lists none', () => {
    const given = input({
      types,
      nodePools: [leaving('Exists')],
      shapes: [spread, wanting],
      pods: [...pods(0, 2), ...pods(1, 1)],
    });
    expect(tiers(given)).toEqual(['0: 1', 'gold: 2']);
  });

  test.each([
    ['Exists', '0: 2', []],
    ['NotIn', 'none: 1', ['silver']],
  ])('lets pods in that it only counts, where the pool says %s', (operator, first, values) => {
    const given = input({
      types,
      nodePools: [leaving(operator, ...values)],
      shapes: [plain, { ...spread, labels: { app: 'other' } }],
      pods: [...pods(0, 1), ...pods(1, 1)],
    });
    expect(planProvisioning(given, instant(0)).left).toEqual([]);
    expect(tiers(given)).toContain(first);
  });

  test('puts pods beside those on a node with the value, in a pool that lists none', () => {
    const seeking = shape(
      spec('3', '1Gi', {
        affinity: {
          podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: TIER, labelSelector: web }] },
        },
      }),
      { app: 'db' },
    );
    const given = input({
      types,
      nodePools: [leaving('Exists')],
      nodes: [node('node-0', 2, 8, { [TIER]: 'gold' })],
      shapes: [seeking, plain],
      pods: [...pods(0, 1), ...pods(1, 1, { nodeName: 'node-0' })],
    });
    expect(tiers(given)).toEqual(['gold: 1']);
  });

  test('two pods that avoid each other by a label that no node has may share one, and the bound knows it', () => {
    const averse = shape(
      spec('100m', '1Gi', {
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: TIER, labelSelector: web }],
          },
        },
      }),
      { app: 'web' },
    );
    const given = input({ types, nodePools: [pool('a')], shapes: [averse], pods: pods(0, 2) });
    expect(planned(given)).toEqual(['launch Standard_D2s_v5 on-demand of a: s0-0 s0-1']);
    expect(planProvisioning(given, instant(0)).lowerBound).toBe(100_000);
  });

  test('the audit refuses more pods of a spread on one value than on another that the pool lists', () => {
    const given = input({ types, nodePools: [leaving('In', 'gold', 'silver')], shapes: [spread], pods: pods(0, 2) });
    const plan = planProvisioning(given, instant(0));
    const all = plan.claims.map((claim) => ({ ...claim, labels: { ...claim.labels, [TIER]: 'gold' } }));
    expect(auditPlan({ ...plan, claims: all }, given).map(({ rule }) => rule)).toContain('spread');
  });
});

describe('a spread of pods with several required terms', () => {
  const oneOf = (...terms: ReadonlyArray<ReadonlyArray<ReturnType<typeof requirement>>>) => ({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })),
      },
    },
  });
  const inFirst = requirement(zoneKey, 'In', zones[0]);
  const large = requirement('karpenter.azure.com/sku-cpu', 'Gt', '64');
  const shapes = [
    shape(
      spec('1500m', '1Gi', { topologySpreadConstraints: spreadOver(zoneKey), affinity: oneOf([inFirst], [large]) }),
      { app: 'web' },
    ),
  ];

  test('is held to the domains of the one term that can be met', () => {
    const given = input({ types, nodePools: [pool('a')], shapes, pods: pods(0, 3) });
    expect(planned(given)).toHaveLength(3);
    expect(planProvisioning(given, instant(0)).left).toEqual([]);
  });

  test('is held to domains of another term as well where a node is that meets it', () => {
    const elsewhere = node('large', 1, 1, { [zoneKey]: zones[1], 'karpenter.azure.com/sku-cpu': '96' });
    const given = input({ types, nodePools: [pool('a')], nodes: [elsewhere], shapes, pods: pods(0, 3) });
    expect(planned(given)).toEqual([
      `launch Standard_D2s_v5 on-demand in ${zones[0]} of a: s0-0`,
      'leave s0-1: topology-spread',
      'leave s0-2: topology-spread',
    ]);
  });

  test('the audit refuses what only a term allows that the node does not meet', () => {
    const given = input({ types, nodePools: [pool('a')], shapes, pods: pods(0, 3) });
    const elsewhere = shapes.map((one) => ({
      ...one,
      spec: { ...one.spec, affinity: oneOf([inFirst, large], [requirement('kubernetes.io/arch', 'In', 'amd64')]) },
    }));
    const plan = planProvisioning(given, instant(0));
    expect(auditPlan(plan, given)).toEqual([]);
    const other = { ...given, cluster: { ...given.cluster, shapes: elsewhere } };
    expect(auditPlan(plan, other).map(({ rule }) => rule)).toEqual(['spread']);
  });

  test('keeps its places while the nodes start', () => {
    const given = input({ types, nodePools: [pool('a')], shapes, pods: pods(0, 2) });
    const nodes = ['node-0', 'node-1'].map((name) => node(name, 2, 8, { [zoneKey]: zones[0] }));
    const waiting = given.cluster.pods.map((pod, index) => ({ ...pod, nominatedNodeName: `node-${index}` }));
    expect(planned({ ...given, cluster: { ...given.cluster, nodes, pods: waiting } })).toEqual([
      'nominate to node node-0: s0-0',
      'nominate to node node-1: s0-1',
    ]);
  });
});
