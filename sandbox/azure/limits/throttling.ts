import { ArmError } from '../arm/arm-error.ts';
import { providerOf } from '../arm/refusal.ts';

/** How Azure throttles: Compute, ARM for a type, ARM for a subscription, and the network provider. */
export const THROTTLING_CODES = [
  'OperationNotAllowed',
  'ResourceRequestsThrottled',
  'SubscriptionRequestsThrottled',
  'RetryableError',
] as const;

/** A code that a 429 comes with. */
export type ThrottlingCode = (typeof THROTTLING_CODES)[number];

/** A request that is throttled. */
interface Throttled {
  readonly method: string;
  readonly path: string;
}

/** What is seen of a request that is throttled: Compute's and the network provider's for theirs, ARM's for the rest. */
export function throttlingCodeOf({ path }: Throttled): ThrottlingCode {
  const provider = providerOf(path)?.toLowerCase();
  if (provider === 'microsoft.compute') return 'OperationNotAllowed';
  return provider === 'microsoft.network' ? 'RetryableError' : 'ResourceRequestsThrottled';
}

/**
 * One of Azure's four answers of 429. All were reported or recorded (test/fixtures/azure-recordings,
 * error-vm-and-nic-reported and error-network); the network provider names no time to come back, whatever is asked for.
 */
export function throttled(code: ThrottlingCode, request: Throttled, retryAfterSeconds: number): ArmError {
  if (code === 'OperationNotAllowed')
    return tooManyComputeRequests(request.method === 'GET' ? 'LowCostGetResource' : 'PutVMResource', retryAfterSeconds);
  if (code === 'RetryableError')
    return new ArmError(
      429,
      { code, message: 'A retryable error occurred.' },
      { details: [{ code: 'ReferencedResourceNotProvisioned', message: notProvisioned(request) }] },
    );
  const exceeded =
    code === 'ResourceRequestsThrottled'
      ? `action '${actionOf(request)}' exceeded the limit of '50' for time interval '00:05:00'`
      : `subscription '${subscriptionOf(request)}' and operation '${operationOf(request)}' exceeded the backend storage limit`;
  const message = `Number of requests for ${exceeded}. Please try again after '${retryAfterSeconds}' seconds.`;
  return new ArmError(429, { code, message }, { retryAfterSeconds });
}

/**
 * Compute's answer to more requests than a bucket has tokens: under the code of quota errors, the cause in the details.
 */
export function tooManyComputeRequests(bucket: string, retryAfterSeconds: number): ArmError {
  return new ArmError(
    429,
    {
      code: 'OperationNotAllowed',
      message: 'The server rejected the request because too many requests have been received for this subscription.',
    },
    {
      details: [{ code: 'TooManyRequests', target: bucket, message: JSON.stringify({ operationGroup: bucket }) }],
      innerCode: 'TooManyRequestsReceived',
      retryAfterSeconds,
    },
  );
}

/** The subnet is the example that was recorded: an update of it holds every interface in it. */
function notProvisioned({ path }: Throttled): string {
  const network = path.replace(/\/networkInterfaces(?:\/.*)?$/i, '/virtualNetworks/aks-vnet/subnets/aks-subnet');
  return (
    `Cannot proceed with operation because resource ${network} used by resource ${path} is not in Succeeded state. ` +
    'Resource is in Updating state and the last operation that updated/is updating the resource is PutSubnetOperation.'
  );
}

function actionOf({ method, path }: Throttled): string {
  const type = typeOf(path).join('/');
  const verbs: { readonly [method: string]: string } = { GET: 'read', DELETE: 'delete', POST: 'action' };
  return `${type}/${verbs[method] ?? 'write'}`;
}

function operationOf({ method, path }: Throttled): string {
  return [method, 'subscriptions', 'resourceGroups', 'providers', ...typeOf(path)].join('/').toUpperCase();
}

function subscriptionOf({ path }: Throttled): string {
  return /^\/subscriptions\/([^/]+)/i.exec(path)?.[1] ?? '';
}

/** Provider and types of a path, without the names between. */
function typeOf(path: string): ReadonlyArray<string> {
  const [, provider = 'Microsoft.Resources', rest = ''] = /\/providers\/([^/]+)\/?(.*)$/i.exec(path) ?? [];
  return [provider, ...rest.split('/').filter((_segment, index) => index % 2 === 0)].filter((part) => part !== '');
}
