import { describe, expect, test } from 'vitest';
import { matesOf } from '../../../../../shared/app/gather/movers/mates.ts';
import { shapeDigest, type Present } from '../../../../../shared/app/gather/movers/planned.ts';
import type { Decision } from '../../../../../shared/ports/store.ts';
import { pod, shapes } from './alike.ts';

type Pod = Present['pods'][number];

/** Nodes `x`, `y` and `z` were made for two pods each, `m…` that run on `old`, and for `w`, which waits, on `y`. */
const decision = {
  claimNames: ['x', 'y', 'z'],
  movers: ['m1', 'm2', 'm3', 'm4', 'm5', 'm6'].map((uid) => ({ uid, owner: 'shop', shape: shapeDigest(shapes[0]) })),
  plan: {
    claims: [
      ['m1', 'm2'],
      ['m3', 'm4', 'w'],
      ['m5', 'm6'],
    ].map((uids) => ({ pods: uids.map((uid) => ({ name: uid, uid })) })),
  },
} as unknown as Decision;

/** Who is let in to `x`; all that is not named is on `old`, but `w`, which has come to its node. */
function letIn(changed: ReadonlyArray<Pod>, gone: ReadonlyArray<string> = [], claims = ['x', 'y', 'z']) {
  const named = new Set([...changed.map(({ uid }) => uid), ...gone]);
  const all = [...['m1', 'm2', 'm3', 'm4', 'm5', 'm6'].map((uid) => pod(uid, 'old')), pod('w', 'n-y')];
  const nodeClaims = claims.map((name) => ({ metadata: { name }, spec: {}, status: { nodeName: `n-${name}` } }));
  const pods = [...all.filter(({ uid }) => !named.has(uid)), ...changed];
  const present = { pods, shapes, owners: [], nodes: [], nodeClaims } as unknown as Present;
  return matesOf(decision, 'x', present).map(({ uid }) => uid);
}

describe('a place of who has not left is given', () => {
  test('to a successor of another node, and to a pod of that node, which comes first', () => {
    expect(letIn([pod('s3', null)], ['m3'])).toEqual(['s3']);
    expect(letIn([pod('s3', null), pod('w', null)], ['m3'])).toEqual(['w', 's3']);
    expect(letIn([pod('w', null)])).toEqual(['w']);
  });

  test('to as many as have not left, and are not about to', () => {
    const waiting = [pod('s3', null), pod('s4', null), pod('s5', null)];
    expect(letIn(waiting, ['m3', 'm4', 'm5'])).toEqual(['s3', 's4']);
    expect(letIn([...waiting, pod('m2', 'old', { deleting: true })], ['m3', 'm4', 'm5'])).toEqual(['s4']);
    expect(letIn(waiting, ['m1', 'm2', 'm3', 'm4', 'm5'])).toEqual([]);
  });

  test('once: who has come in it counts, a pod of the decision as well', () => {
    const waiting = [pod('s5', null), pod('s6', null)];
    const gone = ['m3', 'm4', 'm5', 'm6'];
    expect(letIn([pod('s3', 'n-x'), ...waiting], gone)).toEqual(['s5']);
    expect(letIn([pod('s3', 'n-x'), pod('s4', 'n-x'), ...waiting], gone)).toEqual([]);
    expect(letIn([pod('w', 'n-x'), pod('s3', 'n-x'), ...waiting], gone)).toEqual([]);
    expect(letIn([pod('s3', 'n-x', { deleting: true }), ...waiting], gone)).toEqual(['s5', 's6']);
  });

  test('to no more than have left elsewhere and not come there, or here', () => {
    expect(letIn([pod('s3', null)])).toEqual([]);
    expect(letIn([pod('s3', 'n-y'), pod('s4', null)], ['m3'])).toEqual([]);
    expect(letIn([pod('s3', 'n-x'), pod('s4', null)], ['m3'])).toEqual([]);
    expect(letIn([pod('s3', 'else'), pod('s4', null)], ['m3'])).toEqual(['s4']);
  });

  test('to none of its own successors: those come first among all that wait', () => {
    expect(letIn([pod('s1', null)], ['m1'])).toEqual([]);
    expect(letIn([pod('s1', null), pod('s3', null)], ['m1', 'm3'])).toEqual(['s3']);
    expect(letIn([pod('s1', 'n-x'), pod('s3', null)], ['m1', 'm3'])).toEqual(['s3']);
  });

  test('to none of another owner or shape, that goes, or whose own node is no more', () => {
    expect(letIn([pod('a', null, { shape: 1 }), pod('b', null, { shape: 2 })], ['m3', 'm4'])).toEqual([]);
    expect(letIn([pod('s3', null, { deleting: true })], ['m3'])).toEqual([]);
    expect(letIn([pod('s3', null)], ['m3'], ['x', 'z'])).toEqual([]);
  });
});
