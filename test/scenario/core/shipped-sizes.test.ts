import { describe, expect, test } from 'vitest';
import { catalogsOf } from '../../../cli/catalog/pool-catalogs.ts';
import { readShippedSizes } from '../../../cli/catalog/shipped-sizes.ts';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { launchCandidates } from '../../../shared/core/launch/launch-candidates.ts';
import type { Cluster } from '../../../shared/core/model/cluster.ts';
import type { Plan } from '../../../shared/core/model/plan.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import type { NodePool, PodSpec } from '../../../shared/kubernetes/manifest.ts';
import { EMPTY_CLUSTER, input, node, onDemand, pods, pool, requirement, shape, spec } from '../../kit/core/build.ts';

/** Plans over all sizes of a region, as `nodewright plan` makes them: what small catalogs of our own do not show. */

const zone = 'topology.kubernetes.io/zone';
const family = 'karpenter.azure.com/sku-family';
const amd64 = requirement('kubernetes.io/arch', 'In', 'amd64');
const web = { matchLabels: { app: 'web' } };

interface Planned {
  readonly plan: Plan;
  readonly types: Parameters<typeof launchCandidates>[1];
}

function planOf(
  nodePools: ReadonlyArray<NodePool>,
  cluster: Partial<Cluster>,
  region: 'westeurope' | 'eastus' = 'westeurope',
): Planned {
  const { catalog } = catalogsOf(readShippedSizes(region), {
    ...EMPTY_CLUSTER,
    ...cluster,
    nodePools,
    nodeClasses: [],
  } as never);
  const given = { ...input({ nodePools, ...cluster }), catalog };
  const plan = planProvisioning(given, instant(0));
  expect(auditPlan(plan, given)).toEqual([]);
  return { plan, types: catalog.get(nodePools[0]?.metadata.name ?? '') ?? [] };
}

const small = { shapes: [shape(spec('500m', '256Mi'))], pods: pods(0, 1) };
const sizesOf = ({ claims }: Plan) => claims.map(({ offering }) => offering.instanceType).toSorted();
const zonesOf = ({ claims }: Plan) => claims.map(({ offering }) => offering.zone.slice(-1)).toSorted();

describe('a pool that allows more sizes than a claim lists', () => {
  const families = [
    ['D', 'E'],
    ['A', 'D', 'E'],
    ['B', 'D', 'E'],
  ];
  test.each(
    families.flatMap((own) => (['westeurope', 'eastus'] as const).map((region) => [own.join(), own, region] as const)),
  )('of families %s gets a node that can be launched as all that the claim names (%#)', (_, own, region) => {
    const { plan, types } = planOf(
      [pool('p', { requirements: [requirement(family, 'In', ...own), onDemand] })],
      small,
      region,
    );
    const [claim] = plan.claims;
    const { requirements = [], offering, fallbacks = [] } = claim ?? {};
    const possible = launchCandidates({ metadata: { name: 'c' }, spec: { requirements } } as never, types, [], 0);
    const ids = new Set(possible.map((one) => `${one.instanceType} ${one.zone} ${one.capacityType}`));
    expect(fallbacks.length).toBe(20);
    for (const one of [offering, ...fallbacks]) {
      expect(ids).toContain(`${one?.instanceType} ${one?.zone} ${one?.capacityType}`);
    }
  });

  test('falls back to a retired generation only when nothing else is left', () => {
    const { plan } = planOf(
      [pool('p', { requirements: [requirement(family, 'In', 'D', 'E'), onDemand, amd64] })],
      small,
    );
    const sizes = plan.claims.flatMap(({ fallbacks }) => fallbacks.map(({ instanceType }) => instanceType));
    expect(sizes.filter((size) => /_DS?\d+(_v2)?$/.test(size))).toEqual([]);
  });
});

describe('a requirement whose key is another provider’s', () => {
  const foreign = [
    requirement('karpenter.k8s.aws/instance-category', 'In', 'c', 'm'),
    requirement('karpenter.k8s.aws/instance-generation', 'Gt', '2'),
    requirement('karpenter.k8s.aws/instance-cpu', 'Lt', '16'),
    requirement('karpenter.com/x', 'Exists'),
    requirement('cloud.google.com/gke-spot', 'NotIn', 'true'),
  ];
  const leftOver = pool('left-over', { requirements: [...foreign, onDemand, amd64], weight: 10 });
  const healthy = pool('healthy', { requirements: [requirement(family, 'In', 'D'), onDemand, amd64] });

  test('is a label of the user’s own: nodes get one of its values', () => {
    const { plan } = planOf([leftOver, healthy], small);
    expect(plan.claims.map(({ nodePool }) => nodePool)).toEqual(['left-over']);
    expect(plan.claims[0]?.labels).toMatchObject({
      'karpenter.k8s.aws/instance-category': 'c',
      'karpenter.k8s.aws/instance-generation': '3',
      'karpenter.k8s.aws/instance-cpu': '0',
      'karpenter.com/x': '0',
    });
    expect(plan.claims[0]?.labels).not.toHaveProperty(['cloud.google.com/gke-spot']);
  });

  test('is what pods can select nodes by', () => {
    const choosy = shape(spec('500m', '256Mi', { nodeSelector: { 'karpenter.k8s.aws/instance-category': 'm' } }));
    const { plan } = planOf([leftOver, healthy], { shapes: [choosy], pods: pods(0, 1) });
    expect(plan.claims[0]?.labels['karpenter.k8s.aws/instance-category']).toBe('m');
  });
});

describe('where some sizes have no zones', () => {
  const any = pool('any', { requirements: [onDemand] });
  const spread = (whenUnsatisfiable: string): Partial<PodSpec> => ({
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: zone, whenUnsatisfiable, labelSelector: web }],
  });
  const preferring: Partial<PodSpec> = {
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 100, podAffinityTerm: { topologyKey: zone, labelSelector: web } },
        ],
      },
    },
  };
  const fourOf = (more: Partial<PodSpec>) => ({
    shapes: [shape(spec('500m', '256Mi', more), { app: 'web' })],
    pods: pods(0, 4),
  });

  test.each([
    ['must spread', spread('DoNotSchedule')],
    ['should spread', spread('ScheduleAnyway')],
    ['should be apart', preferring],
  ])('pods that %s over zones get the cheapest nodes of three zones', (_, more) => {
    const { plan } = planOf([any], fourOf(more));
    expect(sizesOf(plan)).toEqual(['Standard_D2pls_v6', 'Standard_D2pls_v6', 'Standard_D2pls_v6']);
    expect(zonesOf(plan)).toEqual(['1', '2', '3']);
  });

  test('a fourth pod that must be apart in zones waits, as where all sizes have zones', () => {
    const apart = {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: zone, labelSelector: web }] },
    };
    const { plan } = planOf([any], fourOf({ affinity: apart }));
    expect(zonesOf(plan)).toEqual(['1', '2', '3']);
    expect(plan.left.map(({ refusals }) => refusals.map(({ kind }) => kind))).toEqual([['pod-anti-affinity']]);
  });

  const v100 = { 'node.kubernetes.io/instance-type': 'Standard_NC6s_v3' };
  test('pods of such a size alone are all placed: no other place counts for their spread', () => {
    const { plan } = planOf([any], fourOf({ nodeSelector: v100, ...spread('DoNotSchedule') }));
    expect(plan.left).toEqual([]);
    expect(new Set(zonesOf(plan))).toEqual(new Set(['0']));
  });

  test('beside pods of such a size alone, others that must spread count it, as kube-scheduler does', () => {
    const only = shape(spec('500m', '256Mi', { nodeSelector: v100 }));
    const { shapes } = fourOf(spread('DoNotSchedule'));
    const { plan } = planOf([any], { shapes: [only, ...shapes], pods: [...pods(0, 1), ...pods(1, 4)] });
    expect(plan.left).toEqual([]);
    expect(zonesOf(plan)).toEqual(['0', '1', '2', '3']);
  });

  test('a node without a zone that is there counts as a place of its own', () => {
    const old = node('old', 1, 1, { [zone]: '0' });
    const { plan } = planOf([any], { ...fourOf(spread('DoNotSchedule')), nodes: [old] });
    expect(plan.nominations.map(({ target }) => target.name)).toEqual(['old']);
    expect(zonesOf(plan)).toEqual(['1', '2', '3']);
  });

  test('a pool that speaks of machines without a zone has them for a spread, of the cheapest size', () => {
    const speaking = pool('any', {
      requirements: [onDemand, requirement('karpenter.azure.com/placement-scope', 'In', 'zonal', 'regional')],
    });
    const { plan } = planOf([speaking], fourOf(spread('DoNotSchedule')));
    expect(zonesOf(plan)).toEqual(['0', '1', '2', '3']);
    expect(new Set(sizesOf(plan))).toEqual(new Set(['Standard_D2pls_v6']));
  });

  const regional = requirement('karpenter.azure.com/placement-scope', 'In', 'regional');
  const named = { ...requirement('node.kubernetes.io/instance-type', 'In', 'Standard_D2pls_v6'), minValues: 2 };
  test.each([
    ['has a taint that they do not tolerate', { taints: [{ key: 'dedicated', effect: 'NoSchedule' }] }],
    ['is at its limit', { limits: { cpu: '1' } }],
    ['has too few sizes for its minValues', { requirements: [onDemand, regional, named] }],
  ])('beside a pool of machines without a zone that %s, pods spread over the zones of another', (_, parts) => {
    const speaking = pool('regional', { requirements: [onDemand, regional], ...parts });
    const { plan } = planOf([speaking, any], fourOf(spread('DoNotSchedule')));
    expect([plan.left, zonesOf(plan)]).toEqual([[], ['1', '2', '3']]);
  });
});
