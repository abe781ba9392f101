import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { packSeeded } from '../../../../shared/core/packing/first/pack-seeded.ts';
import { flatten } from '../../../../shared/core/packing/problem/fill.ts';
import type { PackedNode, Packing, PackingProblem } from '../../../../shared/core/packing/problem/problem.ts';
import { bruteForce, holds, problems } from '../kit/tiny-packings.ts';
import { drawsOf } from '../../../setup/draws.ts';

/** A law is a few hundred packings: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };
const runs = { numRuns: drawsOf(2_000, 100) };

const draws = fc.record({
  problem: problems,
  worth: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 2, maxLength: 2 }),
});

function packed(problem: PackingProblem, worth: ReadonlyArray<number>): Packing | null {
  const demand = Float64Array.from(problem.items, ({ count }) => count);
  const own = Float64Array.from(problem.items, (_, item) => worth[item] ?? 1);
  return packSeeded(flatten(problem), { demand, worth: own, work: { left: 10_000_000 } });
}

test('packing around what is worth most packs every pod once, on nodes that hold them, at their price', slow, () => {
  fc.assert(
    fc.property(draws, ({ problem, worth }) => {
      const packing = packed(problem, worth);
      const cheapest = bruteForce(problem);
      expect(packing === null).toBe(cheapest === null);
      if (packing === null) return;
      for (const { bin, counts } of packing.nodes) expect(holds(problem, problem.bins[bin], [...counts])).toBe(true);
      expect(problem.items.map((_, item) => podsOn(packing.nodes, item))).toEqual(
        problem.items.map(({ count }) => count),
      );
      expect(packing.cost).toBe(costOf(problem, packing.nodes));
      expect(packing.cost).toBeGreaterThanOrEqual(cheapest ?? 0);
    }),
    runs,
  );
});

test('each node is the one that is worth most per price of all that have a pod of what is worth most', slow, () => {
  let seen = 0;
  fc.assert(
    fc.property(draws, ({ problem, worth }) => {
      const nodes = packed(problem, worth)?.nodes ?? [];
      const left = problem.items.map(({ count }) => count);
      // The last one may be one for all the rest.
      for (const { bin, counts, times } of nodes.slice(0, -1)) {
        const seed = left.reduce(
          (most, count, item) => (count > 0 && (most === -1 || (worth[item] ?? 0) > (worth[most] ?? 0)) ? item : most),
          -1,
        );
        const ratio = ratioOf(worth, [...counts], problem.bins[bin]?.price ?? 0);
        expect(ratio).toBeGreaterThanOrEqual(bestAround(problem, worth, left, seed) - 2e-3);
        counts.forEach((count, item) => (left[item] = (left[item] ?? 0) - count * times));
        seen++;
      }
    }),
    runs,
  );
  expect(seen).toBeGreaterThan(0);
});

/** By trying all fillings of all sizes. */
function bestAround(problem: PackingProblem, worth: ReadonlyArray<number>, left: ReadonlyArray<number>, seed: number) {
  const fillings = left.reduce<ReadonlyArray<ReadonlyArray<number>>>(
    (all, count) => all.flatMap((counts) => Array.from({ length: count + 1 }, (_, more) => [...counts, more])),
    [[]],
  );
  const ratios = problem.bins.flatMap((bin) =>
    fillings
      .filter((counts) => (counts[seed] ?? 0) > 0 && holds(problem, bin, counts))
      .map((counts) => ratioOf(worth, counts, bin.price)),
  );
  return Math.max(...ratios);
}

function ratioOf(worth: ReadonlyArray<number>, counts: ReadonlyArray<number>, price: number): number {
  return counts.reduce((sum, count, item) => sum + count * (worth[item] ?? 0), 0) / price;
}

function podsOn(nodes: ReadonlyArray<PackedNode>, item: number): number {
  return nodes.reduce((sum, { counts, times }) => sum + times * (counts[item] ?? 0), 0);
}

function costOf({ bins }: PackingProblem, nodes: ReadonlyArray<PackedNode>): number {
  return nodes.reduce((sum, { bin, times }) => sum + times * (bins[bin]?.price ?? 0), 0);
}
