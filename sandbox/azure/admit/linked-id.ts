import { ArmError } from '../arm/arm-error.ts';

/**
 * 400 for a reference that is no id at all. The code is ARM's (Learn "Common deployment errors"), the words are from
 * memory.
 */
export function linkedInvalidPropertyId(id: string, path: string): ArmError {
  return new ArmError(400, {
    code: 'LinkedInvalidPropertyId',
    message:
      `Property id '${id}' at path '${path}' is invalid. Expect fully qualified resource Id that start with ` +
      `'/subscriptions/{subscriptionId}' or '/providers/{resourceProviderNamespace}/'.`,
  });
}
