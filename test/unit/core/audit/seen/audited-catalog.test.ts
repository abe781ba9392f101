import { describe, expect, test } from 'vitest';
import type { NodeOverlay } from '../../../../../shared/kubernetes/manifest.ts';
import { labelKey } from '../../../../../shared/kubernetes/labels.ts';
import { auditedCatalog } from '../../../../../shared/core/audit/seen/audited-catalog.ts';
import { input, pool, requirement, size, zones } from '../../../../kit/core/build.ts';

const [z1] = zones;
const D2 = size('Standard_D2_v5', 2, 8, 100_001);
const D4 = size('Standard_D4_v5', 4, 16, 200_000);
const isD2 = requirement(labelKey.instanceType, 'In', D2.name);

function overlay(name: string, spec: Partial<NodeOverlay['spec']>): NodeOverlay {
  return { metadata: { name }, spec: { requirements: [isD2], ...spec } };
}

/** Of D2 and D4 the price on demand in the first zone, and how many of a resource they have. */
function sizes(overlays: ReadonlyArray<NodeOverlay>, resource = 'example.com/slots', open = true) {
  const gates = { nodeOverlay: open, staticCapacity: true, capacityBuffer: true, reservedCapacity: true };
  const given = input({ types: [D2, D4], nodePools: [pool('general')], nodeOverlays: overlays, policy: { gates } });
  return (auditedCatalog(given).get('general') ?? []).map(({ offerings, capacity }) => [
    offerings.find((one) => one.zone === z1 && one.capacityType === 'on-demand')?.price,
    capacity[resource],
  ]);
}

const priceOf = (spec: Partial<NodeOverlay['spec']>): number | undefined =>
  sizes([overlay('o', spec)])[0]?.[0] as number;

describe('the price of an overlay', () => {
  test.each([
    ['0.05', 50_000],
    ['0.0500001', 50_001],
    ['1', 1_000_000],
    ['0', 0],
  ])('%s is %d millionths', (price, wanted) => {
    expect(priceOf({ price })).toBe(wanted);
  });

  test.each([
    ['+10%', 110_002],
    ['-10%', 90_001],
    ['10%', 110_002],
    ['+0.05', 150_001],
    ['-0.05', 50_001],
    ['-0.2', 0],
    ['-100%', 0],
  ])(
    'that is an adjustment by %s makes it %d millionths, rounded up and never below nothing',
    (priceAdjustment, wanted) => {
      expect(priceOf({ priceAdjustment })).toBe(wanted);
    },
  );

  test('leaves sizes alone that the overlay does not mean, and all of them behind a closed gate', () => {
    const plain = [
      [100_001, undefined],
      [200_000, undefined],
    ];
    expect(sizes([overlay('o', { price: '0.05' })])).toEqual([
      [50_000, undefined],
      [200_000, undefined],
    ]);
    expect(sizes([])).toEqual(plain);
    expect(sizes([overlay('o', { price: '0.05' })], 'x', false)).toEqual(plain);
    expect(sizes([overlay('o', { price: '0.05', requirements: [isD2, requirement('none', 'Exists')] })])).toEqual(
      plain,
    );
  });

  test('is for the offerings that the overlay means', () => {
    const spot = requirement(labelKey.capacityType, 'In', 'spot');
    expect(sizes([overlay('o', { price: '0.05', requirements: [isD2, spot] })])[0]).toEqual([100_001, undefined]);
  });
});

describe('of several overlays', () => {
  const cheap = { price: '0.01' };
  const dear = { price: '0.02' };
  const slots = (count: string) => ({ capacity: { 'example.com/slots': count } });

  test('the heavier decides, wherever it stands in the list; without a weight it is 0', () => {
    const both = [overlay('a', { ...cheap, weight: 1 }), overlay('b', dear)];
    for (const all of [both, both.toReversed()]) expect(sizes(all)[0]).toEqual([10_000, undefined]);
  });

  test('one that meets its equal in weight is left out whole: the later name comes first', () => {
    const both = [overlay('a', { ...cheap, ...slots('3') }), overlay('b', dear)];
    for (const all of [both, both.toReversed()]) expect(sizes(all)[0]).toEqual([20_000, undefined]);
  });

  test('those that decide different things all count', () => {
    const both = [overlay('a', cheap), overlay('b', slots('3'))];
    expect(sizes(both)[0]).toEqual([10_000, '3']);
    expect(sizes(both)[1]).toEqual([200_000, undefined]);
  });

  test('a lighter one decides what the heavier leaves open', () => {
    const both = [overlay('a', { ...cheap, ...slots('3') }), overlay('b', { ...dear, weight: 5 })];
    expect(sizes(both)[0]).toEqual([20_000, '3']);
  });
});
