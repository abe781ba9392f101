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
import { factsOf } from '../../../../../shared/core/disruption/search/arena.ts';
import { NODE_NAME_FIELD } from '../../../../../shared/kubernetes/labels.ts';
import { drawFrom } from '../../../../../shared/core/quantity/draw.ts';
import { daemonSet, offering, requirement, shape, size, spec, zones } from '../../../../kit/core/build.ts';
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

function isFitting({ workspace, worth }: World, one: PoolOffering, demand: Demand): boolean {
  const { state, type, bit, isSpot, price } = one;
  const free = freeOf(one, worth.length);
  const meets = (need: Need): boolean =>
    optionsFor(workspace, state, need).some(({ offered }) => ((offered[type] ?? 0) >> bit) & 1);
  const { needs, load, below, mayBeSpot } = demand;
  return (
    price < below &&
    (mayBeSpot || !isSpot) &&
    load.every((amount, k) => amount <= (free[k] ?? 0)) &&
    [...needs].every(meets)
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

/** The pool, size, zone of an offering, and whether it is spot. */
const nameOf = (one: PoolOffering | null): ReadonlyArray<unknown> =>
  one === null ? [] : [one.state.pool.name, one.state.pool.catalog.types[one.type]?.name, one.zone, one.isSpot];

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

  test('as a node has no label that its size has not, or has several values of, nor one that its pool leaves out', () => {
    const os = requirement('kubernetes.io/os', 'In', 'linux', 'windows');
    const labels = {
      'kubernetes.io/arch': ['amd64'],
      'kubernetes.io/os': ['linux', 'windows'],
      'karpenter.azure.com/sku-gpu-count': ['1'],
    };
    const either = size('Standard_N4', 4, 16, 100_000, { labels });
    const nodePools = [disruptable('general', {}, { requirements: [os, requirement('team', 'NotIn', 'web')] })];
    const { workspace } = arenaOf({ machines: [], shapes: [], pods: [], types: [either, ...types], nodePools });
    const labelsOf = (type: string): unknown => {
      const one = allOfferings(offeringsOf(workspace)).find((other) => nameOf(other)[1] === type);
      return one === undefined ? null : capacityOfOffering(one, 'new').labels;
    };
    const common = {
      'kubernetes.io/arch': 'amd64',
      'karpenter.azure.com/aksnodeclass': 'default',
      'karpenter.sh/nodepool': 'general',
      'kubernetes.io/hostname': 'new',
      [NODE_NAME_FIELD]: 'new',
      'topology.kubernetes.io/zone': zones[0],
      'karpenter.sh/capacity-type': 'spot',
      'karpenter.sh/registered': 'true',
      'karpenter.sh/initialized': 'true',
    };
    expect([labelsOf('Standard_N4'), labelsOf('Standard_D2s_v5')]).toEqual([
      { ...common, [SIZE]: 'Standard_N4', 'karpenter.azure.com/sku-gpu-count': '1' },
      {
        ...common,
        [SIZE]: 'Standard_D2s_v5',
        'kubernetes.io/os': 'linux',
        [FAMILY]: 'D',
        'karpenter.azure.com/sku-cpu': '2',
      },
    ]);
  });

  test('as a node has the ports taken of daemons that run on it, and of no others', () => {
    const ports = [{ hostPort: 8080, containerPort: 8080 }];
    const nodeSelector = { 'topology.kubernetes.io/zone': zones[1] };
    const agent = daemonSet('agent', { nodeSelector, containers: [{ ports }] });
    const { workspace } = arenaOf({ machines: [], shapes: [], pods: [], daemonSets: [agent] });
    const portsIn = (wanted: string): unknown => {
      const one = allOfferings(offeringsOf(workspace)).find(({ zone }) => zone === wanted);
      return one === undefined ? null : capacityOfOffering(one, 'new').daemonPorts;
    };
    expect([portsIn(zones[0]), portsIn(zones[1])]).toMatchObject([[], [{ port: 8080 }]]);
  });
});

/** One pool with these sizes, and what it is asked for is a node for a pod that has to leave its own. */
function poolOf(sizes: typeof types, ...requirements: ReadonlyArray<ReturnType<typeof requirement>>) {
  const drifted = { type: 'Drifted', status: 'True', lastTransitionTime: '1970-01-02T00:00:00Z' };
  const read = arenaOf({
    machines: [machine('a', { conditions: [drifted] })],
    shapes: [shape(spec('3', '1Gi'))],
    pods: on('a', 0, 1),
    types: sizes,
    nodePools: [disruptable('general', {}, { requirements })],
  });
  const offerings = offeringsOf(read.workspace);
  const { requests, least } = factsOf(read, 0);
  const demand = { needs: new Set([least]), load: requests, zone: null, mayBeSpot: true };
  const sizeBelow = (below: number) => nameOf(cheapestOffering(read.workspace, offerings, { ...demand, below }))[1];
  return { list: allOfferings(offerings), sizeBelow };
}

describe('sizes that pools should not use', () => {
  test('come after all others, whatever they cost, the cheapest first', () => {
    const { list } = poolOf([...types, size('Standard_B2s', 2, 8, 10_000), size('Standard_B4s', 4, 16, 20_000)]);
    const shunned = list.filter(({ isShunned }) => isShunned);
    expect(list.slice(-shunned.length)).toEqual(shunned);
    expect(shunned.map(({ price }) => price).slice(0, 7)).toEqual([2_500, 2_500, 2_500, 5_000, 5_000, 5_000, 10_000]);
  });

  test.each([
    ['that holds none of the pods', [size('Standard_D2s_v5', 2, 8, 100_000)]],
    [
      'or a dearer one that they come after',
      [size('Standard_D2s_v5', 2, 8, 100_000), size('Standard_B2s', 2, 8, 10_000)],
    ],
  ])('are bought only for more than all others cost, one %s too', (_, others) => {
    const onlyOnDemand = requirement('karpenter.sh/capacity-type', 'In', 'on-demand');
    const { sizeBelow } = poolOf([...others, size('Standard_B4s', 4, 16, 50_000)], onlyOnDemand);
    expect([60_000, 100_000, 100_001].map(sizeBelow)).toEqual([undefined, undefined, 'Standard_B4s']);
  });
});

test('of sizes that cost the same the first by name is bought, whatever else they are offered for', () => {
  const cheaper = size('Standard_D4b', 4, 16, 200_000);
  const same = size('Standard_D4a', 4, 16, 200_000, { offerings: [offering(zones[0], 'on-demand', 200_000)] });
  const { list } = poolOf([cheaper, same]);
  expect(list.filter(({ isSpot }) => !isSpot).map((one) => nameOf(one)[1])[0]).toBe('Standard_D4a');
});

test('all minValues of a pool must be met by what may be bought instead, not some of them', () => {
  const atLeast = (key: string) => ({ ...requirement(key, 'Exists'), minValues: 2 });
  const found = (...keys: ReadonlyArray<string>) => poolOf(types, ...keys.map(atLeast)).sizeBelow(100_001);
  expect([found(SIZE), found(SIZE, FAMILY)]).toEqual(['Standard_D4s_v5', undefined]);
});

test('a lighter pool is not asked for what a heavier one can hold, on spot alone too, where no spot may come', () => {
  const spot = [requirement('karpenter.sh/capacity-type', 'In', 'spot')];
  const { workspace, worth } = arenaOf({
    machines: [],
    shapes: [],
    pods: [],
    nodePools: [
      disruptable('heavy', {}, { requirements: spot, weight: 2 }),
      disruptable('light', {}, { requirements: [], weight: 1 }),
    ],
  });
  const demand: Demand = { needs: new Set(), load: worth.map(() => 0), zone: null, below: Infinity, mayBeSpot: true };
  const found = (parts: Partial<Demand>) =>
    nameOf(cheapestOffering(workspace, offeringsOf(workspace), { ...demand, ...parts }))[0];
  expect([found({}), found({ mayBeSpot: false })]).toEqual(['heavy', undefined]);
});
