import type { Size } from './sizes.ts';

/** One row of the retail feed, with the fields of the real one. */
export type PriceRow = { readonly [field: string]: unknown };

const CURRENT = '2026-08-01T00:00:00Z';
const OUTDATED = '2024-03-01T00:00:00Z';

/** Windows adds about this much per vCPU and hour. */
const WINDOWS_MICRO_USD_PER_VCPU = 46_000;

/**
 * The retail rows of one size: Linux on-demand and Spot carry the true prices. All else is what a reader of the real
 * feed has to leave out: Windows, Low Priority, Cloud Services, dev/test and reservation rows, outdated duplicates with
 * a higher price, newer rows that say zero.
 */
export function priceRows(size: Size, region: string): ReadonlyArray<PriceRow> {
  const { onDemandMicroUsd: onDemand, spotMicroUsd: spot } = size;
  const windows = WINDOWS_MICRO_USD_PER_VCPU * size.vCpus;
  const row = rowWriter(size, region);
  const odd = oddity(size.name);
  return [
    ...(onDemand === null
      ? []
      : [
          row('', 'Series', onDemand, {}),
          row(' Low Priority', 'Series', Math.round(onDemand / 5), {}),
          row('', 'Series Windows', onDemand + windows, {}),
          row(' Low Priority', 'Series Windows', Math.round((onDemand + windows) / 5), {}),
          ...(odd % 5 === 0 ? [row('', 'Series', Math.round(onDemand * 1.08), { effectiveStartDate: OUTDATED })] : []),
          ...(odd % 97 === 0 ? [row('', 'Series', 0, { effectiveStartDate: '2026-08-15T00:00:00Z' })] : []),
          ...(/^Standard_[DE]\d+a/.test(size.name) ? [row('', 'Series Cloud Services', onDemand + windows, {})] : []),
          ...(odd % 7 === 0 ? [row('', 'Series Windows', onDemand, { type: 'DevTestConsumption' })] : []),
          ...(odd % 3 === 0
            ? [
                row('', 'Series', Math.round(onDemand * 8_760 * 0.6), {
                  type: 'Reservation',
                  reservationTerm: '1 Year',
                }),
              ]
            : []),
        ]),
    ...(spot === null
      ? []
      : [
          row(' Spot', 'Series', spot, {}),
          row(' Spot', 'Series Windows', Math.round(spot * 1.5), {}),
          ...(odd % 11 === 0 ? [row(' Spot', 'Series', Math.round(spot * 1.2), { effectiveStartDate: OUTDATED })] : []),
        ]),
  ];
}

function rowWriter(
  size: Size,
  region: string,
): (suffix: string, product: string, microUsd: number, change: PriceRow) => PriceRow {
  const bare = size.name.replace(/^Standard_/, '').replaceAll('_', ' ');
  const series = bare.replace(/\d+(-\d+)?/, '').replaceAll(' ', '');
  return (suffix, product, microUsd, change) => ({
    currencyCode: 'USD',
    tierMinimumUnits: 0,
    retailPrice: microUsd / 1e6,
    unitPrice: microUsd / 1e6,
    armRegionName: region,
    location: region === 'westeurope' ? 'EU West' : 'US East',
    effectiveStartDate: CURRENT,
    meterId: `00000000-0000-4000-8000-${id(size.name + suffix + product)}`,
    meterName: `${bare}${suffix}`,
    productId: `DZH${id(series).slice(0, 9)}`,
    skuId: `DZH${id(series).slice(0, 9)}/${id(bare + suffix).slice(0, 4)}`,
    productName: `Virtual Machines ${series} ${product}`,
    skuName: `${bare}${suffix}`,
    serviceName: 'Virtual Machines',
    serviceId: 'DZH313Z7MMC8',
    serviceFamily: 'Compute',
    unitOfMeasure: '1 Hour',
    type: 'Consumption',
    isPrimaryMeterRegion: true,
    armSkuName: size.name,
    ...change,
  });
}

function id(text: string): string {
  return oddity(text).toString(16).padStart(12, '0').toUpperCase();
}

/** A number fixed by a text: which sizes have which oddities must not change between runs. FNV-1a, 32 bits. */
function oddity(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
}
