import type { InstanceType } from '../model/catalog.ts';
import { REGIONAL_ZONE, labelKey } from '../../kubernetes/labels.ts';
import type { NodePool } from '../../kubernetes/manifest.ts';

const PLACEMENT_SCOPE = 'karpenter.azure.com/placement-scope';

/**
 * Does the pool ask for VMs without a zone, or speak of them at all? Those that do not are planned with zones only: to
 * a pod that spreads over zones, "no zone" would be one more. When all zones refuse, a launch may still go without.
 */
export function namesRegional({ spec }: NodePool): boolean {
  const { labels = {} } = spec.template.metadata ?? {};
  if (labels[PLACEMENT_SCOPE] !== undefined || labels[labelKey.zone] === REGIONAL_ZONE) return true;
  return spec.template.spec.requirements.some(
    ({ key, values = [] }) => key === PLACEMENT_SCOPE || (key === labelKey.zone && values.includes(REGIONAL_ZONE)),
  );
}

/** The types without the regional offerings of sizes that have zones. */
export function zonalOnly(types: ReadonlyArray<InstanceType>): ReadonlyArray<InstanceType> {
  return types.map((type) => {
    const zonal = type.offerings.filter(({ zone }) => zone !== REGIONAL_ZONE);
    return zonal.length === 0 || zonal.length === type.offerings.length ? type : { ...type, offerings: zonal };
  });
}
