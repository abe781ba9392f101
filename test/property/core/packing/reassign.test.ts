import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { pack, worthOf } from '../../../../shared/core/packing/pack.ts';
import type { PackingProblem } from '../../../../shared/core/packing/problem/problem.ts';
import type { AssignedPacking, SpreadItems } from '../../../../shared/core/packing/problem/loose-pods.ts';
import { packInTurn } from '../../../../shared/core/packing/zones/pack-in-turn.ts';
import { packJoined, type JoinedProblem } from '../../../../shared/core/packing/zones/pack-joined.ts';
import { reassign } from '../../../../shared/core/packing/zones/reassign.ts';
import { drawsOf } from '../../../setup/draws.ts';

const slow = { timeout: 120_000 };

interface Draw {
  readonly zones: number;
  /** Each with its pods before and those assigned, per zone. */
  readonly apps: ReadonlyArray<{
    readonly cpu: number;
    readonly memory: number;
    readonly perNode: number;
    readonly maxSkew: number;
    readonly isEmptiestKnown: boolean;
    readonly before: ReadonlyArray<number>;
    readonly pods: number;
  }>;
  readonly sizes: ReadonlyArray<{ readonly cpu: number; readonly memory: number; readonly price: number }>;
}

const amount = fc.integer({ min: 1, max: 9 });
const draws: fc.Arbitrary<Draw> = fc.record({
  zones: fc.constantFrom(2, 3, 3),
  apps: fc.array(
    fc.record({
      cpu: amount,
      memory: amount,
      perNode: fc.constantFrom(1, 2, Infinity, Infinity),
      maxSkew: fc.constantFrom(1, 1, 2),
      isEmptiestKnown: fc.constantFrom(true, true, false),
      before: fc.array(fc.constantFrom(0, 0, 1), { minLength: 3, maxLength: 3 }),
      pods: fc.integer({ min: 0, max: 4 }),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  sizes: fc.array(
    fc.record({
      cpu: fc.integer({ min: 9, max: 30 }),
      memory: fc.integer({ min: 9, max: 30 }),
      price: fc.integer({ min: 1, max: 40 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

/** All ways to assign pods again, from the same packing. */
const ways = {
  'packed with pods let loose': ({ problem, spreads, start }: SpreadCase, steps: number): AssignedPacking =>
    reassign(problem, spreads, { start, enough: 0 }, { left: steps }),
  'by sets of nodes': ({ problem, spreads, joined, start }: SpreadCase, steps: number): AssignedPacking => {
    const packed = packJoined(problem, spreads, { joined, start }, { left: steps });
    expect(packed.bound).toBeLessThanOrEqual(packed.packing.cost);
    return packed;
  },
  'zone after zone': ({ problem, spreads, joined, start }: SpreadCase, steps: number): AssignedPacking => {
    const values = worthOf(joined.problem, { left: steps });
    const worth = Float64Array.from(joined.items, (item) => values[item] ?? 0);
    return packInTurn(problem, spreads, { start, worth }, { left: steps });
  },
};

test.for(Object.entries(ways))(
  'pods assigned again %s are the same pods, as even as their spread asks, on nodes that hold them, for no more',
  slow,
  ([, way]) => {
    fc.assert(
      fc.property(draws, fc.constantFrom(0, 20_000, 3_000_000), (draw, steps) => {
        const given = assignedEvenly(draw);
        const { problem, spreads, start } = given;
        const { packing, assigned } = way(given, steps);
        expect(packing.cost).toBeLessThanOrEqual(start.packing.cost);
        expect(packing.nodes.reduce((sum, { bin, times }) => sum + times * (problem.bins[bin]?.price ?? 0), 0)).toBe(
          packing.cost,
        );
        spreads.forEach((spread, index) => {
          const own = assigned[index] ?? [];
          expect(sumOf(own)).toBe(sumOf(spread.assigned));
          expect(isEven(spread, own)).toBe(true);
          spread.items.forEach((item, zone) => {
            const placed = packing.nodes.reduce((sum, { counts, times }) => sum + (counts[item] ?? 0) * times, 0);
            expect(placed).toBe(own[zone]);
          });
        });
        for (const { bin, counts } of packing.nodes) expect(isHeld(problem, bin, counts)).toBe(true);
      }),
      { numRuns: drawsOf(400) },
    );
  },
);

test.for(Object.entries(ways))(
  'odd pods are assigned %s to the zones in which they fill nodes that are paid for anyway',
  ([, way]) => {
    // In each zone a node of 8 holds one pod of 5: what is free holds a pod of 3, or one of 2 and one of 1.
    const sizes = [{ cpu: 8, memory: 9, price: 8 }];
    const app = { memory: 1, perNode: Infinity, maxSkew: 1, isEmptiestKnown: true, before: [0, 0, 0] };
    const single = (cpu: number) => ({ ...app, cpu, pods: 1 });
    const apps = [{ ...app, cpu: 5, pods: 3 }, single(3), single(2), single(1), single(2), single(1)];
    const given = assignedEvenly({ zones: 3, apps, sizes });
    expect(given.start.packing.cost).toBe(32);
    expect(way(given, 3_000_000).packing.cost).toBe(24);
  },
);

interface SpreadCase {
  readonly problem: PackingProblem;
  readonly spreads: ReadonlyArray<SpreadItems>;
  readonly joined: JoinedProblem;
  readonly start: AssignedPacking;
}

/**
 * An item per app and zone, and each size in every zone; odd pods are all assigned to the first zones that may have
 * them.
 */
function assignedEvenly({ zones, apps, sizes }: Draw): SpreadCase {
  const spreads = apps.map(({ before, pods, maxSkew, isEmptiestKnown }, app): SpreadItems => {
    const counts = before.slice(0, zones);
    const assigned = counts.map(() => 0);
    for (let pod = 0; pod < pods; pod++) {
      const zone = counts.indexOf(Math.min(...counts));
      if (!isEmptiestKnown && (counts[zone] ?? 0) >= maxSkew) break;
      counts[zone] = (counts[zone] ?? 0) + 1;
      assigned[zone] = (assigned[zone] ?? 0) + 1;
    }
    return { items: counts.map((_, zone) => app * zones + zone), assigned, counts, maxSkew, isEmptiestKnown };
  });
  const items = apps.flatMap(({ cpu, memory, perNode }, app) =>
    Array.from({ length: zones }, (_, zone) => {
      return { requests: Float64Array.of(cpu, memory), count: spreads[app]?.assigned[zone] ?? 0, perNode };
    }),
  );
  const bins = sizes.flatMap(({ cpu, memory, price }) =>
    Array.from({ length: zones }, (_, zone) => {
      const admits = Uint8Array.from(items, (_item, index) => (index % zones === zone ? 1 : 0));
      return { usable: Float64Array.of(cpu, memory), price, admits };
    }),
  );
  const problem = { width: 2, items, bins };
  const start = { packing: pack(problem, { left: 20_000 }), assigned: spreads.map(({ assigned }) => assigned) };
  return { problem, spreads, joined: joinedOf({ zones, apps, sizes }, spreads), start };
}

/** An item per app, each size once. */
function joinedOf({ zones, apps, sizes }: Draw, spreads: ReadonlyArray<SpreadItems>): JoinedProblem {
  const items = apps.map(({ cpu, memory, perNode }, app) => {
    return { requests: Float64Array.of(cpu, memory), count: sumOf(spreads[app]?.assigned ?? []), perNode };
  });
  const bins = sizes.map(({ cpu, memory, price }) => {
    return { usable: Float64Array.of(cpu, memory), price, admits: new Uint8Array(apps.length).fill(1) };
  });
  const inZones = ({ length }: ReadonlyArray<unknown>): ReadonlyArray<number> =>
    Array.from({ length: length * zones }, (_, place) => Math.floor(place / zones));
  return { problem: { width: 2, items, bins }, items: inZones(apps), bins: Int32Array.from(inZones(sizes)) };
}

/** Where pods came, no more of them than maxSkew above the emptiest zone; where none came, what was there may stay. */
function isEven(
  { counts, assigned: before, maxSkew, isEmptiestKnown }: SpreadItems,
  assigned: ReadonlyArray<number>,
): boolean {
  const after = counts.map((count, zone) => count - (before[zone] ?? 0) + (assigned[zone] ?? 0));
  const least = isEmptiestKnown ? Math.min(...after) : 0;
  return after.every((count, zone) => assigned[zone] === 0 || count - least <= maxSkew);
}

function isHeld({ items, bins }: PackingProblem, bin: number, counts: Int32Array): boolean {
  const size = bins[bin];
  if (size === undefined) return false;
  const load = [0, 1].map((k) => sumOf(items.map(({ requests }, item) => (counts[item] ?? 0) * (requests[k] ?? 0))));
  return (
    load.every((used, k) => used <= (size.usable[k] ?? 0)) &&
    items.every(({ perNode }, item) => (counts[item] ?? 0) <= (size.admits[item] === 1 ? perNode : 0))
  );
}

function sumOf(numbers: ReadonlyArray<number>): number {
  return numbers.reduce((sum, one) => sum + one, 0);
}
