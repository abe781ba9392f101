import { ArmError } from '../arm/arm-error.ts';
import { textAt, valueAt, type JsonObject } from '../arm/json.ts';
import type { Size } from '../catalog/sizes.ts';

/** Whether the body asks for a spot VM. */
export function isSpot(body: JsonObject): boolean {
  return textAt(body, 'properties.priority')?.toLowerCase() === 'spot';
}

/**
 * Refuses spot settings on a VM that is none, and a spot VM of a size that has none. The codes and words are those of
 * Learn "Error messages for Azure Spot Virtual Machines"; the status of the size's is as reported in
 * azure-powershell#12007, that of the others assumed.
 */
export function refuseOddSpot(body: JsonObject, size: Size): void {
  const maxPrice = valueAt(body, 'properties.billingProfile.maxPrice');
  if (!isSpot(body)) {
    if (valueAt(body, 'properties.evictionPolicy') !== undefined)
      throw new ArmError(409, {
        code: 'EvictionPolicyCanBeSetOnlyOnAzureSpotVirtualMachines',
        message: 'Eviction policy can be set only on Azure Spot Virtual Machines.',
      });
    if (maxPrice !== undefined)
      throw new ArmError(409, {
        code: 'MaxPriceIsSupportedOnlyForAzureSpotVirtualMachines',
        message: 'Max price is supported only for Azure Spot Virtual Machines.',
      });
    return;
  }
  if (!size.lowPriorityCapable)
    throw new ArmError(409, {
      code: 'AzureSpotIsNotSupportedForThisVMSize',
      message: `Azure Spot is not supported for this VM size ${size.name}.`,
    });
  if (typeof maxPrice === 'number' && maxPrice !== -1 && maxPrice <= 0)
    throw new ArmError(409, {
      code: 'MaxPriceValueInvalid',
      message: 'The max price can only be -1 or greater than 0 and up to 5 decimal places.',
    });
}
