import { describe, expect, test } from 'vitest';
import type { Awaited } from '../../../../../shared/core/disruption/candidates/awaited-pods.ts';
import { awaitedOn, withAwaited } from '../../../../../shared/core/disruption/candidates/awaited-pods.ts';
import { evictionCostOf } from '../../../../../shared/core/disruption/candidates/eviction-cost.ts';
import { judgeNodes } from '../../../../../shared/core/disruption/candidates/judge-nodes.ts';
import { podBudgetCheck } from '../../../../../shared/core/disruption/candidates/pod-budgets.ts';
import type { Pod, PodShape } from '../../../../../shared/core/model/cluster.ts';
import { instant } from '../../../../../shared/core/quantity/units.ts';
import { pods, shape, spec } from '../../../../kit/core/build.ts';
import { disruptionInput, machine, NOW, on } from '../../../../kit/core/build-disruption.ts';

/** What pods of a node say about its going. */

const web = shape(spec('500m', '1Gi'), { app: 'web' });
const COST = 'controller.kubernetes.io/pod-deletion-cost';

describe('the eviction of a pod counts as', () => {
  const of = (text?: string, priority?: number) =>
    evictionCostOf({
      ...web,
      annotations: text === undefined ? {} : { [COST]: text },
      spec: { ...web.spec, ...(priority === undefined ? {} : { priority }) },
    });

  test('1, and more or less by what it says of its deletion and its priority', () => {
    expect([of(), of('0'), of('67108864'), of('+67108864'), of('-67108864')]).toEqual([1, 1, 1.5, 1.5, 0.5]);
    expect([of(undefined, 16_777_216), of(undefined, -16_777_216)]).toEqual([1.5, 0.5]);
    expect(of('67108864', 16_777_216)).toBe(2);
  });

  test('between -10 and 10', () => {
    expect([of('2147483647'), of('-2147483648'), of(undefined, 1_000_000_000)]).toEqual([10, -10, 10]);
  });

  test.each(['', '1e9', '1.5', 'much', '67108864 or so', 'at 67108864', '--1'])('1 where it says %j', (text) => {
    expect(of(text)).toBe(1);
  });
});

describe('a pod is kept by its budget', () => {
  const budget = (disruptionsAllowed: number | undefined, name = 'web', more: object = {}) => ({
    metadata: { name, namespace: 'default' },
    spec: { selector: { matchLabels: { app: 'web' } }, ...more },
    ...(disruptionsAllowed === undefined ? {} : { status: { disruptionsAllowed } }),
  });
  const kept = (budgets: ReadonlyArray<object>, parts: Partial<Pod> = {}, of: PodShape = web): unknown => {
    const own = on('a', 0, 2, parts);
    const parts_ = { machines: [machine('a')], shapes: [of], pods: own, podDisruptionBudgets: budgets as never };
    const check = podBudgetCheck(disruptionInput(parts_).provisioning.cluster);
    const found = own.map(check);
    expect(found[1]?.kind, 'a second pod of the shape is judged the same').toBe(found[0]?.kind);
    return found[0];
  };
  const pod = 'default/s0-a-0000';

  test('that lets none go, or of which nothing is known', () => {
    expect(kept([budget(0)])).toEqual({ kind: 'pod-budget', pod, budget: 'web', known: true });
    expect(kept([budget(undefined)])).toEqual({ kind: 'pod-budget', pod, budget: 'web', known: false });
    expect(kept([budget(1)])).toBeNull();
  });

  test('by two of them, whatever they let go, since no eviction passes both', () => {
    expect(kept([budget(1, 'web'), budget(1, 'also')])).toEqual({
      kind: 'two-pod-budgets',
      pod,
      budgets: ['also', 'web'],
    });
  });

  test('unless it is not ready and the budget lets such go', () => {
    const lenient = [budget(0, 'web', { unhealthyPodEvictionPolicy: 'AlwaysAllow' })];
    expect(kept(lenient, { ready: false })).toBeNull();
    expect(kept(lenient)).not.toBeNull();
    expect(kept([budget(0)], { ready: false })).not.toBeNull();
  });

  test('unless it ends, is of the node itself, or stays on nodes that go', () => {
    expect(kept([budget(0)], { deleting: true })).toBeNull();
    expect(
      kept([budget(0)], {}, { ...web, owner: { apiVersion: 'v1', kind: 'Node', name: 'a', uid: 'a' } }),
    ).toBeNull();
    expect(kept([budget(0)], {}, { ...web, spec: { ...web.spec, tolerations: [{ operator: 'Exists' }] } })).toBeNull();
  });

  test('of its namespace and with its labels alone', () => {
    expect(kept([{ ...budget(0), metadata: { name: 'web', namespace: 'other' } }])).toBeNull();
    expect(kept([{ ...budget(0), metadata: { name: 'web' } }])).not.toBeNull();
    expect(kept([budget(0, 'db', { selector: { matchLabels: { app: 'db' } } })])).toBeNull();
    const { spec: _, ...bare } = budget(0);
    expect(kept([bare]), 'one that selects nobody').toBeNull();
  });
});

describe('where pods wait that are to come', () => {
  const one = shape(spec('500m', '1Gi'), { app: 'other' });
  const term = { topologyKey: 'topology.kubernetes.io/zone', labelSelector: { matchLabels: { app: 'web' } } };
  const even = (whenUnsatisfiable: string) =>
    shape(spec('500m', '1Gi', { topologySpreadConstraints: [{ ...term, maxSkew: 1, whenUnsatisfiable }] }));
  const beside = (kind: string) =>
    shape(spec('500m', '1Gi', { affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } }));

  /** What becomes of `a` with a pod of shape 1 and `b` with one of shape 2, while one of `web` is to come to `b`. */
  function judged(of: PodShape, awaited: Partial<Awaited> = {}, conditions?: Parameters<typeof machine>[1]) {
    const given = disruptionInput({
      machines: [machine('a', conditions), machine('b')],
      shapes: [web, of, one],
      pods: [...on('a', 1, 1), ...on('b', 2, 1), ...pods(0, 1)],
    });
    const all = { pods: new Map([['b', pods(0, 1)]]), buffers: new Map<string, string>(), ...awaited };
    const nodes = withAwaited(judgeNodes(given, instant(NOW)), all, given.provisioning.cluster);
    return Object.fromEntries(
      nodes.map(({ name, verdict, isFull }) => [
        name,
        [verdict.kind === 'stays' ? verdict.reason : verdict.reason, isFull],
      ]),
    );
  }
  const coming = [{ kind: 'awaits-pods', pods: 1 }, false];

  test('their node stays for them, and others go', () => {
    expect(judged(one)).toEqual({ a: ['Underutilized', false], b: coming });
  });

  test.each<[string, PodShape]>([
    ['even with them', even('DoNotSchedule')],
    ['beside them', beside('podAffinity')],
  ])('a node stays whose pods must be %s: nobody knows who comes first', (_, of) => {
    expect(judged(of)).toEqual({ a: [{ kind: 'pods-first' }, false], b: coming });
    const drifted = { conditions: [{ type: 'Drifted', status: 'True' }] };
    expect(judged(of, {}, drifted)['a'], 'also where it must go').toEqual([{ kind: 'pods-first' }, false]);
  });

  test.each<[string, PodShape]>([
    ['would rather be even with them', even('ScheduleAnyway')],
    ['must not be beside them', beside('podAntiAffinity')],
  ])('a node goes whose pods %s', (_, of) => {
    expect(judged(of)['a']).toEqual(['Underutilized', false]);
  });

  test('a node stays for a buffer and is full, unless it must go', () => {
    const buffers = new Map([['a', 'spare']]);
    const none = { pods: new Map(), buffers };
    expect(judged(one, none)).toEqual({
      a: [{ kind: 'holds-buffer', buffer: 'spare' }, true],
      b: ['Underutilized', false],
    });
    const drifted = { conditions: [{ type: 'Drifted', status: 'True' }] };
    expect(judged(one, none, drifted)['a']).toEqual(['Drifted', false]);
    const off = { conditions: [] };
    expect(judged(one, none, off)['a'], 'what stays anyway takes no more either').toEqual([
      { kind: 'holds-buffer', buffer: 'spare' },
      true,
    ]);
  });

  test('a node that stays anyway says its own reason, and one that keeps room for a buffer says that', () => {
    const off = { conditions: [] };
    expect(judged(even('DoNotSchedule'), {}, off)['a']).toEqual([
      { kind: 'not-consolidatable', consolidateAfter: '0s' },
      false,
    ]);
    const buffers = new Map([['a', 'spare']]);
    expect(judged(even('DoNotSchedule'), { buffers })['a']).toEqual([{ kind: 'holds-buffer', buffer: 'spare' }, true]);
  });

  test('it is asked where provisioning puts them: on nodes that are there, and none without any', () => {
    const given = (waiting: ReadonlyArray<Pod>) =>
      disruptionInput({ machines: [machine('a')], shapes: [web], pods: [...on('a', 0, 1), ...waiting] }).provisioning;
    const found = (waiting: ReadonlyArray<Pod>) => {
      const { pods: own, buffers } = awaitedOn(given(waiting), instant(NOW));
      return [[...own].map(([name, those]) => [name, those.map(({ uid }) => uid)]), [...buffers]];
    };
    expect(found([])).toEqual([[], []]);
    expect(found(pods(0, 2))).toEqual([[['a', ['s0-0000', 's0-0001']]], []]);
    // Seven have room beside the one that runs; what comes for the others is no node yet.
    expect(found(pods(0, 9))).toEqual([[['a', expect.any(Array)]], []]);
  });
});
