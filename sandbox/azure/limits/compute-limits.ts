import { tooManyComputeRequests } from './throttling.ts';
import type { ArmError } from '../arm/arm-error.ts';
import { TokenBuckets, type BucketSize } from './token-bucket.ts';

/** Requests that Compute counts together: their name, and how many a subscription and one resource have. */
interface Policy {
  readonly name: string;
  readonly subscription: BucketSize;
  readonly resource: BucketSize;
}

/** One bucket of a request, in the order of the header. */
interface Bucket {
  /** As the header says it: `PutVMResource`. */
  readonly name: string;
  /** Which of the buckets of that name. */
  readonly key: string;
  readonly size: BucketSize;
}

const MINUTE_SECONDS = 60;

/**
 * Learn "Compute throttling limits" (2026-08): buckets, and tokens that come back each minute. Recorded 2024 with these
 * sizes.
 */
function policy(name: string, subscription: readonly [number, number], resource: readonly [number, number]): Policy {
  const size = ([capacity, perMinute]: readonly [number, number]): BucketSize => ({
    capacity,
    perSecond: perMinute / MINUTE_SECONDS,
  });
  return { name, subscription: size(subscription), resource: size(resource) };
}

const PUT = policy('PutVM', [1_500, 500], [12, 4]);
const UPDATE = policy('UpdateVM', [1_500, 500], [12, 4]);
const DELETE = policy('DeleteVM', [1_500, 500], [12, 4]);
const LOW_COST_GET = policy('LowCostGet', [24_000, 8_000], [36, 12]);
const GET_OPERATION = policy('GetOperation', [15_000, 5_000], [45, 15]);

const VM = /\/providers\/Microsoft\.Compute\/virtualMachines\/([^/]+)(\/.+)?$/i;
const OPERATION = /\/providers\/Microsoft\.Compute\/locations\/[^/]+\/(?:Disk)?operations\/([^/]+)$/i;

/**
 * What Compute lets through of one subscription in one region. Only requests on one VM or one operation are counted:
 * the limits of lists, sizes and galleries are not known to have been met by a provisioner.
 */
export class ComputeLimits {
  readonly #buckets: TokenBuckets;

  constructor(now: () => number) {
    this.#buckets = new TokenBuckets(now);
  }

  /** The refusal of a request for which there is no token, null where there is one or none is needed. */
  refusal(method: string, path: string): ArmError | null {
    const empty = bucketsOf(method, path).find(({ key, size }) => this.#buckets.left(key, size) < 1);
    if (empty === undefined) return null;
    return tooManyComputeRequests(empty.name, this.#buckets.wait(empty.key, empty.size));
  }

  /** Counts a request. The answer is the header that says what is left; empty for requests that are not counted. */
  count(method: string, path: string): { readonly [name: string]: string } {
    const buckets = bucketsOf(method, path);
    if (buckets.length === 0) return {};
    for (const { key, size } of buckets) this.#buckets.take(key, size);
    const left = buckets.map(({ name, key, size }) => `Microsoft.Compute/${name};${this.#buckets.left(key, size)}`);
    return { 'x-ms-ratelimit-remaining-resource': left.join(',') };
  }
}

function bucketsOf(method: string, path: string): ReadonlyArray<Bucket> {
  const operation = OPERATION.exec(path)?.[1];
  if (operation !== undefined) return bothOf(GET_OPERATION, operation).toReversed();
  const vm = VM.exec(path);
  const found = vm === null ? null : policyOf(method, vm[2] ?? '');
  if (found === null) return [];
  return bothOf(found, path.slice(0, path.length - (vm?.[2] ?? '').length));
}

/** Extensions are updates of their VM; what takes a VM out of use counts as its deletion. */
function policyOf(method: string, below: string): Policy | null {
  if (method === 'GET') return LOW_COST_GET;
  if (/^\/(?:simulateEviction|deallocate)$/i.test(below)) return DELETE;
  if (below !== '' || method === 'PATCH') return UPDATE;
  if (method === 'DELETE') return DELETE;
  return method === 'PUT' ? PUT : null;
}

function bothOf({ name, subscription, resource }: Policy, id: string): ReadonlyArray<Bucket> {
  return [
    { name: `${name}SubscriptionMaximum`, key: name, size: subscription },
    { name: `${name}Resource`, key: `${name}/${id.toLowerCase()}`, size: resource },
  ];
}
