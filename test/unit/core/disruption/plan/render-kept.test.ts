import { describe, expect, test } from 'vitest';
import { renderKept } from '../../../../../shared/core/disruption/plan/render-kept.ts';
import type { KeptReason } from '../../../../../shared/core/disruption/plan/kept-reason.ts';
import type { Brake, Rollout } from '../../../../../shared/core/model/disruption-input.ts';

/** Why a node stays, as people read it. */

const nodePool = 'p';
const said = (reason: KeptReason): string => renderKept(reason, 'USD');
const braked = (brake: Brake): string => said({ kind: 'pool-braked', nodePool, brake });
const rolling = (rollout: Rollout): string => braked({ kind: 'rollout', rollout });

describe('a NodePool whose disruption is held back', () => {
  test('says who has paused it, and until when', () => {
    expect(braked({ kind: 'paused', until: null })).toBe('NodePool p is annotated nodewright.dev/pause-disruption');
    expect(braked({ kind: 'paused', until: '2026-12-01T06:00:00Z' })).toBe(
      'NodePool p is annotated nodewright.dev/pause-disruption until 2026-12-01T06:00:00Z',
    );
  });

  test('says what could not be read, and what can', () => {
    expect(braked({ kind: 'pause-unread', given: 'tomorrow' })).toBe(
      'nodewright.dev/pause-disruption of NodePool p is "tomorrow", which counts as true (write true, false, or a time such as 2026-12-01T06:00:00Z)',
    );
  });

  test('says what went wrong, and until when it is suspended, where that is known', () => {
    const why = '2 of its 4 nodes are not ready';
    expect(braked({ kind: 'breaker', until: null, why })).toBe(`disruption of NodePool p is suspended: ${why}`);
    expect(braked({ kind: 'breaker', until: '2026-12-01T06:00:00Z', why })).toBe(
      `disruption of NodePool p is suspended until 2026-12-01T06:00:00Z: ${why}`,
    );
  });

  test.each<[Rollout, string]>([
    [
      { kind: 'canary' },
      'another node of NodePool p is replaced first, as the canary of a new image or Kubernetes version',
    ],
    [
      { kind: 'starting', claim: 'c' },
      'NodeClaim c, the first of NodePool p with a new image or Kubernetes version, is not initialized yet',
    ],
    [
      { kind: 'baking', claim: 'c', until: '2026-12-01T06:00:00Z' },
      'NodeClaim c, the first of NodePool p with a new image or Kubernetes version, is watched until 2026-12-01T06:00:00Z',
    ],
    [
      { kind: 'halted', why: 'the canary failed' },
      'the rollout in NodePool p is halted: the canary failed (to try again: kubectl annotate nodepool p nodewright.dev/rollout-halted-; to continue without a canary, remove nodewright.dev/bake-time too)',
    ],
  ])('says how far its rollout has come: %j', (rollout, text) => {
    expect(rolling(rollout)).toBe(text);
  });
});

test('a budget that cannot be read is told as such, and not as one that allows none', () => {
  const none = { kind: 'node-budget', nodePool, allowed: 0, disrupting: 0 } as const;
  expect(said({ ...none, error: 'schedule noon' })).toBe('a budget of NodePool p cannot be read: schedule noon');
  expect(said({ ...none, error: null })).toBe(
    'the budgets of NodePool p allow 0 disrupted nodes at a time, and 0 are being disrupted',
  );
});

test('where there is no NodePool at all, none is named', () => {
  const refusals = [{ kind: 'no-node-pool', nodePool: null }] as const;
  const text = said({ kind: 'not-replaced', because: 'Drifted', pod: 'default/web', refusals });
  expect(text).toMatch(/^it has drifted, but no other node has room for pod default\/web, /);
  expect(text).not.toContain('NodePool null');
});
