import type { Remedy } from '../../model/remedy.ts';

/** Labels that the node class decides, by the field that does. */
const OS_SKU = 'kubernetes.azure.com/os-sku';
const FIPS = 'kubernetes.azure.com/fips_enabled';

/** Does the node class decide the label, so that no requirement of a pool brings it about? */
export function isOfClass(key: string): boolean {
  return key === OS_SKU || key === FIPS;
}

/**
 * What gives nodes of a class the label; null where nothing does. `family` is the one that it has now. FIPS names its
 * family: admission refuses it with some.
 */
export function classEdits(key: string, value: string, family: string | null): Remedy | null {
  const image = (name: string) =>
    ({ object: 'AKSNodeClass', field: 'spec.imageFamily', key: null, value: name }) as const;
  if (key === OS_SKU) return ['Ubuntu', 'AzureLinux'].includes(value) ? [image(value)] : null;
  if (key !== FIPS || value !== 'true') return null;
  return [image(family ?? 'Ubuntu'), { object: 'AKSNodeClass', field: 'spec.fipsMode', key: null, value: 'FIPS' }];
}
