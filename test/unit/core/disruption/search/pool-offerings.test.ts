import { describe, expect, test } from 'vitest';
import {
  allOfferings,
  capacityOfOffering,
  cheapestOffering,
  countCheaper,
  freeOf,
  isOfferingOf,
  offeringsOf,
  type Demand,
  type PoolOffering,
} from '../../../../../shared/core/disruption/search/pool-offerings.ts';
import { capacityOf } from '../../../../../shared/core/offerings/compile-pool.ts';
import { withinLimits } from '../../../../../shared/core/offerings/pool-state.ts';
import type { Need } from '../../../../../shared/core/placing/state/compile-shape.ts';
import { optionsFor } from '../../../../../shared/core/placing/state/workspace.ts';
import { drawFrom } from '../../../../../shared/core/quantity/draw.ts';
import { requirement, shape, size, spec, zones } from '../../../../kit/core/build.ts';
import { arenaOf } from '../../../../kit/core/build-arena.ts';
import { disruptable, machine, on, types } from '../../../../kit/core/build-disruption.ts';

const SIZE = 'node.kubernetes.io/instance-type';
const FAMILY = 'karpenter.azure.com/sku-family';

/** Pool `heavy` wants three sizes to choose from and no E, `limited` has 6 CPUs left, and `light` may have anything. */
function arena() {
  const minValues = { ...requirement(SIZE, 'Exists'), minValues: 3 };
  const heavy = [minValues, requirement(FAMILY, 'NotIn', 'E'), requirement('team', 'In', 'web', 'db')];
  return arenaOf({
    machines: [machine('a', { nodePool: 'light' }), machine('b', { nodePool: 'limited' })],
    shapes: [
      shape(spec('500m', '1Gi')),
      shape(spec('500m', '1Gi', { nodeSelector: { 'topology.kubernetes.io/zone': zones[1] } })),
      shape(spec('500m', '1Gi', { nodeSelector: { 'karpenter.sh/capacity-type': 'on-demand', [FAMILY]: 'E' } })),
    ],
    pods: [0, 1, 2].flatMap((index) => on('a', index, 1)),
    types: [...types, size('Standard_E4s_v5', 4, 32, 250_000), size('Standard_F2s_v2', 2, 4, 80_000)],
    nodePools: [
      disruptable('heavy', {}, { requirements: heavy, weight: 3, labels: { own: 'yes' } }),
      disruptable('limited', {}, { requirements: [], weight: 2, limits: { cpu: '10' } }),
      disruptable('light', {}, { requirements: [], weight: 1 }),
    ],
  });
}

/** The arena with all that can be bought for it. */
function world() {
  const { workspace, worth, shapes } = arena();
  const facts = [...shapes.values()];
  return { workspace, worth, facts, offerings: offeringsOf(workspace) };
}

type World = ReturnType<typeof world>;

function isFitting({ workspace, worth }: World, offering: PoolOffering, demand: Demand): boolean {
  const { state, type, bit, isSpot, price } = offering;
  const free = freeOf(offering, worth.length);
  const meets = (need: Need): boolean =>
    optionsFor(workspace, state, need).some(({ offered }) => ((offered[type] ?? 0) >> bit) & 1);
  const { needs, load, below, mayBeSpot } = demand;
  return (
    price < below && (mayBeSpot || !isSpot) && load.every((one, k) => one <= (free[k] ?? 0)) && [...needs].every(meets)
  );
}

/** The same by looking at all. */
function byLooking(all: World, demand: Demand): PoolOffering | null {
  for (const { list } of all.offerings) {
    // Of pool `heavy` three sizes must be left to choose from; of `limited` some are too large for what is left.
    const foundFor = (wanted: Demand): PoolOffering | undefined => {
      const fitting = list.filter((one) => isFitting(all, one, wanted));
      const sizes = new Set(fitting.map(({ type }) => type)).size;
      return fitting.find(
        ({ state, type, zone }) =>
          (state.pool.name !== 'heavy' || sizes >= 3) &&
          (wanted.zone === null || zone === wanted.zone) &&
          withinLimits(state.remaining, capacityOf(state.pool, type), null),
      );
    };
    const found = foundFor(demand);
    if (found !== undefined) return found;
    if (foundFor({ ...demand, zone: null, below: Infinity, mayBeSpot: true }) !== undefined) return null;
  }
  return null;
}

const nameOf = (one: PoolOffering | null): unknown =>
  one === null ? null : [one.state.pool.name, one.state.pool.catalog.types[one.type]?.name, one.zone, one.isSpot];

test('the cheapest offering is the one that looking at all of them finds', () => {
  const draw = drawFrom(3);
  const all = world();
  const [small = new Float64Array()] = all.facts.map(({ requests }) => requests);
  const needs = all.facts.map(({ least }) => least);
  const found = new Set<unknown>();
  for (let turn = 0; turn < 600; turn++) {
    const demand = {
      needs: new Set(needs.filter(() => draw.below(4) === 0)),
      load: small.map((amount) => amount * (1 + draw.below(draw.below(2) === 0 ? 5 : 20))),
      zone: [null, ...zones][draw.below(4)] ?? null,
      below: [20_001, 50_000, 80_000, 100_000, 150_000, 200_000, 250_001, 400_000, Infinity][draw.below(9)] ?? 0,
      mayBeSpot: draw.below(2) === 0,
    };
    const answer = nameOf(cheapestOffering(all.workspace, all.offerings, demand));
    expect(answer).toEqual(nameOf(byLooking(all, demand)));
    found.add(JSON.stringify(answer));
  }
  expect(found.size).toBeGreaterThan(20);
});

test('cheaper sizes are counted of the same pool and capacity type, in any zone', () => {
  const { workspace, worth, offerings } = world();
  const demand = { needs: new Set<Need>(), load: worth.map(() => 0), zone: null, below: 100_000, mayBeSpot: true };
  const of = (pool: string, isSpot: boolean): PoolOffering => {
    const found = allOfferings(offerings).find((one) => one.state.pool.name === pool && one.isSpot === isSpot);
    if (found === undefined) throw new Error('there is no such offering');
    return found;
  };
  const counts = (below: number) =>
    [of('heavy', true), of('light', true), of('light', false)].map((one) =>
      countCheaper(workspace, offerings, one, { ...demand, below }),
    );
  expect([counts(100_000), counts(100_001), counts(62_501)]).toEqual([
    [3, 4, 1],
    [4, 5, 2],
    [3, 4, 0],
  ]);
});

describe('an offering', () => {
  test('is known by its pool, size, zone and capacity type', () => {
    const [one] = allOfferings(world().offerings);
    if (one === undefined) throw new Error('there is none');
    const { name, catalog } = one.state.pool;
    const wanted = {
      instanceType: catalog.types[one.type]?.name ?? '',
      zone: one.zone,
      capacityType: one.isSpot ? 'spot' : 'on-demand',
    };
    const changes = [{}, { instanceType: 'x' }, { zone: 'x' }, { capacityType: one.isSpot ? 'on-demand' : 'spot' }];
    expect(changes.map((change) => isOfferingOf(one, name, { ...wanted, ...change }))).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(isOfferingOf(one, 'other', wanted)).toBe(false);
  });

  test('as a node has the labels of its pool, size and place', () => {
    const one = world().offerings[0]?.list.find(({ zone, isSpot }) => zone === zones[1] && !isSpot);
    if (one === undefined) throw new Error('there is none');
    expect(capacityOfOffering(one, 'new')).toMatchObject({
      name: 'new',
      nodePool: 'heavy',
      initialized: true,
      labels: {
        team: 'db',
        own: 'yes',
        [FAMILY]: 'D',
        [SIZE]: 'Standard_D2s_v5',
        'kubernetes.io/hostname': 'new',
        'topology.kubernetes.io/zone': zones[1],
        'karpenter.sh/capacity-type': 'on-demand',
        'karpenter.sh/registered': 'true',
        'karpenter.sh/initialized': 'true',
      },
    });
  });

  test('of a size that pools should not use comes after all others, whatever it costs', () => {
    const burstable = size('Standard_B2s', 2, 8, 10_000);
    const { workspace: other } = arenaOf({ machines: [], shapes: [], pods: [], types: [...types, burstable] });
    const names = allOfferings(offeringsOf(other)).map(({ state, type }) => state.pool.catalog.types[type]?.name);
    expect([names[0], names.at(-1)]).toEqual(['Standard_D2s_v5', 'Standard_B2s']);
  });
});
