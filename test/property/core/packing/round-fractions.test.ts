import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { packFractions } from '../../../../shared/core/packing/first/pack-fractions.ts';
import { fillEvenly } from '../../../../shared/core/packing/first/fill-evenly.ts';
import { flatten, type FlatProblem } from '../../../../shared/core/packing/problem/fill.ts';
import { limitOf } from '../../../../shared/core/packing/knapsack/knapsack-of.ts';
import { createMaster, optimize } from '../../../../shared/core/packing/lp/master.ts';
import { roundFractions } from '../../../../shared/core/packing/first/round-fractions.ts';
import { pack, packingBound } from '../../../../shared/core/packing/pack.ts';
import { holdsOne, type PackedNode, type PackingProblem } from '../../../../shared/core/packing/problem/problem.ts';
import { bruteForce, holds, problems } from '../kit/tiny-packings.ts';
import { drawsOf } from '../../../setup/draws.ts';

/** A law is a few hundred packings: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };

/** More kinds and sizes than can be tried in every way, of few amounts, so that ties happen. */
const kinds = fc.array(
  fc.record({
    requests: fc
      .tuple(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 1, max: 12 }))
      .map((pair) => Float64Array.from(pair)),
    count: fc.integer({ min: 1, max: 30 }),
    perNode: fc.constantFrom(2, Infinity, Infinity),
  }),
  { minLength: 1, maxLength: 12 },
);

const wide: fc.Arbitrary<PackingProblem> = kinds.chain((items) =>
  fc
    .array(
      fc.record({
        usable: fc
          .tuple(fc.integer({ min: 12, max: 60 }), fc.integer({ min: 12, max: 90 }))
          .map((pair) => Float64Array.from(pair)),
        price: fc.integer({ min: 100, max: 400 }),
        admits: fc
          .array(fc.constantFrom(1, 1, 1, 0), { minLength: items.length, maxLength: items.length })
          .map((list) => Uint8Array.from(list)),
      }),
      { minLength: 1, maxLength: 6 },
    )
    .map((bins) => ({ width: 2, items, bins })),
);

const demandOf = ({ items }: PackingProblem): Float64Array => Float64Array.from(items, ({ count }) => count);
const isHoldable = ({ items, bins }: PackingProblem): boolean =>
  items.every((item, index) => bins.some((bin) => holdsOne(bin, item, index)));

test(
  'pods are packed with fractions wherever each fits some size, for what the nodes cost, no less than a linear program pays',
  slow,
  () => {
    fc.assert(
      fc.property(wide, (problem) => {
        const flat = flatten(problem);
        const packing = packFractions(flat, { demand: demandOf(problem), dearest: Infinity, work: { left: 0 } });
        expect(packing === null).toBe(!isHoldable(problem));
        if (packing === null) return;
        expect(packing.cost).toBeGreaterThanOrEqual(linearProgram(flat, demandOf(problem)) * (1 - 1e-6));
        const bought = packing.nodes.reduce((sum, amount, bin) => sum + amount * (flat.prices[bin] ?? 0), 0);
        expect(packing.cost).toBeCloseTo(bought, 3);
      }),
      { numRuns: drawsOf(300) },
    );
  },
);

test(
  'pods are packed with fractions for what a linear program over all items and sizes pays where nodes hold very many',
  slow,
  () => {
    fc.assert(
      fc.property(wide, (drawn) => {
        const problem = {
          ...drawn,
          items: drawn.items.map((item) => ({ ...item, count: item.count * 10_000, perNode: Infinity })),
          bins: drawn.bins.map((bin) => ({ ...bin, usable: bin.usable.map((amount) => amount * 1_000) })),
        };
        fc.pre(isHoldable(problem));
        const flat = flatten(problem);
        const packing = packFractions(flat, { demand: demandOf(problem), dearest: Infinity, work: { left: 0 } });
        const least = linearProgram(flat, demandOf(problem));
        expect(Math.abs((packing?.cost ?? 0) / least - 1)).toBeLessThan(1e-3);
      }),
      { numRuns: drawsOf(300) },
    );
  },
);

test('no rounded packing of few pods costs less than the optimum, and fractions cost no more than that', slow, () => {
  fc.assert(
    fc.property(problems, fc.constantFrom(1, 40, 200), (problem, steepness) => {
      const cheapest = bruteForce(problem);
      fc.pre(cheapest !== null);
      const [flat, demand] = [flatten(problem), demandOf(problem)];
      const fractional = packFractions(flat, { demand, dearest: Infinity, work: { left: 0 } });
      expect(fractional?.cost ?? Infinity).toBeLessThanOrEqual((cheapest ?? 0) * (1 + 2e-4));
      const packing = roundFractions(flat, { demand, steepness, work: { left: 0 } });
      if (packing === null) return;
      expect(packing.cost).toBeGreaterThanOrEqual(cheapest ?? 0);
      expectWhole(problem, packing);
    }),
    { numRuns: drawsOf(500) },
  );
});

test('a rounded packing has every pod once, within every node, and is the same each time', slow, () => {
  fc.assert(
    fc.property(wide, fc.constantFrom(1, 10), (drawn, times) => {
      const problem = { ...drawn, items: drawn.items.map((item) => ({ ...item, count: item.count * times })) };
      fc.pre(isHoldable(problem));
      const given = { demand: demandOf(problem), steepness: 40, work: { left: 0 } };
      const packing = roundFractions(flatten(problem), given);
      if (packing !== null) expectWhole(problem, packing);
      expect(roundFractions(flatten(problem), given)).toEqual(packing);
    }),
    { numRuns: drawsOf(100) },
  );
});

test('nodes are filled evenly within what they have, and what is on none of them is left', slow, () => {
  fc.assert(
    fc.property(wide, fc.integer({ min: 1, max: 3 }), (problem, count) => {
      const flat = flatten(problem);
      const lots = problem.bins.map((_, bin) => ({ bin, count, share: 1 }));
      const fill = { demand: demandOf(problem), suits: (item: number) => item !== 0, steepness: 40, work: { left: 0 } };
      const { counts, left } = fillEvenly(flat, lots, fill);
      counts.forEach((nodes, bin) => {
        expect(nodes).toHaveLength(count);
        for (const own of nodes) expect(holds(problem, problem.bins[bin], [...own])).toBe(true);
      });
      problem.items.forEach((item, index) => {
        const placed = counts.flat().reduce((sum, own) => sum + (own[index] ?? 0), 0);
        expect(placed + (left[index] ?? 0)).toBe(item.count);
        if (index === 0) expect(placed).toBe(0);
      });
    }),
    { numRuns: drawsOf(300) },
  );
});

/** So many kinds are packed with fractions before anything else is tried. */
const many = { minLength: 25, maxLength: 32 };
const anyWork = fc.constantFrom(0, 100_000, 500_000);

test('many kinds that ask for the same are bounded by, and cost at least, what that many pods cost', slow, () => {
  const drawn = fc.record({
    counts: fc.array(fc.integer({ min: 1, max: 2 }), many),
    sizes: fc.array(fc.record({ holds: fc.integer({ min: 1, max: 9 }), price: fc.integer({ min: 1, max: 40 }) }), {
      minLength: 1,
      maxLength: 4,
    }),
    steps: anyWork,
  });
  fc.assert(
    fc.property(drawn, ({ counts, sizes, steps }) => {
      const problem = {
        width: 2,
        items: counts.map((count) => ({ requests: Float64Array.of(3, 1), count, perNode: Infinity })),
        bins: sizes.map((size) => ({
          usable: Float64Array.of(size.holds * 3 + 2, 20),
          price: size.price,
          admits: new Uint8Array(counts.length).fill(1),
        })),
      };
      const pods = counts.reduce((sum, count) => sum + count, 0);
      const optimum = Array.from({ length: pods }).reduce<ReadonlyArray<number>>(
        (costs) => [
          ...costs,
          Math.min(...sizes.map((size) => size.price + (costs[Math.max(0, costs.length - size.holds)] ?? 0))),
        ],
        [0],
      )[pods];
      expectAround(problem, steps, optimum ?? 0);
    }),
    { numRuns: drawsOf(50) },
  );
});

test('many kinds of which no two fit one node are bounded by, and cost at least, a node for each', slow, () => {
  const drawn = fc.record({
    items: fc.array(fc.record({ size: fc.integer({ min: 51, max: 90 }), count: fc.integer({ min: 1, max: 3 }) }), many),
    sizes: fc.array(fc.record({ usable: fc.integer({ min: 60, max: 101 }), price: fc.integer({ min: 10, max: 40 }) }), {
      maxLength: 4,
    }),
    steps: anyWork,
  });
  fc.assert(
    fc.property(drawn, ({ items, sizes, steps }) => {
      const bins = [...sizes, { usable: 100, price: 40 }];
      const problem = {
        width: 2,
        items: items.map(({ size, count }) => ({ requests: Float64Array.of(size, 1), count, perNode: Infinity })),
        bins: bins.map(({ usable, price }) => ({
          usable: Float64Array.of(usable, 9),
          price,
          admits: new Uint8Array(items.length).fill(1),
        })),
      };
      const optimum = items.reduce((sum, { size, count }) => {
        const prices = bins.filter(({ usable }) => usable >= size).map(({ price }) => price);
        return sum + count * Math.min(...prices);
      }, 0);
      expectAround(problem, steps, optimum);
    }),
    { numRuns: drawsOf(50) },
  );
});

/** Of 1,000 such draws most are at 0.4 % and a few in a hundred above 2 %: these ten are always the same. */
test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])(
  'two hundred kinds, each with its own ratio, cost at most two percent more than is proved, without searching (draw %i)',
  (seed) => {
    const families = [
      { gibPerCpu: 2, price: 42 },
      { gibPerCpu: 4, price: 50 },
      { gibPerCpu: 8, price: 66 },
    ];
    const sizes = families.flatMap(({ gibPerCpu, price }) =>
      [2, 4, 8, 16, 32].map((cpus) => ({ cpus, gibPerCpu, price: price * cpus * 1_000 })),
    );
    let state = seed;
    const draw = (): number => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
    const items = Array.from({ length: 200 }, () => {
      const cpu = Math.round(100 * 80 ** draw());
      const memory = Math.round(cpu * 32 ** draw() * 0.5);
      return { requests: Float64Array.of(cpu, memory, 1), count: 5, perNode: Infinity };
    });
    const bins = sizes.map(({ cpus, gibPerCpu, price }) => ({
      usable: Float64Array.of(cpus * 990, cpus * gibPerCpu * 900, 250),
      price,
      admits: new Uint8Array(items.length).fill(1),
    }));
    const packed = pack({ width: 3, items, bins }, { left: 0 });
    expect(packed.cost).toBeLessThanOrEqual(packed.bound * 1.02);
    expect(packed.left.every((count) => count === 0)).toBe(true);
  },
);

function expectAround(problem: PackingProblem, steps: number, optimum: number): void {
  const packed = pack(problem, { left: steps });
  expect(packed.bound).toBeLessThanOrEqual(optimum);
  expect(packed.cost).toBeGreaterThanOrEqual(optimum);
  expectWhole(problem, packed);
  expect(pack(problem, { left: steps })).toEqual(packed);
  const alone = packingBound(problem, { worthwhile: 0, fractions: 0, below: packed.cost }, { left: steps });
  expect(alone).toBeLessThanOrEqual(optimum);
}

function expectWhole(
  problem: PackingProblem,
  { nodes, cost }: { readonly nodes: ReadonlyArray<PackedNode>; readonly cost: number },
): void {
  const placed = problem.items.map((_, item) =>
    nodes.reduce((sum, { counts, times }) => sum + (counts[item] ?? 0) * times, 0),
  );
  expect(placed).toEqual(problem.items.map(({ count }) => count));
  for (const { bin, counts } of nodes) expect(holds(problem, problem.bins[bin], [...counts])).toBe(true);
  expect(nodes.reduce((sum, { bin, times }) => sum + times * (problem.bins[bin]?.price ?? 0), 0)).toBe(cost);
}

/** A row per item and per size and resource; a column per size, and per item on a size. */
function linearProgram(flat: FlatProblem, demand: Float64Array): number {
  const { width, items, bins, requests, usable, prices } = flat;
  const rows = items + bins * width;
  const master = createMaster(
    Float64Array.of(...demand, ...new Float64Array(bins * width)),
    rows,
    new Float64Array(rows).fill(1e6),
  );
  const add = (cost: number, entries: ReadonlyArray<readonly [number, number]>): void => {
    const own = entries.filter(([, amount]) => amount !== 0);
    master.columns.push({
      cost,
      rows: Int32Array.from(own, ([row]) => row),
      amounts: Float64Array.from(own, ([, amount]) => amount),
    });
  };
  const resources = Array.from({ length: width }, (_, k) => k);
  for (let bin = 0; bin < bins; bin++) {
    const row = (k: number): number => items + bin * width + k;
    add(
      prices[bin] ?? 0,
      resources.map((k) => [row(k), usable[bin * width + k] ?? 0]),
    );
    demand.forEach((count, item) => {
      if (limitOf(flat, bin, item, count) === 0) return;
      add(0, [[item, 1], ...resources.map((k) => [row(k), -(requests[item * width + k] ?? 0)] as const)]);
    });
  }
  const work = { left: 1e9 };
  expect(optimize(master, work)).toBe(true);
  return master.duals.reduce((sum, dual, row) => sum + dual * (master.demand[row] ?? 0), 0);
}
