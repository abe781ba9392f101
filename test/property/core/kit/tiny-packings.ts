import * as fc from 'fast-check';
import type { PackingBin, PackingItem, PackingProblem } from '../../../../shared/core/packing/problem/problem.ts';

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

/** Packing problems small enough for `bruteForce`. */
export const problems: fc.Arbitrary<PackingProblem> = items.chain((drawn) =>
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

/** May these pods, per item, be together on one node? */
export function holds(
  { items: all }: PackingProblem,
  bin: PackingBin | undefined,
  counts: ReadonlyArray<number>,
): boolean {
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

/** A node that is there already. */
export type Gift = Omit<PackingBin, 'price'>;

/**
 * The cheapest cost over all ways to group the pods, or null when some pod fits nowhere. A gift holds one group for
 * nothing.
 */
export function bruteForce(problem: PackingProblem, gifts: ReadonlyArray<Gift> = []): number | null {
  const pods = problem.items.flatMap(({ count }, item) => Array.from({ length: count }, () => item));
  let best: number | null = null;
  const place = (next: number, groups: ReadonlyArray<ReadonlyArray<number>>): void => {
    if (next === pods.length) {
      const cost = cheapestWith(problem, groups, gifts);
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

/** Each gift takes any one group that it holds, or none; the rest is bought. */
function cheapestWith(
  problem: PackingProblem,
  groups: ReadonlyArray<ReadonlyArray<number>>,
  [gift, ...others]: ReadonlyArray<Gift>,
): number {
  if (gift === undefined) return groups.reduce((sum, group) => sum + cheapestFor(problem, group), 0);
  const without = groups
    .filter((group) => holds(problem, { ...gift, price: 0 }, countsOf(problem, group)))
    .map((taken) =>
      cheapestWith(
        problem,
        groups.filter((group) => group !== taken),
        others,
      ),
    );
  return Math.min(cheapestWith(problem, groups, others), ...without);
}

function cheapestFor(problem: PackingProblem, group: ReadonlyArray<number>): number {
  const counts = countsOf(problem, group);
  const prices = problem.bins.filter((bin) => holds(problem, bin, counts)).map(({ price }) => price);
  return Math.min(...prices);
}

function countsOf(problem: PackingProblem, group: ReadonlyArray<number>): ReadonlyArray<number> {
  return problem.items.map((_, item) => group.filter((one) => one === item).length);
}
