import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { certifiedBound, safePrices } from '../../../shared/core/packing/certify.ts';
import { demandOf, resourcePrices } from '../../../shared/core/packing/fluid.ts';
import { integerCover } from '../../../shared/core/packing/integer-cover.ts';
import { pack } from '../../../shared/core/packing/pack.ts';
import type { PackingBin, PackingItem, PackingProblem } from '../../../shared/core/packing/problem.ts';
import { tighten } from '../../../shared/core/packing/tighten.ts';

/** A law is a few hundred plans: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };

/** At most 6 pods, so that every way to group them can be tried: 203 groupings. */
const items = fc.array(
  fc.record({
    requests: fc
      .tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 1, max: 9 }))
      .map((pair) => Float64Array.from(pair)),
    count: fc.integer({ min: 1, max: 3 }),
    perNode: fc.constantFrom(1, 2, Infinity, Infinity),
  }),
  { minLength: 1, maxLength: 2 },
);

const problems: fc.Arbitrary<PackingProblem> = items.chain((drawn) =>
  fc
    .array(
      fc.record({
        usable: fc
          .tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 5, max: 30 }))
          .map((pair) => Float64Array.from(pair)),
        price: fc.integer({ min: 1, max: 40 }),
        admits: fc
          .array(fc.constantFrom(1, 1, 1, 0), { minLength: drawn.length, maxLength: drawn.length })
          .map((list) => Uint8Array.from(list)),
      }),
      { minLength: 1, maxLength: 4 },
    )
    .map((bins) => ({ width: 2, items: drawn, bins })),
);

test('the certified bound is never above the cheapest way to hold all pods', slow, () => {
  fc.assert(
    fc.property(problems, (problem) => {
      const cheapest = bruteForce(problem);
      fc.pre(cheapest !== null);
      expect(boundOf(problem)).toBeLessThanOrEqual(cheapest ?? 0);
    }),
    { numRuns: 1_000 },
  );
});

test(
  'the bound of whole nodes is never above the cheapest way to hold all pods, and at least that of fractions',
  slow,
  () => {
    fc.assert(
      fc.property(problems, (problem) => {
        const cheapest = bruteForce(problem);
        fc.pre(cheapest !== null);
        const { items: all, bins, width } = problem;
        const tightened = tighten(all, bins, width);
        const prices = resourcePrices(all, tightened, width);
        const cover = integerCover(tightened, demandOf(all, width), safePrices(prices, tightened), 1_000);
        expect(cover).not.toBe(null);
        expect(cover).toBeLessThanOrEqual(cheapest ?? 0);
        expect(cover).toBeGreaterThanOrEqual(boundOf(problem));
      }),
      { numRuns: 1_000 },
    );
  },
);

test('the bound holds for any prices, however wrong: they are lowered until they prove something', slow, () => {
  const prices = fc.tuple(fc.double({ min: 0, max: 100, noNaN: true }), fc.double({ min: 0, max: 100, noNaN: true }));
  fc.assert(
    fc.property(problems, prices, (problem, drawn) => {
      const cheapest = bruteForce(problem);
      fc.pre(cheapest !== null);
      const bound = certifiedBound(Float64Array.from(drawn), problem.items, problem.bins, new Float64Array(2));
      expect(bound).toBeLessThanOrEqual(cheapest ?? 0);
    }),
    { numRuns: 500 },
  );
});

test('a packing holds every pod that some bin holds, within every bin, and costs at least the optimum', slow, () => {
  fc.assert(
    fc.property(problems, (problem) => {
      const { nodes, cost, left } = pack(problem, 200);
      const placed = problem.items.map((_, item) =>
        nodes.reduce((sum, { counts, times }) => sum + (counts[item] ?? 0) * times, 0),
      );
      problem.items.forEach(({ count }, item) => expect((placed[item] ?? 0) + (left[item] ?? 0)).toBe(count));
      for (const { bin, counts } of nodes) expect(holds(problem, problem.bins[bin], [...counts])).toBe(true);
      const cheapest = bruteForce(problem);
      if (cheapest === null) return;
      expect(left.every((count) => count === 0)).toBe(true);
      expect(cost).toBeGreaterThanOrEqual(cheapest);
    }),
    { numRuns: 1_000 },
  );
});

function boundOf({ items: all, bins, width }: PackingProblem): number {
  const tightened = tighten(all, bins, width);
  return certifiedBound(resourcePrices(all, tightened, width), all, tightened, new Float64Array(width));
}

function holds({ items: all }: PackingProblem, bin: PackingBin | undefined, counts: ReadonlyArray<number>): boolean {
  if (bin === undefined) return false;
  const fits = [0, 1].every(
    (at) => counts.reduce((sum, count, item) => sum + count * requestOf(all, item, at), 0) <= (bin.usable[at] ?? 0),
  );
  return (
    fits && counts.every((count, item) => count === 0 || (bin.admits[item] === 1 && count <= (all[item]?.perNode ?? 0)))
  );
}

function requestOf(all: ReadonlyArray<PackingItem>, item: number, at: number): number {
  return all[item]?.requests[at] ?? 0;
}

/** The cheapest cost over all ways to group the pods, or null when some pod fits nowhere. */
function bruteForce(problem: PackingProblem): number | null {
  const pods = problem.items.flatMap(({ count }, item) => Array.from({ length: count }, () => item));
  let best: number | null = null;
  const place = (next: number, groups: ReadonlyArray<ReadonlyArray<number>>): void => {
    if (next === pods.length) {
      const cost = groups.reduce((sum, group) => sum + cheapestFor(problem, group), 0);
      if (Number.isFinite(cost) && (best === null || cost < best)) best = cost;
      return;
    }
    const pod = pods[next] ?? 0;
    groups.forEach((group, at) => place(next + 1, groups.with(at, [...group, pod])));
    place(next + 1, [...groups, [pod]]);
  };
  place(0, []);
  return best;
}

function cheapestFor(problem: PackingProblem, group: ReadonlyArray<number>): number {
  const counts = problem.items.map((_, item) => group.filter((one) => one === item).length);
  const prices = problem.bins.filter((bin) => holds(problem, bin, counts)).map(({ price }) => price);
  return Math.min(...prices);
}
