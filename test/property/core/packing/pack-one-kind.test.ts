import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { pack } from '../../../../shared/core/packing/pack.ts';
import type { PackingProblem } from '../../../../shared/core/packing/problem/problem.ts';

/** So few pods and sizes that every number of nodes of every size can be tried. */
const MOST_PODS = 6;

const problems: fc.Arbitrary<PackingProblem> = fc.record({
  width: fc.constant(2),
  items: fc
    .record({
      requests: fc
        .tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 1, max: 9 }))
        .map((pair) => Float64Array.from(pair)),
      count: fc.integer({ min: 1, max: MOST_PODS }),
      perNode: fc.constantFrom(1, 2, Infinity, Infinity),
    })
    .map((item) => [item]),
  bins: fc.array(
    fc.record({
      usable: fc
        .tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 5, max: 30 }))
        .map((pair) => Float64Array.from(pair)),
      price: fc.integer({ min: 1, max: 9 }),
      admits: fc.constantFrom(1, 1, 1, 0).map((one) => Uint8Array.of(one)),
    }),
    { minLength: 1, maxLength: 4 },
  ),
});

test('pods that are all alike get the cheapest nodes there are', () => {
  fc.assert(
    fc.property(problems, (problem) => {
      const best = everyWay(problem);
      fc.pre(best !== null);
      const packed = pack(problem, { left: 1_000_000 });
      expect({ cost: packed.cost, bound: packed.bound }).toEqual({ cost: best, bound: best });
      const placed = packed.nodes.reduce((sum, { counts, times }) => sum + (counts[0] ?? 0) * times, 0);
      expect(placed).toBe(problem.items[0]?.count);
      for (const { bin, counts } of packed.nodes) expect(counts[0]).toBeLessThanOrEqual(mostOn(problem, bin));
    }),
  );
});

test('pods that are all alike are packed in one pass over their number, however many there are', () => {
  const work = { left: 1_000_000 };
  const bins = [7, 11, 13].map((cores) => ({
    usable: Float64Array.of(cores),
    price: 100 * cores + 1,
    admits: Uint8Array.of(1),
  }));
  const items = [{ requests: Float64Array.of(2), count: 10_000, perNode: Infinity }];
  const { cost, bound } = pack({ width: 1, items, bins }, work);
  expect(cost).toBe(bound);
  expect(work.left).toBeGreaterThanOrEqual(1_000_000 - 10_000 * bins.length);
});

/** The least cost, by trying every number of nodes of each size; null where no size holds a pod. */
function everyWay(problem: PackingProblem): number | null {
  const count = problem.items[0]?.count ?? 0;
  let best = Infinity;
  const descend = (bin: number, held: number, cost: number): void => {
    const size = problem.bins[bin];
    if (size === undefined) {
      if (held >= count) best = Math.min(best, cost);
      return;
    }
    const most = mostOn(problem, bin);
    for (let times = 0; times <= (most === 0 ? 0 : count); times++) {
      descend(bin + 1, held + times * most, cost + times * size.price);
    }
  };
  descend(0, 0, 0);
  return best === Infinity ? null : best;
}

/** How many of the pods one node of the size holds, found by adding one after the other. */
function mostOn({ items, bins }: PackingProblem, bin: number): number {
  const [item] = items;
  const size = bins[bin];
  if (item === undefined || size === undefined || size.admits[0] !== 1) return 0;
  let pods = 0;
  const fits = (more: number): boolean => item.requests.every((one, k) => one * more <= (size.usable[k] ?? 0));
  while (pods < Math.min(item.count, item.perNode) && fits(pods + 1)) pods++;
  return pods;
}
