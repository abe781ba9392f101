import { renderArmError, type ArmError } from './arm-error.ts';
import type { ArmResponse } from './router.ts';

/** A refusal as an answer. */
export function renderRefusal(error: ArmError): ArmResponse {
  const headers = error.retryAfterSeconds === null ? {} : { 'Retry-After': String(error.retryAfterSeconds) };
  return { status: error.status, headers, body: renderArmError(error) };
}
