import type { ProvisioningInput } from '../model/provisioning-input.ts';
import { withDefaultSpread } from '../rules/default-spread.ts';
import { overlaidCatalog } from './overlays.ts';
import { reservedCatalog } from './reservations.ts';

/**
 * The input as every planner reads it: the catalog with overlays and reservations, pods with the spread that goes
 * without saying.
 */
export function offeredInput(given: ProvisioningInput): ProvisioningInput {
  const overlaid = { ...given, catalog: overlaidCatalog(given) };
  return withDefaultSpread({ ...overlaid, catalog: reservedCatalog(overlaid) });
}
