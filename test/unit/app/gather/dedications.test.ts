import { describe, expect, test } from 'vitest';
import { podsOfDedication, sharedPlaces, sharedDedications } from '../../../../shared/app/gather/dedications.ts';
import type { RoomLeft } from '../../../../shared/app/gather/room-left.ts';
import type { Decision } from '../../../../shared/ports/store.ts';

type Given = Parameters<typeof sharedDedications>;

const pod = (uid: string, shape: number, nodeName: string | null = null, deleting = false) => ({
  uid,
  shape,
  nodeName,
  deleting,
});
const snapshot = (...pods: ReadonlyArray<ReturnType<typeof pod>>) => ({ pods }) as unknown as Given[0];
const plan = (claims: ReadonlyArray<string>, buffered: ReadonlyArray<number> = []) =>
  ({
    claims: claims.map((uids) => ({ pods: uids.split('').map((uid) => ({ name: `default/${uid}`, uid })) })),
    buffers: [{ claims: buffered.map((claim) => ({ claim, pods: [] })) }],
  }) as unknown as Given[1] & Decision['plan'];

describe('claims share a dedication', () => {
  const alike = snapshot(pod('a', 7), pod('b', 7), pod('c', 7));

  test('whose pods are all alike', () => {
    expect(sharedDedications(alike, plan(['ab', 'c']), ['x', 'y'], 'd')).toEqual(['d.7', 'd.7']);
  });

  test.each([
    ['with a pod that differs', snapshot(pod('a', 7), pod('b', 8), pod('c', 7)), plan(['ab', 'c'])],
    [
      'with a pod that runs elsewhere and comes by a successor',
      snapshot(pod('a', 7), pod('b', 7, 'n'), pod('c', 7)),
      plan(['ab', 'c']),
    ],
    ['with room for a buffer', alike, plan(['ab', 'c'], [0])],
    ['without pods', alike, plan(['', 'abc'])],
    ['of pods that nobody knows', snapshot(pod('c', 7)), plan(['ab', 'c'])],
    ['alone of its kind', alike, plan(['abc'])],
  ])('and not one %s', (_, given, planned) => {
    expect(sharedDedications(given, planned, ['x', 'y'], 'd')).toBeNull();
  });

  test('and others beside them have one of their own', () => {
    const given = snapshot(pod('a', 7), pod('b', 8), pod('c', 7), pod('d', 9), pod('e', 9));
    const planned = plan(['a', 'b', 'c', 'd', 'e']);
    expect(sharedDedications(given, planned, ['v', 'w', 'x', 'y', 'z'], 'n')).toEqual([
      'n.7',
      'w',
      'n.7',
      'n.9',
      'n.9',
    ]);
  });
});

test('the pods of a shared dedication are those of all claims that have it', () => {
  const decision = { plan: plan(['a', 'b', 'cd']), reservations: ['r', 'b', 'r'] };
  expect(podsOfDedication(decision, 'r').map(({ uid }) => uid)).toEqual(['a', 'c', 'd']);
  expect(podsOfDedication({ plan: decision.plan }, 'r')).toEqual([]);
});

describe('the places of claims that share', () => {
  const decision = { plan: plan(['ab', 'cd']), reservations: ['r', 'r'] };
  const sharing = (name: string, pods: string) => ({
    name,
    node: `aks-${name}`,
    dedication: 'r',
    places: 2,
    claim: { pods: pods.split(''), instanceType: 't', zone: 'z', capacityType: 'spot' as const },
    decision,
  });
  const enough: RoomLeft = () => Infinity;
  const placesOf = (given: Given[0], claims = [sharing('x', 'ab'), sharing('y', 'cd')], roomOn = enough) =>
    Object.fromEntries([...sharedPlaces(given, claims, roomOn)].map(([name, { pods }]) => [name, pods.join('')]));

  test('are their own pods’ while nobody has come', () => {
    expect(placesOf(snapshot(pod('a', 0), pod('b', 0), pod('c', 0), pod('d', 0)))).toEqual({ x: 'ab', y: 'cd' });
  });

  test('are of those who have come, and what is left of those who wait', () => {
    const given = snapshot(pod('a', 0), pod('b', 0), pod('c', 0, 'aks-x'), pod('d', 0));
    expect(placesOf(given)).toEqual({ x: 'ca', y: 'db' });
  });

  test('are no more than were planned, also where one has come to the node of a claim that is settled', () => {
    const given = snapshot(pod('a', 0, 'aks-z'), pod('b', 0), pod('c', 0, 'aks-x'), pod('d', 0, 'aks-x'));
    expect(placesOf(given)).toEqual({ x: 'cd', y: 'b' });
    expect(placesOf(given, [sharing('x', 'ab')])).toEqual({ x: 'cd' });
  });

  test('are nobody’s who goes or is gone', () => {
    expect(placesOf(snapshot(pod('a', 0, null, true), pod('c', 0)))).toEqual({ x: '', y: 'c' });
  });

  test('are as many as its node has room for: whoever has none there has one that is left elsewhere', () => {
    const given = snapshot(pod('a', 0), pod('b', 0), pod('c', 0, 'aks-x'), pod('d', 0, 'aks-z'));
    expect(placesOf(given)).toEqual({ x: 'ca', y: 'b' });
    const small: RoomLeft = (node) => (node === 'aks-x' ? 0 : 7);
    expect(placesOf(given, undefined, small)).toEqual({ x: 'c', y: 'ab' });
  });

  test('keep what else is known of a claim', () => {
    expect(sharedPlaces(snapshot(), [sharing('x', 'ab')], enough).get('x')).toMatchObject({
      instanceType: 't',
      zone: 'z',
    });
  });
});
