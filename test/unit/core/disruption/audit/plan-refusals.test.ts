import { describe, expect, test } from 'vitest';
import { auditDisruption } from '../../../../../shared/core/disruption/audit/audit-disruption.ts';
import type { Pod, PodShape } from '../../../../../shared/core/model/cluster.ts';
import type { DisruptionInput } from '../../../../../shared/core/model/disruption-input.ts';
import { planDisruption } from '../../../../../shared/core/disruption/plan-disruption.ts';
import type {
  DisruptionPlan,
  DisruptionStep,
  PlannedMove,
  PlannedReplacement,
} from '../../../../../shared/core/disruption/plan/disruption-plan.ts';
import { instant, microUsdPerHour } from '../../../../../shared/core/quantity/units.ts';
import { offering, onDemand, pods, requirement, shape, size, spec } from '../../../../kit/core/build.ts';
import { disruptable, disruptionInput, machine, NOW, on } from '../../../../kit/core/build-disruption.ts';

/**
 * Each plan here is right, and breaks one rule when one thing about it is changed: the audit says that and nothing
 * else.
 */

const COST = 'controller.kubernetes.io/pod-deletion-cost';

const small = shape(spec('500m', '1Gi'));

/** The pods of `b`, or of `a`, have room on the other. */
const moving = disruptionInput({
  machines: [machine('a'), machine('b')],
  shapes: [small],
  pods: [...on('a', 0, 3), ...on('b', 0, 3)],
});

/** A small node would do for the pod of `a`. */
const replacing = disruptionInput({ machines: [machine('a', { cpu: 8 })], shapes: [small], pods: on('a', 0, 1) });

function planOf(given: DisruptionInput): DisruptionPlan {
  const plan = planDisruption(given, instant(NOW));
  expect(auditDisruption(plan, given, instant(NOW))).toEqual([]);
  expect(plan.steps).toHaveLength(1);
  return plan;
}

function stepOf({ steps }: DisruptionPlan): DisruptionStep {
  const [step] = steps;
  if (step === undefined) throw new Error('nothing goes');
  return step;
}

const moved = planOf(moving);
const replaced = planOf(replacing);
const [bought] = replaced.replacements as [PlannedReplacement];
const [first] = stepOf(moved).moves as [PlannedMove];
const goes = stepOf(moved).remove[0] ?? '';
const stays = goes === 'a' ? 'b' : 'a';

/** What is said of the plan with its step changed so. */
function said(
  plan: DisruptionPlan,
  given: DisruptionInput,
  change: Partial<DisruptionStep> = {},
  all: Partial<DisruptionPlan> = {},
) {
  const changed = { ...plan, ...all, steps: [{ ...stepOf(plan), ...change }, ...plan.steps.slice(1)] };
  return auditDisruption(changed, given, instant(NOW)).map(({ rule, text }) => `${rule}: ${text}`);
}

const withMoves = (moves: ReadonlyArray<PlannedMove>): Partial<DisruptionStep> => ({ moves });
const others = stepOf(moved).moves.slice(1);
const to = (name: string): PlannedMove['to'] => ({ kind: 'node', name });

describe('moves of pods', () => {
  test.each<[string, ReadonlyArray<PlannedMove>, ReadonlyArray<string>]>([
    ['forget a pod', others, [`pod-lost: step 1: pod ${first.pod.replace('default/', '')} has no place`]],
    [
      'name a pod twice',
      [...stepOf(moved).moves, first],
      [
        `moved-twice: step 1: ${first.pod} is moved again`,
        `move: step 1: ${first.pod} is not on ${goes}, or does not move`,
      ],
    ],
    [
      'take a pod from where it is not',
      [{ ...first, from: stays }, ...others],
      [`move: step 1: ${first.pod} is not on ${stays}, or does not move`],
    ],
    [
      'name a pod that is not there',
      [...stepOf(moved).moves, { ...first, uid: 'other', pod: 'default/other' }],
      [`move: step 1: default/other is not on ${goes}, or does not move`],
    ],
    [
      'bring a pod to the node that goes',
      [{ ...first, to: to(goes) }, ...others],
      [`target: step 1: ${first.pod} goes to ${goes}, which does not exist`],
    ],
    [
      'bring a pod to a node that is not there',
      [{ ...first, to: to('z') }, ...others],
      [`target: step 1: ${first.pod} goes to z, which does not exist`],
    ],
  ])('must not %s', (_, moves, findings) => {
    expect(said(moved, moving, withMoves(moves))).toEqual(findings);
  });

  test('must not bring a pod to a node that is on its way out', () => {
    const leaving = machine(stays, { nodeParts: { deletionTimestamp: '1970-01-02T11:00:00Z' } });
    const machines = [machine(goes), leaving];
    const given = disruptionInput({ machines, shapes: [small], pods: [...on('a', 0, 3), ...on('b', 0, 3)] });
    const targets = said(moved, given).filter((one) => one.startsWith('target'));
    expect(targets).toEqual(
      stepOf(moved).moves.map(({ pod }) => `target: step 1: ${pod} goes to ${stays}, which does not exist`),
    );
  });

  test('must not bring more to a node than it has room for', () => {
    const full = disruptionInput({
      machines: [machine('a'), machine('b')],
      shapes: [small, shape(spec('1500m', '1Gi'))],
      pods: [...on(goes, 0, 3), ...on(stays, 1, 2)],
    });
    const found = said(moved, full);
    expect(found).toEqual([expect.stringContaining(stays)]);
  });

  test.each(['DaemonSet', 'Node'])('leave out pods of a %s, which go with the node', (kind) => {
    const owner = { apiVersion: 'apps/v1', kind, name: 'd', uid: 'd' };
    const shapes = [small, { ...small, owner }];
    const own = pods(1, 1, { nodeName: goes, uid: 'own', name: 'own' });
    const given = disruptionInput({
      machines: [machine('a'), machine('b')],
      shapes,
      pods: [...on('a', 0, 3), ...on('b', 0, 3), ...own],
    });
    expect(said(moved, given)).toEqual([]);
    expect(
      said(moved, given, withMoves([...stepOf(moved).moves, { ...first, uid: 'own', pod: 'default/own' }])),
    ).toEqual([`move: step 1: default/own is not on ${goes}, or does not move`]);
  });

  test('leave out pods that end', () => {
    const ends = pods(0, 1, { nodeName: goes, uid: 'ends', name: 'ends', deleting: true });
    const given = disruptionInput({
      machines: [machine('a'), machine('b')],
      shapes: [small],
      pods: [...on('a', 0, 3), ...on('b', 0, 3), ...ends],
    });
    expect(said(moved, given)).toEqual([]);
  });
});

describe('steps', () => {
  test('must not take away a node that has gone, nor bring pods to one', () => {
    const again: DisruptionStep = { ...stepOf(moved), moves: [], saved: 0 };
    const found = auditDisruption({ ...moved, steps: [stepOf(moved), again] }, moving, instant(NOW));
    expect(found.map(({ rule }) => rule)).toEqual(expect.arrayContaining(['kept', 'remove', 'pod-lost']));
  });

  test('must not take away a node that an earlier one has brought pods to: none moves twice', () => {
    const given = disruptionInput({
      machines: ['a', 'b', 'c'].map((name) => machine(name)),
      shapes: [small],
      pods: ['a', 'b', 'c'].flatMap((name) => on(name, 0, 1)),
    });
    const move = (from: string, aim: string): PlannedMove => {
      return { pod: `default/s0-${from}-0000`, uid: `s0-${from}-0000`, from, to: to(aim) };
    };
    const step = (from: string, aim: string): DisruptionStep => {
      return { reason: 'Underutilized', remove: [from], create: [], moves: [move(from, aim)], saved: 200_000 };
    };
    const saidOf = (...steps: ReadonlyArray<DisruptionStep>): ReadonlyArray<string> => {
      const gone = new Set(steps.flatMap(({ remove }) => remove));
      const kept = ['a', 'b', 'c'].filter((name) => !gone.has(name));
      const plan: DisruptionPlan = {
        ...moved,
        steps,
        kept: kept.map((node) => ({ node, nodePool: 'general', reason: { kind: 'not-consolidatable' } as never })),
        before: { nodes: 3, cost: microUsdPerHour(600_000) },
        after: { nodes: kept.length, cost: microUsdPerHour(600_000 - 200_000 * steps.length) },
        lowerBound: microUsdPerHour(0),
      };
      return auditDisruption(plan, given, instant(NOW)).map(({ rule, text }) => `${rule}: ${text}`);
    };
    expect(saidOf(step('b', 'c'), step('a', 'c'))).toEqual([]);
    expect(saidOf(step('b', 'a'), step('a', 'c'))).toEqual([
      'pod-lost: step 2: pod default/s0-b-0000 has come to it and has no place',
    ]);
  });
});

describe('a finding names the nodes to leave out for the plan not to have it:', () => {
  const alone = {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'alone' } } },
      ],
    },
  };
  const shapes = [small, shape(spec('3', '1Gi')), shape(spec('100m', '1Gi', { affinity: alone }), { app: 'alone' })];
  const machines = [machine('a', { cpu: 8, conditions: [] }), machine('b'), machine('c')];

  interface Told {
    /** The shape of the pod on `c`; `b` has a small one. */
    readonly onC?: number;
    /** Where the pod of `c` goes; null where it is forgotten. */
    readonly toC?: PlannedMove['to'] | null;
    readonly create?: boolean;
    readonly saved?: number;
    readonly before?: ReadonlyArray<Pod>;
  }

  /** The nodes that findings name where `b` and `c` go, and their pods to `a` unless said otherwise. */
  function named({ onC = 0, toC = to('a'), create = false, saved = 0, before = [] }: Told): unknown {
    const [ofB, ofC] = [on('b', 0, 1), on('c', onC, 1)];
    const given = disruptionInput({ machines, shapes, pods: [...before, ...ofB, ...ofC] });
    const target = (name: string): PlannedMove['to'] | null => (name === 'c' ? toC : to('a'));
    const moves = [...ofB, ...ofC].flatMap(({ name, uid, nodeName }): ReadonlyArray<PlannedMove> => {
      const aim = target(nodeName ?? '');
      return aim === null ? [] : [{ pod: `default/${name}`, uid, from: nodeName ?? '', to: aim }];
    });
    const paid = 400_000 - (create ? 100_000 : 0);
    const step: DisruptionStep = {
      reason: 'Underutilized',
      remove: ['b', 'c'],
      create: create ? ['new'] : [],
      moves,
      saved: paid + saved,
    };
    const cost = 800_000;
    const plan: DisruptionPlan = {
      ...moved,
      steps: [step],
      replacements: create ? [{ ...bought, name: 'new' }] : [],
      kept: [{ node: 'a', nodePool: 'general', reason: { kind: 'not-consolidatable' } as never }],
      before: { nodes: 3, cost: microUsdPerHour(cost) },
      after: { nodes: 1, cost: microUsdPerHour(cost - paid - saved) },
      lowerBound: microUsdPerHour(0),
    };
    return auditDisruption(plan, given, instant(NOW)).flatMap(({ about }) =>
      about.map((one) => (one.kind === 'node' ? one.name : one.kind)),
    );
  }

  test.each<[string, Told, ReadonlyArray<string>]>([
    ['none where nothing is wrong', {}, []],
    ['the one whose pod is forgotten', { toC: null }, ['c']],
    ['the one whose pod goes nowhere', { toC: to('z') }, ['c']],
    ['those whose pods come to a node that has no room', { before: on('a', 1, 2), onC: 1 }, ['b', 'c']],
    [
      'those whose pods come to a new node that has no room',
      { onC: 1, toC: { kind: 'claim', name: 'new' }, create: true },
      ['c'],
    ],
    ['those with pods of the kind that a rule is broken for', { before: on('a', 2, 1), onC: 2 }, ['c']],
    ['all, where it is about none of them', { saved: 1 }, ['b', 'c']],
  ])('%s', (_, told, nodes) => {
    expect(named(told)).toEqual(nodes);
  });
});

describe('what a plan states', () => {
  const price = (amount: number) => microUsdPerHour(amount);

  test.each<[string, Partial<DisruptionPlan>, string]>([
    ['why all others stay', { kept: [] }, 'kept: 1 nodes are not told of'],
    [
      'for nodes that are there',
      { kept: [...moved.kept, { node: 'z', nodePool: null, reason: { kind: 'foreign' } as never }] },
      'kept: there is no node z',
    ],
    ['nothing twice', { kept: [...moved.kept, ...moved.kept] }, 'kept: a node goes and stays, or does so twice'],
    [
      'what is saved in all',
      { after: { ...moved.after, cost: price(moved.after.cost + 1) } },
      'totals: the steps save something else',
    ],
    [
      'a bound that its end does not go below',
      { lowerBound: price(moved.after.cost + 1) },
      'bound: the lower bound is above the cost',
    ],
  ])('must be %s', (_, all, finding) => {
    expect(said(moved, moving, {}, all)).toEqual([finding]);
  });

  test('may be a bound that its end reaches', () => {
    expect(said(moved, moving, {}, { lowerBound: moved.after.cost })).toEqual([]);
  });

  test('must be what each step saves', () => {
    expect(said(moved, moving, { saved: stepOf(moved).saved + 1 })).toEqual([
      'totals: the steps save something else',
      expect.stringContaining('totals: step 1: saves'),
    ]);
  });

  test.each<[string, Partial<DisruptionStep>, Partial<DisruptionPlan>]>([
    ['that no step creates', {}, { replacements: [bought, { ...bought, name: 'other' }] }],
    ['twice', {}, { replacements: [bought, bought] }],
  ])('must not list a new node %s', (_, step, all) => {
    expect(said(replaced, replacing, step, all)).toEqual(['create: what steps create is not what is listed']);
  });

  test('must list each new node', () => {
    expect(said(replaced, replacing, {}, { replacements: [] })).toContain(
      'create: what steps create is not what is listed',
    );
  });
});

describe('a new node', () => {
  const as = (change: Partial<PlannedReplacement>, given = replacing) =>
    said(replaced, given, {}, { replacements: [{ ...bought, ...change }] }).filter((one) => one.startsWith('offering'));

  test.each<[string, Partial<PlannedReplacement>]>([
    ['of a NodePool that is not there', { nodePool: 'other' }],
    ['of a size that is not there', { instanceType: 'Standard_D3s_v5' }],
    ['in a zone that is not there', { zone: 'westeurope-4' }],
    ['of a reservation that is not there', { reservationId: 'r' }],
  ])('must not be one %s', (_, change) => {
    expect(as(change)).toEqual([`offering: ${bought.name} is not to be had`]);
  });

  test('must cost what it is said to', () => {
    expect(as({ price: microUsdPerHour(1) })).toEqual([
      `offering: ${bought.name} costs ${bought.price}, and is said to cost 1`,
    ]);
  });

  test('must be available', () => {
    const gone = size('Standard_D2s_v5', 2, 8, 100_000);
    const types = [
      { ...gone, offerings: gone.offerings.map((one) => ({ ...one, available: false })) },
      size('Standard_D8s_v5', 8, 32, 400_000),
    ];
    const given = disruptionInput({
      machines: [machine('a', { cpu: 8 })],
      shapes: [small],
      pods: on('a', 0, 1),
      types,
    });
    expect(as({}, given)).toEqual([`offering: ${bought.name} is not available`]);
  });

  test('must meet what its NodePool requires', () => {
    const nodePools = [
      disruptable('general', {}, { requirements: [onDemand, requirement('karpenter.azure.com/sku-cpu', 'In', '8')] }),
    ];
    const given = disruptionInput({
      machines: [machine('a', { cpu: 8 })],
      shapes: [small],
      pods: on('a', 0, 1),
      nodePools,
    });
    expect(as({}, given)).toEqual([
      `offering: ${bought.name} does not meet karpenter.azure.com/sku-cpu of its NodePool`,
    ]);
  });

  test('must cost less than what goes for money', () => {
    const same = { ...bought, instanceType: 'Standard_D8s_v5', price: microUsdPerHour(400_000) };
    const after = { ...replaced.after, cost: replaced.before.cost };
    expect(
      said(replaced, replacing, { saved: 0 }, { replacements: [same], after, lowerBound: microUsdPerHour(0) }),
    ).toEqual(['not-cheaper: step 1: costs 0 more']);
    expect(
      said(
        replaced,
        replacing,
        { saved: -1_000 },
        {
          replacements: [{ ...bought, price: microUsdPerHour(401_000) }],
          after: { nodes: 1, cost: microUsdPerHour(401_000) },
        },
      ),
    ).toContain('not-cheaper: step 1: costs 1000 more');
  });
});

describe('of a Balanced pool', () => {
  const nodePools = [disruptable('general', { consolidationPolicy: 'Balanced' }), disruptable('other')];

  interface Exchange {
    /** What comes in place of `a`, which costs 400,000. */
    readonly price?: number;
    readonly pods?: ReadonlyArray<Pod>;
    readonly pod?: Partial<PodShape>;
    /** A node that stays, with a pod: its pool. */
    readonly beside?: string | null;
    /** Pods on `a` that go with it: of what. */
    readonly own?: string;
  }

  /** What is said where `a` goes for a node of that price. */
  function exchanged({
    price = 200_000,
    pods: moving_ = on('a', 0, 1),
    pod = {},
    beside = 'general',
    own: kind,
  }: Exchange) {
    const types = [size('Standard_D4s_v5', 4, 16, price), size('Standard_D8s_v5', 8, 32, 400_000)];
    const staying = beside === null ? [] : [machine('b', { cpu: 8, nodePool: beside, conditions: [] })];
    const machines = [machine('a', { cpu: 8 }), ...staying];
    const owner = { apiVersion: 'v1', kind: kind ?? '', name: 'o', uid: 'o' };
    const shapes = [{ ...small, ...pod }, small, { ...small, owner }];
    const staysToo = kind === undefined ? [] : on('a', 2, 4);
    const there = [...moving_, ...staysToo, ...(beside === null ? [] : on('b', 1, 1))];
    const given = disruptionInput({ machines, shapes, pods: there, nodePools, types });
    const cost = microUsdPerHour(400_000 * machines.length);
    const plan: DisruptionPlan = {
      ...replaced,
      steps: [
        {
          reason: 'Underutilized',
          remove: ['a'],
          create: ['new'],
          moves: moving_.map(({ name, uid, nodeName }) => {
            return { pod: `default/${name}`, uid, from: nodeName ?? '', to: { kind: 'claim', name: 'new' } };
          }),
          saved: 400_000 - price,
        },
      ],
      replacements: [{ ...bought, name: 'new', instanceType: 'Standard_D4s_v5', price: microUsdPerHour(price) }],
      kept: staying.map(({ node }) => ({
        node: node.metadata.name,
        nodePool: beside,
        reason: { kind: 'not-consolidatable' } as never,
      })),
      before: { nodes: machines.length, cost },
      after: { nodes: machines.length, cost: microUsdPerHour(cost - 400_000 + price) },
      lowerBound: microUsdPerHour(0),
    };
    return auditDisruption(plan, given, instant(NOW)).map(({ rule, text }) => `${rule}: ${text}`);
  }

  test('what goes must be worth its disruption: half of the pool’s share', () => {
    expect(exchanged({ beside: null })).toEqual([]);
    expect(exchanged({ beside: null, price: 200_004 })).toEqual([
      'balanced: step 1: NodePool general: the score is 0.49999',
    ]);
  });

  test.each<[string, Exchange]>([
    ['a pod on each', {}],
    ['more pods on it, beside another pool', { pods: on('a', 0, 4), beside: 'other' }],
    ['a pod on it whose eviction counts as nothing', { pod: { annotations: { [COST]: '-999999999' } } }],
    ['a cost of its pod that cannot be read', { pod: { annotations: { [COST]: '1e9' } } }],
    ['pods of a DaemonSet on it', { own: 'DaemonSet' }],
    ['pods of its own on it', { own: 'Node' }],
    ['a pod of half more, where more is saved', { price: 150_000, pod: { annotations: { [COST]: '67108864' } } }],
    ['a pod of half more priority', { price: 150_000, pod: { spec: { ...small.spec, priority: 16_777_216 } } }],
  ])('is worth it with %s', (_, exchange) => {
    expect(exchanged(exchange)).toEqual([]);
  });

  test.each<[string, Exchange]>([
    ['more pods on it', { pods: on('a', 0, 4) }],
    ['a pod on it whose eviction costs twice as much', { pod: { annotations: { [COST]: '134217728' } } }],
    ['a pod on it whose eviction costs +1 more', { pod: { annotations: { [COST]: '+134217728' } } }],
    ['a pod on it of twice the priority', { pod: { spec: { ...small.spec, priority: 33_554_432 } } }],
  ])('is not worth it with %s', (_, exchange) => {
    expect(exchanged(exchange)).toEqual([expect.stringContaining('balanced: step 1: NodePool general')]);
  });

  test('a node whose price nobody knows is not worth it, though nothing dearer comes', () => {
    const types = [size('Standard_D2s_v5', 2, 8, 100_000)];
    const given = disruptionInput({
      machines: [machine('a'), machine('b')],
      shapes: [small],
      pods: [...on('a', 0, 3), ...on('b', 0, 3)],
      types,
      nodePools,
    });
    const none = { nodes: 2, cost: microUsdPerHour(0) };
    const sums = { before: none, after: { ...none, nodes: 1 }, lowerBound: microUsdPerHour(0) };
    expect(said(moved, given, { saved: 0 }, sums)).toEqual(['balanced: step 1: NodePool general: the score is 0']);
  });

  test('a step that takes nodes of two pools must be worth it in each, by its share of what is saved', () => {
    const both = (policy: string, count: number) => {
      const machines = [machine('a'), machine('b', { nodePool: 'other' }), machine('c', { cpu: 8 })];
      const given = disruptionInput({
        machines,
        shapes: [small],
        pods: [...on('a', 0, count), ...on('b', 0, 3), ...on('c', 0, 1)],
        nodePools: [disruptable('general', { consolidationPolicy: policy }), disruptable('other')],
      });
      const remove = ['a', 'b'];
      const moves = remove.flatMap((from) =>
        on(from, 0, from === 'a' ? count : 3).map(({ name, uid }) => ({
          pod: `default/${name}`,
          uid,
          from,
          to: to('c'),
        })),
      );
      const cost = microUsdPerHour(800_000);
      const sums = {
        kept: [{ node: 'c', nodePool: 'general', reason: { kind: 'nothing-cheaper' } as const }],
        before: { nodes: 3, cost },
        after: { nodes: 1, cost: microUsdPerHour(400_000) },
        lowerBound: microUsdPerHour(0),
      };
      return said(moved, given, { remove, moves, saved: 400_000 }, sums);
    };
    expect(both('WhenEmptyOrUnderutilized', 4)).toEqual([]);
    // A third of the pool's cost is saved in it, and four sixths of it disturbed; or five sevenths.
    expect(both('Balanced', 3)).toEqual([]);
    expect(both('Balanced', 4)).toEqual([
      expect.stringContaining('balanced: step 1: NodePool general: the score is 0.46'),
    ]);
  });
});

describe('a plan of several steps', () => {
  /** `a`, then `b`, whose pods come to `c`. */
  function inTurn(count: number, change: (moves: ReadonlyArray<PlannedMove>) => ReadonlyArray<PlannedMove>) {
    const given = disruptionInput({
      machines: [machine('a'), machine('b'), machine('c', { cpu: 8 })],
      shapes: [small],
      pods: [...on('a', 0, 3), ...on('b', 0, count), ...on('c', 0, 1)],
      nodePools: [disruptable('general', { consolidationPolicy: 'Balanced' })],
    });
    const steps = ['a', 'b'].map((from): DisruptionStep => {
      const own = on(from, 0, from === 'a' ? 3 : count);
      const moves = own.map(({ name, uid }) => ({ pod: `default/${name}`, uid, from, to: to('c') }));
      return { reason: 'Underutilized', remove: [from], create: [], moves: change(moves), saved: 200_000 };
    });
    const plan: DisruptionPlan = {
      ...moved,
      steps,
      kept: [{ node: 'c', nodePool: 'general', reason: { kind: 'nothing-cheaper' } }],
      before: { nodes: 3, cost: microUsdPerHour(800_000) },
      after: { nodes: 1, cost: microUsdPerHour(400_000) },
      lowerBound: microUsdPerHour(0),
    };
    return auditDisruption(plan, given, instant(NOW)).map(({ rule, text }) => `${rule}: ${text}`);
  }
  const same = (moves: ReadonlyArray<PlannedMove>) => moves;

  test('has pods that came in one of them where they are for the next, also by what their disruption counts', () => {
    expect(inTurn(4, same)).toEqual([]);
    expect(inTurn(20, same)).toContainEqual(expect.stringContaining('balanced: step 2'));
  });

  test('says in which of them it breaks a rule', () => {
    expect(inTurn(4, (moves) => (moves.length === 4 ? moves.slice(1) : moves))).toEqual([
      'pod-lost: step 2: pod s0-b-0000 has no place',
    ]);
  });
});

describe('a place for pods', () => {
  const tied = (labels: Readonly<Record<string, string>>) => shape(spec('500m', '1Gi', { nodeSelector: labels }));

  test('has the host name that its node says, which may not be the name of the node', () => {
    const named = (host: string) => {
      const { node, claim } = machine(stays);
      const labels = { ...node.metadata.labels, 'kubernetes.io/hostname': host };
      return { node: { ...node, metadata: { ...node.metadata, labels } }, claim };
    };
    const of = (host: string) =>
      disruptionInput({
        machines: [machine(goes), named(host)],
        shapes: [tied({ 'kubernetes.io/hostname': 'host' }), small],
        pods: [...on(goes, 0, 3), ...on(stays, 1, 3)],
      });
    expect(said(moved, of('host'))).toEqual([]);
    expect(said(moved, of(stays))).not.toEqual([]);
  });

  test('is none on a claim that has no node yet, and that the plan does not create', () => {
    const given = disruptionInput({
      machines: [machine('a'), machine('b')],
      shapes: [small],
      pods: [...on('a', 0, 3), ...on('b', 0, 3)],
    });
    const { claim } = machine('soon');
    const { cluster } = given.provisioning;
    const { nodeName: _, ...status } = claim.status ?? {};
    const nodeClaims = [...cluster.nodeClaims, { ...claim, status }];
    const withClaim = { ...given, provisioning: { ...given.provisioning, cluster: { ...cluster, nodeClaims } } };
    const target = { kind: 'claim' as const, name: claim.metadata.name };
    expect(said(moved, withClaim, withMoves([{ ...first, to: target }, ...others]))).toEqual([
      `target: step 1: ${first.pod} goes to ${claim.metadata.name}, which does not exist`,
    ]);
  });

  test('is in the reservation that the plan names', () => {
    const label = 'karpenter.azure.com/capacity-reservation-id';
    const offerings = ['other', 'r'].map((id) => ({
      ...offering('westeurope-1', 'reserved', 5),
      reservation: { id, remaining: 5 },
      labels: { [label]: id },
    }));
    const requirements = [requirement('karpenter.sh/capacity-type', 'In', 'reserved', 'on-demand')];
    const given = disruptionInput({
      machines: [machine('a', { cpu: 8 })],
      shapes: [tied({ [label]: 'r' })],
      pods: on('a', 0, 1),
      types: [size('Standard_D2s_v5', 2, 8, 100_000, { offerings }), size('Standard_D8s_v5', 8, 32, 400_000)],
      nodePools: [disruptable('general', {}, { requirements })],
    });
    const in_ = (reservationId: string) =>
      said(
        replaced,
        given,
        { saved: 399_995 },
        {
          replacements: [
            { ...bought, zone: 'westeurope-1', capacityType: 'reserved', reservationId, price: microUsdPerHour(5) },
          ],
          before: { nodes: 1, cost: microUsdPerHour(400_000) },
          after: { nodes: 1, cost: microUsdPerHour(5) },
          lowerBound: microUsdPerHour(0),
        },
      );
    expect(in_('r')).toEqual([]);
    expect(in_('other')).not.toEqual([]);
  });
});

describe('what a node costs', () => {
  const offerings = (price: number) => [
    { ...offering('westeurope-1', 'spot', price / 4) },
    { ...offering('westeurope-1', 'on-demand', 3 * price) },
    { ...offering('westeurope-2', 'on-demand', price) },
    {
      ...offering('westeurope-2', 'reserved', 7),
      reservation: { id: 'other', remaining: 1 },
      labels: { 'karpenter.azure.com/capacity-reservation-id': 'other' },
    },
    {
      ...offering('westeurope-2', 'reserved', 5),
      reservation: { id: 'r', remaining: 1 },
      labels: { 'karpenter.azure.com/capacity-reservation-id': 'r' },
    },
  ];
  const types = [size('Standard_D4s_v5', 4, 16, 200_000, { offerings: offerings(200_000) })];
  const inReservation = (id: string) => {
    const one = machine('a', { zone: 'westeurope-2', capacityType: 'reserved' });
    const labels = { ...one.node.metadata.labels, 'karpenter.azure.com/capacity-reservation-id': id };
    return { ...one, node: { ...one.node, metadata: { ...one.node.metadata, labels } } };
  };

  test.each([
    ['on demand in its zone', machine('a', { zone: 'westeurope-2' }), 200_000],
    ['on demand in another zone', machine('a'), 600_000],
    ['as spot', machine('a', { capacityType: 'spot' }), 50_000],
    ['in its reservation', inReservation('r'), 5],
    ['in another reservation', inReservation('other'), 7],
    ['where nobody sells it', machine('a', { zone: 'westeurope-3' }), 0],
  ])('is what it costs %s, as the plan says', (_, going, saved) => {
    const given = disruptionInput({
      machines: [going, machine('b', { conditions: [] })],
      shapes: [small],
      pods: on('b', 0, 1),
      types,
    });
    const made = planDisruption(given, instant(NOW));
    expect(auditDisruption(made, given, instant(NOW))).toEqual([]);
    expect(made.steps).toMatchObject([{ remove: ['a'], saved }]);
    const steps = made.steps.map((step) => ({ ...step, saved: saved + 1 }));
    expect(auditDisruption({ ...made, steps }, given, instant(NOW)).map(({ text }) => text)).toContain(
      `step 1: saves ${saved}, and says ${saved + 1}`,
    );
  });
});
