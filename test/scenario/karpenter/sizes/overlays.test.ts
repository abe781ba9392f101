import { describe, expect, test } from 'vitest';
import type { NodeOverlay, Requirement } from '../../../../shared/kubernetes/manifest.ts';
import { pool, requirement } from '../../../kit/core/build.ts';
import { D2, D4, key, onDemand, pod, schedule } from '../kit/kit.ts';

/** Node overlays: Karpenter's rules of price and capacity. */

function overlay(
  name: string,
  spec: Omit<NodeOverlay['spec'], 'requirements'>,
  ...requirements: ReadonlyArray<Requirement>
): NodeOverlay {
  return { metadata: { name }, spec: { requirements, ...spec } };
}

const is = (type: string) => requirement(key.type, 'In', type);
const pricesOf = (nodeOverlays: ReadonlyArray<NodeOverlay>, pools = [pool('default')]) => {
  const outcome = schedule({
    types: [D2, D4],
    pools,
    nodeOverlays,
    pods: [pod('a', { nodeSelector: { [key.type]: D2.name } }), pod('b', { nodeSelector: { [key.type]: D4.name } })],
  });
  return [outcome.claimOf('a').offering.price, outcome.claimOf('b').offering.price];
};

describe('an overlay’s price [M03]', () => {
  test.each([
    ['is the price', { price: '0.05' }, 50_000],
    ['is added', { priceAdjustment: '+0.01' }, 110_000],
    ['is taken off', { priceAdjustment: '-0.01' }, 90_000],
    ['is added in percent', { priceAdjustment: '+10%' }, 110_000],
    ['is taken off in percent', { priceAdjustment: '-25%' }, 75_000],
    ['is rounded up to a millionth of a dollar', { price: '0.0500001' }, 50_001],
    ['is rounded up when a third is taken off', { priceAdjustment: '-33.333333%' }, 66_667],
    ['is rounded up when a little is taken off', { priceAdjustment: '-0.0000001' }, 100_000],
    ['is never below nothing', { priceAdjustment: '-5' }, 0],
  ])('%s', (_, spec, expected) => {
    expect(pricesOf([overlay('o', spec, is(D2.name))])).toEqual([expected, 200_000]);
  });

  test('of the heaviest overlay counts, and the absent weight is 0', () => {
    const light = overlay('z-light', { price: '0.01' }, is(D2.name));
    const heavy = overlay('a-heavy', { price: '0.02', weight: 1 }, is(D2.name));
    expect(pricesOf([light, heavy])[0]).toBe(20_000);
  });

  test('of two of one weight on one offering: the later name counts, and the other changes nothing, elsewhere either', () => {
    const wide = overlay('a-wide', { price: '0.01' }, requirement(key.type, 'Exists'));
    const narrow = overlay('b-narrow', { price: '0.02' }, is(D2.name));
    expect(pricesOf([wide, narrow])).toEqual([20_000, 200_000]);
    expect(pricesOf([wide])).toEqual([10_000, 10_000]);
  });

  test('of two of one weight that meet in one pool: the one that loses there changes nothing in another pool either', () => {
    const everywhere = overlay('a', { price: '0.01' }, is(D2.name));
    const here = overlay('b', { price: '0.02' }, is(D2.name), requirement(key.pool, 'In', 'here'));
    const priceIn = (name: string) =>
      schedule({
        types: [D2],
        pools: [pool('here', { requirements: [onDemand] }), pool('there', { requirements: [onDemand] })],
        nodeOverlays: [everywhere, here],
        pods: [pod('p', { nodeSelector: { [key.pool]: name } })],
      }).claimOf('p').offering.price;
    expect([priceIn('here'), priceIn('there')]).toEqual([20_000, 100_000]);
  });

  test('in one zone is of that zone alone', () => {
    const one = overlay('a', { price: '0.01' }, requirement(key.zone, 'In', 'westeurope-2'));
    const { offering } = schedule({ types: [D2], nodeOverlays: [one], pods: [pod('p')] }).claimOf('p');
    expect([offering.zone, offering.price]).toEqual(['westeurope-2', 10_000]);
  });

  test('of two of one weight on one offering counts once, also where a heavier one decides', () => {
    const heavy = overlay('c', { price: '0.03', weight: 1 }, is(D2.name));
    const wide = overlay('a', { price: '0.01' }, requirement(key.type, 'Exists'));
    const narrow = overlay('b', { price: '0.02' }, is(D2.name));
    expect(pricesOf([heavy, wide, narrow])).toEqual([30_000, 200_000]);
  });

  test('of two of one weight on different offerings both count', () => {
    const one = overlay('a', { price: '0.01' }, is(D2.name));
    const other = overlay('b', { price: '0.02' }, is(D4.name));
    expect(pricesOf([one, other])).toEqual([10_000, 20_000]);
  });

  test('may be for one pool, and for one capacity type', () => {
    const spot = overlay('o', { price: '0.001' }, requirement(key.capacityType, 'In', 'spot'));
    expect(pricesOf([spot])).toEqual([100_000, 200_000]);
    const here = overlay('o', { price: '0.05' }, requirement(key.pool, 'In', 'cheap'));
    const pools = [pool('cheap', { requirements: [onDemand] }), pool('default')];
    expect(pricesOf([here], pools)).toEqual([50_000, 50_000]);
  });

  test('does not reach a size that lacks the label it asks for', () => {
    expect(pricesOf([overlay('o', { price: '0.01' }, requirement('example.com/none', 'Exists'))])).toEqual([
      100_000, 200_000,
    ]);
  });

  test('counts only behind Karpenter’s gate', () => {
    const gates = { nodeOverlay: false, staticCapacity: false, capacityBuffer: false, reservedCapacity: false };
    const nodeOverlays = [overlay('o', { price: '0.000001' }, is(D4.name))];
    expect(schedule({ nodeOverlays, policy: { gates }, pods: [pod('a')] }).claimOf('a').offering.instanceType).toBe(
      D2.name,
    );
    expect(schedule({ nodeOverlays, pods: [pod('a')] }).claimOf('a').offering.instanceType).toBe(D4.name);
  });
});

describe('an overlay’s capacity [M03]', () => {
  const wants = (amount: string) => [pod('a', { requests: { 'example.com/fpga': amount } })];
  const fpga = (name: string, amount: string, weight: number, ...requirements: ReadonlyArray<Requirement>) =>
    overlay(name, { capacity: { 'example.com/fpga': amount }, weight }, ...requirements);

  test('is merged resource by resource, the heavier first', () => {
    const light = overlay(
      'z',
      { capacity: { 'example.com/fpga': '9', 'example.com/nic': '2' }, weight: 1 },
      is(D4.name),
    );
    const both = [light, fpga('a', '1', 2, is(D4.name))];
    expect(schedule({ nodeOverlays: both, pods: wants('2') }).left).toEqual(['a']);
    expect(schedule({ nodeOverlays: both, pods: wants('1') }).claimOf('a').offering.instanceType).toBe(D4.name);
    expect(schedule({ nodeOverlays: both, pods: [pod('a', { requests: { 'example.com/nic': '2' } })] }).left).toEqual(
      [],
    );
  });

  test('of an overlay that loses one resource to another of its weight is not merged at all', () => {
    const both = [
      overlay('a', { capacity: { 'example.com/fpga': '4', 'example.com/nic': '2' }, weight: 1 }, is(D4.name)),
      fpga('b', '1', 1, is(D4.name)),
    ];
    const nic = [pod('a', { requests: { 'example.com/nic': '1' } })];
    expect(schedule({ nodeOverlays: both, pods: nic }).left).toEqual(['a']);
    expect(schedule({ nodeOverlays: both.slice(0, 1), pods: nic }).left).toEqual([]);
  });

  test('of two of one weight on one resource: the later name counts', () => {
    const both = [fpga('a', '4', 1, is(D4.name)), fpga('b', '1', 1, is(D4.name))];
    expect(schedule({ nodeOverlays: both, pods: wants('4') }).left).toEqual(['a']);
  });
});
