import { describe, expect, test } from 'vitest';
import { createRecentPlaces } from '../../../../shared/app/ports/recent-places.ts';

const inFlight = (...claims: ReadonlyArray<string>) =>
  new Map(claims.map((name) => [name, { pods: [], instanceType: 't', zone: 'z', capacityType: 'spot' as const }]));
const at = (kind: 'node' | 'claim', name: string, uid: string) => ({
  target: { kind, name },
  pods: [{ name: `default/${uid}`, uid }],
});

describe('places that a plan found beside its claims', () => {
  test('hold for pods on claims in flight, whether their node has joined or not, and on no other node', () => {
    const places = createRecentPlaces();
    const nominations = [
      at('claim', 'x', 'a'),
      at('node', 'aks-y', 'b'),
      at('node', 'aks-old', 'c'),
      at('node', 'foreign', 'd'),
    ];
    places.note({ nominations }, 4);
    expect(places.promised(4, inFlight('x', 'y'))).toEqual(['a', 'b']);
    expect(places.promised(4, inFlight('y'))).toEqual(['b']);
  });

  test('hold no more once somebody has decided, nor before there was a plan, and the last plan counts', () => {
    const places = createRecentPlaces();
    expect(places.promised(0, inFlight('x'))).toEqual([]);
    places.note({ nominations: [at('claim', 'x', 'a')] }, 4);
    expect(places.promised(5, inFlight('x'))).toEqual([]);
    places.note({ nominations: [at('claim', 'x', 'b')] }, 4);
    expect(places.promised(4, inFlight('x'))).toEqual(['b']);
  });
});
