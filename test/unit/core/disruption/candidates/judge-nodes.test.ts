import { describe, expect, test } from 'vitest';
import { judgeNodes } from '../../../../../shared/core/disruption/candidates/judge-nodes.ts';
import type { Condition } from '../../../../../shared/kubernetes/manifest.ts';
import { instant } from '../../../../../shared/core/quantity/units.ts';
import { pool, shape, size, spec } from '../../../../kit/core/build.ts';
import {
  CONSOLIDATABLE,
  disruptable,
  disruptionInput,
  machine,
  NOW,
  on,
  type Machine,
} from '../../../../kit/core/build-disruption.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const at = (ms: number): string => new Date(ms).toISOString();
const condition = (type: string, sinceMs?: number, status = 'True'): Condition => ({
  type,
  status,
  ...(sinceMs === undefined ? {} : { lastTransitionTime: at(sinceMs) }),
});

const DO_NOT_DISRUPT = { 'karpenter.sh/do-not-disrupt': 'true' };
const plain = shape(spec('500m', '1Gi'));
const kept = { ...plain, annotations: DO_NOT_DISRUPT };
const shapes = [plain, kept, shape(spec('500m', '1Gi', { resourceClaims: [{ name: 'g', resourceClaimName: 'g' }] }))];

/** What is judged of `a`, and no more than that. */
function verdict(one: Machine, parts: Partial<Parameters<typeof disruptionInput>[0]> = {}): unknown {
  const given = disruptionInput({ machines: [one], shapes, pods: on('a', 0, 1), ...parts });
  const found = judgeNodes(given, instant(NOW)).find(({ name }) => name === 'a')?.verdict;
  if (found === undefined) return null;
  if (found.kind === 'stays') return found.reason;
  return found.kind === 'may' ? found.reason : [found.reason, found.sinceMs];
}

type Metadata = Partial<Machine['claim']['metadata']>;
const claimed = (one: Machine, metadata: Metadata, status: Partial<Machine['claim']['status']> = {}): Machine => ({
  node: one.node,
  claim: {
    ...one.claim,
    metadata: { ...one.claim.metadata, ...metadata },
    status: { ...one.claim.status, ...status },
  },
});
const born = (hoursAgo: number, parts: Parameters<typeof machine>[1] = {}) =>
  claimed(machine('a', parts), { creationTimestamp: at(NOW - hoursAgo * HOUR) });
const lives = { claimSpec: { expireAfter: '2h' } };

describe('a node must go', () => {
  test('once its claim is as old as it is to get, from then on', () => {
    expect(verdict(born(2, lives))).toEqual(['Expired', NOW]);
    expect(verdict(born(3, lives))).toEqual(['Expired', NOW - HOUR]);
    expect(verdict(born(1.99, lives))).toBe('Underutilized');
    expect(verdict(born(3))).toBe('Underutilized');
    expect(verdict(born(3, { claimSpec: { expireAfter: 'Never' } }))).toBe('Underutilized');
    expect(verdict(machine('a', lives)), 'where nobody knows how old it is').toBe('Underutilized');
  });

  test('when it has drifted, since then', () => {
    expect(verdict(machine('a', { conditions: [condition('Drifted', NOW - HOUR)] }))).toEqual(['Drifted', NOW - HOUR]);
    expect(verdict(machine('a', { conditions: [condition('Drifted')] }))).toEqual(['Drifted', 0]);
    expect(verdict(machine('a', { conditions: [condition('Drifted', NOW, 'False'), CONSOLIDATABLE] }))).toBe(
      'Underutilized',
    );
  });

  test('when it is one too many of a pool with a fixed number, and stays else', () => {
    const fixed = (replicas: number) => ({
      nodePools: [{ ...disruptable(), spec: { ...disruptable().spec, replicas } }],
    });
    const static_ = { kind: 'static-pool', nodePool: 'general' };
    expect(verdict(machine('a'), fixed(0))).toEqual(['StaticSurplus', 0]);
    expect(verdict(machine('a'), fixed(1))).toEqual(static_);
    expect(verdict(machine('a', { annotations: DO_NOT_DISRUPT }), fixed(0))).toEqual({ kind: 'do-not-disrupt' });
    const patient = machine('a', { claimSpec: { terminationGracePeriod: '1h' } });
    expect(verdict(patient, { ...fixed(0), pods: on('a', 1, 1) })).toMatchObject({ kind: 'pod-do-not-disrupt' });
    const aged = born(3, lives);
    expect(verdict(aged, fixed(0)), 'though it is old: nothing comes in its place').toEqual(['StaticSurplus', 0]);
    expect(verdict(born(3, { ...lives, annotations: DO_NOT_DISRUPT }), fixed(0)), 'unless it may stay').toEqual([
      'Expired',
      NOW - HOUR,
    ]);
    const drifted = machine('a', { conditions: [condition('Drifted')] });
    expect(verdict(drifted, fixed(0))).toEqual(['StaticSurplus', 0]);
    const { node, claim } = aged;
    const unused = {
      claim,
      node: {
        ...node,
        metadata: { ...node.metadata, labels: { ...node.metadata.labels, 'karpenter.sh/initialized': '' } },
      },
    };
    expect(verdict(unused, fixed(0)), 'nor where it is not in use').toEqual(['Expired', NOW - HOUR]);
    const closed = {
      policy: { gates: { nodeOverlay: true, staticCapacity: false, capacityBuffer: true, reservedCapacity: true } },
    };
    expect(verdict(machine('a'), { ...fixed(0), ...closed }), 'while the gate is closed').toEqual(static_);
  });

  test.each([
    ['as expired, whatever it or its pods say', born(2, { ...lives, annotations: DO_NOT_DISRUPT }), 'Expired'],
    ['as expired, though it never got into use', born(2, { ...lives, initialized: false }), 'Expired'],
  ])('%s', (_, one, reason) => {
    expect(verdict(one, { pods: on('a', 1, 1) })).toEqual([reason, NOW]);
  });

  test('as drifted, unless it or its pods say that they must stay, and for how long is not said', () => {
    const drifted = { conditions: [condition('Drifted', NOW)] };
    const patient = { ...drifted, claimSpec: { terminationGracePeriod: '1h' } };
    expect(verdict(machine('a', drifted), { pods: on('a', 1, 1) })).toMatchObject({ kind: 'pod-do-not-disrupt' });
    expect(verdict(machine('a', patient), { pods: on('a', 1, 1) })).toEqual(['Drifted', NOW]);
    expect(verdict(machine('a', { ...patient, annotations: DO_NOT_DISRUPT }))).toEqual({ kind: 'do-not-disrupt' });
    expect(verdict(machine('a', { ...drifted, initialized: false }))).toEqual({ kind: 'not-initialized' });
  });
});

describe('a node stays', () => {
  const silent = (): Machine => {
    const { node, claim } = machine('a');
    const { labels: _, ...metadata } = node.metadata;
    return { node: { ...node, metadata }, claim };
  };
  const orphan = { node: machine('a').node, claim: machine('z').claim };
  test.each<[string, Machine, Partial<Parameters<typeof disruptionInput>[0]>, unknown]>([
    ['without labels', silent(), {}, { kind: 'unmanaged' }],
    ['without a claim', orphan, {}, { kind: 'unmanaged' }],
    [
      'on its way out, before anybody asks for its pool',
      machine('a', { nodeParts: { deletionTimestamp: at(NOW) } }),
      { nodePools: [] },
      { kind: 'leaving' },
    ],
    ['of a pool that has gone', machine('a'), { nodePools: [] }, { kind: 'no-such-pool', nodePool: 'general' }],
    ['that may not be written', machine('a'), { disruption: { denied: new Set(['a']) } }, { kind: 'write-denied' }],
    ['that is left out', machine('a'), { disruption: { leftOut: new Set(['a']) } }, { kind: 'nothing-cheaper' }],
    ['while pods that wait come first', machine('a'), { disruption: { goes: 'forced' } }, { kind: 'pods-first' }],
    [
      'with a pod that has a device',
      machine('a'),
      { pods: on('a', 2, 1) },
      { kind: 'pod-devices', pod: 'default/s2-a-0000' },
    ],
    [
      'as it says, before anybody asks whether it is quiet',
      machine('a', { annotations: DO_NOT_DISRUPT, conditions: [] }),
      {},
      { kind: 'do-not-disrupt' },
    ],
    [
      'with pods, of a pool that lets empty ones go only',
      machine('a'),
      { nodePools: [disruptable('general', { consolidationPolicy: 'WhenEmpty' })], pods: on('a', 0, 2) },
      { kind: 'only-when-empty', nodePool: 'general', pods: 2 },
    ],
    [
      'whose price nobody knows',
      machine('a'),
      { types: [size('Standard_D2s_v5', 2, 8, 1)] },
      { kind: 'unknown-price', instanceType: 'Standard_D4s_v5' },
    ],
  ])('%s', (_, one, parts, reason) => {
    expect(verdict(one, parts)).toEqual(reason);
  });

  test('for its own reason, also while pods that wait come first', () => {
    const first = { goes: 'forced' } as const;
    expect(verdict(machine('a', { conditions: [] }), { disruption: first })).toMatchObject({
      kind: 'not-consolidatable',
    });
  });

  test('whose size is not even written, for its price', () => {
    const { node, claim } = machine('a');
    const { 'node.kubernetes.io/instance-type': _, ...labels } = node.metadata.labels ?? {};
    const unsized = { node: { ...node, metadata: { ...node.metadata, labels } }, claim };
    expect(verdict(unsized)).toEqual({ kind: 'unknown-price', instanceType: 'unknown' });
  });

  test('as long as its pool is not quiet', () => {
    const quiet = (minutesAgo: number) => machine('a', { lastPodEventTime: at(NOW - minutesAgo * MINUTE) });
    const after = (consolidateAfter: string) => ({ nodePools: [disruptable('general', { consolidateAfter })] });
    const waits = (consolidateAfter: string) => ({ kind: 'not-consolidatable', consolidateAfter });
    expect(verdict(quiet(5), after('5m'))).toBe('Underutilized');
    expect(verdict(quiet(4.99), after('5m'))).toEqual(waits('5m'));
    const since = { createdAtMs: NOW - HOUR };
    const old = { ...after('48h'), pods: on('a', 0, 1, since) };
    expect(verdict(machine('a'), old), 'no pod has come to it').toBe('Underutilized');
    expect(verdict(machine('a', { conditions: [] }), after('5m'))).toEqual(waits('5m'));
    expect(verdict(machine('a'), after('soon')), 'it cannot be read').toEqual(waits('soon'));
    expect(verdict(quiet(0), { nodePools: [pool('general')] }), 'the pool says nothing').toBe('Underutilized');
  });

  test('as long as a pod of it is new, of which its claim does not know yet', () => {
    const came = (secondsAgo: number | null, createdSecondsAgo: number, consolidateAfter = '15s') => {
      const startedAtMs = secondsAgo === null ? null : NOW - secondsAgo * 1000;
      const one = { startedAtMs, createdAtMs: NOW - createdSecondsAgo * 1000 };
      const nodePools = [disruptable('general', { consolidateAfter })];
      return verdict(machine('a'), { nodePools, pods: [...on('a', 0, 1, { createdAtMs: 0 }), ...on('a', 0, 1, one)] });
    };
    const waits = (consolidateAfter: string) => ({ kind: 'not-consolidatable', consolidateAfter });
    expect(came(14, 90)).toEqual(waits('15s'));
    expect(came(15, 90)).toBe('Underutilized');
    expect(came(null, 5), 'its kubelet has not heard of it yet').toEqual(waits('15s'));
    expect(came(null, 90)).toBe('Underutilized');
    expect(came(-30, 90), 'the clock of its machine is ahead').toBe('Underutilized');
    expect(came(59, 90, '5m')).toEqual(waits('5m'));
    expect(came(60, 90, '5m'), 'its claim knows').toBe('Underutilized');
    expect(came(0, 0, '0s'), 'nothing is waited for').toBe('Underutilized');
  });

  test('begun or not: what has come since is judged by what began it', () => {
    const pods = on('a', 0, 1, { startedAtMs: NOW - 1000, createdAtMs: NOW - 2000 });
    const nodePools = [disruptable('general', { consolidateAfter: '15s' })];
    const given = disruptionInput({ machines: [machine('a')], shapes, pods, nodePools });
    const [found] = judgeNodes(given, instant(NOW), 'Underutilized');
    expect(found?.verdict).toMatchObject({ kind: 'may' });
  });
});

describe('pods of a node', () => {
  test('are asked all, not the first of them alone', () => {
    const own = [...on('a', 0, 1), ...on('a', 3, 1)];
    const kept_ = shape(spec('500m', '1Gi'), { app: 'web' });
    const budget = {
      metadata: { name: 'web', namespace: 'default' },
      spec: { selector: { matchLabels: { app: 'web' } } },
      status: { disruptionsAllowed: 0 },
    };
    const parts = { shapes: [...shapes, kept_], pods: own, podDisruptionBudgets: [budget] };
    expect(verdict(machine('a'), parts)).toMatchObject({ kind: 'pod-budget', pod: 'default/s3-a-0000' });
    const marked = [...on('a', 0, 1), ...on('a', 1, 1)];
    expect(verdict(machine('a'), { pods: marked })).toMatchObject({
      kind: 'pod-do-not-disrupt',
      pod: 'default/s1-a-0000',
    });
  });

  test('keep their node no longer once they are on their way out, whatever they say', () => {
    const going = on('a', 1, 1, { deleting: true });
    expect(verdict(machine('a'), { pods: [...going, ...on('a', 0, 1)] })).toBe('Underutilized');
  });

  test('count by what their evictions do, those that end or go with it not at all, and none as less than nothing', () => {
    const costs = (text: string) => ({ ...plain, annotations: { 'controller.kubernetes.io/pod-deletion-cost': text } });
    const daemon = { ...plain, owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd' } };
    const given = disruptionInput({
      machines: [machine('a')],
      shapes: [plain, costs('67108864'), costs('-2147483648'), daemon],
      pods: [
        ...on('a', 0, 2),
        ...on('a', 1, 1),
        ...on('a', 2, 1),
        ...on('a', 3, 1),
        ...on('a', 0, 1, { name: 'ends', uid: 'ends', deleting: true }),
      ],
    });
    const [judged] = judgeNodes(given, instant(NOW));
    expect([judged?.disruption, judged?.moving.length, judged?.pods.length]).toEqual([4.5, 4, 6]);
  });
});

describe('of a pool that is held back', () => {
  const brake = { kind: 'paused', until: null } as const;
  const paused = (name: string) => ({ disruption: { brakes: new Map([[name, brake]]) } });

  test('no node goes of our own choice, and those go that must', () => {
    const held = { kind: 'pool-braked', nodePool: 'general', brake };
    expect(verdict(machine('a'), paused('general'))).toEqual(held);
    expect(verdict(machine('a', { conditions: [condition('Drifted')] }), paused('general'))).toEqual(held);
    expect(verdict(machine('a'), paused('other'))).toBe('Underutilized');
    expect(verdict(born(2, lives), paused('general'))).toEqual(['Expired', NOW]);
  });

  test('a node that stays anyway says its own reason', () => {
    expect(verdict(machine('a', { annotations: DO_NOT_DISRUPT }), paused('general'))).toEqual({
      kind: 'do-not-disrupt',
    });
  });
});

describe('of a pool that never consolidates', () => {
  const never = { nodePools: [disruptable('general', { consolidateAfter: 'Never' })], pods: [] };
  const off = { kind: 'consolidation-off', nodePool: 'general' };
  const own = { annotations: { 'nodewright.dev/created-for': 'Drifted' } };
  const since = (ms: number, status = 'True') => ({ conditions: [condition('Initialized', NOW - ms, status)] });
  const came = (status: Partial<Machine['claim']['status']>, metadata: Metadata = own) =>
    claimed(machine('a'), metadata, status);

  test('a replacement goes that no pod has come to in five minutes', () => {
    expect(verdict(came(since(5 * MINUTE)), never)).toBe('Empty');
    expect(verdict(came(since(5 * MINUTE - 1)), never)).toEqual(off);
  });

  test.each<[string, Machine, object]>([
    ['that somebody wanted', came(since(HOUR), {}), {}],
    ['with a pod', came(since(HOUR)), { pods: on('a', 0, 1) }],
    ['that has had one', came({ ...since(HOUR), lastPodEventTime: at(NOW - HOUR) }), {}],
    ['that was in use and is not', came(since(HOUR, 'False')), {}],
    ['that does not say since when', came({ conditions: [condition('Initialized')] }), {}],
    ['that does not say that it is in use', came({ conditions: [] }), {}],
  ])('none %s', (_, one, parts) => {
    expect(verdict(one, { ...never, ...parts })).toEqual(off);
  });

  test('but not one that must not be disrupted', () => {
    const one = claimed(machine('a', { annotations: DO_NOT_DISRUPT }), own, since(HOUR));
    expect(verdict(one, never)).toEqual({ kind: 'do-not-disrupt' });
  });
});
