import type { PlannedOffering } from '../../../core/model/plan.ts';
import type { LaunchOutcome } from '../../../ports/cloud.ts';
import type { AzureError } from '../calls/azure-error.ts';
import { ON_DEMAND_SKU_PAUSE_MS, classifyLaunchError } from './classify-launch-error.ts';

/**
 * What a refusal means for a launch; null where it says nothing of it and may pass. `isOfVm`: its NIC was there by
 * then.
 */
export function toOutcome(refused: AzureError, offering: PlannedOffering, isOfVm: boolean): LaunchOutcome | null {
  const { status, code, message } = refused;
  // Throttled requests may have the code of quotas that are used up.
  if (status === 429) return null;
  const verdict = classifyLaunchError(refused);
  if (verdict?.kind === 'unavailable') {
    // A size that is sold out on demand is so for longer than spot capacity.
    const isLonger = code === 'SkuNotAvailable' && offering.capacityType === 'on-demand';
    return { ...verdict, ...(isLonger ? { retryAfterMs: ON_DEMAND_SKU_PAUSE_MS } : {}), message };
  }
  if (verdict !== null) return { ...verdict, message };
  // Only of a VM can the size be what Azure does not want, in words that nobody here knows yet.
  if (status === 400 && isOfVm) return { kind: 'doubtful', reason: code || 'BadRequest', message };
  // Any other of these says that our request is wrong, and it will be as wrong next time. Without a code it is none of
  // Azure's.
  return code !== '' && [400, 403, 404].includes(status) ? { kind: 'rejected', reason: code, message } : null;
}
