import { isOfGateway, renderArmError, type ArmError } from './arm-error.ts';
import type { ArmResponse } from './router.ts';

/** A refusal as the answer to a request of a path. */
export function renderRefusal(error: ArmError, path: string): ArmResponse {
  const retryAfter = error.retryAfterSeconds === null ? {} : { 'Retry-After': String(error.retryAfterSeconds) };
  return {
    status: error.status,
    headers: { ...retryAfter, ...causeOf(error) },
    body: renderArmError(error, providerOf(path)),
  };
}

/** The resource provider that a path names, null for none. */
export function providerOf(path: string): string | null {
  return /\/providers\/([^/]+)/i.exec(path)?.[1] ?? null;
}

/** Whether an answer is the gateway's own: nobody behind it has counted the request. */
export function isGatewayAnswer({ headers }: ArmResponse): boolean {
  return headers[CAUSE] === 'gateway';
}

const CAUSE = 'x-ms-failure-cause';

function causeOf(error: ArmError): { readonly [name: string]: string } {
  if (isOfGateway(error)) return { [CAUSE]: 'gateway' };
  return error.code === 'GatewayTimeout' ? { [CAUSE]: 'service' } : {};
}
