import type { InstanceType } from '../../core/model/catalog.ts';
import { renderUsd } from '../../core/quantity/render-usd.ts';
import type { OfferingName } from './machine-labels.ts';

/** As the annotation on claims and nodes has it: `0.388 USD`. `price` in micro-units of the currency per hour. */
export function renderPrice(price: number, currency: string): string {
  return `${renderUsd(price)} ${currency}`;
}

/** What such a machine costs, in micro-units of the catalog's currency per hour; null where the sizes do not say. */
export function priceOf(
  types: ReadonlyArray<InstanceType>,
  { instanceType, zone, capacityType }: OfferingName,
): number | null {
  const offerings = types.find(({ name }) => name === instanceType)?.offerings ?? [];
  return offerings.find((one) => one.zone === zone && one.capacityType === capacityType)?.price ?? null;
}
