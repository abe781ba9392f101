import { ArmError, invalidReference } from '../arm/arm-error.ts';
import { isRegion, type Cloud } from '../state/cloud.ts';

/**
 * Refuses a resource outside the double's region: one that Azure has is where what the resource refers to is not,
 * another one ARM does not know. `referenced` is the first thing it refers to.
 */
export function refuseOtherRegion(
  cloud: Cloud,
  location: unknown,
  of: { readonly type: string; readonly id: string; readonly referenced: string },
): void {
  if (location === undefined)
    throw new ArmError(400, {
      code: 'LocationRequired',
      message: 'The location property is required for this definition.',
    });
  if (isRegion(cloud, location)) return;
  const named = String(location).toLowerCase().replaceAll(' ', '');
  if (cloud.locations.has(named)) throw invalidReference(of.referenced, of.id);
  throw new ArmError(400, {
    code: 'LocationNotAvailableForResourceType',
    message:
      `The provided location '${String(location)}' is not available for resource type '${of.type}'. ` +
      `List of available regions for the resource type is '${[...cloud.locations].join(',')}'.`,
  });
}
