import { describe, expect, test } from 'vitest';
import { begunIn, type Begun } from '../../../../shared/core/disruption/second-look/begun.ts';
import {
  judgeBegun,
  judgeInParts,
  type BegunVerdict,
  type SecondLook,
} from '../../../../shared/core/disruption/second-look/judge-begun.ts';
import type { DisruptionInput } from '../../../../shared/core/model/disruption-input.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { soundPlan } from '../../../../shared/core/recovery/sound-plan.ts';
import { shape, spec } from '../../../kit/core/build.ts';
import {
  CONSOLIDATABLE,
  disruptable,
  disruptionInput,
  machine,
  NOW,
  on,
  type Machine,
} from '../../../kit/core/build-disruption.ts';

/** `a` is full, so that pods of nodes that are marked to go need a new node. */

const DISRUPTED = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };
const SINCE = NOW - 60_000;
const MINUTE = 60_000;
const at = (ms: number): string => new Date(ms).toISOString();
const large = shape(spec('3500m', '1Gi'));
const small = shape(spec('500m', '1Gi'));

interface Marks {
  readonly reason?: 'Drifted' | 'Underutilized';
  readonly replacedBy?: string;
  readonly unavailable?: string;
}

/** A node that decision `d` has marked. */
function marked(name: string, { reason = 'Drifted', replacedBy, unavailable }: Marks, parts = {}): Machine {
  const why = reason === 'Drifted' ? [{ type: 'Drifted', status: 'True' }] : [];
  const one = machine(name, {
    ...parts,
    conditions: [
      CONSOLIDATABLE,
      ...why,
      { type: 'DisruptionReason', status: 'True', reason, lastTransitionTime: at(SINCE) },
    ],
  });
  const annotations = {
    'nodewright.dev/disruption': 'd',
    ...(replacedBy === undefined ? {} : { 'nodewright.dev/replaced-by': replacedBy }),
    ...(unavailable === undefined ? {} : { 'nodewright.dev/replacement-unavailable': unavailable }),
  };
  return {
    node: { ...one.node, spec: { ...one.node.spec, taints: [DISRUPTED] } },
    claim: { ...one.claim, metadata: { ...one.claim.metadata, annotations } },
  };
}

/** In use, and full. */
const full = (name: string, parts: Parameters<typeof machine>[1] = {}): Machine =>
  machine(name, { conditions: [CONSOLIDATABLE, { type: 'Initialized', status: 'True' }], ...parts });

function clusterOf(machines: ReadonlyArray<Machine>, parts: object = {}): DisruptionInput {
  const pods = [...on('a', 0, 1), ...on('b', 0, 1)];
  return disruptionInput({ machines: [full('a'), ...machines], shapes: [large, small], pods, ...parts });
}

function judged(input: DisruptionInput, nowMs = NOW): BegunVerdict {
  return judgeBegun(begunOf(input), lookAt(input, nowMs));
}

/** What becomes of each, by name. */
function becomeOf(input: DisruptionInput): unknown {
  return judgeInParts(begunOf(input), lookAt(input, NOW)).flatMap(({ one, verdict }) =>
    one.candidates.map(({ node }) => [node.metadata.name, verdict.kind]),
  );
}

function begunOf({ provisioning }: DisruptionInput): Begun {
  const [one] = begunIn(provisioning.cluster);
  if (one === undefined) throw new Error('nothing has begun');
  return one;
}

function lookAt(input: DisruptionInput, nowMs: number): SecondLook {
  const now = instant(nowMs);
  return { input, now, seenMs: nowMs, currency: 'USD', planFor: (asked) => soundPlan(asked, now).plan };
}

const NO_ROOM = { kind: 'take-back', why: 'its pods would need one more new node' };

describe('a node that must go and whose pods have no room any more', () => {
  test('gets a new one for them, at any price', () => {
    const verdict = judged(clusterOf([marked('b', {})]));
    expect(verdict).toMatchObject({ kind: 'short', shortage: { below: Infinity }, failed: 0 });
    if (verdict.kind !== 'short') throw new Error('it is short');
    expect(verdict.shortage.plan.claims.map(({ pods }) => pods.map(({ uid }) => uid))).toEqual([['s0-b-0000']]);
  });

  test('only while there is time for that to come', () => {
    const given = clusterOf([marked('b', {})]);
    expect(judged(given, SINCE + 5 * MINUTE - 1).kind).toBe('short');
    expect(judged(given, SINCE + 5 * MINUTE)).toMatchObject(NO_ROOM);
  });

  test('stays where nothing may be bought', () => {
    const nodePools = [disruptable('general', {}, { limits: { cpu: '8' } })];
    expect(judged(clusterOf([marked('b', {})], { nodePools }))).toMatchObject({ kind: 'take-back' });
  });

  test('waits where somebody else needs a new node too, and gets it first', () => {
    const draining = machine('e', { nodeParts: { deletionTimestamp: at(NOW) } });
    const pods = [...on('a', 0, 1), ...on('b', 0, 1), ...on('e', 0, 1)];
    expect(judged(clusterOf([marked('b', {}), draining], { pods }))).toEqual({
      kind: 'wait',
      for: 'nodes for pods that wait',
    });
  });

  test('keeps its marks, while one beside it whose pods have room goes', () => {
    const pods = [...on('a', 0, 1), ...on('b', 0, 1), ...on('c', 1, 1)];
    const given = clusterOf([marked('b', {}), marked('c', {}), machine('f')], { pods: [...pods, ...on('f', 1, 4)] });
    expect(becomeOf(given)).toEqual([
      ['b', 'short'],
      ['c', 'remove'],
    ]);
  });
});

describe('a budget of pods that allows no eviction at the moment', () => {
  const web = shape(spec('500m', '1Gi'), { app: 'web' });
  const budget = {
    metadata: { name: 'web', namespace: 'default' },
    spec: { selector: { matchLabels: { app: 'web' } } },
    status: { disruptionsAllowed: 0 },
  };
  const text = 'PodDisruptionBudget web does not allow evicting pod default/s2-b-0000 right now';
  const held = (marks: Marks, others: ReadonlyArray<Machine> = []): DisruptionInput => {
    const pods = [...on('a', 1, 1), ...on('b', 2, 1), ...on('c', 1, 1)];
    const shapes = [large, small, web];
    return clusterOf([marked('b', marks), ...others], { pods, shapes, podDisruptionBudgets: [budget] });
  };

  test('is waited for where a node must go, or something has come for it, for five minutes', () => {
    const waits = { kind: 'wait', for: text, because: new Set(['b']) };
    expect(judged(held({}))).toEqual(waits);
    expect(judged(held({ reason: 'Underutilized', replacedBy: 'claim-a' }))).toEqual(waits);
    expect(judged(held({}), SINCE + 5 * MINUTE)).toEqual({ kind: 'take-back', why: text, because: new Set(['b']) });
    expect(judged(held({ reason: 'Underutilized' }))).toMatchObject({ kind: 'take-back', why: text });
  });

  test('keeps only nodes of its own pods waiting, and none of them where another stays for good', () => {
    expect(becomeOf(held({}, [marked('c', {})]))).toEqual([
      ['b', 'wait'],
      ['c', 'remove'],
    ]);
    const never = { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } };
    expect(becomeOf(held({}, [marked('c', {}, never)]))).toEqual([
      ['c', 'take-back'],
      ['b', 'wait'],
    ]);
  });
});

describe('a node that should have been in use long ago', () => {
  const of = (ageMinutes: number): unknown => {
    const { node, claim } = machine('s', { initialized: false, conditions: [] });
    const creationTimestamp = at(NOW - ageMinutes * MINUTE);
    const starting = { node, claim: { ...claim, metadata: { ...claim.metadata, creationTimestamp } } };
    return judged(clusterOf([marked('b', {}), starting])).kind;
  };

  test('takes none of the pods that move: others are bought for them', () => {
    expect([of(29), of(30)]).toEqual(['wait', 'short']);
  });
});

describe('a replacement that is no more', () => {
  const gone = (annotations: Readonly<Record<string, string>>): Machine => {
    const { node, claim } = machine('n', { initialized: false });
    return { node, claim: { ...claim, metadata: { ...claim.metadata, annotations, deletionTimestamp: at(NOW) } } };
  };
  const failed = { kind: 'take-back', why: 'a replacement has failed', failed: 1 };

  test.each<readonly [string, Machine | null, Marks, object]>([
    ['that somebody has deleted is bought again', gone({}), {}, { kind: 'short' }],
    ['that Azure takes back is', gone({ 'nodewright.dev/interruption': 'Preempt' }), {}, { kind: 'short' }],
    ['that Azure had no capacity for is', null, { unavailable: 'claim-n' }, { kind: 'short' }],
    ['whose machine would not join is not', gone({ 'nodewright.dev/given-up': 'NodeBootFailed' }), {}, failed],
    ['of which nobody knows why is not', null, {}, failed],
    [
      'is not where that has to save money, and nothing else has come',
      gone({}),
      { reason: 'Underutilized' },
      { ...failed },
    ],
  ])('%s', (_, replacement, marks, verdict) => {
    const machines = [marked('b', { replacedBy: 'claim-n', ...marks }), ...(replacement === null ? [] : [replacement])];
    expect(judged(clusterOf(machines))).toMatchObject(verdict);
  });

  test('keeps nothing where the pods have room all the same', () => {
    const pods = [...on('a', 1, 1), ...on('b', 1, 1)];
    expect(judged(clusterOf([marked('b', { replacedBy: 'claim-n' }), gone({})], { pods })).kind).toBe('remove');
  });

  test('lets nobody go before another that is on its way, and what the pods lack is bought meanwhile', () => {
    const marks = { replacedBy: 'claim-n,claim-r' };
    const withRoom = { pods: [...on('a', 1, 1), ...on('b', 1, 1)] };
    const of = (initialized: boolean, parts = {}): unknown => {
      const coming = initialized ? full('r', { cpu: 2 }) : machine('r', { cpu: 2, initialized });
      return judged(clusterOf([marked('b', marks), gone({}), coming], parts)).kind;
    };
    expect([of(false, withRoom), of(true, withRoom), of(false)]).toEqual(['wait', 'remove', 'short']);
  });

  test('that failed by itself fails the set at once, and what boots beside it has not failed', () => {
    const marks = { replacedBy: 'claim-n,claim-r' };
    const coming = machine('r', { cpu: 2, initialized: false, conditions: [] });
    const broken = gone({ 'nodewright.dev/given-up': 'NodeBootFailed' });
    expect(judged(clusterOf([marked('b', marks), broken, coming]))).toMatchObject({
      kind: 'take-back',
      why: 'a replacement has failed',
      failed: 1,
    });
    // What Azure has no capacity for has failed, though it is still there.
    const unavailable = { ...marks, unavailable: 'claim-r' };
    expect(judged(clusterOf([marked('b', unavailable), broken, coming]))).toMatchObject({
      why: 'a replacement has failed',
      failed: 2,
    });
  });

  test('fails no other that boots in its time, though it is too late to buy anew', () => {
    const marks = { replacedBy: 'claim-n,claim-r', unavailable: 'claim-n' };
    const coming = machine('r', { cpu: 2, initialized: false, conditions: [] });
    const ofAt = (minutes: number, parts = {}): unknown =>
      judged(clusterOf([marked('b', marks), coming], parts), SINCE + minutes * MINUTE);
    const withRoom = { pods: [...on('a', 1, 1), ...on('b', 1, 1)] };
    expect([ofAt(5, withRoom), ofAt(10, withRoom)]).toMatchObject([
      { kind: 'wait', for: 'replacements' },
      { kind: 'take-back', why: 'a replacement has failed', failed: 2 },
    ]);
    expect(ofAt(5)).toMatchObject({
      kind: 'take-back',
      why: 'Azure has no capacity for a replacement',
      failed: 1,
    });
  });
});

describe('nodes that go to save money, for which something has come that others have filled', () => {
  const filled = (parts: Parameters<typeof machine>[1] = {}): Machine => full('r', parts);
  const going = { reason: 'Underutilized', replacedBy: 'claim-r' } as const;
  const pods = [...on('a', 0, 1), ...on('b', 0, 1), ...on('r', 1, 3)];
  const replaced = (b: Parameters<typeof machine>[1], r: Parameters<typeof machine>[1]): BegunVerdict =>
    judged(clusterOf([marked('b', going, b), filled(r)], { pods }));

  test('get one more for less than what is left to save', () => {
    expect(replaced({ cpu: 8 }, { cpu: 2 })).toMatchObject({ kind: 'short', shortage: { below: 300_000 } });
  });

  test('stay where one more would cost as much', () => {
    expect(replaced({ cpu: 8 }, { cpu: 4 })).toMatchObject(NO_ROOM);
  });

  test('do not count one that is being deleted as come', () => {
    const leaving = machine('n', { cpu: 4, initialized: false });
    const n = {
      ...leaving,
      claim: { ...leaving.claim, metadata: { ...leaving.claim.metadata, deletionTimestamp: at(NOW) } },
    };
    const both = { ...going, replacedBy: 'claim-r,claim-n' };
    const given = clusterOf([marked('b', both, { cpu: 8 }), filled({ cpu: 2 }), n], { pods });
    expect(judged(given)).toMatchObject({ kind: 'short', shortage: { below: 300_000 } });
  });

  test('stay where spot would follow spot, and where nothing has come for them', () => {
    const types = (capacityType: string): DisruptionInput => {
      const requirements = [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: [capacityType] }];
      const nodePools = [disruptable('general', {}, { requirements })];
      const b = marked('b', going, { cpu: 8, capacityType });
      return clusterOf([b, filled({ cpu: 2, capacityType })], { pods, nodePools });
    };
    expect(judged(types('on-demand'))).toMatchObject({ kind: 'short', shortage: { below: 300_000 } });
    expect(judged(types('spot'))).toMatchObject(NO_ROOM);
    const none = clusterOf([marked('b', { reason: 'Underutilized' }, { cpu: 8 })]);
    expect(judged(none)).toMatchObject(NO_ROOM);
  });
});
