import { describe, expect, test } from 'vitest';
import { withoutBudgeted, withoutHeldByBudget } from '../../../../../shared/app/gather/movers/budgeted.ts';
import type { Mover } from '../../../../../shared/ports/store.ts';

type Seen = Parameters<typeof withoutBudgeted>[1];

const READY_MS = Date.parse('2026-01-01T00:00:00Z');
const shapes = ['shop', 'free'].map((app) => ({
  namespace: 'a',
  labels: { app },
  annotations: {},
  spec: {},
  owner: null,
}));
const budget = (name: string, disruptionsAllowed: number) => ({
  metadata: { name, namespace: 'a' },
  spec: { selector: { matchLabels: { app: 'shop' } } },
  status: { disruptionsAllowed },
});
const condition = (type: string, reason: string, atMs = READY_MS) => ({
  type,
  status: 'True',
  reason,
  lastTransitionTime: new Date(atMs).toISOString(),
});
const node = (name: string) => ({
  metadata: { name: `n-${name}` },
  spec: { providerID: `azure://${name}` },
  status: {},
});

interface Given {
  readonly budgets?: ReadonlyArray<object>;
  /** By which decision a node goes; null: it is not marked. */
  readonly removals?: Readonly<Record<string, string | null>>;
  readonly reason?: string;
  readonly spec?: object;
  readonly deleted?: string;
  /** The replacement of all is in use since then; null: not yet; absent: there is none any more. */
  readonly initializedMs?: number | null;
  readonly isReplacementDeleted?: boolean;
  /** A second replacement of all is on its way. */
  readonly hasAnother?: boolean;
  readonly leavingPod?: string;
}

const movers = ['shop', 'on-a', 'on-b', 'on-c', 'gone'].map((uid): Mover => ({ uid, owner: 'o', shape: 's' }));

const staying = (given: Given = {}) => withoutBudgeted(movers, seen(given), READY_MS).map(({ uid }) => uid);

/** `shop`, which a budget holds, on node `a`, and of others on `a`, `b` and `c`; `gone` has no node any more. */
function seen(given: Given): Seen {
  const { removals = { a: 'd1', b: 'd1', c: 'd2' }, reason = 'Underutilized', initializedMs = READY_MS } = given;
  const names = ['a', 'b', 'c'];
  const claims = names.map((name) => {
    const removal = removals[name] ?? null;
    const replacedBy = given.hasAnother === true ? 'r,another' : 'r';
    const annotations = { 'nodewright.dev/disruption': removal, 'nodewright.dev/replaced-by': replacedBy };
    return {
      metadata: {
        name,
        annotations: removal === null ? {} : annotations,
        deletionTimestamp: name === given.deleted ? '2026-01-01T00:00:00Z' : undefined,
      },
      spec: given.spec ?? {},
      status: {
        providerID: `azure://${name}`,
        nodeName: `n-${name}`,
        conditions: [
          condition('Initialized', 'Initialized'),
          ...(removal === null ? [] : [condition('DisruptionReason', reason)]),
        ],
      },
    };
  });
  const replacement = {
    metadata: {
      name: 'r',
      deletionTimestamp: given.isReplacementDeleted === true ? '2026-01-01T00:00:00Z' : undefined,
    },
    spec: {},
    status: { conditions: initializedMs === null ? [] : [condition('Initialized', 'Initialized', initializedMs)] },
  };
  const another = { metadata: { name: 'another' }, spec: {}, status: { conditions: [] } };
  const pod = (uid: string, nodeName: string, shape = 1) => {
    return { uid, name: uid, nodeName, shape, deleting: uid === given.leavingPod, ready: true };
  };
  return {
    pods: [pod('shop', 'n-a', 0), ...names.map((name) => pod(`on-${name}`, `n-${name}`))],
    shapes,
    owners: [],
    nodes: names.map(node),
    nodeClaims: [...claims, replacement, ...(given.hasAnother === true ? [another] : [])],
    podDisruptionBudgets: given.budgets ?? [budget('p', 0)],
  } as unknown as Seen;
}

const ALL = ['shop', 'on-a', 'on-b', 'on-c', 'gone'];

describe('who is not waited for, as a budget of pods holds them', () => {
  test('are all on nodes that go together, where it holds one of their pods', () => {
    expect(staying()).toEqual(['on-c', 'gone']);
  });

  test('are those on the very node, where the others go without it', () => {
    expect(staying({ reason: 'Drifted' })).toEqual(['on-b', 'on-c', 'gone']);
  });

  test('is nobody where it lets one go, or another rule keeps the pod', () => {
    expect(staying({ budgets: [budget('p', 1)] })).toEqual(ALL);
    expect(staying({ budgets: [] })).toEqual(ALL);
    expect(staying({ budgets: [budget('p', 0), budget('q', 0)] })).toEqual(ALL);
  });

  test('is nobody where no budget is asked', () => {
    expect(staying({ reason: 'Expired' })).toEqual(ALL);
    expect(staying({ reason: 'Unhealthy' })).toEqual(ALL);
    expect(staying({ reason: 'Drifted', spec: { terminationGracePeriod: '1h' } })).toEqual(ALL);
    expect(staying({ spec: { terminationGracePeriod: '1h' } })).toEqual(['on-c', 'gone']);
  });

  test('is nobody where the node is not marked, or drains', () => {
    expect(staying({ removals: { a: null, b: 'd1', c: 'd1' } })).toEqual(ALL);
    expect(staying({ deleted: 'a' })).toEqual(ALL);
  });

  test('is nobody while a replacement is on its way, or has just come; one that goes is not waited for', () => {
    expect(staying({ initializedMs: null })).toEqual(ALL);
    expect(staying({ hasAnother: true })).toEqual(ALL);
    expect(staying({ initializedMs: READY_MS + 1_000 })).toEqual(ALL);
    expect(staying({ initializedMs: null, isReplacementDeleted: true })).toEqual(['on-c', 'gone']);
  });

  test('is not who is on the way out: a successor comes', () => {
    expect(staying({ leavingPod: 'on-b' })).toEqual(['on-b', 'on-c', 'gone']);
    expect(staying({ leavingPod: 'shop' })).toEqual(ALL);
  });
});

describe('who is not waited for on a node that drains, as a budget of pods holds them', () => {
  const left = (given: Given, beganMs = READY_MS) =>
    withoutHeldByBudget(movers, seen({ deleted: 'a', ...given }), beganMs).map(({ uid }) => uid);

  test('is each whom it holds, and nobody beside', () => {
    expect(left({})).toEqual(['on-a', 'on-b', 'on-c', 'gone']);
    expect(left({ deleted: 'b' })).toEqual(ALL);
  });

  test('is nobody where the drain has just begun, the budget lets one go, or the pod is on the way out', () => {
    expect(left({}, READY_MS - 1)).toEqual(ALL);
    expect(left({ budgets: [budget('p', 1)] })).toEqual(ALL);
    expect(left({ leavingPod: 'shop' })).toEqual(ALL);
  });
});
