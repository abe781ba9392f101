import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { knownRegions, readShippedSizes } from '../../../../cli/catalog/shipped-sizes.ts';
import { fromRow, toRow } from '../../../../cli/catalog/size-rows.ts';
import { renderSizes, shippedRegions } from '../../../../cli/catalog/write-sizes.ts';
import { readSizes } from '../../../../sandbox/azure/catalog/sizes.ts';
import { toSku } from '../../../../shared/adapters/azure/catalog/sku.ts';

describe.each(shippedRegions)('the sizes and prices of %s that come along', (region) => {
  test('are what the writer makes of the facts', () => {
    expect(readFileSync(`cli/catalog/data/${region}.json`, 'utf8')).toBe(renderSizes('sandbox/azure/data', region));
  });

  test('are those that the sandbox’s Azure offers, read as Azure’s own list is read', () => {
    const offered = [...readSizes('sandbox/azure/data', region).values()].flatMap((size) => {
      const capabilities = Object.entries(size.capabilities).map(([name, value]) => ({ name, value }));
      const locationInfo = [{ location: region, zones: [...size.zones] }];
      const raw = { name: size.name, family: size.family, resourceType: 'virtualMachines', capabilities, locationInfo };
      const sku = toSku(raw, region);
      const { onDemandMicroUsd, spotMicroUsd } = size;
      return sku === null ? [] : [fromRow(toRow({ ...sku, onDemandMicroUsd, spotMicroUsd }))];
    });
    expect(readShippedSizes(region).skus).toEqual(offered);
    expect(offered.length).toBeGreaterThan(1_000);
  });

  test('say where the prices are from, and of which day', () => {
    expect(readShippedSizes(region).prices).toMatch(/\d{4}-\d{2}-\d{2}/);
  });
});

test('a region without prices is refused with those there are', () => {
  expect(knownRegions()).toEqual(['eastus', 'westeurope']);
  expect(() => readShippedSizes('../../data')).toThrow('use eastus or westeurope, or give your own sizes and prices');
});
