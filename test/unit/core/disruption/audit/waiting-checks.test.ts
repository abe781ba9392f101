import { describe, expect, test } from 'vitest';
import { checkWaiting, crowdsOn, expectedIn } from '../../../../../shared/core/disruption/audit/waiting-checks.ts';
import type { FinalNode, PodsOnNode } from '../../../../../shared/core/audit/seen/final-state.ts';
import type { DisruptionStep } from '../../../../../shared/core/disruption/plan/disruption-plan.ts';
import type { PodShape } from '../../../../../shared/core/model/cluster.ts';
import { input, pods, shape, spec } from '../../../../kit/core/build.ts';
import { machine } from '../../../../kit/core/build-disruption.ts';

/** The order of events where a node is replaced one for one: who comes before it has gone, and who waits for that. */

const HOST = 'kubernetes.io/hostname';
const overHosts = (more: object = {}, namespace = 'default'): PodShape =>
  shape(
    spec('500m', '1Gi', {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: HOST,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: 'a' } },
          ...more,
        },
      ],
    }),
    { app: 'a' },
    namespace,
  );

/** As much of a node as is asked: its pods. */
function node(name: string, ...own: ReadonlyArray<Partial<PodsOnNode> & { readonly spec: PodShape }>): FinalNode {
  const there = own.map((one, shape_) => {
    return [shape_, { shape: shape_, running: 0, leaving: 0, planned: 0, ...one }] as const;
  });
  return { name, pods: new Map(there) } as unknown as FinalNode;
}

describe('on a host that goes there are at most', () => {
  const state = new Map(
    [
      node('a', { spec: overHosts(), running: 2, planned: 5 }, { spec: overHosts(), running: 1 }),
      node('b', { spec: overHosts(), running: 1 }, { spec: overHosts(), running: 3 }),
    ].map((one) => [one.name, one]),
  );
  const crowd = (reason: DisruptionStep['reason'], remove: ReadonlyArray<string>, ...sought: ReadonlyArray<number>) =>
    crowdsOn({ reason, remove, create: [], moves: [], saved: 0 }, state)(0, new Set(sought));

  test.each(['Drifted', 'Expired', 'Unhealthy'] as const)(
    'as many of them as run on one, where it goes as %s',
    (reason) => {
      expect([crowd(reason, ['a'], 0), crowd(reason, ['a'], 1), crowd(reason, ['a'], 0, 1)]).toEqual([2, 1, 3]);
      expect([crowd(reason, ['a', 'b'], 0), crowd(reason, ['a', 'b'], 1)]).toEqual([2, 3]);
      expect([crowd(reason, ['a'], 7), crowd(reason, [], 0), crowd(reason, ['z'], 0)]).toEqual([0, 0, 0]);
    },
  );

  test.each(['Empty', 'Underutilized', 'StaticSurplus'] as const)('none where it goes as %s', (reason) => {
    expect(crowd(reason, ['a'], 0, 1)).toBe(0);
  });
});

describe('pods that wait until their node has gone', () => {
  const budget = (disruptionsAllowed: number | undefined, more: object = {}, labels: object = { app: 'a' }) => ({
    metadata: { name: 'a', namespace: 'default', ...more },
    spec: { selector: { matchLabels: labels } },
    ...(disruptionsAllowed === undefined ? {} : { status: { disruptionsAllowed } }),
  });
  const said = (nodes: ReadonlyArray<FinalNode>, budgets: ReadonlyArray<object>, crowd = 9) =>
    checkWaiting(nodes, input({ podDisruptionBudgets: budgets as never }).cluster, () => crowd).map(({ text }) => text);
  const three = (of: PodShape = overHosts()) => [node('n', { spec: of, planned: 3 })];
  const too = (count: number, allowed: number) => [`${count} pods of PodDisruptionBudget a would wait, ${allowed} may`];

  test('are all but as many as a host may have, and their budget must let so many wait', () => {
    expect(said(three(), [budget(2)])).toEqual([]);
    expect(said(three(), [budget(1)])).toEqual(too(2, 1));
    expect(said(three(), [budget(undefined)])).toEqual(too(2, 0));
    expect(said(three(overHosts({ maxSkew: 2 })), [budget(0)])).toEqual(too(1, 0));
    expect(said(three(overHosts({ maxSkew: 3 })), [budget(0)])).toEqual([]);
    expect(said([...three(), ...three()], [budget(3)])).toEqual(too(4, 3));
    expect(said(three(), [])).toEqual([]);
  });

  test('are those that come, of which no more wait than there are', () => {
    const beside = overHosts();
    const of = (running: number, planned: number) => [node('n', { spec: beside, running, planned })];
    expect(said(of(2, 2), [budget(1)])).toEqual(too(2, 1));
    expect(said(of(5, 1), [budget(0)])).toEqual(too(1, 0));
    expect(said(of(5, 0), [budget(0)])).toEqual([]);
  });

  test('are counted with others that their rule counts, of their namespace', () => {
    const other = (labels: Readonly<Record<string, string>>, namespace = 'default') =>
      said(
        [
          node(
            'n',
            { spec: overHosts(), planned: 1 },
            { spec: shape(spec('500m', '1Gi'), labels, namespace), running: 1 },
          ),
        ],
        [budget(0)],
      );
    expect(other({ app: 'a' })).toEqual(too(1, 0));
    expect(other({ app: 'b' })).toEqual([]);
    expect(other({ app: 'a' }, 'other')).toEqual([]);
  });

  test('are held back by a spread over hosts that must hold, and by no other rule', () => {
    expect(said(three(overHosts({ topologyKey: 'topology.kubernetes.io/zone' })), [budget(0)])).toEqual([]);
    expect(said(three(overHosts({ whenUnsatisfiable: 'ScheduleAnyway' })), [budget(0)])).toEqual([]);
    expect(said(three(shape(spec('500m', '1Gi'), { app: 'a' })), [budget(0)])).toEqual([]);
  });

  test('are none where no host that goes has any of them', () => {
    expect(said(three(), [budget(0)], 0)).toEqual([]);
    expect(said(three(), [budget(0)], 1)).toEqual(too(2, 0));
  });

  test('are of budgets of their namespace that select them', () => {
    expect(said(three(), [budget(0, { namespace: 'other' })])).toEqual([]);
    expect(said(three(), [budget(0, { namespace: undefined })])).toEqual(too(2, 0));
    expect(said(three(overHosts({}, 'other')), [budget(0, { namespace: undefined })])).toEqual([]);
    expect(said(three(), [budget(0, {}, { app: 'b' })])).toEqual([]);
  });
});

describe('pods that are promised to a node and have not come', () => {
  const web = shape(spec('500m', '1Gi'), { app: 'web' });
  const db = shape(spec('500m', '1Gi'), { app: 'db' });
  const { claim } = machine('a');
  const { status: _, ...starting } = machine('b').claim;
  const all = [
    ...pods(0, 1, { uid: 'waits' }),
    ...pods(1, 1, { uid: 'elsewhere', nodeName: 'z' }),
    ...pods(1, 1, { uid: 'there', nodeName: 'a' }),
    ...pods(0, 1, { uid: 'ends', deleting: true }),
  ];
  const given = (promised: Readonly<Record<string, ReadonlyArray<string>>>) =>
    input({
      nodeClaims: [claim, starting],
      shapes: [web, db],
      pods: all,
      inFlight: new Map(Object.entries(promised).map(([name, uids]) => [name, { pods: uids }])) as never,
    });
  const expected = (promised: Readonly<Record<string, ReadonlyArray<string>>>) => {
    const on_ = expectedIn(given(promised))(['a', 'claim-b'].map((name) => node(name)));
    return [on_(0), on_(1), on_(2)].map((those) => those.map(({ labels }) => labels['app']));
  };

  test('are expected on its node, or on its claim while that has none', () => {
    expect(expected({ 'claim-a': ['waits', 'elsewhere'], 'claim-b': ['waits'] })).toEqual([['web', 'db'], ['web'], []]);
    expect(expected({})).toEqual([[], [], []]);
  });

  test('are none of those that have come, end, or are gone', () => {
    expect(expected({ 'claim-a': ['there', 'ends', 'nobody'] })).toEqual([[], [], []]);
  });
});
