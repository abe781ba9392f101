import { expect, test } from 'vitest';
import { costOf, createMaster, optimize, type Master } from '../../../../../shared/core/packing/lp/master.ts';
import { resume } from '../../../../../shared/core/packing/lp/resume.ts';

const ITEMS = 12;

test('a linear program in which some columns cost nothing comes to its end', () => {
  const unfinished = Array.from({ length: 150 }, (_, index) => index).filter((seed) => {
    const draw = drawing(1 + seed * 7_919);
    const upTo = (most: number): number => Math.floor(draw() * most);
    const items = [...Array.from({ length: ITEMS }).keys()];
    const demand = Float64Array.of(...items.map(() => 1 + upTo(200)), 1);
    const master = createMaster(demand, ITEMS, Float64Array.of(...items.map(() => 1e8), 0));
    for (let size = 0; size < 60; size++) {
      const held = items.filter(() => draw() < 0.4);
      const amounts = Float64Array.from(held, () => 1 + upTo(9));
      master.columns.push({ cost: 100_000 + upTo(1e6), rows: Int32Array.from(held), amounts });
    }
    for (let gift = 0; gift < 6; gift++) {
      const amounts = Float64Array.of(...items.map(() => upTo(80)), 1);
      master.columns.push({ cost: 0, rows: Int32Array.of(...items, ITEMS), amounts });
    }
    return !optimize(master, { left: 5_000_000 });
  });
  expect(unfinished).toEqual([]);
});

test('a linear program that goes on from a basis costs as much for other demand as one that starts from nothing', () => {
  let resumed = 0;
  for (let seed = 0; seed < 100; seed++) {
    const draw = drawing(1 + seed * 7_919);
    const upTo = (most: number): number => Math.floor(draw() * most);
    const items = [...Array.from({ length: ITEMS }).keys()];
    const demand = Float64Array.from(items, () => 1 + upTo(200));
    const start = (own: Float64Array): Master => createMaster(own, ITEMS, new Float64Array(ITEMS).fill(1e7));
    const first = start(demand);
    for (let size = 0; size < 60; size++) {
      const held = items.filter(() => draw() < 0.4);
      const amounts = Float64Array.from(held, () => 1 + upTo(9));
      first.columns.push({ cost: 100_000 + upTo(1e6), rows: Int32Array.from(held), amounts });
    }
    expect(optimize(first, { left: 1e8 })).toBe(true);
    const before = { basis: first.basis.slice(), cost: costOf(first) };
    const less = demand.map((count) => upTo(count));
    const anew = start(less);
    anew.columns.push(...first.columns);
    optimize(anew, { left: 1e8 });
    const going = resume(first, less, { left: 1e8 });
    if (going === null) continue;
    resumed++;
    optimize(going, { left: 1e8 });
    expect(costOf(going) / costOf(anew)).toBeCloseTo(1, 5);
    expect({ basis: first.basis, cost: costOf(first) }).toEqual(before);
  }
  expect(resumed).toBeGreaterThan(90);
});

/** Each row has a column of its own, so that a hundred pivots and more are needed. */
function ofManyRows(): Master {
  const rows = 120;
  const master = createMaster(new Float64Array(rows).fill(1), rows, new Float64Array(rows).fill(1e6));
  for (let row = 0; row < rows; row++) {
    master.columns.push({ cost: 1_000 + row, rows: Int32Array.of(row), amounts: Float64Array.of(1) });
  }
  return master;
}

test('a linear program ends before its time where rounding errors have grown', () => {
  const master = ofManyRows();
  // The row whose column is the dearest comes in last.
  master.amounts[119] = 1.01;
  expect(optimize(master, { left: 1e9 })).toBe(false);
  expect(master.pivots).toBe(100);
});

test('a linear program goes on past the look for rounding errors where there are none', () => {
  const master = ofManyRows();
  expect(optimize(master, { left: 1e9 })).toBe(true);
  expect(master.pivots).toBe(120);
});

/** The same numbers in every run, 0 to 1 (Park and Miller's generator). */
function drawing(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
}
