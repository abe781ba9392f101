import { ArmError } from '../arm-error.ts';
import type { Cloud } from '../cloud.ts';
import { renderOperation, type Operation } from '../operations.ts';
import { ok, type ArmRequest, type ArmResponse, type Parameters, type Route } from '../router.ts';

/** The `api-version` of a request, or the 400 for one without. */
export function apiVersionOf(request: ArmRequest): string {
  const version = request.query.get('api-version');
  if (version === null || version === '')
    throw new ArmError(400, {
      code: 'MissingApiVersionParameter',
      message: 'The api-version query parameter (?api-version=) is required for all requests.',
    });
  return version;
}

/** The header `If-None-Match`, null when it is not there. */
export function ifNoneMatchOf(request: ArmRequest): string | null {
  const header = request.headers['if-none-match'];
  return typeof header === 'string' ? header : null;
}

/** The answer to a PUT or PATCH: 201 for something new, 200 for a change, with the operation to follow if there is one. */
export function written(
  cloud: Cloud,
  request: ArmRequest,
  provider: Operation['provider'],
  result: { readonly created: boolean; readonly operation: string | null; readonly body: object },
): ArmResponse {
  const headers = result.operation === null ? {} : pollHeaders(cloud, request, provider, result.operation);
  const { Location: _notForWrites, ...kept } = { Location: '', ...headers };
  return { status: result.created ? 201 : 200, headers: kept, body: result.body };
}

/** The answer to a DELETE: 202 with the operation to follow, 204 when there was nothing to delete. */
export function accepted(
  cloud: Cloud,
  request: ArmRequest,
  provider: Operation['provider'],
  operation: string | null,
): ArmResponse {
  if (operation === null) return { status: 204, headers: {}, body: null };
  return { status: 202, headers: pollHeaders(cloud, request, provider, operation), body: null };
}

/** Where operations are asked about: the status document, and the `Location` form that answers 202 until the end. */
export function operationRoutes(cloud: Cloud): ReadonlyArray<Route> {
  return ['Microsoft.Compute', 'Microsoft.Network'].flatMap((provider) => [
    {
      method: 'GET',
      pattern: `${patternOf(provider)}/operations/{operation}`,
      answer: (request: ArmRequest, parameters: Parameters): ArmResponse => {
        const operation = findOperation(cloud, parameters);
        if (request.query.get('monitor') === 'true') return monitor(cloud, operation);
        return { status: 200, headers: retryAfter(cloud, operation), body: renderOperation(operation) };
      },
    },
    {
      method: 'GET',
      pattern: `${patternOf(provider)}/operationResults/{operation}`,
      answer: (_request: ArmRequest, parameters: Parameters): ArmResponse =>
        monitor(cloud, findOperation(cloud, parameters)),
    },
  ]);
}

function patternOf(provider: string): string {
  return `/subscriptions/{subscription}/providers/${provider}/locations/{location}`;
}

function findOperation(cloud: Cloud, { operation: id = '' }: Parameters): Operation {
  const operation = cloud.operations.find(id);
  if (operation === null) throw new ArmError(404, { code: 'NotFound', message: `The operation '${id}' is not known.` });
  return operation;
}

function monitor(cloud: Cloud, operation: Operation): ArmResponse {
  if (operation.status === 'InProgress') return { status: 202, headers: retryAfter(cloud, operation), body: null };
  if (operation.error !== null) throw new ArmError(409, operation.error);
  return ok({});
}

function pollHeaders(
  cloud: Cloud,
  request: ArmRequest,
  provider: Operation['provider'],
  operation: string,
): { readonly [name: string]: string } {
  const { subscriptionId, region, latency } = cloud.options;
  const base = `${request.origin}/subscriptions/${subscriptionId}/providers/${provider}/locations/${region}`;
  const version = `api-version=${apiVersionOf(request)}`;
  const location =
    provider === 'Microsoft.Compute'
      ? `${base}/operations/${operation}?monitor=true&${version}`
      : `${base}/operationResults/${operation}?${version}`;
  return {
    'Azure-AsyncOperation': `${base}/operations/${operation}?${version}`,
    Location: location,
    'Retry-After': String(latency.retryAfterSeconds),
  };
}

function retryAfter(cloud: Cloud, operation: Operation): { readonly [name: string]: string } {
  return operation.status === 'InProgress' ? { 'Retry-After': String(cloud.options.latency.retryAfterSeconds) } : {};
}
