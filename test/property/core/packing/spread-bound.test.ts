import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import { input, node, onDemand, pods, pool, requirement, shape, size, spec, zones } from '../../../kit/core/build.ts';
import { drawsOf } from '../../../setup/draws.ts';

/** Every way to place the pods of a tiny problem is tried: a few thousand each. */
const slow = { timeout: 300_000 };
const runs = { numRuns: drawsOf(150) };

interface Draw {
  readonly shapes: ReadonlyArray<DrawnShape>;
  readonly sizes: ReadonlyArray<{ readonly cpu: number; readonly price: number }>;
  readonly zoneCount: number;
  readonly nodes: ReadonlyArray<{
    readonly zone: number;
    readonly free: number;
    readonly running: ReadonlyArray<number>;
  }>;
}

interface DrawnShape {
  readonly cpu: number;
  readonly count: number;
  readonly app: string;
  /** Null for no spread. */
  readonly maxSkew: number | null;
  readonly minDomains: number;
}

const draws: fc.Arbitrary<Draw> = fc
  .record({
    shapes: fc.array(
      fc.record({
        cpu: fc.integer({ min: 1, max: 4 }),
        count: fc.integer({ min: 1, max: 4 }),
        app: fc.constantFrom('web', 'web', 'db', 'job'),
        maxSkew: fc.constantFrom(1, 1, 1, 2, null),
        minDomains: fc.constantFrom(1, 1, 3),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    sizes: fc.array(fc.record({ cpu: fc.constantFrom(2, 4, 5, 8, 12), price: fc.integer({ min: 5, max: 60 }) }), {
      minLength: 1,
      maxLength: 3,
    }),
    zoneCount: fc.constantFrom(1, 2, 3, 3),
    nodes: fc.array(
      fc.record({
        zone: fc.nat(2),
        free: fc.constantFrom(0, 0, 1, 4),
        running: fc.array(fc.nat(2), { maxLength: 3 }),
      }),
      { maxLength: 2 },
    ),
  })
  .filter(({ shapes }) => shapes.reduce((sum, { count }) => sum + count, 0) <= 5);

test('with pods spread over zones the bound is never above the cheapest of all ways to place them', slow, () => {
  fc.assert(
    fc.property(draws, fc.constantFrom(0, 20_000, 3_000_000), (draw, steps) => {
      const given = inputOf(draw, steps);
      const plan = planProvisioning(given, instant(0));
      expect(auditPlan(plan, given)).toEqual([]);
      fc.pre(plan.left.length === 0);
      const cheapest = cheapestWay(draw);
      expect(plan.cost).toBeGreaterThanOrEqual(cheapest);
      expect(plan.lowerBound).toBeLessThanOrEqual(cheapest);
    }),
    runs,
  );
});

const web = { cpu: 1, app: 'web', maxSkew: 1, minDomains: 1 };

test('where every zone needs a node of its own, the bound says so', () => {
  // But for zones two nodes would do: of each app a zone has two pods at most, and one at least.
  const shapes = ['web', 'db'].map((app) => ({ ...web, app, cpu: 2, count: 4 }));
  const draw = { shapes, sizes: [{ cpu: 8, price: 10 }], zoneCount: 3, nodes: [] };
  const plan = planProvisioning(inputOf(draw, 3_000_000), instant(0));
  expect(plan.cost).toBe(30);
  expect(plan.lowerBound).toBe(30);
});

function inputOf({ shapes, sizes, zoneCount, nodes }: Draw, steps: number) {
  const placed = nodes.map(({ zone, free, running }, index) => {
    const used = running.reduce((sum, one) => sum + (shapes[one]?.cpu ?? 0), 0);
    return node(`node-${index}`, used + free, 500, { 'topology.kubernetes.io/zone': zones[zone % zoneCount] ?? '' });
  });
  return input({
    types: sizes.map(({ cpu, price }, index) => size(`Standard_D${cpu}x${index}s_v5`, cpu, 500, price)),
    nodePools: [
      pool('pool-0', {
        requirements: [onDemand, requirement('topology.kubernetes.io/zone', 'In', ...zones.slice(0, zoneCount))],
      }),
    ],
    nodes: placed,
    shapes: shapes.map(({ cpu, app, maxSkew, minDomains }) =>
      shape(
        spec(String(cpu), '1Mi', {
          topologySpreadConstraints:
            maxSkew === null
              ? []
              : [
                  {
                    maxSkew,
                    minDomains,
                    topologyKey: 'topology.kubernetes.io/zone',
                    whenUnsatisfiable: 'DoNotSchedule',
                    labelSelector: { matchLabels: { app } },
                  },
                ],
        }),
        { app },
      ),
    ),
    pods: [
      ...shapes.flatMap(({ count }, index) => pods(index, count)),
      ...nodes.flatMap(({ running }, index) =>
        running.flatMap((one, at) =>
          one < shapes.length
            ? pods(one, 1, { nodeName: `node-${index}`, name: `run-${index}-${at}`, uid: `run-${index}-${at}` })
            : [],
        ),
      ),
    ],
    operations: steps,
  });
}

/** A node with what is free on it, or, with nothing known of its size, one to be bought that holds the pods so far. */
interface Place {
  readonly zone: number;
  readonly free: number | null;
  readonly load: number;
}

/** The cost of the cheapest way to put every pod on a node or on a new one in some zone, such that the end is even. */
function cheapestWay(draw: Draw): number {
  const { shapes, sizes, zoneCount, nodes } = draw;
  const waiting = shapes.flatMap(({ count }, index) => Array.from({ length: count }, () => index));
  const where: Array<{ readonly of: number; readonly zone: number }> = [];
  let best = Infinity;
  const priceOf = (load: number): number =>
    sizes.reduce((least, { cpu, price }) => (cpu >= load && price < least ? price : least), Infinity);
  const place = (next: number, places: ReadonlyArray<Place>): void => {
    const own = waiting[next];
    const cost = places.reduce((sum, { free, load }) => sum + (free === null ? priceOf(load) : 0), 0);
    if (cost >= best) return;
    if (own === undefined) {
      if (isEven(draw, where)) best = cost;
      return;
    }
    const cpu = shapes[own]?.cpu ?? 0;
    const put = (zone: number, after: ReadonlyArray<Place>): void => {
      where.push({ of: own, zone });
      place(next + 1, after);
      where.pop();
    };
    places.forEach((one, index) => {
      const load = one.load + cpu;
      if (load <= (one.free ?? Infinity)) put(one.zone, places.with(index, { ...one, load }));
    });
    for (let zone = 0; zone < zoneCount; zone++) put(zone, [...places, { zone, free: null, load: cpu }]);
  };
  place(
    0,
    nodes.map(({ zone, free }) => ({ zone: zone % zoneCount, free, load: 0 })),
  );
  return best;
}

/** In no zone that got pods of a shape are more of them than maxSkew above all that its rule counts in the emptiest. */
function isEven(
  { shapes, zoneCount, nodes }: Draw,
  where: ReadonlyArray<{ readonly of: number; readonly zone: number }>,
): boolean {
  const running = nodes.flatMap((one) =>
    one.running.filter((of) => of < shapes.length).map((of) => ({ of, zone: one.zone % zoneCount })),
  );
  return shapes.every(({ app, maxSkew, minDomains }, index) => {
    if (maxSkew === null) return true;
    const counted = ({ of }: { readonly of: number }): boolean => shapes[of]?.app === app;
    const allZones = Array.from({ length: zoneCount }, (_, zone) => zone);
    const all = [...running, ...where].filter(counted);
    const totals = allZones.map((zone) => all.filter((one) => one.zone === zone).length);
    const least = zoneCount < minDomains ? 0 : Math.min(...totals);
    return allZones.every((zone) => {
      const got = where.filter((one) => one.zone === zone && one.of === index).length;
      const before = running.filter((one) => one.zone === zone && counted(one)).length;
      return got === 0 || got + before - least <= maxSkew;
    });
  });
}
