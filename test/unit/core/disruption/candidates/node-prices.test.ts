import { describe, expect, test } from 'vitest';
import { nodePrices } from '../../../../../shared/core/disruption/candidates/node-prices.ts';
import { microUsdPerHour } from '../../../../../shared/core/quantity/units.ts';
import { offering, size } from '../../../../kit/core/build.ts';

const reserved = (id: string, price: number) => ({
  ...offering('westeurope-1', 'reserved', price),
  reservation: { id, remaining: 1 },
});
const offerings = [
  { ...offering('westeurope-1', 'spot', 100), evictionsPerHour: 0.5 },
  offering('westeurope-1', 'on-demand', 400),
  offering('westeurope-2', 'on-demand', 500, false),
  offering('westeurope-2', 'spot', 120),
  offering('westeurope-3', 'spot', 90),
  reserved('other', 7),
  reserved('r', 5),
];
const catalog = new Map([['general', [size('D2', 2, 8, 1), size('D4', 4, 16, 1, { offerings })]]]);

/** What a node costs at that place: what Azure asks, and what it asks for it on demand. */
function priceOf(zone: string, capacityType: string, more: Readonly<Record<string, string>> = {}) {
  const labels = {
    'node.kubernetes.io/instance-type': 'D4',
    'topology.kubernetes.io/zone': zone,
    'karpenter.sh/capacity-type': capacityType,
    ...more,
  };
  const found = nodePrices(catalog, new Map())('general', labels);
  return found === null ? null : [found.plain, found.onDemand];
}

describe('a node costs what is asked', () => {
  test.each<[string, string, ReadonlyArray<number> | null]>([
    ['westeurope-1', 'on-demand', [400, 400]],
    ['westeurope-1', 'spot', [100, 400]],
    ['westeurope-2', 'spot', [120, 500]],
    ['westeurope-2', 'on-demand', [500, 500]],
    ['westeurope-3', 'spot', [90, 90]],
    ['westeurope-3', 'on-demand', null],
    ['westeurope-4', 'spot', null],
  ])('in its zone %s as %s, also where it is not to be had now', (zone, capacityType, expected) => {
    expect(priceOf(zone, capacityType)).toEqual(expected);
  });

  test('in its reservation, and nothing is known of one in none', () => {
    const key = 'karpenter.azure.com/capacity-reservation-id';
    expect(priceOf('westeurope-1', 'reserved', { [key]: 'r' })).toEqual([5, 400]);
    expect(priceOf('westeurope-1', 'reserved', { [key]: 'other' })).toEqual([7, 400]);
    expect(priceOf('westeurope-1', 'reserved')).toBeNull();
  });

  test('and nothing is known of another size, or another pool', () => {
    expect(priceOf('westeurope-1', 'spot', { 'node.kubernetes.io/instance-type': 'D64' })).toBeNull();
    const bare = { 'topology.kubernetes.io/zone': 'westeurope-1', 'karpenter.sh/capacity-type': 'spot' };
    expect(nodePrices(catalog, new Map())('general', bare)).toBeNull();
    expect(nodePrices(catalog, new Map())('other', bare)).toBeNull();
  });
});

test('spot counts for more by how often it is evicted, and by what its pool says that an eviction costs', () => {
  const labels = {
    'node.kubernetes.io/instance-type': 'D4',
    'topology.kubernetes.io/zone': 'westeurope-1',
    'karpenter.sh/capacity-type': 'spot',
  };
  const weighed = (costs: ReadonlyMap<string, number>) => nodePrices(catalog, costs)('general', labels)?.weighed ?? 0;
  expect(weighed(new Map([['general', 0]]))).toBe(100);
  expect(weighed(new Map())).toBeGreaterThan(100);
  expect(weighed(new Map([['general', 7_200_000]]))).toBeGreaterThan(weighed(new Map([['general', 60_000]])));
  expect(weighed(new Map([['other', 7_200_000]]))).toBe(weighed(new Map()));
  const calm = nodePrices(catalog, new Map())('general', { ...labels, 'topology.kubernetes.io/zone': 'westeurope-3' });
  expect(calm).toEqual({ plain: microUsdPerHour(90), weighed: 90, onDemand: 90 });
});
