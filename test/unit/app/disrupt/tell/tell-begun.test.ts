import { describe, expect, test } from 'vitest';
import { tellBegun, type BegunStep } from '../../../../../shared/app/disrupt/tell/tell-begun.ts';
import { candidatesOf } from '../../../../../shared/core/disruption/second-look/begun.ts';
import type { Fields } from '../../../../simulation/world/api-server.ts';
import { emptied } from '../../../../kit/app/consolidated.ts';

/** What the events say of a step by which several nodes go. */

type Given = Partial<Pick<BegunStep, 'plan' | 'claimNames'>> & { readonly step?: Partial<BegunStep['step']> };

const move = (uid: string, from: string): BegunStep['step']['moves'][number] => ({
  pod: `default/${uid}`,
  uid,
  from,
  to: { kind: 'node', name: 'meant' },
});

const nominated = (name: string, ...uids: ReadonlyArray<string>): BegunStep['plan']['nominations'][number] => ({
  target: { kind: 'node', name },
  pods: uids.map((uid) => ({ name: `default/${uid}`, uid })),
});

/** All that is told when these nodes of pool `general` go; a second pool has none of them. */
async function tell(nodes: ReadonlyArray<string>, { step, plan, claimNames = [] }: Given = {}) {
  const cluster = emptied();
  cluster.addPool('other');
  for (const name of nodes) cluster.addReady(name);
  const snapshot = await cluster.ports.snapshots.list();
  const remove = nodes.map((name) => `aks-${name}`);
  await tellBegun(
    cluster.ports,
    { snapshot },
    {
      decision: '7-abc',
      step: { reason: 'Underutilized', remove, moves: [], saved: 100_000, ...step },
      candidates: candidatesOf(snapshot),
      plan: plan ?? { claims: [], nominations: [] },
      claimNames,
    },
  );
  const told = cluster.server.list('events').map((event) => {
    const { involvedObject, message } = event as Fields;
    return [`${(involvedObject as Fields)['kind']}/${(involvedObject as Fields)['name']}`, String(message)] as const;
  });
  const about = (object: string): ReadonlyArray<string> =>
    told.flatMap(([name, message]) => (name === object ? [message] : []));
  return { told, about };
}

describe('of a step with several nodes', () => {
  test('each is told its own pods, and that the saving is of all of them; the pool is told of all', async () => {
    const moves = [move('a1', 'aks-a'), move('a2', 'aks-a'), move('b1', 'aks-b')];
    const plan = { claims: [], nominations: [nominated('aks-x', 'a1', 'b1'), nominated('aks-y', 'a2')] };
    const { about } = await tell(['a', 'b'], { step: { moves }, plan });
    expect(about('Node/aks-a')).toEqual([
      'To be removed: Underutilized, saves EUR 0.1 an hour together with 1 other node; 2 pods move to node/aks-x (1), node/aks-y (1)',
    ]);
    expect(about('NodeClaim/b')).toEqual([
      'To be removed: Underutilized, saves EUR 0.1 an hour together with 1 other node; 1 pod moves to node/aks-x (1)',
    ]);
    expect(about('NodePool/general')).toEqual([
      'Decision 7-abc removes aks-a, aks-b: Underutilized, saves EUR 0.1 an hour; 3 pods move to node/aks-x (2), node/aks-y (1)',
    ]);
  });

  test('a pool of which no node goes is told nothing', async () => {
    const { about } = await tell(['a']);
    expect([about('NodePool/general').length, about('NodePool/other').length]).toEqual([1, 0]);
  });

  test('a hundred nodes are told, and the pool counts all: an event is a request', async () => {
    const nodes = Array.from({ length: 101 }, (_, index) => `n${index}`);
    const { told, about } = await tell(nodes);
    const kinds = told.map(([object]) => object.split('/')[0]);
    expect(['Node', 'NodeClaim'].map((kind) => kinds.filter((one) => one === kind).length)).toEqual([100, 100]);
    expect(about('NodePool/general')).toEqual([expect.stringMatching(/ and 96 other nodes: /)]);
  });
});

describe('what a step costs', () => {
  test.each([
    [100_000, 'To be removed: Expired, saves EUR 0.1 an hour; no pod has to move'],
    [-100_000, 'To be removed: Expired, costs EUR 0.1 more an hour; no pod has to move'],
    [0, 'To be removed: Expired; no pod has to move'],
  ])('is told: %i', async (saved, message) => {
    const { about } = await tell(['a'], { step: { reason: 'Expired', saved } });
    expect(about('Node/aks-a')).toEqual([message]);
  });
});

describe('where pods go', () => {
  test('is told by place, those of most pods first and then by name, and no more than five', async () => {
    const names = ['e', 'd', 'c', 'b', 'a', 'z'];
    const uids = [...names, 'z2'];
    const plan = {
      claims: [],
      nominations: [...names.map((name) => nominated(name, name)), nominated('z', 'z2')],
    };
    const { about } = await tell(['a'], { step: { moves: uids.map((uid) => move(uid, 'aks-a')) }, plan });
    expect(about('Node/aks-a')).toEqual([
      expect.stringMatching(
        /; 7 pods move to node\/z \(2\), node\/a \(1\), node\/b \(1\), node\/c \(1\), node\/d \(1\) and 1 other place$/,
      ),
    ]);
  });

  test('is told also of a pod for which the plan has no place', async () => {
    const { about } = await tell(['a'], { step: { moves: [move('lost', 'aks-a')] } });
    expect(about('Node/aks-a')).toEqual([
      expect.stringMatching(/; 1 pod moves to a node that is not known yet \(1\)$/),
    ]);
  });
});
