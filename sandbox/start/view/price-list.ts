import { join } from 'node:path';
import { readSizes } from '../../azure/catalog/sizes.ts';

/** What a machine costs in micro-USD per hour; null when the price list does not have it. */
export type PriceOf = (size: string, capacityType: 'spot' | 'on-demand') => number | null;

/** Reads the prices that the Azure double serves in `region`: Azure's own retail prices. */
export function readPrices(root: string, region: string): PriceOf {
  const sizes = readSizes(join(root, 'sandbox/azure/data'), region);
  return (size, capacityType) => {
    const found = sizes.get(size.toLowerCase());
    return (capacityType === 'spot' ? found?.spotMicroUsd : found?.onDemandMicroUsd) ?? null;
  };
}
