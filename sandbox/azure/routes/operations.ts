import { ArmError } from '../arm/arm-error.ts';
import type { Cloud } from '../state/cloud.ts';
import { renderOperation, type Operation } from '../arm/operations.ts';
import { type ArmRequest, type ArmResponse, type Parameters, type Route } from '../arm/router.ts';

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

/** The headers that make a request conditional, null for those that are not there. */
export function conditionsOf(request: ArmRequest): {
  readonly ifNoneMatch: string | null;
  readonly ifMatch: string | null;
} {
  return { ifNoneMatch: headerOf(request, 'if-none-match'), ifMatch: headerOf(request, 'if-match') };
}

function headerOf(request: ArmRequest, name: string): string | null {
  const header = request.headers[name];
  return typeof header === 'string' ? header : null;
}

/** An operation that an answer names, and when to ask for it first; null says nothing of when. */
interface Following {
  readonly provider: Operation['provider'];
  readonly id: string;
  readonly retryAfterSeconds: number | null;
}

/** Azure's `Retry-After` of the answer that begins an operation, in seconds, as recorded; what is not here has none. */
const FIRST_WAITS = { vm: 10, nicDeletion: 4 } as const;

/** What comes of a PUT or PATCH of a VM, at a share of Azure's waits. */
export function vmWait(cloud: Cloud): number {
  return shareOf(cloud, FIRST_WAITS.vm);
}

/** What comes of the deletion of a network interface, at a share of Azure's waits. */
export function nicDeletionWait(cloud: Cloud): number {
  return shareOf(cloud, FIRST_WAITS.nicDeletion);
}

/**
 * The answer to a PUT or PATCH: 201 for something new, 200 for a change, with the operation to follow if there is one.
 */
export function written(
  cloud: Cloud,
  request: ArmRequest,
  result: { readonly created: boolean; readonly follow: Following | null; readonly body: object },
): ArmResponse {
  const { Location: _notForWrites, ...kept } = { Location: '', ...pollHeaders(cloud, request, result.follow) };
  return { status: result.created ? 201 : 200, headers: kept, body: result.body };
}

/**
 * The answer to a DELETE: 202 with the operation to follow, or 200 where that has ended; 204 when there was nothing to
 * delete.
 */
export function accepted(cloud: Cloud, request: ArmRequest, follow: Following | null): ArmResponse {
  if (follow === null) return { status: 204, headers: {}, body: null };
  const isOver = cloud.operations.find(follow.id)?.endedAt !== null;
  const isDisk = isOfDisk(request);
  return {
    status: isOver && !isDisk ? 200 : 202,
    headers: pollHeaders(cloud, request, isOver ? { ...follow, retryAfterSeconds: null } : follow),
    body: null,
  };
}

/** Where operations are asked about: the status document, and the `Location` form that answers 202 until the end. */
export function operationRoutes(cloud: Cloud): ReadonlyArray<Route> {
  const document = (request: ArmRequest, parameters: Parameters): ArmResponse => {
    const operation = findOperation(cloud, parameters);
    if (request.query.get('monitor') === 'true') return monitor(cloud, request, operation);
    return { status: 200, headers: retryAfter(cloud, operation), body: renderOperation(operation) };
  };
  return ['Microsoft.Compute', 'Microsoft.Network'].flatMap((provider) => [
    { method: 'GET', pattern: `${patternOf(provider)}/operations/{operation}`, answer: document },
    { method: 'GET', pattern: `${patternOf(provider)}/DiskOperations/{operation}`, answer: document },
    {
      method: 'GET',
      pattern: `${patternOf(provider)}/operationResults/{operation}`,
      answer: (request: ArmRequest, parameters: Parameters): ArmResponse =>
        monitor(cloud, request, findOperation(cloud, parameters)),
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

function monitor(cloud: Cloud, request: ArmRequest, operation: Operation): ArmResponse {
  if (operation.status === 'InProgress') return { status: 202, headers: retryAfter(cloud, operation), body: null };
  if (operation.error !== null) throw new ArmError(409, operation.error);
  const { provider, id } = operation;
  // The network provider names the operation again, as recorded.
  const follow = provider === 'Microsoft.Network' ? { provider, id, retryAfterSeconds: null } : null;
  return { status: 200, headers: pollHeaders(cloud, request, follow), body: null };
}

function pollHeaders(cloud: Cloud, request: ArmRequest, follow: Following | null): { readonly [name: string]: string } {
  if (follow === null) return {};
  const { subscriptionId, region } = cloud.options;
  const { provider, id, retryAfterSeconds } = follow;
  const base = `${request.origin}/subscriptions/${subscriptionId}/providers/${provider}/locations/${region}`;
  const version = `api-version=${apiVersionOf(request)}`;
  const isDisk = isOfDisk(request);
  const document = `${base}/${isDisk ? 'DiskOperations' : 'operations'}/${id}`;
  return {
    'Azure-AsyncOperation': `${document}?${version}`,
    Location:
      provider === 'Microsoft.Compute'
        ? `${document}?monitor=true&${version}`
        : `${base}/operationResults/${id}?${version}`,
    ...(isDisk ? {} : { 'Azure-AsyncNotification': 'Enabled' }),
    ...(retryAfterSeconds === null ? {} : { 'Retry-After': String(retryAfterSeconds) }),
  };
}

function isOfDisk({ path }: ArmRequest): boolean {
  return /\/providers\/Microsoft\.Compute\/disks\//i.test(path);
}

/**
 * While an operation goes on: recorded are 30 to 61 s of Compute, and of the network provider 10 s and twice as long
 * each time.
 */
function retryAfter(cloud: Cloud, operation: Operation): { readonly [name: string]: string } {
  if (operation.status !== 'InProgress' || !operation.isPaced) return {};
  const polls = operation.polls++;
  const seconds =
    operation.provider === 'Microsoft.Compute'
      ? 30 + cloud.rng('retry-after').below(32)
      : 10 * 2 ** Math.min(polls, NETWORK_DOUBLINGS);
  return { 'Retry-After': String(shareOf(cloud, seconds)) };
}

/** 80 s is the longest wait that was recorded. */
const NETWORK_DOUBLINGS = 3;

function shareOf(cloud: Cloud, seconds: number): number {
  return Math.ceil(seconds * cloud.options.latency.retryAfterShare);
}
