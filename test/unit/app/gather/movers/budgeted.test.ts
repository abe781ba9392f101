import { describe, expect, test } from 'vitest';
import { withoutBudgeted } from '../../../../../shared/app/gather/movers/heirs.ts';
import type { Mover } from '../../../../../shared/ports/store.ts';

type Seen = Parameters<typeof withoutBudgeted>[1];

const shapes = ['shop', 'free'].map((app) => ({
  namespace: 'a',
  labels: { app },
  annotations: {},
  spec: {},
  owner: null,
}));
const budget = (name: string, allowed: number) => ({
  metadata: { name, namespace: 'a' },
  spec: { selector: { matchLabels: { app: 'shop' } } },
  status: { disruptionsAllowed: allowed },
});
const pod = (uid: string, nodeName: string | null, shape = 1) => ({
  uid,
  name: uid,
  nodeName,
  shape,
  deleting: false,
  ready: true,
});
const claim = (name: string, removal: string | null, deletionTimestamp?: string) => ({
  metadata: { name, annotations: removal === null ? {} : { 'nodewright.dev/disruption': removal }, deletionTimestamp },
  spec: {},
  status: {
    providerID: `azure://${name}`,
    conditions: removal === null ? [] : [{ type: 'DisruptionReason', status: 'True', reason: 'Underutilized' }],
  },
});
const node = (name: string) => ({
  metadata: { name: `n-${name}` },
  spec: { providerID: `azure://${name}` },
  status: {},
});

interface Given {
  readonly budgets?: ReadonlyArray<object>;
  readonly removals?: Readonly<Record<string, string | null>>;
  readonly deleted?: string;
}

/** Of `shop`, which a budget holds, on node `a`, and of others on `a`, `b` and `c`; `gone` has no node any more. */
function staying({ budgets = [budget('p', 0)], removals = { a: 'd1', b: 'd1', c: 'd2' }, deleted }: Given = {}) {
  const names = ['a', 'b', 'c'];
  const seen = {
    pods: [pod('shop', 'n-a', 0), ...names.map((name) => pod(`on-${name}`, `n-${name}`))],
    shapes,
    owners: [],
    nodes: names.map(node),
    nodeClaims: names.map((name) =>
      claim(name, removals[name] ?? null, name === deleted ? '2026-01-01T00:00:00Z' : undefined),
    ),
    podDisruptionBudgets: budgets,
  } as unknown as Seen;
  const movers = ['shop', 'on-a', 'on-b', 'on-c', 'gone'].map((uid): Mover => ({ uid, owner: 'o', shape: 's' }));
  return withoutBudgeted(movers, seen).map(({ uid }) => uid);
}

const ALL = ['shop', 'on-a', 'on-b', 'on-c', 'gone'];

describe('who is not waited for, as a budget of pods holds them', () => {
  test('are all on nodes that go together, where it holds one of their pods', () => {
    expect(staying()).toEqual(['on-c', 'gone']);
  });

  test('is nobody where it lets one go, or another rule keeps the pod', () => {
    expect(staying({ budgets: [budget('p', 1)] })).toEqual(ALL);
    expect(staying({ budgets: [] })).toEqual(ALL);
    expect(staying({ budgets: [budget('p', 0), budget('q', 0)] })).toEqual(ALL);
  });

  test('is nobody where the node is not marked, or drains', () => {
    expect(staying({ removals: { a: null, b: 'd1', c: 'd1' } })).toEqual(ALL);
    expect(staying({ deleted: 'a' })).toEqual(ALL);
  });
});
