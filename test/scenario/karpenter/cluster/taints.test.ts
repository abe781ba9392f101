import { describe, expect, test } from 'vitest';
import { pool } from '../../../kit/core/build.ts';
import { machines, ours, pod, replicas, schedule } from '../kit/kit.ts';

/** Karpenter's scenarios of section H: taints and tolerations. */

const dedicated = { key: 'dedicated', value: 'a', effect: 'NoSchedule' };
const startup = { key: 'agent-not-ready', effect: 'NoSchedule' };
const soft = { key: 'soft', effect: 'PreferNoSchedule' };

describe('taints', () => {
  test('a pool’s taints and startup taints are its claims’ [H01]', () => {
    const tainted = pool('default', { taints: [dedicated], startupTaints: [startup] });
    const { taints, startupTaints } = schedule({
      pools: [tainted],
      pods: [pod('a', { tolerations: [{ operator: 'Exists' }] })],
    }).claimOf('a');
    expect([taints, startupTaints]).toEqual([[dedicated], [startup]]);
  });

  test.each([
    ['nothing', [], false],
    ['its key and value', [{ key: 'dedicated', operator: 'Equal', value: 'a', effect: 'NoSchedule' }], true],
    ['its key and value, no effect named', [{ key: 'dedicated', operator: 'Equal', value: 'a' }], true],
    ['its key, whatever the value', [{ key: 'dedicated', operator: 'Exists' }], true],
    ['everything', [{ operator: 'Exists' }], true],
    ['another value', [{ key: 'dedicated', operator: 'Equal', value: 'b' }], false],
    ['another effect', [{ key: 'dedicated', operator: 'Exists', effect: 'NoExecute' }], false],
    ['another key', [{ key: 'other', operator: 'Exists' }], false],
  ])('a pod that tolerates %s may or may not use a tainted pool [H01]', (_, tolerations, may) => {
    const outcome = schedule({ pools: [pool('default', { taints: [dedicated] })], pods: [pod('a', { tolerations })] });
    expect(outcome.left).toEqual(may ? [] : ['a']);
    expect(outcome.rulesFor('a')).toEqual(may ? [] : ['taint']);
  });

  test('startup taints keep no pod out [H01]', () => {
    expect(schedule({ pools: [pool('default', { startupTaints: [startup] })], pods: [pod('a')] }).left).toEqual([]);
  });

  test('a toleration with Exists makes no taint [H01]', () => {
    const claim = schedule({ pods: [pod('a', { tolerations: [{ key: 'anything', operator: 'Exists' }] })] }).claimOf(
      'a',
    );
    expect([claim.taints, claim.startupTaints]).toEqual([[], []]);
  });

  test('a soft taint is accepted when nothing else takes the pod, and a pool without it wins [H02]', () => {
    const own = pool('soft', { taints: [soft], weight: 100 });
    expect(schedule({ pools: [own], pods: [pod('a')] }).left).toEqual([]);
    expect(schedule({ pools: [own, pool('plain')], pods: [pod('a')] }).claimOf('a').nodePool).toBe('plain');
  });

  test('a soft taint is accepted last: a preference for pods goes first [H02]', () => {
    const weighted = {
      weight: 1,
      podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'none' } } },
    };
    const affinity = { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [weighted] } };
    const pools = [pool('soft', { taints: [soft], weight: 100 }), pool('plain')];
    expect(schedule({ pools, pods: [pod('a', { affinity })] }).claimOf('a').nodePool).toBe('plain');
  });

  test('a node with a soft taint that has room is used before a new one is opened for a pool with the same taint [H02]', () => {
    const there = machines(ours('n', { taints: [soft] }));
    const outcome = schedule({ ...there, pools: [pool('default', { taints: [soft] })], pods: replicas(2, 'a') });
    expect(outcome.perPlace('a')).toEqual([2]);
    expect(outcome.placeOf('a-0')).toBe('node n');
  });
});
