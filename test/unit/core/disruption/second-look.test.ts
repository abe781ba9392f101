import { describe, expect, test } from 'vitest';
import { auditRemoval } from '../../../../shared/core/disruption/audit/audit-removal.ts';
import { areSlow, begunIn, cordoned } from '../../../../shared/core/disruption/second-look/begun.ts';
import {
  judgeBegun,
  judgeInParts,
  type BegunVerdict,
  type SecondLook,
} from '../../../../shared/core/disruption/second-look/judge-begun.ts';
import type { DisruptionInput } from '../../../../shared/core/model/disruption-input.ts';
import type { Nomination } from '../../../../shared/core/model/plan.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { emptyPlan } from '../../../../shared/core/recovery/empty-plan.ts';
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

const DISRUPTED = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };
const SINCE = NOW - 60_000;
const at = (ms: number): string => new Date(ms).toISOString();

/** A node that decision `d` has marked for `reason`. */
function marked(name: string, reason = 'Underutilized', parts: Parameters<typeof machine>[1] = {}): Machine {
  const one = machine(name, {
    ...parts,
    conditions: [
      ...(parts.conditions ?? [CONSOLIDATABLE]),
      { type: 'DisruptionReason', status: 'True', reason, lastTransitionTime: at(SINCE) },
    ],
  });
  return {
    node: { ...one.node, spec: { ...one.node.spec, taints: [DISRUPTED] } },
    claim: { ...one.claim, metadata: { ...one.claim.metadata, annotations: { 'nodewright.dev/disruption': 'd' } } },
  };
}

const shapes = [shape(spec('500m', '1Gi'))];

function look(input: DisruptionInput, changes: Partial<SecondLook> = {}): SecondLook {
  const now = instant(NOW);
  return {
    input,
    now,
    seenMs: NOW,
    currency: 'USD',
    planFor: (asked) => soundPlan(asked, now).plan,
    ...changes,
  };
}

function judged(input: DisruptionInput, changes: Partial<SecondLook> = {}): BegunVerdict {
  const [one] = begunIn(input.provisioning.cluster);
  if (one === undefined) throw new Error('nothing has begun');
  return judgeBegun(one, look(input, changes));
}

const half = (b: Machine, others: ReadonlyArray<Machine> = [], parts: object = {}): DisruptionInput =>
  disruptionInput({
    machines: [machine('a'), b, ...others],
    shapes,
    pods: [...on('a', 0, 3), ...on('b', 0, 3)],
    ...parts,
  });

describe('a node that was marked', () => {
  test('goes where its pods have a place on a node that is in use', () => {
    expect(judged(half(marked('b')))).toMatchObject({
      kind: 'remove',
      removal: { nodes: [{ name: 'b', reason: 'Underutilized' }] },
    });
  });

  test('waits with those that were marked with it, from the last of these marks on', () => {
    const late = marked('c');
    const conditions = (late.claim.status?.conditions ?? []).map((one) =>
      one.type === 'DisruptionReason' ? { ...one, lastTransitionTime: at(SINCE + 2_000) } : one,
    );
    const later = { ...late, claim: { ...late.claim, status: { ...late.claim.status, conditions } } };
    for (const both of [half(marked('b'), [later]), half(later, [marked('b')])]) {
      expect(begunIn(both.provisioning.cluster)).toMatchObject([{ decision: 'd', sinceMs: SINCE + 2_000 }]);
    }
  });

  test('stays where a clock marked it that is ahead by more than it would wait', () => {
    const [one] = begunIn(half(marked('b')).provisioning.cluster);
    if (one === undefined) throw new Error('nothing has begun');
    const markedAt = (sinceMs: number) => judgeBegun({ ...one, sinceMs }, look(half(marked('b'))));
    expect(markedAt(NOW + 10 * 60_000)).toEqual({ kind: 'wait', for: 'the scheduler to see the taint' });
    expect(markedAt(NOW + 10 * 60_000 + 1)).toEqual({
      kind: 'take-back',
      why: 'it was marked by a clock that is ahead',
    });
  });

  test('waits for a view from five seconds after the mark, to the millisecond', () => {
    expect(judged(half(marked('b')), { seenMs: SINCE + 4_999 })).toMatchObject({ kind: 'wait' });
    expect(judged(half(marked('b')), { seenMs: SINCE + 5_000 })).toMatchObject({ kind: 'remove' });
  });

  test.each([
    ['while it is being deleted', { node: { deletionTimestamp: at(NOW) } }],
    ['while its claim is', { claim: { deletionTimestamp: at(NOW) } }],
  ])('is judged no more %s', (_, { node = {}, claim = {} }: { node?: object; claim?: object }) => {
    const one = marked('b');
    const going: Machine = {
      node: { ...one.node, metadata: { ...one.node.metadata, ...node } },
      claim: { ...one.claim, metadata: { ...one.claim.metadata, ...claim } },
    };
    expect(begunIn(half(going).provisioning.cluster)).toEqual([]);
  });

  test.each<[string, number, number | null, ReadonlyArray<object>, string]>([
    ['goes though a pod has left it since', SINCE + 10_000, 1_000, [], 'remove'],
    ['goes where one left it just before, and that was told later', SINCE - 1_000, 1_000, [], 'remove'],
    ['stays where one came before, and it is not quiet yet', SINCE - 10_000, SINCE - 12_000, [], 'take-back'],
    ['stays where that has not begun to run', SINCE - 10_000, null, [], 'take-back'],
    ['goes where it is quiet', SINCE - 10_000, SINCE - 12_000, [CONSOLIDATABLE], 'remove'],
  ])('%s', (_, eventMs, startedAtMs, conditions, verdict) => {
    const one = marked('b', 'Underutilized', { conditions: conditions as ReadonlyArray<typeof CONSOLIDATABLE> });
    const claim = { ...one.claim, status: { ...one.claim.status, lastPodEventTime: at(eventMs) } };
    const nodePools = [disruptable('general', { consolidateAfter: '15s' })];
    const pods = [
      ...on('a', 0, 3),
      ...on('b', 0, 2),
      ...on('b', 0, 1).map((pod) => ({ ...pod, uid: 'last', startedAtMs })),
    ];
    expect(judged(half({ ...one, claim }, [], { nodePools, pods })).kind).toBe(verdict);
  });

  test('waits where its removal breaks a rule of the audit, and stays in the end', () => {
    // What provisioning says has places for pods of other names: its planner is at fault.
    const planFor: SecondLook['planFor'] = (asked) => ({ ...soundPlan(asked, instant(NOW)).plan, nominations: [] });
    const refused = judged(half(marked('b')), { planFor });
    expect(refused).toMatchObject({ kind: 'refused' });
    if (refused.kind !== 'refused') throw new Error('it is refused');
    expect(refused.findings.map(({ rule }) => rule)).toEqual(['pod-lost', 'pod-lost', 'pod-lost']);
    const late = instant(SINCE + 10 * 60_000);
    expect(judged(half(marked('b')), { planFor, now: late, seenMs: late })).toEqual({
      kind: 'take-back',
      why: 'its removal breaks a rule of the audit',
    });
  });

  test.each([
    [
      'a node that starts',
      half(marked('b'), [], { machines: [machine('a', { initialized: false }), marked('b')] }),
      {},
      '1 nodes to start',
    ],
    ['a newer view', half(marked('b')), { seenMs: SINCE }, 'the scheduler to see the taint'],
  ])('waits for %s for ten minutes, and then stays', (_, given, changes, text) => {
    const almost = instant(SINCE + 10 * 60_000 - 1);
    expect(judged(given, { now: almost, seenMs: almost, ...changes })).toEqual({ kind: 'wait', for: text });
    const late = instant(SINCE + 10 * 60_000);
    expect(judged(given, { now: late, seenMs: late, ...changes })).toEqual({
      kind: 'take-back',
      why: `after 10 minutes it still waited for ${text}`,
    });
  });

  test('that must go does not wait for pods that have just come: their room is that of its pods', () => {
    const expired = { claimSpec: { expireAfter: '1h' }, conditions: [CONSOLIDATABLE] };
    const old = marked('b', 'Expired', expired);
    const born = {
      ...old,
      claim: { ...old.claim, metadata: { ...old.claim.metadata, creationTimestamp: at(NOW - 7_200_000) } },
    };
    const arrivals = on('a', 0, 5).map((pod, index) => ({
      ...pod,
      // Before those of the node by name, and so first in turn.
      uid: `a${index}`,
      name: `a${index}`,
      nodeName: null,
      unschedulable: true,
      running: false,
    }));
    const pods = [...on('a', 0, 3), ...on('b', 0, 3), ...arrivals];
    expect(judged(half(born, [], { pods }))).toMatchObject({ kind: 'remove' });
    expect(judged(half(marked('b'), [], { pods }))).toMatchObject({ kind: 'take-back' });
  });
});

describe('what is about to be removed is audited anew', () => {
  const nominated = (pods: ReadonlyArray<string>, name: string): Nomination => ({
    target: { kind: 'node', name },
    pods: pods.map((uid) => ({ uid, name: uid })),
  });
  const uids = ['s0-b-0000', 's0-b-0001', 's0-b-0002'];
  const rulesOf = (
    given: DisruptionInput,
    to: string,
    nodes = [{ name: 'b', reason: 'Underutilized' as const }],
  ): ReadonlyArray<string> => {
    const plan = { ...emptyPlan(), nominations: [nominated(uids, to)] };
    return [...new Set(auditRemoval({ nodes, plan }, given, instant(NOW)).map(({ rule }) => rule))];
  };
  const plain = half(machine('b'));

  test('and what is as it was goes', () => {
    expect(rulesOf(plain, 'a')).toEqual([]);
  });

  test.each<readonly [string, DisruptionInput, string, ReadonlyArray<string>]>([
    ['a pod is to go to a node that goes itself', plain, 'b', ['target']],
    ['a pod is to go to a node that is not there', plain, 'z', ['target']],
    [
      'a pod is to go to a node that is not in use yet',
      half(machine('b'), [machine('c', { initialized: false })]),
      'c',
      ['target'],
    ],
    ['a pod is to go to a node that is marked to go', half(machine('b'), [marked('c')]), 'c', ['target']],
    [
      'it says do-not-disrupt',
      half(machine('b', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })),
      'a',
      ['blocked'],
    ],
    [
      'its pool is held back',
      half(machine('b'), [], { disruption: { brakes: new Map([['general', { kind: 'paused', until: null }]]) } }),
      'a',
      ['blocked'],
    ],
    [
      'another of two nodes is not ready, and half may go',
      half(machine('b'), [machine('c', { nodeConditions: [{ type: 'Ready', status: 'False' }] })], {
        nodePools: [disruptable('general', { budgets: [{ nodes: '1' }] })],
      }),
      'a',
      ['budget'],
    ],
    [
      'another is marked to go, and one may',
      half(machine('b'), [marked('c')], { nodePools: [disruptable('general', { budgets: [{ nodes: '1' }] })] }),
      'a',
      ['budget'],
    ],
  ])('where %s, it stays', (_, given, to, rules) => {
    expect(rulesOf(given, to)).toEqual(rules);
  });

  test('where a pod is to go to a node that is being deleted, it stays', () => {
    const c = machine('c', { nodeParts: { deletionTimestamp: at(NOW) } });
    expect(rulesOf(half(machine('b'), [c]), 'c')).toEqual(['target']);
  });

  test('and a pod that is going by itself needs no place', () => {
    const pods = [...on('a', 0, 3), ...on('b', 0, 3), ...on('b', 0, 1, { uid: 'ends', name: 'ends', deleting: true })];
    expect(rulesOf(half(machine('b'), [], { pods }), 'a')).toEqual([]);
  });

  test('and each pod that has to move must have a place', () => {
    const plan = { ...emptyPlan(), nominations: [nominated(uids.slice(1), 'a')] };
    const found = auditRemoval({ nodes: [{ name: 'b', reason: 'Underutilized' }], plan }, plain, instant(NOW));
    expect(found.map(({ text }) => text)).toEqual(['pod s0-b-0000 has no place']);
  });
});

describe('of several nodes that were marked together', () => {
  const drifted = { conditions: [{ type: 'Drifted', status: 'True' }] };
  const kept = { ...shape(spec('1500m', '1Gi')), annotations: { 'karpenter.sh/do-not-disrupt': 'true' } };

  /** What becomes of each, by name. */
  function parts(input: DisruptionInput): unknown {
    const [one] = begunIn(input.provisioning.cluster);
    if (one === undefined) throw new Error('nothing has begun');
    return judgeInParts(one, look(input)).flatMap((part) =>
      part.one.candidates.map(({ node }) => [node.metadata.name, part.verdict.kind]),
    );
  }

  /** `b`, `c` and `d` are marked; a pod on `c` must not be disrupted, and what is on `d` has no room elsewhere. */
  const three = (reason: string, parts_: Parameters<typeof machine>[1], replacement?: string): DisruptionInput => {
    const going = ['b', 'c', 'd'].map((name) => marked(name, reason, parts_));
    const claims = going.map(({ node, claim }) => ({
      node,
      claim:
        replacement === undefined
          ? claim
          : {
              ...claim,
              metadata: {
                ...claim.metadata,
                annotations: { ...claim.metadata.annotations, 'nodewright.dev/replaced-by': replacement },
              },
            },
    }));
    const came = machine('a', { cpu: 8, conditions: [{ type: 'Initialized', status: 'True' }] });
    return disruptionInput({
      machines: [came, ...claims],
      shapes: [...shapes, kept, shape(spec('3500m', '1Gi'))],
      pods: [...on('a', 2, 1), ...on('b', 0, 2), ...on('c', 1, 1), ...on('d', 2, 2)],
      nodePools: [disruptable('general', {}, { limits: { cpu: '20' } })],
    });
  };

  test('those go that can, and each of the others stays for a reason of its own', () => {
    expect(parts(three('Drifted', drifted))).toEqual([
      ['c', 'take-back'],
      ['d', 'take-back'],
      ['b', 'remove'],
    ]);
  });

  test('that must go the same is so where something has come in their place', () => {
    expect(parts(three('Drifted', drifted, 'claim-a'))).toContainEqual(['b', 'remove']);
  });

  describe('and of whose replacements some do not come', () => {
    const late = machine('late', { cpu: 8, initialized: false });
    const verdicts = (own: string, replacedBy: string, reason = 'Drifted'): unknown => {
      const given = three(reason, reason === 'Drifted' ? drifted : {}, replacedBy);
      const { cluster } = given.provisioning;
      const withLate = {
        ...cluster,
        nodes: [...cluster.nodes, late.node],
        nodeClaims: [...cluster.nodeClaims, late.claim],
        pods: cluster.pods.filter(({ nodeName }) => nodeName !== 'c'),
      };
      const input = { ...given, provisioning: { ...given.provisioning, cluster: withLate } };
      const [one] = begunIn(cluster);
      if (one === undefined) throw new Error('nothing has begun');
      const now = instant(own === 'late' ? SINCE + 10 * 60_000 : NOW);
      return judgeInParts(one, look(input, { now, seenMs: now })).map((part) => [
        part.one.candidates.map(({ node }) => node.metadata.name).join(),
        part.verdict.kind,
        part.verdict.kind === 'take-back' ? [part.verdict.why, part.verdict.failed] : null,
      ]);
    };

    test('all wait for those that start, also where one has failed already', () => {
      const waiting = [['b,c,d', 'wait', null]];
      expect(verdicts('soon', 'claim-a,claim-late')).toEqual(waiting);
      expect(verdicts('soon', 'claim-a,claim-late,gone')).toEqual(waiting);
    });

    test('those stay, after ten minutes, whose pods were to go to one that takes too long, and the others go', () => {
      expect(verdicts('late', 'claim-a,claim-late')).toEqual([
        ['d', 'take-back', ['its replacement was not ready within 10 minutes', 1]],
        ['b,c', 'remove', null],
      ]);
    });

    test('all stay where none has come, or where they go for money', () => {
      const all = [['b,c,d', 'take-back', ['its replacement was not ready within 10 minutes', 1]]];
      expect(verdicts('late', 'claim-late')).toEqual(all);
      expect(verdicts('late', 'claim-a,claim-late', 'Underutilized')).toEqual(all);
      const failed = [['b,c,d', 'take-back', ['a replacement has failed', 1]]];
      expect(verdicts('soon', 'claim-a,gone', 'Underutilized')).toEqual(failed);
      expect(verdicts('soon', 'gone')).toEqual(failed);
    });
  });

  test('those stay whose pods need the replacement that has failed, and the others go', () => {
    const given = three('Drifted', drifted, 'claim-a,gone');
    const [one] = begunIn(given.provisioning.cluster);
    if (one === undefined) throw new Error('nothing has begun');
    // The pool may grow again, so that the pods of `d` could have another node.
    const cluster = { ...given.provisioning.cluster, nodePools: [disruptable()] };
    const input = { ...given, provisioning: { ...given.provisioning, cluster } };
    expect(
      judgeInParts(one, look(input)).map((part) => [part.verdict.kind, part.one.candidates.length, part.verdict]),
    ).toMatchObject([
      ['take-back', 1, { why: expect.stringContaining('do-not-disrupt') }],
      ['take-back', 1, { why: 'a replacement has failed', failed: 1 }],
      ['remove', 1, {}],
    ]);
  });

  test('that go for money and for which something has come none goes alone: the others may not save what that costs', () => {
    expect(parts(three('Underutilized', {}, 'claim-a'))).toEqual([
      ['b', 'take-back'],
      ['c', 'take-back'],
      ['d', 'take-back'],
    ]);
    expect(parts(three('Underutilized', {}))).toContainEqual(['b', 'remove']);
  });
});

describe('what has been begun', () => {
  const begun = (...machines: ReadonlyArray<Machine>) =>
    begunIn(disruptionInput({ machines, shapes, pods: [] }).provisioning.cluster).map(({ decision, candidates }) => [
      decision,
      candidates.map(({ node }) => node.metadata.name),
    ]);
  const reasonOnly = (name: string): Machine => {
    const { node, claim } = marked(name);
    const { annotations: _, ...metadata } = claim.metadata;
    return { node, claim: { ...claim, metadata } };
  };
  const decisionOnly = (name: string): Machine => {
    const { node, claim } = marked(name);
    return { node, claim: { ...claim, status: { ...claim.status, conditions: [CONSOLIDATABLE] } } };
  };

  test('is what was marked by one decision, and apart from it what is marked in part', () => {
    const foreign = { node: machine('f').node, claim: machine('z').claim };
    expect(begun(marked('b'), machine('a'), marked('c'), foreign)).toEqual([['d', ['b', 'c']]]);
    expect(begun(reasonOnly('b'))).toEqual([[null, ['b']]]);
    expect(begun(decisionOnly('b'))).toEqual([[null, ['b']]]);
    expect(begun(marked('b'), reasonOnly('c'))).toEqual([
      ['d', ['b']],
      [null, ['c']],
    ]);
  });

  test('keeps others from being decided on for two minutes, until the last of it is that old', () => {
    const [one] = begunIn(half(marked('b')).provisioning.cluster);
    if (one === undefined) throw new Error('nothing has begun');
    const since = (ms: number) => ({ ...one, sinceMs: ms });
    expect(areSlow([], NOW)).toBe(true);
    expect(areSlow([since(NOW - 120_000)], NOW)).toBe(true);
    expect(areSlow([since(NOW - 119_999)], NOW)).toBe(false);
    expect(areSlow([since(NOW - 120_000), since(NOW)], NOW)).toBe(false);
  });

  test('is closed to new pods in place of its mark, and other nodes are as they are', () => {
    const gpu = { key: 'gpu', effect: 'NoSchedule' };
    const { node } = marked('b');
    const tainted = { ...node, spec: { ...node.spec, taints: [gpu, DISRUPTED] } };
    const other = machine('a').node;
    const [b, a] = cordoned([tainted, other], new Set(['b']));
    expect(b?.spec?.taints).toEqual([gpu, { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }]);
    expect(a).toBe(other);
  });

  test('stays where no decision says so', () => {
    expect(judged(half(reasonOnly('b')))).toEqual({ kind: 'take-back', why: 'no decision removes it' });
  });

  test('waits a minute for all of it to be marked, and stays then', () => {
    const open = { node: machine('c').node, claim: marked('c').claim };
    const given = half(marked('b'), [open]);
    expect(judged(given, { now: instant(SINCE + 59_999) })).toEqual({ kind: 'wait', for: 'all nodes to be tainted' });
    expect(judged(given, { now: instant(SINCE + 60_000) })).toEqual({
      kind: 'take-back',
      why: 'it was only partly marked for removal',
    });
  });

  test('leaves room for a pod that waits where it is promised that room, though it must go', () => {
    const drifted = {
      conditions: [CONSOLIDATABLE, { type: 'Drifted', status: 'True', lastTransitionTime: at(SINCE) }],
    };
    const promising = (pods: ReadonlyArray<string>): DisruptionInput =>
      half(marked('b', 'Drifted', drifted), [], {
        shapes: [...shapes, shape(spec('2', '1Gi'))],
        pods: [...on('a', 0, 3), ...on('b', 0, 3), ...on('', 1, 1, { uid: 'waits', nodeName: null })],
        inFlight: new Map([['claim-a', { pods }]]) as never,
      });
    expect(judged(promising([]))).toMatchObject({ kind: 'remove' });
    expect(judged(promising(['waits']))).toMatchObject({ kind: 'short', why: 'its pods would need one more new node' });
  });

  test('stays where its pods would need another node', () => {
    const given = disruptionInput({
      machines: [machine('a'), marked('b')],
      shapes: [shape(spec('3500m', '1Gi'))],
      pods: [...on('a', 0, 1), ...on('b', 0, 1)],
    });
    expect(judged(given)).toMatchObject({ kind: 'take-back', why: 'its pods would need one more new node', failed: 0 });
  });

  test('goes as empty with pods whose evictions count as nothing, as it did at first, where they have a place', () => {
    const annotations = { 'controller.kubernetes.io/pod-deletion-cost': '-2147483647' };
    const cheap = { ...shape(spec('500m', '1Gi')), annotations };
    const parts = { shapes: [...shapes, cheap], pods: [...on('a', 0, 3), ...on('b', 1, 3)] };
    expect(judged(half(marked('b', 'Empty'), [], parts))).toMatchObject({
      kind: 'remove',
      removal: { nodes: [{ name: 'b', reason: 'Empty' }] },
    });
  });

  test('as empty stays when pods have come to it, also beside what goes for another reason', () => {
    const why = { kind: 'take-back', why: 'new pods run on it' };
    expect(judged(half(marked('b', 'Empty')))).toMatchObject(why);
    const both = disruptionInput({
      machines: [machine('a', { cpu: 8 }), marked('b'), marked('c', 'Empty')],
      shapes,
      pods: [...on('b', 0, 1), ...on('c', 0, 1)],
    });
    expect(judged(both)).toMatchObject({ ...why, because: new Set(['c']) });
  });
});

describe('of nodes that stay for one reason each', () => {
  const keeping = { 'karpenter.sh/do-not-disrupt': 'true' };
  const parts = (count: number, own: number) => {
    const names = Array.from({ length: count }, (_, index) => `n${String(index).padStart(2, '0')}`);
    const given = disruptionInput({
      machines: [machine('a', { cpu: 8 }), ...names.map((name) => marked(name))],
      shapes: [...shapes, { ...shape(spec('100m', '64Mi')), annotations: keeping }],
      pods: names.slice(0, own).flatMap((name) => on(name, 1, 1)),
    });
    const [one] = begunIn(given.provisioning.cluster);
    if (one === undefined) throw new Error('nothing has begun');
    return judgeInParts(one, look(given)).map((part) => [part.verdict.kind, part.one.candidates.length]);
  };

  test('each stays by itself, and the others go', () => {
    expect(parts(1, 1)).toEqual([['take-back', 1]]);
    expect(parts(3, 2)).toEqual([
      ['take-back', 1],
      ['take-back', 1],
      ['remove', 1],
    ]);
  });

  test('so many are looked at one by one, and the rest stays with the eighth', () => {
    const stays: ReadonlyArray<unknown> = ['take-back', 1];
    expect(parts(8, 7)).toEqual([...Array.from({ length: 7 }, () => stays), ['remove', 1]]);
    expect(parts(12, 10)).toEqual([...Array.from({ length: 7 }, () => stays), ['take-back', 5]]);
  });
});

describe('what provisioning says of the pods of a node that was marked', () => {
  const uids = on('b', 0, 3);
  const reference = (uid: string) => ({ name: uid, namespace: 'default', uid });
  const own = uids.map(({ uid }) => reference(uid));
  const others = ['x', 'y'].map(reference);
  const to = (name: string, pods: ReadonlyArray<object> = own) => ({ target: { kind: 'node', name }, pods });
  const kinds = (given: DisruptionInput, plan: object): unknown => {
    const planFor = (() => ({ ...emptyPlan(), ...plan })) as unknown as SecondLook['planFor'];
    const verdict = judged(given, { planFor });
    return verdict.kind === 'wait' ? verdict.for : verdict.kind;
  };
  const plain = half(marked('b'));

  test('is about these pods alone: others may wait, or get nodes', () => {
    const home = { nominations: [to('a')] };
    expect(kinds(plain, home)).toBe('remove');
    expect(kinds(plain, { ...home, left: others.map((pod) => ({ pod, refusals: [] })) })).toBe('remove');
    expect(kinds(plain, { ...home, claims: [{ pods: others }] })).toBe('remove');
    expect(kinds(plain, { ...home, left: own.map((pod) => ({ pod, refusals: [] })) })).toBe('take-back');
    expect(kinds(plain, { ...home, claims: [{ pods: [...others, ...own] }] })).toBe('take-back');
  });

  test('counts where one of them is to come to a node that starts, whoever else does', () => {
    const starts = half(marked('b'), [machine('s', { initialized: false })]);
    expect(kinds(starts, { nominations: [to('a'), to('s', others)] })).toBe('remove');
    expect(kinds(starts, { nominations: [to('a', own.slice(1)), to('s', [...others, ...own.slice(0, 1)])] })).toBe(
      '1 nodes to start',
    );
  });

  describe('where they are to come to a node that is kept for others', () => {
    const reserved = (): Machine => {
      const { node, claim } = machine('n');
      const taints = [{ key: 'nodewright.dev/reserved', effect: 'NoSchedule' }];
      return { node: { ...node, spec: { ...node.spec, taints } }, claim };
    };
    const promising = (pods: ReadonlyArray<string>) => ({ inFlight: new Map([['claim-n', { pods }]]) as never });
    const home = { nominations: [to('n')] };

    test('waits, unless it is kept for all of them', () => {
      expect(kinds(half(marked('b'), [machine('n')]), home)).toBe('remove');
      expect(kinds(half(marked('b'), [reserved()]), home)).toBe('1 nodes to start');
      expect(kinds(half(marked('b'), [reserved()], promising(own.map(({ uid }) => uid))), home)).toBe('remove');
      const shared = [...own.slice(1), ...others].map(({ uid }) => uid);
      expect(kinds(half(marked('b'), [reserved()], promising(shared)), home)).toBe('1 nodes to start');
      // Which of them it was bought for is all the same.
      expect(kinds(half(marked('b'), [reserved()], promising(own.slice(1).map(({ uid }) => uid))), home)).toBe(
        'remove',
      );
      const beside = { nominations: [to('a'), to('n', others)] };
      expect(kinds(half(marked('b'), [reserved()]), beside)).toBe('remove');
    });

    test('goes where those have come to it that are not of its own set', () => {
      const missing = own.slice(1).map(({ uid }) => uid);
      const pods = [...on('a', 0, 3), ...on('b', 0, 3), ...on('n', 0, 1, { uid: 'x' })];
      const given = (promised: ReadonlyArray<string>) =>
        half(marked('b'), [reserved()], { pods, ...promising(promised) });
      expect(kinds(given([...missing, 'x']), home)).toBe('remove');
      expect(kinds(given([...missing, 'x', 'y']), home)).toBe('1 nodes to start');
      // Nobody is missing: it is open in a moment.
      expect(kinds(given(['x']), home)).toBe('1 nodes to start');
    });

    test('goes where that has come for these very pods', () => {
      const { node, claim } = marked('b');
      const annotations = { ...claim.metadata.annotations, 'nodewright.dev/replaced-by': 'claim-n' };
      const replaced = { node, claim: { ...claim, metadata: { ...claim.metadata, annotations } } };
      const came = reserved();
      const conditions = [CONSOLIDATABLE, { type: 'Initialized', status: 'True' }];
      const ready = { ...came, claim: { ...came.claim, status: { ...came.claim.status, conditions } } };
      expect(kinds(half(replaced, [ready]), home)).toBe('remove');
      const givenUp = { annotations: { 'nodewright.dev/given-up': 'NodeBootFailed' }, deletionTimestamp: at(NOW) };
      const going = { ...ready.claim, metadata: { ...ready.claim.metadata, ...givenUp } };
      expect(kinds(half(replaced, [{ node: ready.node, claim: going }]), home)).toBe('take-back');
    });
  });
});

describe('nodes that were begun together', () => {
  const two = (nodes: string, reason = 'Underutilized') =>
    disruptionInput({
      machines: [machine('a', { cpu: 8 }), marked('b', reason), marked('c', reason)],
      shapes,
      pods: reason === 'Empty' ? [] : [...on('b', 0, 1), ...on('c', 0, 1)],
      nodePools: [disruptable('general', { budgets: [{ nodes }] })],
    });

  test('wait for budgets that let fewer go by now', () => {
    expect(judged(two('2'))).toMatchObject({ kind: 'remove' });
    expect(judged(two('1'))).toEqual({
      kind: 'wait',
      for: 'the budgets of NodePool general to allow this many removals',
    });
  });

  test('wait for budgets that let fewer go for the reason of one of them, whatever others allow', () => {
    const drifted = {
      conditions: [CONSOLIDATABLE, { type: 'Drifted', status: 'True', lastTransitionTime: at(SINCE) }],
    };
    const both = (nodes: string) =>
      disruptionInput({
        machines: [machine('a', { cpu: 8 }), marked('b'), marked('c', 'Underutilized', drifted)],
        shapes,
        pods: [...on('b', 0, 1), ...on('c', 0, 1)],
        nodePools: [disruptable('general', { budgets: [{ nodes: '100%' }, { nodes, reasons: ['Drifted'] }] })],
      });
    expect(judged(both('2')), 'also what has drifted since').toMatchObject({ kind: 'remove' });
    expect(judged(both('1'))).toMatchObject({ kind: 'wait', for: expect.stringContaining('budgets of NodePool') });
  });

  describe('in parts', () => {
    const drifted = {
      conditions: [CONSOLIDATABLE, { type: 'Drifted', status: 'True', lastTransitionTime: at(SINCE) }],
    };
    const keeping = { 'karpenter.sh/do-not-disrupt': 'true' };
    /** `b` and `c`, with a pod each, and no other node that has room. */
    function parts(own: object, others: object = {}): unknown {
      const given = disruptionInput({
        machines: [marked('b', 'Drifted', drifted), marked('c', 'Drifted', drifted)],
        shapes: [...shapes, { ...shape(spec('100m', '64Mi'), { app: 'web' }), ...own }],
        pods: [...on('b', 1, 1), ...on('c', 0, 1)],
        ...others,
      });
      const [one] = begunIn(given.provisioning.cluster);
      if (one === undefined) throw new Error('nothing has begun');
      return judgeInParts(one, look(given)).map((part) => [
        part.verdict.kind,
        part.one.candidates.map(({ node }) => node.metadata.name),
      ]);
    }

    test('may have the room of those that stay, whose marks come off', () => {
      expect(parts({ annotations: keeping })).toEqual([
        ['take-back', ['b']],
        ['remove', ['c']],
      ]);
    });

    test('may not have the room of those that wait, and go later', () => {
      const budget = {
        metadata: { name: 'web', namespace: 'default' },
        spec: { selector: { matchLabels: { app: 'web' } } },
        status: { disruptionsAllowed: 0 },
      };
      expect(parts({}, { podDisruptionBudgets: [budget] })).toEqual([
        ['wait', ['b']],
        ['short', ['c']],
      ]);
    });
  });

  test('as empty go while no pod has come', () => {
    expect(judged(two('2', 'Empty'))).toMatchObject({ kind: 'remove' });
  });

  test('stay where the reason has passed for which they had to go', () => {
    expect(judged(two('2', 'Drifted'))).toMatchObject({ kind: 'take-back', why: 'it is no longer Drifted' });
  });

  test('as one too many stay where they have to go for another reason by now, as nothing comes in their place', () => {
    const old = (name: string): Machine => {
      const { node, claim } = marked(name, 'StaticSurplus', { claimSpec: { expireAfter: '1h' } });
      return { node, claim: { ...claim, metadata: { ...claim.metadata, creationTimestamp: at(NOW - 7_200_000) } } };
    };
    const wanting = (replicas: number) =>
      disruptionInput({
        machines: [machine('a', { cpu: 8 }), old('b'), old('c')],
        shapes,
        pods: [...on('a', 0, 2), ...on('b', 0, 1), ...on('c', 0, 1)],
        nodePools: [{ ...disruptable(), spec: { ...disruptable().spec, replicas } }],
      });
    expect(judged(wanting(1))).toMatchObject({ kind: 'remove' });
    expect(judged(wanting(3))).toMatchObject({ kind: 'take-back', why: 'it is no longer StaticSurplus' });
  });

  test('as one too many, and old by now, stay for what keeps such a node, not for their age', () => {
    const parts = { claimSpec: { expireAfter: '1h' }, annotations: { 'karpenter.sh/do-not-disrupt': 'true' } };
    const { node, claim } = marked('b', 'StaticSurplus', parts);
    const aged = { ...claim, metadata: { ...claim.metadata, creationTimestamp: at(NOW - 7_200_000) } };
    const input = disruptionInput({
      machines: [machine('a', { cpu: 8 }), { node, claim: aged }],
      shapes,
      pods: on('a', 0, 2),
      nodePools: [{ ...disruptable(), spec: { ...disruptable().spec, replicas: 1 } }],
    });
    expect(judged(input)).toMatchObject({ kind: 'take-back', why: expect.stringContaining('do-not-disrupt') });
  });

  test('as drifted ask budgets and pauses, though with their replacement there they are one too many', () => {
    const drifted = {
      conditions: [CONSOLIDATABLE, { type: 'Drifted', status: 'True', lastTransitionTime: at(SINCE) }],
    };
    const input = disruptionInput({
      machines: [marked('b', 'Drifted', drifted), machine('r')],
      shapes,
      pods: [],
      nodePools: [
        {
          ...disruptable('general', { budgets: [{ nodes: '0' }] }),
          spec: { ...disruptable('general', { budgets: [{ nodes: '0' }] }).spec, replicas: 1 },
        },
      ],
    });
    expect(judged(input)).toMatchObject({ kind: 'wait', for: expect.stringContaining('budgets of NodePool general') });
  });
});
