import { describe, expect, test } from 'vitest';
import { node, pool, requirement } from '../../../kit/core/build.ts';
import {
  ARM,
  apart,
  D2,
  key,
  machines,
  ours,
  pod,
  poolWith,
  prefers,
  replicas,
  requires,
  schedule,
  spreadOver,
  term,
  web,
  z1,
  z2,
  z3,
  type PodParts,
} from '../kit/kit.ts';

/** Karpenter's scenarios of section F: topology spread. */

const inZone = (...zones: ReadonlyArray<string>) => requirement(key.zone, 'In', ...zones);
const spread = (topologyKey: string, more: Parameters<typeof spreadOver>[1] = {}): PodParts => ({
  labels: web,
  topologySpreadConstraints: [spreadOver(topologyKey, more)],
});
const both = (...constraints: ReadonlyArray<ReturnType<typeof spreadOver>>): PodParts => ({
  labels: web,
  topologySpreadConstraints: constraints,
});
/** Running pods that the spread counts, so many per zone. */
const running = (...counts: ReadonlyArray<number>) =>
  counts.flatMap((count, zone) => replicas(count, `there-${zone}`, { labels: web, on: `n${zone}` }));
const full = (name: string, zone: string, labels: Readonly<Record<string, string>> = {}) =>
  ours(name, { allocatable: { cpu: '0', memory: '0', pods: 0 }, labels: { [key.zone]: zone, ...labels } });
const THREE = machines(full('n0', z1), full('n1', z2), full('n2', z3));

describe('constraints that cannot be read or met', () => {
  test('a key that nothing has leaves the pods that need it, and the others are placed [F01]', () => {
    const outcome = schedule({ pods: [pod('a', spread('unknown.example.com/key')), pod('b')] });
    expect([outcome.left, outcome.rulesFor('a')]).toEqual([['a'], ['topology-spread']]);
  });

  test.each([
    ['no selector', undefined],
    ['a selector that cannot be read', { matchExpressions: [{ key: 'app', operator: 'Unknown', values: ['x'] }] }],
  ])('%s selects no pods, so nothing is spread [F01]', (_, labelSelector) => {
    const { labelSelector: __, ...bare } = spreadOver(key.host);
    const constraint = labelSelector === undefined ? bare : { ...bare, labelSelector };
    const outcome = schedule({ pods: replicas(5, 'web', { labels: web, topologySpreadConstraints: [constraint] }) });
    expect(outcome.perPlace('web')).toEqual([5]);
  });

  test('an empty selector counts all pods of the namespace and of no other [F01]', () => {
    const nodes = machines(full('n0', z1), full('n1', z2));
    const everyone = spread(key.zone, { labelSelector: {} });
    const others = [pod('x', { on: 'n0', labels: { app: 'other' } }), pod('y', { on: 'n1', namespace: 'else' })];
    const outcome = schedule({
      ...nodes,
      pools: [poolWith('default', inZone(z1, z2))],
      pods: [...others, pod('web', everyone)],
    });
    expect(outcome.claimOf('web').offering.zone).toBe(z2);
  });
});

describe('over zones', () => {
  test.each([
    ['matchLabels', { matchLabels: web }],
    ['matchExpressions', { matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }] }],
  ])('pods that %s select are balanced [F02]', (_, labelSelector) => {
    expect(schedule({ pods: replicas(7, 'web', spread(key.zone, { labelSelector })) }).perZone('web')).toEqual([
      3, 2, 2,
    ]);
  });

  test.each([
    ['requirements', [poolWith('default', inZone(z1, z2))]],
    ['labels and requirements', [pool('default', { labels: { [key.zone]: z1 } }), poolWith('other', inZone(z2))]],
    ['several pools', [poolWith('a', inZone(z1)), poolWith('b', inZone(z2))]],
  ])('zones are those that pools offer by %s [F02]', (_, pools) => {
    expect(schedule({ pools, pods: replicas(4, 'web', spread(key.zone)) }).perZone('web')).toEqual([2, 2]);
  });

  test('a zone that only a node has counts, and what runs there holds the others up [F02]', () => {
    const outcome = schedule({
      ...machines(full('n2', z3)),
      pools: [poolWith('default', inZone(z1, z2))],
      pods: replicas(6, 'web', spread(key.zone)),
    });
    expect([outcome.perZone('web'), outcome.left.length]).toEqual([[1, 1], 4]);
  });

  test('a zone that is fuller is used when the pod may be nowhere else, within maxSkew [F03]', () => {
    const only = (maxSkew: number) => ({ ...spread(key.zone, { maxSkew }), ...requires(inZone(z1)) });
    const free = schedule({ ...THREE, pods: [...running(1, 0, 0), pod('web', only(1))] });
    expect(free.claimOf('web').offering.zone).toBe(z1);
    const ignoring = (maxSkew: number) => spread(key.zone, { maxSkew, nodeAffinityPolicy: 'Ignore' });
    const pools = [poolWith('default', inZone(z1))];
    expect(schedule({ ...THREE, pools, pods: [...running(1, 0, 0), pod('web', ignoring(1))] }).left).toEqual(['web']);
    expect(schedule({ ...THREE, pools, pods: [...running(1, 0, 0), pod('web', ignoring(2))] }).left).toEqual([]);
  });

  test('where the skew is too large already, only the emptiest zones are filled [F03]', () => {
    const outcome = schedule({ ...THREE, pods: [...running(5, 0, 0), ...replicas(4, 'web', spread(key.zone))] });
    expect(outcome.claims.map(({ offering }) => offering.zone).toSorted()).toEqual([z2, z3]);
    expect(outcome.perZone('web')).toEqual([2, 2]);
  });

  test('DoNotSchedule is never violated, also for zones that only nodes have [F03]', () => {
    const pools = [poolWith('default', inZone(z1))];
    const outcome = schedule({ ...THREE, pools, pods: [...running(1, 1, 0), ...replicas(3, 'web', spread(key.zone))] });
    expect(outcome.left).toHaveLength(3);
  });

  test.each([
    ['waits', pod('x', { labels: web, facts: { unschedulable: false } })],
    ['is being deleted', pod('x', { labels: web, on: 'n0', facts: { deleting: true } })],
    ['is on a node that does not exist', pod('x', { labels: web, on: 'gone' })],
    ['is on a node without the label', pod('x', { labels: web, on: 'bare' })],
    ['is in another namespace', pod('x', { labels: web, on: 'n0', namespace: 'else' })],
  ])('a pod that %s does not count [F04]', (_, other) => {
    const bare = node('bare', 0, 0);
    const outcome = schedule({
      nodes: [...THREE.nodes, bare],
      nodeClaims: THREE.nodeClaims,
      pods: [other, ...running(0, 1, 1), pod('web', spread(key.zone))],
    });
    expect(outcome.claimOf('web').offering.zone).toBe(z1);
  });

  test('a pod that its own selector does not select follows the counted ones and adds nothing [F05]', () => {
    const other = { ...spread(key.zone), labels: { app: 'other' } };
    const outcome = schedule({ ...THREE, pods: [...running(1, 1, 0), ...replicas(4, 'other', other)] });
    expect(outcome.left).toEqual([]);
    const uneven = schedule({ ...THREE, pods: [...running(2, 1, 0), ...replicas(4, 'other', other)] });
    expect(uneven.claims.every(({ offering }) => offering.zone !== z1)).toBe(true);
  });

  test.each([
    ['fewer zones than minDomains take maxSkew pods each', 4, [1, 1, 1], 3],
    ['as many zones as minDomains are balanced', 3, [2, 2, 2], 0],
    ['more zones than minDomains are balanced', 2, [2, 2, 2], 0],
  ])('%s [F06]', (_, minDomains, expected, left) => {
    const outcome = schedule({ pods: replicas(6, 'web', spread(key.zone, { minDomains })) });
    expect([outcome.perZone('web'), outcome.left.length]).toEqual([expected, left]);
  });
});

describe('over hosts', () => {
  test('every pod has a node of its own with maxSkew 1, up to maxSkew share one [F07]', () => {
    expect(schedule({ pods: replicas(4, 'web', spread(key.host)) }).perPlace('web')).toEqual([1, 1, 1, 1]);
    expect(schedule({ pods: replicas(8, 'web', spread(key.host, { maxSkew: 4 })) }).perPlace('web')).toEqual([4, 4]);
  });

  test('Deployments spread over hosts share nodes with each other [F07]', () => {
    const of = (app: string): PodParts => ({
      labels: { app },
      topologySpreadConstraints: [spreadOver(key.host, { labelSelector: { matchLabels: { app } } })],
    });
    const outcome = schedule({ pods: [...replicas(2, 'a', of('a')), ...replicas(2, 'b', of('b'))] });
    expect(outcome.claims).toHaveLength(2);
    expect([outcome.perPlace('a'), outcome.perPlace('b')]).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  test('Deployments of different architectures do not share [F07]', () => {
    const on = (arch: string): PodParts => ({ ...spread(key.host), nodeSelector: { [key.arch]: arch } });
    const outcome = schedule({
      types: [D2, ARM],
      pods: [...replicas(2, 'web-a', on('amd64')), ...replicas(2, 'web-b', on('arm64'))],
    });
    expect([outcome.claims.length, outcome.left]).toEqual([4, []]);
  });
});

describe('over capacity types and architectures', () => {
  const either = pool('default', { requirements: [] });
  const kinds = (outcome: ReturnType<typeof schedule>, of: (index: number) => string) =>
    outcome.claims.flatMap(({ pods }, index) => pods.map(() => of(index))).toSorted();

  test('capacity types are balanced where the pool allows both, and one is used where it does not [F08]', () => {
    const outcome = schedule({ pools: [either], pods: replicas(4, 'web', spread(key.capacityType)) });
    expect(kinds(outcome, (index) => outcome.claims[index]?.offering.capacityType ?? '')).toEqual([
      'on-demand',
      'on-demand',
      'spot',
      'spot',
    ]);
    expect(schedule({ pods: replicas(4, 'web', spread(key.capacityType)) }).left).toEqual([]);
  });

  test('DoNotSchedule leaves what would be uneven, ScheduleAnyway does not [F08]', () => {
    const there = machines(full('n0', z1, { [key.capacityType]: 'spot' }));
    const pods = (whenUnsatisfiable: string) => replicas(4, 'web', spread(key.capacityType, { whenUnsatisfiable }));
    expect(schedule({ ...there, pods: pods('DoNotSchedule') }).left).toHaveLength(3);
    expect(schedule({ ...there, pods: pods('ScheduleAnyway') }).left).toEqual([]);
  });

  test('a required capacity type limits what is counted [F08]', () => {
    const only = { ...spread(key.capacityType), ...requires(requirement(key.capacityType, 'In', 'spot')) };
    const outcome = schedule({ pools: [either], pods: replicas(4, 'web', only) });
    expect(new Set(kinds(outcome, (index) => outcome.claims[index]?.offering.capacityType ?? ''))).toEqual(
      new Set(['spot']),
    );
  });

  test('architectures are balanced [F08]', () => {
    const outcome = schedule({ types: [D2, ARM], pods: replicas(4, 'web', spread(key.arch)) });
    const names = kinds(outcome, (index) => outcome.claims[index]?.offering.instanceType ?? '');
    expect(names).toEqual(['Standard_D2ps_v5', 'Standard_D2ps_v5', 'Standard_D2s_v5', 'Standard_D2s_v5']);
  });
});

describe('constraints together', () => {
  const either = pool('default', { requirements: [] });

  test('hosts and zones [F09]', () => {
    const outcome = schedule({
      pods: replicas(6, 'web', both(spreadOver(key.zone), spreadOver(key.host, { maxSkew: 3 }))),
    });
    expect(outcome.perZone('web')).toEqual([2, 2, 2]);
    for (const count of outcome.perPlace('web')) expect(count).toBeLessThanOrEqual(3);
  });

  test('zones and capacity types [F09]', () => {
    const outcome = schedule({
      pools: [either],
      pods: replicas(6, 'web', both(spreadOver(key.zone), spreadOver(key.capacityType))),
    });
    expect([outcome.perZone('web'), outcome.left]).toEqual([[2, 2, 2], []]);
  });

  test('hosts, zones and capacity types [F09]', () => {
    const all = both(spreadOver(key.zone), spreadOver(key.capacityType), spreadOver(key.host));
    const outcome = schedule({ pools: [either], pods: replicas(6, 'web', all) });
    expect([outcome.perZone('web'), outcome.perPlace('web'), outcome.left]).toEqual([
      [2, 2, 2],
      [1, 1, 1, 1, 1, 1],
      [],
    ]);
  });

  test.each([
    ['a node selector', { nodeSelector: { [key.zone]: z2 } }],
    ['a required term', requires(inZone(z2))],
  ])('%s limits the zones that are counted [F09]', (_, rule) => {
    const outcome = schedule({ pods: replicas(4, 'web', { ...spread(key.zone), ...rule }) });
    expect([outcome.perZone('web'), outcome.left]).toEqual([[4], []]);
  });

  test('a preference does not limit them [F09]', () => {
    const outcome = schedule({ pods: replicas(6, 'web', { ...spread(key.zone), ...prefers([1, inZone(z2)]) }) });
    expect([outcome.perZone('web'), outcome.left]).toEqual([[2, 2, 2], []]);
  });

  test('two constraints on one key hold together, where Karpenter may find no domain for both [F09]', () => {
    const two = both(spreadOver(key.zone), spreadOver(key.zone, { maxSkew: 2, labelSelector: {} }));
    expect(schedule({ pods: replicas(6, 'web', two) }).perZone('web')).toEqual([2, 2, 2]);
  });

  test('matchLabelKeys tells revisions apart, and a key that the pod lacks does nothing [F10]', () => {
    const revision = (hash: string): PodParts => ({
      ...spread(key.host, { matchLabelKeys: ['hash', 'absent'] }),
      labels: { ...web, hash },
    });
    const outcome = schedule({
      pods: [...replicas(2, 'web-1', revision('1')), ...replicas(2, 'web-2', revision('2'))],
    });
    expect([outcome.claims.length, outcome.perPlace('web-1'), outcome.perPlace('web-2')]).toEqual([2, [1, 1], [1, 1]]);
    const unknown = spread(key.host, { matchLabelKeys: ['absent'] });
    expect(schedule({ pods: replicas(3, 'web', unknown) }).perPlace('web')).toEqual([1, 1, 1]);
  });
});

describe('which nodes count', () => {
  const taint = { key: 'dedicated', effect: 'NoSchedule' };
  const tainted = machines(
    ours('n0', { allocatable: { cpu: '0', memory: '0', pods: 0 }, labels: { [key.zone]: z3 }, taints: [taint] }),
  );
  const pools = [poolWith('default', inZone(z1, z2))];

  test.each([
    ['Ignore', 3, 2],
    [undefined, 3, 2],
    ['Honor', 4, 0],
  ])(
    'nodeTaintsPolicy %s: a node that the pod does not tolerate holds the others up or not [F11]',
    (policy, count, left) => {
      const rule = policy === undefined ? {} : { nodeTaintsPolicy: policy };
      const outcome = schedule({ ...tainted, pools, pods: replicas(4, 'web', spread(key.zone, rule)) });
      expect([outcome.left.length, outcome.perZone('web').length]).toEqual([left, Math.min(count, 2)]);
    },
  );

  test.each([
    ['Ignore', 2],
    ['Honor', 0],
  ])('nodeTaintsPolicy %s: so does a zone that only a tainted pool offers [F11]', (nodeTaintsPolicy, left) => {
    const other = pool('other', {
      requirements: [requirement(key.capacityType, 'In', 'on-demand'), inZone(z3)],
      taints: [taint],
    });
    const outcome = schedule({
      pools: [...pools, other],
      pods: replicas(4, 'web', spread(key.zone, { nodeTaintsPolicy })),
    });
    expect(outcome.left).toHaveLength(left);
  });

  test('pools with taints that exclude each other share their zones: each pod counts those it tolerates [F11]', () => {
    const of = (name: string, ...zones: ReadonlyArray<string>) =>
      pool(name, {
        requirements: [requirement(key.capacityType, 'In', 'on-demand'), inZone(...zones)],
        taints: [{ key: name, effect: 'NoSchedule' }],
      });
    const on = (name: string): PodParts => ({
      ...spread(key.zone, { nodeTaintsPolicy: 'Honor' }),
      tolerations: [{ key: name, operator: 'Exists' }],
    });
    const outcome = schedule({
      pools: [of('a', z1, z2), of('b', z2, z3)],
      pods: [...replicas(2, 'web-a', on('a')), ...replicas(2, 'web-b', on('b'))],
    });
    expect(outcome.left).toEqual([]);
  });

  test.each([
    ['Honor', 0],
    ['Ignore', 2],
  ])('nodeAffinityPolicy %s: zones that the pod may not be in hold it up or not [F12]', (nodeAffinityPolicy, left) => {
    const rule = { ...spread(key.zone, { nodeAffinityPolicy }), ...requires(requirement(key.cpu, 'Gt', '1')) };
    const odd = machines(full('n0', z3, { [key.cpu]: '1' }));
    const outcome = schedule({ ...odd, pools, pods: replicas(4, 'web', rule) });
    expect(outcome.left).toHaveLength(left);
  });

  test('a spread over zones and anti-affinity by host hold together [F09]', () => {
    const outcome = schedule({ pods: replicas(6, 'web', { ...spread(key.zone), ...apart(term(key.host, web)) }) });
    expect([outcome.perZone('web'), outcome.perPlace('web')]).toEqual([
      [2, 2, 2],
      [1, 1, 1, 1, 1, 1],
    ]);
  });
});
