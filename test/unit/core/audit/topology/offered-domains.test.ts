import { describe, expect, test } from 'vitest';
import type { NodePool, PodSpec, Requirement } from '../../../../../shared/kubernetes/manifest.ts';
import { labelKey } from '../../../../../shared/kubernetes/labels.ts';
import { node, offering, onDemand, pool, requirement, shape, spec, zones } from '../../../../kit/core/build.ts';
import { D4, judge, onto, waiting, type Judged } from '../judge.ts';

/**
 * A spread counts domains without any node that pools could open. Two pods go to the one node there is: uneven only if
 * there are such.
 */

const [z1, z2] = zones;
const pods = [waiting(), waiting(0, 1)];
const web = { app: 'web' };

interface Spreading {
  readonly topologyKey?: string;
  readonly label?: string;
  readonly nodeTaintsPolicy?: string;
  readonly more?: Partial<PodSpec>;
}

function crowded(cluster: Judged['cluster'], parts: Spreading = {}): ReadonlyArray<string> {
  const { topologyKey = labelKey.zone, label = z1, nodeTaintsPolicy = 'Ignore', more } = parts;
  const labelSelector = { matchLabels: web };
  const constraint = { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector, nodeTaintsPolicy };
  const spreading = spec('1', '1Gi', { topologySpreadConstraints: [constraint], ...more });
  return judge({
    cluster: { nodes: [node('n', 8, 32, { [topologyKey]: label })], shapes: [shape(spreading, web)], pods, ...cluster },
    nominations: [onto('n', pods)],
  });
}
const tooMany = (key: string = labelKey.zone, value: string = z1) => [
  `spread default: ${key} ${value} has too many pods`,
];
const asking = (...requirements: ReadonlyArray<Requirement>) => ({
  nodePools: [pool('general', { requirements: [onDemand, ...requirements] })],
});
const [general] = [pool('general')];
const only = (zone: string, available: boolean) => ({
  types: [{ ...D4, offerings: [offering(z1, 'on-demand', 200_000), offering(zone, 'on-demand', 200_000, available)] }],
});

describe('a zone that no node is in', () => {
  test.each<readonly [string, Judged['cluster']]>([
    ['of a pool that may open it', {}],
    ['of an offering that can be had', only(z2, true)],
    [
      'of a pool that may open it beside one that may not',
      { nodePools: [pool('a', { labels: { [labelKey.zone]: z1 } }), general] },
    ],
    ['of a pool whose nodes get a label from their pods', asking(requirement('example.com/team', 'In', 'red'))],
  ])('counts as empty when it is that %s', (_, cluster) => {
    expect(crowded(cluster)).toEqual(tooMany());
  });

  const going: NodePool = { ...general, metadata: { name: 'general', deletionTimestamp: '2026-12-01T00:00:00Z' } };
  const fixed: NodePool = { ...general, spec: { ...general.spec, replicas: 0 } };
  test.each<readonly [string, Judged['cluster']]>([
    ['there is no pool', { nodePools: [] }],
    ['its pool is being deleted', { nodePools: [going] }],
    ['its pool is static', { nodePools: [fixed] }],
    ['nothing can be had there', only(z2, false)],
    ['its pool may not open it', asking(requirement(labelKey.zone, 'In', z1))],
    [
      'its pool says of its nodes that they are elsewhere',
      { nodePools: [pool('general', { labels: { [labelKey.zone]: z1 } })] },
    ],
    [
      'its pool asks for sizes of a kind that there is not',
      asking(requirement('karpenter.azure.com/sku-gpu-name', 'In', 'T4')),
    ],
  ])('does not count when %s', (_, cluster) => {
    expect(crowded(cluster)).toEqual([]);
  });

  test('of a pool with taints counts for those that tolerate them, and for all whose constraint ignores taints', () => {
    const tainted = { nodePools: [pool('general', { taints: [{ key: 'own', effect: 'NoSchedule' }] })] };
    const more = { tolerations: [{ key: 'own', operator: 'Exists' }] };
    expect(crowded(tainted)).toEqual(tooMany());
    expect(crowded(tainted, { nodeTaintsPolicy: 'Honor' })).toEqual([]);
    expect(crowded(tainted, { nodeTaintsPolicy: 'Honor', more })).toEqual(tooMany());
    const { taints: _, ...bare } = general.spec.template.spec;
    const untainted = { ...general, spec: { ...general.spec, template: { spec: bare } } };
    expect(crowded({ nodePools: [untainted] }, { nodeTaintsPolicy: 'Honor' })).toEqual(tooMany());
  });
});

describe('a value of a label that pods choose', () => {
  const team = 'example.com/team';
  const teams = (...requirements: ReadonlyArray<Requirement>) =>
    crowded(asking(...requirements), { topologyKey: team, label: 'red' });

  test('counts as empty when the pool lists it', () => {
    expect(teams(requirement(team, 'In', 'red', 'blue'))).toEqual(tooMany(team, 'red'));
  });

  test('does not count when the pool lists it and rules it out', () => {
    expect(teams(requirement(team, 'In', 'red', 'blue'), requirement(team, 'NotIn', 'blue'))).toEqual([]);
  });

  test('does not count when the pool only says that there is one', () => {
    expect(teams(requirement(team, 'Exists'))).toEqual([]);
    expect(crowded(asking(requirement(team, 'Gte', '4')), { topologyKey: team, label: '5' })).toEqual([]);
  });

  test('does not open a zone to pods that ask for a value that the pool rules out', () => {
    const red = { nodeSelector: { [team]: 'red' } };
    const zonesOf = (...requirements: ReadonlyArray<Requirement>) => {
      const there = node('n', 8, 32, { [labelKey.zone]: z1, [team]: 'red' });
      return crowded({ ...asking(...requirements), nodes: [there] }, { more: red });
    };
    expect(zonesOf(requirement(team, 'Exists'))).toEqual(tooMany());
    expect(zonesOf(requirement(team, 'NotIn', 'blue'))).toEqual(tooMany());
    expect(zonesOf(requirement(team, 'NotIn', 'red'))).toEqual([]);
    expect(zonesOf(requirement(team, 'In', 'red'), requirement(team, 'NotIn', 'red'))).toEqual([]);
  });

  test('opens a zone to pods that may have another value than the one that the pool rules out', () => {
    const zonesFor = (...asked: ReadonlyArray<Requirement>) => {
      const nodeAffinity = affinityTo(asked);
      const there = node('n', 8, 32, { [labelKey.zone]: z1, [team]: 'blue' });
      const given = asking(requirement(team, 'NotIn', 'red'));
      return crowded({ ...given, nodes: [there] }, { more: { affinity: { nodeAffinity } } });
    };
    expect(zonesFor(requirement(team, 'In', 'red', 'blue'))).toEqual(tooMany());
    expect(zonesFor(requirement(team, 'NotIn', 'red'))).toEqual(tooMany());
  });
});

function affinityTo(matchExpressions: ReadonlyArray<Requirement>) {
  return { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } };
}
