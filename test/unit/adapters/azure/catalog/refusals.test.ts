import { expect, test } from 'vitest';
import {
  isCovered,
  mergeRefusals,
  spotRefusals,
  toRefusal,
  type Refusal,
} from '../../../../../shared/adapters/azure/catalog/refusals.ts';
import { microUsdPerHour } from '../../../../../shared/core/quantity/units.ts';
import type { CapacityType } from '../../../../../shared/core/model/catalog.ts';
import type { RefusalScope } from '../../../../../shared/ports/cloud.ts';
import { sku } from '../../../../kit/azure/sku.ts';

const d4 = sku('Standard_D4s_v5');
const small = sku('Standard_D2s_v5', { vCpus: 2 });
const large = sku('Standard_D8s_v5', { vCpus: 8 });
const other = sku('Standard_E8s_v5', { vCpus: 8, quotaFamily: 'standardESv5Family' });

function refused(scope: RefusalScope, untilMs = 1_000, capacityType: CapacityType = 'on-demand'): Refusal {
  const offering = { instanceType: d4.name, zone: 'we-1', capacityType, price: microUsdPerHour(1) };
  return toRefusal({ scope, offering, untilMs, reason: 'X' }, d4, 5);
}

test.for([
  ['offering', 'D4 we-1 od'],
  ['zone', 'D4 we-1 od, D4 we-1 spot'],
  ['size', 'D4 we-1 od, D4 we-2 od'],
  ['family', 'D4 we-1 od, D4 we-2 od, D8 we-1 od, D8 we-2 od'],
  ['region', 'D2 we-1 od, D2 we-2 od, D4 we-1 od, D4 we-2 od, D8 we-1 od, D8 we-2 od, E8 we-1 od, E8 we-2 od'],
] as const)('a refusal of scope %s covers %s and nothing else', ([scope, covered]) => {
  const found = [small, d4, large, other].flatMap((one) =>
    (['we-1', 'we-2'] as const).flatMap((zone) =>
      (['on-demand', 'spot'] as const)
        .filter((type) => isCovered([refused(scope)], one, zone, type, 0))
        .map((type) => `${one.name.slice(9, 11)} ${zone} ${type === 'spot' ? 'spot' : 'od'}`),
    ),
  );
  expect(found.join(', ')).toBe(covered);
});

test('a refusal of spot covers all spot and no on-demand capacity', () => {
  const spot = [refused('spot', 1_000, 'spot')];
  expect(isCovered(spot, other, 'we-2', 'spot', 0)).toBe(true);
  expect(isCovered(spot, d4, 'we-1', 'on-demand', 0)).toBe(false);
});

test('a refusal ends at its time', () => {
  expect(isCovered([refused('offering', 1_000)], d4, 'we-1', 'on-demand', 999)).toBe(true);
  expect(isCovered([refused('offering', 1_000)], d4, 'we-1', 'on-demand', 1_000)).toBe(false);
});

test('of refusals of one thing the longest stays, whichever came last; those over are dropped', () => {
  const merged = mergeRefusals([refused('size', 5_000), refused('zone', 50)], [refused('size', 2_000)], 100);
  expect(merged.map(({ scope, untilMs }) => [scope, untilMs])).toEqual([['size', 5_000]]);
});

test('a size that the catalog does not know has no family to spread to', () => {
  const offering = {
    instanceType: 'Standard_X',
    zone: 'we-1',
    capacityType: 'spot',
    price: microUsdPerHour(1),
  } as const;
  const refusal = toRefusal({ scope: 'family', offering, untilMs: 9, reason: 'X' }, null, 5);
  expect(isCovered([refusal], d4, 'we-1', 'spot', 0)).toBe(false);
});

test('a refusal of a family is one of its sizes as large or larger, in any case of its name', () => {
  const refusal = refused('family');
  const spelled = sku('Standard_D4s_v5', { quotaFamily: 'STANDARDDSV5FAMILY' });
  expect(isCovered([refusal], spelled, 'we-1', 'on-demand', 0)).toBe(true);
  expect(isCovered([refusal], d4, 'we-1', 'spot', 0)).toBe(false);
});

test('a refusal of a region covers the capacity type that was refused', () => {
  expect(isCovered([refused('region', 1_000, 'spot')], other, 'we-2', 'on-demand', 0)).toBe(false);
  expect(isCovered([refused('region', 1_000, 'spot')], other, 'we-2', 'spot', 0)).toBe(true);
});

test('what is remembered of a refusal is what it covers', () => {
  expect(refused('zone')).toEqual({
    scope: 'zone',
    size: 'Standard_D4s_v5',
    zone: 'we-1',
    capacityType: 'on-demand',
    family: 'standarddsv5family',
    vCpus: 4,
    untilMs: 1_000,
    reason: 'X',
    atMs: 5,
  });
});

test('spot that there was none of is known by size and zone, and nothing else is', () => {
  const spot = (parts: Partial<Refusal>): Refusal => ({ ...refused('zone', 1_000, 'spot'), ...parts });
  const { atMs: _, ...earlier } = spot({ reason: 'AllocationFailed' });
  const known = spotRefusals([
    spot({ reason: 'ZonalAllocationFailed' }),
    spot({ reason: 'SKUNotAvailable', scope: 'size', size: 'Standard_D8s_v5' }),
    spot({ reason: 'SpotEvicted' }),
    spot({ reason: 'SubscriptionQuotaReached', scope: 'spot' }),
    spot({ reason: 'NodeBootFailed', scope: 'size' }),
    // As an earlier version wrote it.
    earlier,
    { ...refused('zone'), reason: 'ZonalAllocationFailed' },
  ]);
  const common = { family: 'standarddsv5family', zone: 'we-1', atMs: 5 };
  expect(known).toEqual([
    { size: 'Standard_D4s_v5', ...common },
    { size: 'Standard_D8s_v5', ...common },
  ]);
});

test('refusals of other things stay beside each other', () => {
  const all = [
    refused('size'),
    refused('zone'),
    refused('size', 1_000, 'spot'),
    { ...refused('size'), zone: 'we-2' },
    { ...refused('size'), size: 'Standard_D8s_v5' },
  ];
  expect(mergeRefusals(all.slice(0, 2), all.slice(2), 0)).toEqual(all);
  expect(mergeRefusals([], all, 1_000)).toEqual([]);
  expect(mergeRefusals([refused('size', 5)], [refused('size', 9)], 0)).toEqual([refused('size', 9)]);
});
