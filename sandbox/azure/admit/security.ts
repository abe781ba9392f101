import { ArmError, invalidParameter } from '../arm/arm-error.ts';
import type { ImageFacts } from '../catalog/images.ts';
import { listAt, textAt, valueAt, type JsonObject } from '../arm/json.ts';
import type { Size } from '../catalog/sizes.ts';

/**
 * Refuses security and disk capabilities that the size, the image or the zone do not have. Those of trusted launch are
 * as reported in azure-cli#27975 and #28005, that of a missing zone in terraform-provider-azurerm#3860; the codes of
 * the others are assumed.
 */
export function refuseOddSecurity(body: JsonObject, size: Size, image: ImageFacts | null): void {
  const type = textAt(body, 'properties.securityProfile.securityType')?.toLowerCase();
  if (type === 'trustedlaunch') refuseOddTrustedLaunch(size, image);
  if (type === undefined && valueAt(body, 'properties.securityProfile.uefiSettings') !== undefined)
    throw invalidParameter(
      'securityProfile.uefiSettings',
      "The property 'securityProfile.uefiSettings' needs 'securityProfile.securityType'.",
    );
  const encrypted = valueAt(body, 'properties.securityProfile.encryptionAtHost') === true;
  if (encrypted && size.capabilities['EncryptionAtHostSupported'] !== 'True')
    throw invalidParameter(
      'securityProfile.encryptionAtHost',
      `The VM size '${size.name}' does not support 'securityProfile.encryptionAtHost'.`,
    );
  if (valueAt(body, 'properties.additionalCapabilities.ultraSSDEnabled') === true) refuseOddUltraDisk(body, size);
}

function refuseOddTrustedLaunch(size: Size, image: ImageFacts | null): void {
  const generations = (size.capabilities['HyperVGenerations'] ?? '').split(',');
  const more = 'For more information, see https://aka.ms/TrustedLaunch-FAQ.';
  if (size.capabilities['TrustedLaunchDisabled'] === 'True' || !generations.includes('V2'))
    throw new ArmError(400, {
      code: 'BadRequest',
      message:
        `The VM size '${size.name}' is not supported for creation of VMs and Virtual Machine Scale Set with ` +
        `'TrustedLaunch' security type. ${more}`,
    });
  if (image !== null && !image.isTrustedLaunch)
    throw new ArmError(400, {
      code: 'BadRequest',
      message:
        'Use of TrustedLaunch setting is not supported for the provided image. ' +
        `Please select Trusted Launch Supported Gen2 OS Image. ${more}`,
    });
}

function refuseOddUltraDisk(body: JsonObject, size: Size): void {
  const target = 'additionalCapabilities.ultraSSDEnabled';
  if (listAt(body, 'zones').length === 0)
    throw invalidParameter(target, 'UltraSSD can be used only with Virtual Machine in an Availability Zone.');
  if (size.capabilities['UltraSSDAvailable'] !== 'True')
    throw invalidParameter(target, `UltraSSD is not supported for the VM size '${size.name}' in this zone.`);
}
