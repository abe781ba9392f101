import { expect, test } from 'vitest';
import { launchCandidates } from '../../../../shared/core/launch/launch-candidates.ts';
import type { InstanceType } from '../../../../shared/core/model/catalog.ts';
import type { NodeClaim } from '../../../../shared/kubernetes/manifest.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { requirement, size, zones } from '../../../kit/core/build.ts';

function spot(name: string, price: number, evictionsPerHour: number): InstanceType {
  const one = size(name, 2, 8, 4 * price).offerings.find(({ capacityType }) => capacityType === 'spot');
  const offerings = one === undefined ? [] : [{ ...one, price: microUsdPerHour(price), evictionsPerHour }];
  return { ...size(name, 2, 8, 4 * price), offerings };
}

const types = [spot('D', 50_000, 0.225), spot('E', 52_000, 0.025), spot('F', 70_000, 0)];

const claim: NodeClaim = {
  metadata: { name: 'a-1' },
  spec: {
    nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
    requirements: [requirement('topology.kubernetes.io/zone', 'In', zones[0])],
    resources: { requests: { cpu: '1' } },
  },
};

const tried = (evictionCostMs: number): ReadonlyArray<string> =>
  launchCandidates(claim, types, [], evictionCostMs).map(({ instanceType }) => instanceType);

test('what no plan named is tried by price and risk, as the pool weighs it', () => {
  expect(tried(1_800_000)).toEqual(['E', 'D', 'F']);
  expect(tried(0)).toEqual(['D', 'E', 'F']);
  expect(tried(8 * 3_600_000)).toEqual(['E', 'F', 'D']);
});

test('spot in a storm is tried last, and before others where evictions cost nothing', () => {
  const storm = { evicted: 3, of: 4, evictionsPerHour: 20, until: '2026-03-01T12:30:00Z' };
  const all = types.map((type) =>
    type.name === 'D' ? { ...type, offerings: type.offerings.map((one) => ({ ...one, storm })) } : type,
  );
  const order = (costMs: number) => launchCandidates(claim, all, [], costMs).map(({ instanceType }) => instanceType);
  expect(order(1_800_000)).toEqual(['E', 'F', 'D']);
  expect(order(0)).toEqual(['D', 'E', 'F']);
  expect(launchCandidates(claim, all, [], 1_800_000).at(-1)?.risk).toEqual({
    evictionsPerHour: 20,
    weighedPrice: 550_000,
  });
});

test('what a plan chose is tried first, and says what it counts as', () => {
  const [first] = launchCandidates(
    claim,
    types,
    [{ instanceType: 'D', zone: zones[0], capacityType: 'spot', price: microUsdPerHour(1) }],
    1_800_000,
  );
  expect(first).toMatchObject({ instanceType: 'D', price: 50_000, risk: { weighedPrice: 55_625 } });
});
