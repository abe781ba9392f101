import { describe, expect, test } from 'vitest';
import { withinBudgetsNow, type Going } from '../../../../shared/app/disrupt/budgets-now.ts';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import type { Candidate } from '../../../../shared/core/disruption/second-look/begun.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { consolidated } from '../../../kit/app/consolidated.ts';
import { since, START } from '../../../kit/app/small-cluster.ts';

/**
 * Two empty nodes, `spare` and `third`, which are marked to go; whoever looks again sees the cluster as it was then.
 */
async function marked() {
  const cluster = consolidated();
  cluster.addReady('third');
  const { ports, clock, server, trace } = cluster;
  const logged: Array<Readonly<Record<string, unknown>>> = [];
  const log = (event: string, facts: object): void => void logged.push({ event, ...facts });
  expect(await disrupt({ ...ports, log })).toMatchObject({ kind: 'begun', nodes: 2 });
  clock.advance(6_000);
  const seen = await ports.snapshots.latest();
  const old = { ...ports, log, snapshots: { ...ports.snapshots, latest: () => Promise.resolve(seen) } };
  trace.length = 0;
  const budget = (nodes: string): void => {
    const disruption = {
      consolidateAfter: '0s',
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      budgets: [{ nodes }],
    };
    server.patch('nodepools', 'general', { spec: { disruption } }, 'object');
  };
  return { ...cluster, old, budget, logged };
}

describe('what an old or forged view lets go is held by', () => {
  test('the budgets as the API server has them now', async () => {
    const { old, budget, stateOf, marks, logged } = await marked();
    budget('0');
    expect(await disrupt(old)).toEqual({
      kind: 'waiting',
      for: 'budgets of NodePool general allow fewer removals right now',
    });
    expect(['spare', 'third'].map(stateOf)).toEqual(['there', 'there']);
    expect(marks('spare').tainted).toBe(true);
    const why = 'budgets of NodePool general allow fewer removals right now';
    expect(logged).toContainEqual({ event: 'disruption-step-refused', claim: 'spare', step: 'remove', why });
  });

  test('what is being deleted now', async () => {
    const { old, budget, server, stateOf } = await marked();
    budget('2');
    server.delete('nodeclaims', 'used');
    expect(await disrupt(old)).toMatchObject({ kind: 'waiting' });
    expect(['spare', 'third'].map(stateOf)).toEqual(['there', 'there']);
  });

  test('what is being deleted now only for as long as its Node is there, as a policy may keep the NodeClaim for ever', async () => {
    const { old, budget, server, stateOf } = await marked();
    budget('2');
    server.delete('nodeclaims', 'used');
    server.remove('nodes', 'aks-used');
    expect(await disrupt(old)).toMatchObject({ kind: 'finished', removed: 2 });
    expect(['spare', 'third'].map(stateOf)).toEqual(['leaving', 'leaving']);
  });

  test('a share of the nodes that are in use now, and not of those that start', async () => {
    const { old, budget, addClaim, stateOf } = await marked();
    budget('33%');
    addClaim('young', { labels: { 'karpenter.sh/nodepool': 'general' } });
    expect(await disrupt(old)).toMatchObject({ kind: 'waiting' });
    expect(['spare', 'third'].map(stateOf)).toEqual(['there', 'there']);
  });

  test('a list of NodeClaims that cannot be had: nobody knows what is being deleted', async () => {
    const { old, budget, outside, stateOf } = await marked();
    budget('2');
    outside.onRequest = ({ method, path }) => {
      if (method === 'GET' && /\/nodeclaims(\?|$)/.test(path)) throw new RetryableError('overloaded');
    };
    const why = 'budgets of NodePool general cannot be read: overloaded';
    expect(await disrupt(old)).toEqual({ kind: 'waiting', for: why });
    expect(['spare', 'third'].map(stateOf)).toEqual(['there', 'there']);
  });

  test('a share of the nodes that there are now', async () => {
    const { old, budget, server, stateOf } = await marked();
    budget('50%');
    server.remove('nodeclaims', 'used');
    expect(await disrupt(old)).toMatchObject({ kind: 'waiting' });
    expect(['spare', 'third'].map(stateOf)).toEqual(['there', 'there']);
  });
});

describe('of several sets', () => {
  /** Marked nodes of a pool with a budget of so many, each with its reason; asked set by set. */
  async function within(
    nodes: string | ReadonlyArray<object>,
    sets: ReadonlyArray<ReadonlyArray<readonly [name: string, reason: string, nodePool?: string]>>,
    others: Readonly<Record<string, string>> = {},
  ) {
    const cluster = consolidated();
    const { server, ports, trace } = cluster;
    for (const name of Object.keys(others)) cluster.addPool(name);
    for (const [name, budget] of [['general', nodes] as const, ...Object.entries(others)]) {
      const budgets = typeof budget === 'string' ? [{ nodes: budget }] : budget;
      const disruption = { consolidateAfter: '0s', consolidationPolicy: 'WhenEmpty', budgets };
      server.patch('nodepools', name, { spec: { disruption } }, 'object');
    }
    for (const [name, reason, nodePool = 'general'] of sets.flat()) {
      cluster.addReady(name, 2, {}, nodePool);
      const conditions = [since(START, 'Initialized'), { ...since(START, 'DisruptionReason'), reason }];
      server.patch('nodeclaims', name, { status: { conditions } }, 'status');
    }
    const { nodeClaims, nodes: all } = await ports.snapshots.list();
    const candidate = (name: string): Candidate => {
      const claim = nodeClaims.find(({ metadata }) => metadata.name === name);
      const node = all.find(({ metadata }) => metadata.name === `aks-${name}`);
      if (claim === undefined || node === undefined) throw new Error(`there is no ${name}`);
      return { claim, node };
    };
    trace.length = 0;
    const { going, held } = await withinBudgetsNow(
      ports,
      sets.map((set) => set.map(([name, reason]) => ({ candidate: candidate(name), reason, sinceMs: START }))),
    );
    const nameOf = ({ candidate: { claim } }: Going): string => claim.metadata.name;
    return { going: going.map(nameOf), held: held.map(({ one }) => nameOf(one)), reads: trace.length };
  }

  test('those before count for those after', async () => {
    expect(await within('1', [[['a', 'Empty']], [['b', 'Empty']]])).toMatchObject({ going: ['a'], held: ['b'] });
    expect(await within('2', [[['a', 'Empty']], [['b', 'Empty']]])).toMatchObject({ going: ['a', 'b'], held: [] });
  });

  test('all those before count, not the last alone', async () => {
    const sets = ['a', 'b', 'c'].map((name) => [[name, 'Empty']] as const);
    expect(await within('2', sets)).toMatchObject({ going: ['a', 'b'], held: ['c'] });
  });

  test('a set with several reasons is held where there is no room for all of it by one of them', async () => {
    const both = [
      ['a', 'Empty'],
      ['b', 'Drifted'],
    ] as const;
    const budgets = [{ nodes: '1', reasons: ['Drifted'] }, { nodes: '100%' }];
    expect(await within(budgets, [both])).toMatchObject({ going: [], held: ['a', 'b'] });
    expect(await within(budgets, [[['c', 'Drifted']]])).toMatchObject({ going: ['c'], held: [] });
  });

  test('a node of no pool goes, and nothing is read for it', async () => {
    expect(await within('0', [[['a', 'Empty', '']]])).toEqual({ going: ['a'], held: [], reads: 0 });
  });

  test('a set with nodes of several pools goes where each of them lets it, and counts in each', async () => {
    const both = [
      ['a', 'Drifted'],
      ['b', 'Drifted', 'second'],
    ] as const;
    expect(await within('1', [both], { second: '1' })).toMatchObject({ going: ['a', 'b'], held: [] });
    expect(await within('1', [both], { second: '0' })).toMatchObject({ going: [], held: ['a', 'b'] });
    expect(await within('0', [both], { second: '1' })).toMatchObject({ going: [], held: ['a', 'b'] });
    const [first, next] = [[['c', 'Drifted']], [['d', 'Drifted', 'second']]] as const;
    expect(await within('1', [both, first, next], { second: '1' })).toMatchObject({
      going: ['a', 'b'],
      held: ['c', 'd'],
    });
    expect(await within('2', [both, first, next], { second: '2' })).toMatchObject({ held: [] });
  });

  test('one that is held holds none after it', async () => {
    const both = [
      ['a', 'Drifted'],
      ['b', 'Drifted'],
    ] as const;
    expect(await within('1', [both, [['c', 'Empty']]])).toMatchObject({ going: ['c'], held: ['a', 'b'] });
  });

  test('what must go asks no budget, and nothing is read for it', async () => {
    expect(await within('0', [[['a', 'Expired']], [['b', 'Unhealthy']]])).toEqual({
      going: ['a', 'b'],
      held: [],
      reads: 0,
    });
  });

  test('what must go takes no place of what asks, and goes with those of its set or not at all', async () => {
    const set = [
      ['a', 'Expired'],
      ['b', 'Empty'],
    ] as const;
    expect(await within('1', [set])).toMatchObject({ going: ['a', 'b'], held: [] });
    expect(await within('0', [set])).toMatchObject({ going: [], held: ['a', 'b'] });
  });
});

test('what goes is not held by machines that are being removed already, nor by claims that are no nodes yet', async () => {
  const { old, budget, server, addClaim, stateOf } = await marked();
  budget('2');
  server.patch(
    'nodeclaims',
    'used',
    { status: { conditions: ['Initialized', 'InstanceTerminating'].map((type) => since(START, type)) } },
    'status',
  );
  server.delete('nodeclaims', 'used');
  addClaim('young', { labels: { 'karpenter.sh/nodepool': 'general' } });
  server.delete('nodeclaims', 'young');
  expect(await disrupt(old)).toMatchObject({ kind: 'finished', removed: 2 });
  expect(['spare', 'third'].map(stateOf)).toEqual(['leaving', 'leaving']);
});

describe('what is held', () => {
  test('stays after ten minutes', async () => {
    const { old, budget, clock, marks, stateOf, logged } = await marked();
    budget('0');
    expect((await disrupt(old)).kind).toBe('waiting');
    clock.advance(600_000);
    expect(await disrupt(old)).toMatchObject({ kind: 'finished', removed: 0, takenBack: 2 });
    expect([stateOf('spare'), marks('spare').tainted, marks('third').tainted]).toEqual(['there', false, false]);
    expect(logged.filter(({ event }) => event === 'disruption-taken-back')).toHaveLength(2);
  });

  test('goes where it has grown too old meanwhile: age asks no budget', async () => {
    const { ports, clock, budget, server, stateOf } = await marked();
    budget('0');
    for (const name of ['spare', 'third']) {
      server.patch('nodeclaims', name, { spec: { expireAfter: '1s' } }, 'object');
      server.patch('nodeclaims', name, { metadata: { creationTimestamp: new Date(START).toISOString() } }, 'object');
    }
    clock.advance(10_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 2 });
    expect(stateOf('spare')).toBe('leaving');
  });

  test('by a pool that cannot be read keeps no other mark from coming off, and goes when it can', async () => {
    const { old, outside, stateOf, logged } = await marked();
    outside.onRequest = ({ method, path }) => {
      if (method === 'GET' && path.endsWith('/nodepools/general')) throw new RetryableError('overloaded');
    };
    const why = 'budgets of NodePool general cannot be read: overloaded';
    expect(await disrupt(old)).toEqual({ kind: 'waiting', for: why });
    expect(logged).toContainEqual({ event: 'disruption-step-refused', claim: 'spare', step: 'remove', why });
    outside.onRequest = () => undefined;
    expect(await disrupt(old)).toMatchObject({ removed: 2 });
    expect(stateOf('spare')).toBe('leaving');
  });
});

test('a node without the label of its pool has that of its claim', async () => {
  const { ports, budget } = await marked();
  budget('0');
  const { nodeClaims, nodes } = await ports.snapshots.list();
  const claim = nodeClaims.find(({ metadata }) => metadata.name === 'spare');
  const node = nodes.find(({ metadata }) => metadata.name === 'aks-spare');
  if (claim === undefined || node === undefined) throw new Error('there is no spare');
  const bare = { ...node, metadata: { ...node.metadata, labels: {} } };
  const going = [{ candidate: { claim, node: bare }, reason: 'Empty', sinceMs: START }];
  expect(await withinBudgetsNow(ports, [going])).toMatchObject({ going: [], held: [{}] });
});

test('a claim without the label of its pool has that of its node', async () => {
  const { ports, server, stateOf } = await marked();
  server.patch('nodeclaims', 'spare', { metadata: { labels: { 'karpenter.sh/nodepool': null } } }, 'object');
  expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 2 });
  expect(stateOf('spare')).toBe('leaving');
});

test('a share of three nodes that holds two lets them go', async () => {
  const { old, budget } = await marked();
  budget('50%');
  expect(await disrupt(old)).toMatchObject({ kind: 'finished', removed: 2 });
});

test('where a pool has gone meanwhile nothing is held by its budgets', async () => {
  const { old, server, stateOf } = await marked();
  server.remove('nodepools', 'general');
  expect(await disrupt(old)).toMatchObject({ kind: 'finished', removed: 2 });
  expect(stateOf('spare')).toBe('leaving');
});
