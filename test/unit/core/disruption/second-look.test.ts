import { describe, expect, test } from 'vitest';
import { auditRemoval } from '../../../../shared/core/disruption/audit/audit-removal.ts';
import { begunIn } from '../../../../shared/core/disruption/second-look/begun.ts';
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
import { shape, spec } from '../build.ts';
import { CONSOLIDATABLE, disruptable, disruptionInput, machine, NOW, on, type Machine } from './build-disruption.ts';

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
