import { ArmError } from '../arm/arm-error.ts';
import type { Cloud } from '../state/cloud.ts';
import { objectAt, textAt, type JsonObject } from '../arm/json.ts';
import { linkedInvalidPropertyId } from './linked-id.ts';

const SHAPE =
  /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.ManagedIdentity\/userAssignedIdentities\/[^/]+$/i;

/**
 * Refuses identities that do not exist. A VM without any is fine for ARM, though its node could not pull from a private
 * registry. Words as in azure-policy#1311 and terraform-provider-azurerm#17082.
 */
export function refuseUnknownIdentities(cloud: Cloud, body: JsonObject, vmId: string): void {
  const identity = objectAt(body, 'identity');
  // Null takes an identity away, in a PATCH.
  const given = Object.entries(objectAt(identity, 'userAssignedIdentities')).filter(([, value]) => value !== null);
  const ids = given.map(([id]) => id);
  const type = textAt(identity, 'type') ?? '';
  if (/UserAssigned/i.test(type) && ids.length === 0)
    throw new ArmError(400, {
      code: 'MissingIdentityIds',
      message: `The identity ids must not be null or empty for '${type}' identity type.`,
    });
  const malformed = ids.find((id) => !SHAPE.test(id));
  if (malformed !== undefined) throw linkedInvalidPropertyId(malformed, 'identity.userAssignedIdentities');
  const unknown = ids.find((id) => !cloud.identities.has(id.toLowerCase()));
  if (unknown === undefined) return;
  const inner = JSON.stringify({ error: { code: 'BadRequest', message: `Resource '${unknown}' was not found.` } });
  throw new ArmError(400, {
    code: 'FailedIdentityOperation',
    message:
      `Identity operation for resource '${vmId}' failed with error 'Failed to perform resource identity operation. ` +
      `Status: 'BadRequest'. Response: '${inner}'.'.`,
  });
}
