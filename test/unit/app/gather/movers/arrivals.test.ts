import { describe, expect, test } from 'vitest';
import { arrivalsOf } from '../../../../../shared/app/gather/movers/arrivals.ts';
import type { Node } from '../../../../../shared/kubernetes/manifest.ts';
import type { Decision } from '../../../../../shared/ports/store.ts';

type Seen = Parameters<typeof arrivalsOf>[1];
type Pod = Seen['pods'][number];

const shapeOf = (namespace: string, app: string, cpu: string) => ({
  namespace,
  labels: { app },
  annotations: {},
  spec: { containers: [{ resources: { requests: { cpu } } }] },
  owner: { uid: app, kind: 'ReplicaSet' },
});
/** 0 and 1 are of shops, each with a budget of pods that allows none; 2 has none. */
const shapes = [shapeOf('a', 'shop', '1'), shapeOf('a', 'bakery', '1'), shapeOf('a', 'free', '1')];
const budget = (app: string, disruptionsAllowed: number) => ({
  metadata: { name: app, namespace: 'a' },
  spec: { selector: { matchLabels: { app } } },
  status: { disruptionsAllowed },
});

const pod = (uid: string, shape: number, nodeName: string | null, parts: Partial<Pod> = {}) => ({
  uid,
  name: uid,
  shape,
  nodeName,
  deleting: false,
  ready: nodeName !== null,
  ...parts,
});

const node = (name: string, cpu: string, isMarked: boolean, parts: object = {}) => ({
  metadata: { name, ...parts },
  spec: { taints: isMarked ? [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] : [] },
  status: { allocatable: { cpu, pods: '110' } },
});

interface Given {
  readonly waiting?: ReadonlyArray<ReturnType<typeof pod>>;
  readonly others?: ReadonlyArray<ReturnType<typeof pod>>;
  readonly budgets?: ReadonlyArray<object>;
  readonly old?: ReturnType<typeof node>;
  readonly claims?: ReadonlyArray<object>;
  readonly cpu?: string;
  readonly heirs?: Partial<Parameters<typeof arrivalsOf>[0]['heirs']>;
  readonly mates?: ReadonlyArray<string>;
}

/**
 * Who is let in to `new`, a node of four cores that was made for `s1` of the shop and `f1`, which no budget holds. Both
 * are on `old`, which is marked to go.
 */
function letIn(given: Given = {}) {
  const kept = node('new', given.cpu ?? '4', false);
  const decision = {
    claimNames: ['x', 'y'],
    movers: [],
    plan: { claims: [{ pods: [{ uid: 's1' }, { uid: 'f1' }] }, { pods: [{ uid: 'planned' }] }] },
  } as unknown as Decision;
  const seen = {
    pods: [pod('s1', 0, 'old'), pod('f1', 2, 'old'), ...(given.others ?? []), ...(given.waiting ?? [])],
    shapes,
    owners: [],
    nodes: [given.old ?? node('old', '8', true), kept],
    nodeClaims: given.claims ?? [],
    podDisruptionBudgets: given.budgets ?? [budget('shop', 0), budget('bakery', 0)],
  } as unknown as Seen;
  const heirs = { waiting: [], awaited: 2, unborn: 0, ...given.heirs };
  const mates = (given.mates ?? []).map((uid) => ({ uid, name: uid }));
  return arrivalsOf({ claim: 'x', node: kept as unknown as Node, decision, heirs, mates }, seen).map(({ uid }) => uid);
}

const three = ['1', '2', '3', '4'].map((uid) => pod(uid, 0, null));

describe('pods like those that a budget holds are let in to a kept node', () => {
  test('as many as it has room for beside who comes, but not beside who is held', () => {
    expect(letIn({ waiting: three })).toEqual(['1', '2', '3']);
    expect(letIn({ waiting: three, others: [pod('there', 2, 'new')] })).toEqual(['1', '2']);
    expect(letIn({ waiting: three, cpu: '1' })).toEqual([]);
    expect(
      letIn({ waiting: three, others: [pod('f2', 2, null)], heirs: { waiting: [{ uid: 'f2', name: 'f2' }] } }),
    ).toEqual(['1', '2']);
  });

  test('whom it has been opened to already needs its room, and is not counted twice', () => {
    expect(letIn({ waiting: three, mates: ['1'] })).toEqual(['2', '3']);
    expect(letIn({ waiting: three, mates: ['4'] })).toEqual(['1', '2']);
  });

  test('not while somebody is about to come whom nobody sees yet', () => {
    expect(letIn({ waiting: three, heirs: { unborn: 1 } })).toEqual([]);
  });

  test('where the budget allows none, and a pod of that kind is on the marked node', () => {
    expect(letIn({ waiting: three, budgets: [budget('shop', 1)] })).toEqual([]);
    expect(letIn({ waiting: three, budgets: [] })).toEqual([]);
    expect(letIn({ waiting: [pod('1', 1, null)] })).toEqual([]);
    expect(letIn({ waiting: [pod('1', 1, null)], others: [pod('b1', 1, 'old')] })).toEqual(['1']);
    expect(letIn({ waiting: [pod('1', 2, null)] })).toEqual([]);
  });

  test('that waits for the order to go, and does not drain', () => {
    expect(letIn({ waiting: three, old: node('old', '8', false) })).toEqual([]);
    expect(
      letIn({ waiting: three, old: node('old', '8', true, { deletionTimestamp: '2026-01-01T00:00:00Z' }) }),
    ).toEqual([]);
    const deleted = {
      metadata: { name: 'o', deletionTimestamp: '2026-01-01T00:00:00Z' },
      spec: {},
      status: { nodeName: 'old' },
    };
    expect(letIn({ waiting: three, claims: [deleted] })).toEqual([]);
  });

  test('who waits: not who goes, has a node, or has another place by the same decision', () => {
    expect(
      letIn({ waiting: [pod('1', 0, null, { deleting: true }), pod('planned', 0, null), pod('2', 0, 'else')] }),
    ).toEqual([]);
  });
});
