import { describe, expect, test } from 'vitest';
import type { Arena } from '../../../../../shared/core/disruption/search/arena.ts';
import {
  allOfferings,
  fixedOfferingsOf,
  offeringsOf,
  type PoolOffering,
} from '../../../../../shared/core/disruption/search/pool-offerings.ts';
import { ANYWHERE } from '../../../../../shared/core/disruption/search/reschedule.ts';
import { setDisruptionCost } from '../../../../../shared/core/disruption/search/slots.ts';
import {
  ALL,
  isFair,
  mayGo,
  replace,
  settleNew,
  takeAwaySimply,
  type Means,
} from '../../../../../shared/core/disruption/search/take-away.ts';
import { open, take, trailOf, type Trail } from '../../../../../shared/core/disruption/search/trail.ts';
import { shape, size, spec } from '../../../../kit/core/build.ts';
import { arenaOf, slotOf } from '../../../../kit/core/build-arena.ts';
import { CONSOLIDATABLE, disruptable, machine, on, types } from '../../../../kit/core/build-disruption.ts';

const pod = shape(spec('500m', '1Gi'));
const anyCapacity = [disruptable('general', {}, { requirements: [] })];

function meansFor({ workspace }: Arena, spotToSpot = false): Means {
  return { offerings: offeringsOf(workspace), spotToSpot, successorOf: () => null, mayDiscount: () => true };
}

function offeringOf(all: ReadonlyArray<PoolOffering>, name: string, isSpot: boolean): PoolOffering {
  const found = all.find(
    ({ state, type, zone, isSpot: spot }) =>
      state.pool.catalog.types[type]?.name === name && zone === 'westeurope-1' && spot === isSpot,
  );
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}

const nameOf = (offering: PoolOffering | null): unknown =>
  offering === null ? null : [offering.state.pool.catalog.types[offering.type]?.name, offering.isSpot];

test('nodes go as long as each saves more than it costs and work is left', () => {
  const drifted = { type: 'Drifted', status: 'True', lastTransitionTime: '1970-01-02T00:00:00Z' };
  const arena = arenaOf({
    machines: [
      ...['a', 'b', 'c'].map((name) => machine(name)),
      machine('must', { conditions: [CONSOLIDATABLE, drifted] }),
      machine('stays', { cpu: 8, conditions: [] }),
    ],
    shapes: [pod],
    pods: ['a', 'b', 'c', 'must', 'stays'].flatMap((name) => on(name, 0, 1)),
  });
  expect(arena.slots.filter(mayGo).map(({ node }) => node?.name)).toEqual(['a', 'b', 'c']);
  setDisruptionCost(slotOf(arena, 'b'), 200_000);
  const trail = trailOf(arena);
  expect(takeAwaySimply(trail, arena.slots, ALL)).toBe(2);
  expect(trail.done.map(({ slot }) => slot.node?.name)).toEqual(['a', 'c']);
  setDisruptionCost(slotOf(arena, 'b'), 199_999);
  arena.work.left = 0;
  expect(takeAwaySimply(trail, arena.slots, ALL)).toBe(0);
  arena.work.left = 1;
  expect(takeAwaySimply(trail, arena.slots, ALL)).toBe(1);
});

describe('a new node', () => {
  /** One of eight CPUs on demand, to which the pod of `a` has come; beside it runs one of `app: other` on spot. */
  function settled(parts: object, offeringIn: (arena: Arena) => PoolOffering, takes = true): unknown {
    const arena = arenaOf({
      machines: [machine('a', { cpu: 8 }), machine('s', { capacityType: 'spot', cpu: 2, conditions: [] })],
      shapes: [shape(spec('500m', '1Gi', parts), { app: 'web' }), shape(spec('1500m', '1Gi'), { app: 'other' })],
      pods: [...on('a', 0, 1), ...on('s', 1, 1)],
      nodePools: anyCapacity,
    });
    const trail: Trail = trailOf(arena);
    const first = open(trail, offeringIn(arena));
    if (takes) take(trail, slotOf(arena, 'a'), { ...ANYWHERE, first });
    settleNew(trail, first, meansFor(arena));
    return [first.state, nameOf(first.offering)];
  }
  const large = ({ workspace }: Arena): PoolOffering =>
    offeringOf(allOfferings(offeringsOf(workspace)), 'Standard_D8s_v5', false);

  test('becomes the cheapest that holds its pods, and is dropped where it has none', () => {
    expect(settled({}, large)).toEqual(['there', ['Standard_D2s_v5', true]]);
    expect(settled({}, large, false)).toEqual(['absent', ['Standard_D8s_v5', false]]);
  });

  test('stays what it is where its pods may not be on the cheapest', () => {
    const term = { topologyKey: 'karpenter.sh/capacity-type', labelSelector: { matchLabels: { app: 'other' } } };
    const apart = { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } };
    expect(settled(apart, large)).toEqual(['there', ['Standard_D8s_v5', false]]);
  });

  test('becomes the cheapest of what its pods need', () => {
    const onDemand = { nodeSelector: { 'karpenter.sh/capacity-type': 'on-demand' } };
    expect(settled(onDemand, large)).toEqual(['there', ['Standard_D2s_v5', false]]);
  });

  test('of a pool with a fixed number stays what provisioning makes', () => {
    const fixed = ({ workspace }: Arena): PoolOffering =>
      offeringOf(fixedOfferingsOf(workspace, new Set(['general'])), 'Standard_D8s_v5', false);
    expect(settled({}, fixed)).toEqual(['there', ['Standard_D8s_v5', false]]);
  });
});

describe('a spot node that comes', () => {
  /** For nodes with one pod each, spot or not; so many sizes are cheaper than these. */
  function fair(
    isSpot: ReadonlyArray<boolean>,
    spotToSpot: boolean,
    cheaper = 3,
    known = [size('Standard_D2s_v5', 2, 8, 100_000), size('Standard_D8s_v5', 8, 32, 400_000)],
  ): boolean {
    const sizes = Array.from({ length: cheaper - 1 }, (_, index) =>
      size(`Standard_D${20 + index}s_v5`, 2, 8, 100_001 + index),
    );
    const arena = arenaOf({
      machines: isSpot.map((spot, index) =>
        machine(`n${index}`, { cpu: 8, capacityType: spot ? 'spot' : 'on-demand' }),
      ),
      shapes: [pod],
      pods: isSpot.flatMap((_, index) => on(`n${index}`, 0, 1)),
      types: [...known, ...sizes],
      nodePools: anyCapacity,
    });
    const trail = trailOf(arena);
    const first = open(trail, offeringOf(allOfferings(offeringsOf(arena.workspace)), 'Standard_D2s_v5', true));
    for (const slot of arena.slots.filter(mayGo)) take(trail, slot, { ...ANYWHERE, first });
    return isFair(arena, first, meansFor(arena, spotToSpot));
  }

  test('is fair where it costs less than those alone that were none', () => {
    expect([fair([false], false), fair([true, false], false), fair([true], false), fair([true, true], false)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test('is fair for spot where that is switched on: for several, and for one while fifteen sizes are cheaper', () => {
    expect([fair([true, true], true), fair([true], true, 14), fair([true], true, 15)]).toEqual([true, false, true]);
    expect(fair([true], false, 15)).toBe(false);
  });

  test('is not fair where it costs as much as those that were none', () => {
    // A quarter of what its like costs on demand is as much as the large node.
    const as = (price: number) => [size('Standard_D2s_v5', 2, 8, price), size('Standard_D8s_v5', 8, 32, 100_000)];
    expect([fair([false], false, 1, as(400_000)), fair([false], false, 1, as(399_996))]).toEqual([false, true]);
  });

  test('needs nothing of this where it is on demand', () => {
    const arena = arenaOf({ machines: [machine('a')], shapes: [pod], pods: on('a', 0, 1), types });
    const first = open(
      trailOf(arena),
      offeringOf(allOfferings(offeringsOf(arena.workspace)), 'Standard_D2s_v5', false),
    );
    expect(isFair(arena, first, meansFor(arena))).toBe(true);
  });
});

describe('new nodes in the place of others', () => {
  type Wanted = readonly [string, boolean];
  const d2 = 'Standard_D2s_v5';

  /** In the place of large nodes with a pod of one and a half cores each, spot or not. */
  function replaced(isSpot: ReadonlyArray<boolean>, wanted: ReadonlyArray<Wanted>, sizes = types, cpu = '1500m') {
    const arena = arenaOf({
      machines: isSpot.map((spot, index) =>
        machine(`n${index}`, { cpu: 8, capacityType: spot ? 'spot' : 'on-demand' }),
      ),
      shapes: [shape(spec(cpu, '1Gi'))],
      pods: isSpot.flatMap((_, index) => on(`n${index}`, 0, 1)),
      types: sizes,
      nodePools: anyCapacity,
    });
    for (const slot of arena.slots) setDisruptionCost(slot, 0);
    const trail = trailOf(arena);
    const all = allOfferings(offeringsOf(arena.workspace));
    const offerings = wanted.map(([name, spot]) => offeringOf(all, name, spot));
    const isDone = replace(trail, [...arena.slots], offerings, meansFor(arena), ALL);
    const come = arena.slots.filter(({ offering, state }) => offering !== null && state === 'there');
    return [isDone, ...come.map(({ offering }) => nameOf(offering))];
  }

  test('come where that is fair for each of them, and else none of them does', () => {
    expect(replaced([false], [[d2, true]])).toEqual([true, [d2, true]]);
    expect(replaced([true], [[d2, true]])).toEqual([false]);
    const both: ReadonlyArray<Wanted> = [
      [d2, true],
      [d2, true],
    ];
    expect(replaced([false, false], both)).toEqual([true, [d2, true], [d2, true]]);
    expect(replaced([false, true], both)).toEqual([false]);
    expect(replaced([true, false], both)).toEqual([false]);
  });

  test('are those alone that pods come to, and it need not be fair for others', () => {
    const more: ReadonlyArray<Wanted> = [
      ['Standard_D4s_v5', false],
      [d2, true],
    ];
    expect(replaced([false], more)).toEqual([true, [d2, true]]);
  });

  test('come where they cost less by more than what may be an error of rounding', () => {
    const costs = (price: number) => [size('Standard_D8s_v5', 8, 32, 400_000), size('Standard_D9s_v5', 8, 32, price)];
    const none = costs(399_999).map((one) => ({ ...one, offerings: one.offerings.filter(isOnDemand) }));
    expect(replaced([false], [['Standard_D9s_v5', false]], none, '7')).toEqual([false]);
    const some = costs(399_998).map((one) => ({ ...one, offerings: one.offerings.filter(isOnDemand) }));
    expect(replaced([false], [['Standard_D9s_v5', false]], some, '7')).toEqual([true, ['Standard_D9s_v5', false]]);
  });

  const isOnDemand = ({ capacityType }: { readonly capacityType: string }): boolean => capacityType === 'on-demand';
});
