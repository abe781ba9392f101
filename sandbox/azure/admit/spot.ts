import { ArmError, invalidParameter } from '../arm-error.ts';
import { textAt, valueAt, type JsonObject } from '../json.ts';
import type { Size } from '../sizes.ts';

/** Whether the body asks for a spot VM. */
export function isSpot(body: JsonObject): boolean {
  return textAt(body, 'properties.priority')?.toLowerCase() === 'spot';
}

/** Refuses spot settings on a VM that is none, and a spot VM of a size that has none. The codes of the first are assumed. */
export function refuseOddSpot(body: JsonObject, size: Size): void {
  const maxPrice = valueAt(body, 'properties.billingProfile.maxPrice');
  if (!isSpot(body)) {
    for (const [target, value] of [
      ['evictionPolicy', valueAt(body, 'properties.evictionPolicy')],
      ['billingProfile.maxPrice', maxPrice],
    ] as const)
      if (value !== undefined)
        throw invalidParameter(target, `The property '${target}' can be set only for VMs of priority Spot.`);
    return;
  }
  if (!size.lowPriorityCapable)
    throw new ArmError(400, {
      code: 'AzureSpotIsNotSupportedForThisVMSize',
      message: `The VM size '${size.name}' does not support Spot priority.`,
    });
  if (typeof maxPrice === 'number' && maxPrice !== -1 && maxPrice <= 0)
    throw invalidParameter('billingProfile.maxPrice', 'The maximum price must be -1 or greater than 0.');
}
