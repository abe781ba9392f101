import { describe, expect, test } from 'vitest';
import { rollouts, sidesOf } from '../../../../../shared/core/disruption/brakes/rollouts.ts';
import type { NodeClaim, NodePool } from '../../../../../shared/kubernetes/manifest.ts';

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

const at = (ms: number): string => new Date(ms).toISOString();

const pool = (annotations: Readonly<Record<string, string>> = { 'nodewright.dev/bake-time': '30m' }): NodePool =>
  ({ metadata: { name: 'general', annotations } }) as unknown as NodePool;

/** When it was made and initialized, and when it was found drifted, in minutes after the start; null for never. */
interface Given {
  readonly made: number;
  readonly initialized?: number | null;
  readonly drifted?: number | null;
  readonly reason?: string;
  readonly image?: string;
  readonly createdFor?: string;
  readonly nodePool?: string;
  readonly leaving?: boolean;
}

function claim(name: string, given: Given): NodeClaim {
  const { made, initialized = made, drifted = null, reason = 'ImageDrift', nodePool = 'general' } = given;
  const condition = (type: string, minute: number | null, why = type): ReadonlyArray<object> =>
    minute === null
      ? []
      : [{ type, status: 'True', reason: why, message: '', lastTransitionTime: at(START + minute * MINUTE) }];
  return {
    metadata: {
      name,
      creationTimestamp: at(START + made * MINUTE),
      labels: { 'karpenter.sh/nodepool': nodePool },
      ...(given.createdFor === undefined ? {} : { annotations: { 'nodewright.dev/created-for': given.createdFor } }),
      ...(given.leaving === true ? { deletionTimestamp: at(START) } : {}),
    },
    status: {
      conditions: [...condition('Initialized', initialized), ...condition('Drifted', drifted, reason)],
      ...(given.image === undefined ? {} : { imageID: given.image }),
    },
  } as unknown as NodeClaim;
}

const namesOf = (claims: ReadonlyArray<NodeClaim> = []): ReadonlyArray<string> =>
  claims.map(({ metadata }) => metadata.name);

const sides = (...claims: ReadonlyArray<NodeClaim>) => {
  const found = sidesOf(pool(), claims);
  return found === null ? null : [namesOf(found.behind), namesOf(found.fresh)];
};

const behind = [claim('old', { made: 0, drifted: 10 }), claim('older', { made: 0, drifted: 12 })];

describe('the two sides of a release', () => {
  test('are none without a bake time, and where nobody is behind', () => {
    expect(sidesOf(pool({}), behind)).toBeNull();
    expect(sides(claim('a', { made: 0 }))).toBeNull();
    expect(sides(claim('a', { made: 0, drifted: 1, reason: 'NodePoolDrifted' }))).toBeNull();
  });

  test('fresh is what was made since the first was found behind, in the order in which they came into use', () => {
    const made = [
      claim('before', { made: 9 }),
      claim('slow', { made: 10, initialized: 20 }),
      claim('starting', { made: 11, initialized: null }),
      claim('b', { made: 11, initialized: 12 }),
      claim('a', { made: 11, initialized: 12 }),
    ];
    expect(sides(...behind, ...made)).toEqual([
      ['old', 'older'],
      ['a', 'b', 'slow', 'starting'],
    ]);
  });

  test('what has drifted itself is not fresh, whatever for, nor is what goes or is of another pool', () => {
    const made = [
      claim('drifted', { made: 11, drifted: 12, reason: 'NodePoolDrifted' }),
      claim('goes', { made: 11, leaving: true }),
      claim('other', { made: 11, nodePool: 'other' }),
    ];
    expect(sides(...behind, ...made)).toEqual([['old', 'older'], []]);
    expect(sides(claim('goes', { made: 0, drifted: 1, leaving: true }))).toBeNull();
    expect(sides(claim('other', { made: 0, drifted: 1, nodePool: 'other' }))).toBeNull();
  });

  test('what replaced a drifted node before the others were found behind is fresh, if it is of another image', () => {
    const old = [
      claim('old', { made: 0, drifted: 10, image: 'v1' }),
      claim('older', { made: 0, drifted: 12, image: 'v1' }),
    ];
    const next = (given: Partial<Given>) => claim('next', { made: 9, image: 'v2', createdFor: 'Drifted', ...given });
    expect(sides(...old, next({}))?.[1]).toEqual(['next']);
    expect(sides(...old, next({ image: 'v1' }))?.[1]).toEqual([]);
    expect(sides(...old, next({ createdFor: 'Expired' }))?.[1]).toEqual([]);
    expect(sides(...old, claim('unknown', { made: 9, createdFor: 'Drifted' }))?.[1]).toEqual([]);
    const mixed = [claim('oldest', { made: 0, drifted: 10, image: 'v2' }), ...old];
    expect(sides(...mixed, next({}))?.[1], 'one that is behind has the same image').toEqual([]);
  });
});

describe('what the nodes of a pool wait for', () => {
  const waits = (claims: ReadonlyArray<NodeClaim>, minute: number, of = pool()) =>
    rollouts({ nodePools: [of], nodeClaims: claims }, START + minute * MINUTE).get('general');

  test('the canary, then its node, then its bake time, then nothing', () => {
    const starting = claim('new', { made: 13, initialized: null });
    const ready = claim('new', { made: 13, initialized: 15 });
    expect(waits(behind, 14)).toEqual({ kind: 'canary' });
    expect(waits([...behind, starting], 14)).toEqual({ kind: 'starting', claim: 'new' });
    const until = '2026-01-01T00:45:00Z';
    expect(waits([...behind, ready], 44.99)).toEqual({ kind: 'baking', claim: 'new', until });
    expect(waits([...behind, ready], 45)).toBeUndefined();
    expect(waits([ready], 16)).toBeUndefined();
  });

  test('a person, where the release was found bad: also when nobody is behind any more', () => {
    const halted = { 'nodewright.dev/bake-time': '30m', 'nodewright.dev/rollout-halted': 'it crashed' };
    expect(waits([...behind], 14, pool(halted))).toEqual({ kind: 'halted', why: 'it crashed' });
    expect(waits([], 14, pool(halted))).toEqual({ kind: 'halted', why: 'it crashed' });
    const { 'nodewright.dev/rollout-halted': why } = halted;
    expect(waits([], 14, pool({ 'nodewright.dev/rollout-halted': why })), 'without a bake time').toBeUndefined();
  });
});
