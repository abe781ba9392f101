import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundWithGifts } from '../../../../shared/core/packing/relaxed/bound-with-gifts.ts';
import { boundOf, cutOf } from '../../../../shared/core/packing/columns/cuts.ts';
import { fillBest } from '../../../../shared/core/packing/knapsack/fill-best.ts';
import { flatten } from '../../../../shared/core/packing/problem/fill.ts';
import { knapsackOf } from '../../../../shared/core/packing/knapsack/knapsack-of.ts';
import { pack, packingBound } from '../../../../shared/core/packing/pack.ts';
import type { PackingBin, PackingProblem } from '../../../../shared/core/packing/problem/problem.ts';
import { suffixTable, worthFrom } from '../../../../shared/core/packing/knapsack/suffix-tables.ts';
import { bruteForce, holds, problems } from '../kit/tiny-packings.ts';
import { drawsOf } from '../../../setup/draws.ts';

/** A law is a few hundred plans: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };

const anyWork = fc.constantFrom(0, 1_000, 1_000_000);

test('any worth of pods, however wrong, proves a bound that is never above the optimum', slow, () => {
  const worth = fc.array(fc.double({ min: 0, max: 100, noNaN: true }), { minLength: 2, maxLength: 2 });
  fc.assert(
    fc.property(problems, worth, fc.boolean(), anyWork, (problem, drawn, isPriced, left) => {
      const cheapest = bruteForce(problem);
      fc.pre(cheapest !== null);
      const flat = flatten(problem);
      const demand = Float64Array.from(problem.items, ({ count }) => count);
      const values = Float64Array.from(problem.items, (_, item) => drawn[item] ?? 0);
      const cut = cutOf(flat, { values, demand, prices: isPriced ? flat.prices : null }, { left });
      if (cut !== null) expect(boundOf(cut, flat)).toBeLessThanOrEqual(cheapest ?? 0);
    }),
    { numRuns: drawsOf(1_000) },
  );
});

test('what a search says no filling exceeds is not exceeded by any, however short or deep the search', slow, () => {
  const worth = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 2, maxLength: 2 });
  const searches = fc.record({
    above: fc.integer({ min: 0, max: 60 }),
    step: fc.constant(1),
    maxNodes: fc.integer({ min: 1, max: 40 }),
    isDeep: fc.boolean(),
  });
  fc.assert(
    fc.property(problems, worth, searches, (problem, drawn, search) => {
      const flat = flatten(problem);
      const demand = Float64Array.from(problem.items, ({ count }) => count);
      const values = Float64Array.from(problem.items, (_, item) => drawn[item] ?? 0);
      problem.bins.forEach((bin, index) => {
        const best = bestFilling(problem, bin, values);
        const knapsack = knapsackOf(flat, index, values, demand);
        const found = fillBest(knapsack, search, { left: search.isDeep ? 1e6 : 0 });
        expect(found.atMost).toBeGreaterThanOrEqual(best);
        expect(found.value).toBeLessThanOrEqual(best);
        if (found.isEnded) expect(Math.max(found.value, search.above)).toBeGreaterThanOrEqual(best);
        const whole = fillBest(knapsack, { above: 0, step: 1, maxNodes: 10_000, isDeep: true }, { left: 1e6 });
        expect(whole.value).toBe(best);
      });
    }),
    { numRuns: drawsOf(500) },
  );
});

test(
  'a table of what items fill says at least what they fill, whole or cut, and by its own resource no more',
  slow,
  () => {
    const drawnItems = fc.array(
      fc.record({
        size: fc.integer({ min: 0, max: 5_000 }),
        other: fc.integer({ min: 0, max: 9 }),
        value: fc.integer({ min: 0, max: 50 }),
        limit: fc.integer({ min: 0, max: 4 }),
      }),
      { minLength: 1, maxLength: 3 },
    );
    const multiplier = fc.constantFrom(0, 0.5, 3);
    fc.assert(
      fc.property(
        drawnItems,
        fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 15_000 })),
        multiplier,
        (drawn, free, price) => {
          const ordered = {
            width: 2,
            depth: drawn.length,
            values: Float64Array.from(drawn, ({ value }) => value),
            limits: Float64Array.from(drawn, ({ limit }) => limit),
            requests: Float64Array.from(drawn.flatMap(({ size, other }) => [size, other])),
            multipliers: Float64Array.of(0, price),
          };
          const table = suffixTable(ordered, Float64Array.of(free, 0), 0);
          const bestFrom = (depth: number, room: number): number => {
            const item = drawn[depth];
            if (item === undefined) return 0;
            const counts = Array.from({ length: item.limit + 1 }, (_, count) => count);
            const fitting = counts.filter((count) => count * item.size <= room);
            const worth = item.value - price * item.other;
            return Math.max(...fitting.map((count) => count * worth + bestFrom(depth + 1, room - count * item.size)));
          };
          const isExact = free <= 2_000;
          drawn.forEach((_, depth) => {
            for (const room of [free, Math.floor(free / 2), Math.floor(free / 3)]) {
              const best = bestFrom(depth, room);
              expect(worthFrom(table, depth, room)).toBeGreaterThanOrEqual(best - 1e-9);
              if (isExact) expect(worthFrom(table, depth, room)).toBeCloseTo(best, 6);
            }
          });
        },
      ),
      { numRuns: drawsOf(500) },
    );
  },
);

test('beside free capacity the bound is never above the cheapest way to hold the rest', slow, () => {
  const gift = fc.tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 20 }));
  fc.assert(
    fc.property(problems, fc.array(gift, { minLength: 1, maxLength: 2 }), anyWork, (problem, free, left) => {
      const admits = Uint8Array.from(problem.items, () => 1);
      const gifts = free.map((pair) => ({ usable: Float64Array.from(pair), admits }));
      const cheapest = bruteForce(problem, gifts);
      fc.pre(cheapest !== null);
      const bound = boundWithGifts({ problem, gifts }, { cost: 1_000, isFew: left > 0 }, { left });
      expect(bound).toBeLessThanOrEqual(cheapest ?? 0);
    }),
    { numRuns: drawsOf(1_000) },
  );
});

test('pods that free capacity cannot hold are counted in full, however little work there is for the others', () => {
  const requests = [8, 9, 10, 1, 2, 3].map((cpu) => Float64Array.of(cpu, cpu));
  const admits = new Uint8Array(requests.length).fill(1);
  const problem = {
    width: 2,
    items: requests.map((own) => ({ requests: own, count: 10, perNode: Infinity })),
    bins: [{ usable: Float64Array.of(40, 40), price: 4_000, admits }],
  };
  const gifts = Array.from({ length: 20 }, () => ({ usable: Float64Array.of(6, 6), admits }));
  // 270 of the 330 are of pods that need 8 and more, and every node holds 40.
  expect(boundWithGifts({ problem, gifts }, { cost: 40_000, isFew: false }, { left: 0 })).toBeGreaterThanOrEqual(
    27_000,
  );
});

test('a packing holds every pod that some bin holds, within every bin, and costs at least the optimum', slow, () => {
  fc.assert(
    fc.property(problems, fc.constantFrom(0, 10_000, 1_000_000), (problem, steps) => {
      const { nodes, cost, left } = pack(problem, { left: steps });
      const placed = problem.items.map((_, item) =>
        nodes.reduce((sum, { counts, times }) => sum + (counts[item] ?? 0) * times, 0),
      );
      problem.items.forEach(({ count }, item) => expect((placed[item] ?? 0) + (left[item] ?? 0)).toBe(count));
      for (const { bin, counts } of nodes) expect(holds(problem, problem.bins[bin], [...counts])).toBe(true);
      expect(nodes.reduce((sum, { bin, times }) => sum + times * (problem.bins[bin]?.price ?? 0), 0)).toBe(cost);
      const cheapest = bruteForce(problem);
      if (cheapest === null) return;
      expect(left.every((count) => count === 0)).toBe(true);
      expect(cost).toBeGreaterThanOrEqual(cheapest);
    }),
    { numRuns: drawsOf(1_000) },
  );
});

test('the bound of a packing is never above the optimum, and with work enough both meet at it', slow, () => {
  fc.assert(
    fc.property(problems, fc.constantFrom(1_000, 50_000, 3_000_000), (problem, steps) => {
      const cheapest = bruteForce(problem);
      fc.pre(cheapest !== null);
      const { cost, bound } = pack(problem, { left: steps });
      expect(bound).toBeLessThanOrEqual(cheapest ?? 0);
      for (const below of [null, cheapest ?? 0, (cheapest ?? 0) + 7]) {
        const alone = packingBound(problem, { worthwhile: 0, fractions: 0, below }, { left: steps });
        expect(alone).toBeLessThanOrEqual(cheapest ?? 0);
        if (steps === 3_000_000 && below !== null) expect(alone).toBe(cheapest);
      }
      if (steps === 3_000_000) expect([bound, cost]).toEqual([cheapest, cheapest]);
    }),
    { numRuns: drawsOf(1_000) },
  );
});

test(
  'parts that are packed one after the other, each with what the one before has taught, hold all pods and are bounded',
  slow,
  () => {
    const difference = fc.record({
      pods: fc.array(fc.integer({ min: -1, max: 1 }), { minLength: 2, maxLength: 2 }),
      /** An item that the second part's first size does not admit. */
      closedTo: fc.constantFrom(-1, 0, 1),
    });
    fc.assert(
      fc.property(problems, difference, fc.constantFrom(0, 10_000, 3_000_000), (drawn, { pods, closedTo }, steps) => {
        const items = drawn.items.map((item, index) => {
          return { ...item, count: Math.max(0, item.count + (pods[index] ?? 0)) };
        });
        fc.pre([...drawn.items, ...items].reduce((sum, { count }) => sum + count, 0) <= 9);
        const bins = drawn.bins.map((bin, index) => ({
          ...bin,
          admits: bin.admits.map((admitted, item) => (index === 0 && item === closedTo ? 0 : admitted)),
        }));
        const other = { ...drawn, items, bins };
        const none = Uint8Array.from(items, () => 0);
        const both: PackingProblem = {
          width: drawn.width,
          items: [...drawn.items, ...items],
          bins: [
            ...drawn.bins.map((bin) => ({ ...bin, admits: Uint8Array.of(...bin.admits, ...none) })),
            ...bins.map((bin) => ({ ...bin, admits: Uint8Array.of(...none, ...bin.admits) })),
          ],
        };
        const [first, second] = [bruteForce(drawn), bruteForce(other)];
        fc.pre(first !== null && second !== null);
        const cheapest = (first ?? 0) + (second ?? 0);
        const { nodes, cost, bound } = pack(both, { left: steps });
        const placed = both.items.map((_, item) =>
          nodes.reduce((sum, { counts, times }) => sum + (counts[item] ?? 0) * times, 0),
        );
        expect(placed).toEqual(both.items.map(({ count }) => count));
        for (const { bin, counts } of nodes) expect(holds(both, both.bins[bin], [...counts])).toBe(true);
        expect(cost).toBeGreaterThanOrEqual(cheapest);
        expect(bound).toBeLessThanOrEqual(cheapest);
        if (steps === 3_000_000) expect([bound, cost]).toEqual([cheapest, cheapest]);
      }),
      { numRuns: drawsOf(500) },
    );
  },
);

/** What the most valuable filling of one node is worth, by trying all. */
function bestFilling(problem: PackingProblem, bin: PackingBin, values: Float64Array): number {
  const fillings = problem.items.reduce<ReadonlyArray<ReadonlyArray<number>>>(
    (all, { count }) => all.flatMap((counts) => Array.from({ length: count + 1 }, (_, more) => [...counts, more])),
    [[]],
  );
  const worth = fillings
    .filter((counts) => holds(problem, bin, counts))
    .map((counts) => counts.reduce((sum, count, item) => sum + count * (values[item] ?? 0), 0));
  return Math.max(0, ...worth);
}
