import { expect, test } from 'vitest';
import { pack } from '../../../../../shared/core/packing/pack.ts';
import { packInTurn } from '../../../../../shared/core/packing/zones/pack-in-turn.ts';

test.each([
  [
    'is shared by two spreads',
    [
      [2, 1, 1],
      [2, 1, 1],
    ],
    [4, 2, 2],
  ],
  ['is that of pods without a spread, too', [[2, 1, 1]], [4, 1, 1]],
])('where an item %s nothing is packed anew: it could not be told whose pods moved', (_, assigned, counts) => {
  const items = counts.map((count) => ({ requests: Float64Array.of(3), count, perNode: Infinity }));
  const others = { requests: Float64Array.of(5), count: 4, perNode: Infinity };
  const bins = [0, 1, 2].map((zone) => ({
    usable: Float64Array.of(8),
    price: 8,
    admits: Uint8Array.of(...[0, 1, 2].map((item) => (item === zone ? 1 : 0)), 1),
  }));
  const problem = { width: 1, items: [...items, others], bins };
  const spreads = assigned.map((own) => ({
    items: [0, 1, 2],
    assigned: own,
    counts: own,
    maxSkew: 1,
    isEmptiestKnown: true,
  }));
  // What is dear is improved wherever it can be.
  const start = { packing: { ...pack(problem, { left: 1e6 }), cost: 1e9 }, assigned };
  const worth = Float64Array.of(3, 3, 3, 5);
  expect(packInTurn(problem, spreads, { start, worth }, { left: 3e6 })).toBe(start);
});
