import { describe, expect, it } from 'vitest';
import { judgeConsolidatable, lastPodEvent } from '../../../../../shared/app/follow/judge/consolidatable.ts';
import { claim, condition, initializedAt, nodePool } from '../../../../kit/app/build-claim.ts';

const start = Date.parse(initializedAt);
const after = (consolidateAfter: string) => nodePool({ disruption: { consolidateAfter } });

describe('when a node may be consolidated', () => {
  it('a node is consolidatable once consolidateAfter has passed since it was initialized', () => {
    const atMs = start + 30_000;
    expect(judgeConsolidatable(claim(), after('30s'), null, atMs - 1)).toEqual({ kind: 'from', atMs });
    expect(judgeConsolidatable(claim(), after('30s'), null, atMs)).toEqual({ kind: 'since', atMs });
  });

  it('a pod that comes or goes starts the time again', () => {
    const atMs = start + 50_000;
    expect(judgeConsolidatable(claim(), after('30s'), start + 20_000, start + 31_000)).toEqual({ kind: 'from', atMs });
  });

  it('without consolidateAfter, or with 0s, it is consolidatable at once', () => {
    expect(judgeConsolidatable(claim(), nodePool(), null, start).kind).toBe('since');
    expect(judgeConsolidatable(claim(), after('0s'), start + 5, start + 5).kind).toBe('since');
  });

  it.each([
    ['Never', after('Never'), claim()],
    ['a static pool', nodePool({ replicas: 2, disruption: { consolidateAfter: '0s' } }), claim()],
    ['no pool', null, claim()],
    [
      'a node that is not initialized',
      after('0s'),
      claim({ status: { conditions: [condition('Initialized', 'Unknown')] } }),
    ],
  ])('%s never makes a node consolidatable', (_, pool, given) => {
    expect(judgeConsolidatable(given, pool, null, start + 1_000_000).kind).toBe('never');
  });
});

describe('when a pod last came or went [J09]', () => {
  const known = claim({ status: { ...claim().status, lastPodEventTime: '2026-11-21T08:01:00Z' } });
  const knownMs = start + 60_000;
  const late = start + 1_000_000;

  it('nothing is known of it before the first event', () => {
    expect(lastPodEvent(claim(), null, late)).toBeNull();
    expect(lastPodEvent(claim(), start + 5, late)).toBe(start + 5);
  });

  it('the later of what is known and what is told holds, so hints may come late and twice', () => {
    expect(lastPodEvent(known, null, late)).toBe(knownMs);
    expect(lastPodEvent(known, knownMs - 5_000, late)).toBe(knownMs);
    expect(lastPodEvent(known, knownMs + 5_000, late)).toBe(knownMs + 5_000);
  });

  it('an event cannot lie in the future', () => {
    expect(lastPodEvent(claim(), late + 60_000, late)).toBe(late);
  });
});
