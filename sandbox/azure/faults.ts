import { ArmError, type ArmErrorBody } from './arm/arm-error.ts';
import type { Cloud } from './state/cloud.ts';
import { ComputeLimits } from './limits/compute-limits.ts';
import { providerOf, renderRefusal } from './arm/refusal.ts';
import type { ArmResponse } from './arm/router.ts';
import { throttled, throttlingCodeOf } from './limits/throttling.ts';
import { TokenBuckets, type BucketSize } from './limits/token-bucket.ts';
import type { OrderedFault } from './limits/ordered-fault.ts';

/** What happens to one request. */
export interface Fault {
  /** Sent in place of the work, null when the work is done. */
  readonly before: ArmResponse | null;
  readonly slowMs: number;
  readonly after: 'answer' | 'reset' | 'garbage';
  /** What an operation that the request begins ends with; null: well. */
  readonly ending: ArmErrorBody | null;
}

/** Decides, request by request, what goes wrong: ordered faults first, then limits, then faults drawn from the seed. */
export class FaultPlan {
  readonly #cloud: Cloud;
  #ordered: ReadonlyArray<OrderedFault>;
  readonly #buckets: TokenBuckets;
  readonly #compute: ComputeLimits;

  constructor(cloud: Cloud) {
    this.#cloud = cloud;
    this.#ordered = cloud.options.orderedFaults;
    this.#buckets = new TokenBuckets(() => cloud.clock.now());
    this.#compute = new ComputeLimits(() => cloud.clock.now());
  }

  order(fault: OrderedFault): void {
    this.#ordered = [...this.#ordered, fault];
  }

  /** Forgets what was ordered and is still due. */
  clear(): void {
    this.#ordered = [];
  }

  /**
   * Counts a request that came through the gateway. The answer is the headers that tell how much of the limits is left.
   */
  count(method: string, path: string): { readonly [name: string]: string } {
    const kind = kindOf(method);
    const size = globalLimit(kind, path);
    const bucket = `${providerOf(path)?.toLowerCase() ?? ''}/${kind}`;
    this.#buckets.take(bucket, size);
    return {
      [`x-ms-ratelimit-remaining-subscription-global-${kind}`]: String(this.#buckets.left(bucket, size)),
      ...this.#compute.count(method, path),
    };
  }

  draw(method: string, path: string): Fault | null {
    const ordered = this.#takeOrdered(method, path);
    if (ordered !== null) {
      this.#cloud.ledger.count('faults', ordered.fault.kind);
      return toFault(ordered, { method, path });
    }
    const refusal = this.#cloud.options.throttle ? this.#spend(method, path) : null;
    if (refusal !== null) return refuse(refusal, path);
    return this.#drawRates(method, path);
  }

  #takeOrdered(method: string, path: string): OrderedFault | null {
    const found = this.#ordered.find(
      (entry) => (entry.method === null || entry.method === method) && isAt(entry, path.toLowerCase()),
    );
    if (found === undefined) return null;
    this.#ordered = this.#ordered.flatMap((entry) => {
      if (entry !== found) return [entry];
      return entry.times > 1 ? [{ ...entry, times: entry.times - 1 }] : [];
    });
    return found;
  }

  /** What ARM's or Compute's limits refuse. */
  #spend(method: string, path: string): ArmError | null {
    const kind = kindOf(method);
    const size = BUDGETS[kind];
    const wait = this.#buckets.wait(kind, size);
    this.#buckets.take(kind, size);
    if (wait > 0) return throttled('SubscriptionRequestsThrottled', { method, path }, wait);
    return this.#compute.refusal(method, path);
  }

  #drawRates(method: string, path: string): Fault | null {
    const { faults, ledger } = this.#cloud;
    const rng = this.#cloud.rng('faults');
    const hit = (kind: string, percent: number): boolean => {
      if (!rng.chance(percent)) return false;
      ledger.count('faults', kind);
      return true;
    };
    if (hit('throttle', faults.throttlePercent))
      return refuse(throttled(throttlingCodeOf({ method, path }), { method, path }, faults.retryAfterSeconds), path);
    if (hit('serverError', faults.serverErrorPercent))
      return refuse(new ArmError(500, { code: 'InternalServerError', message: 'An internal error occurred.' }), path);
    if (hit('unavailable', faults.unavailablePercent))
      return refuse(new ArmError(503, { code: 'ServerTimeout', message: 'The request timed out.' }), path);
    const slowMs = hit('slow', faults.slowPercent) ? faults.slowMs : 0;
    if (hit('lostResponse', faults.lostResponsePercent)) return { ...NOTHING, slowMs, after: 'reset' };
    if (hit('garbage', faults.garbagePercent)) return { ...NOTHING, slowMs, after: 'garbage' };
    return slowMs === 0 ? null : { ...NOTHING, slowMs };
  }
}

const NOTHING: Fault = { before: null, slowMs: 0, after: 'answer', ending: null };

function isAt({ pathContains, isWhole = false }: OrderedFault, path: string): boolean {
  const wanted = pathContains.toLowerCase();
  return isWhole ? path === wanted : path.includes(wanted);
}

type Kind = 'reads' | 'writes' | 'deletes';

/** Learn "Understand how Azure Resource Manager throttles requests": a bucket per kind of operation and principal. */
const BUDGETS: Readonly<Record<Kind, BucketSize>> = {
  reads: { capacity: 250, perSecond: 25 },
  writes: { capacity: 200, perSecond: 10 },
  deletes: { capacity: 200, perSecond: 10 },
};

/** The same page: all principals of a subscription together have this many times as much. */
const GLOBAL_TIMES = 15;

/** As recorded of the network provider in 2026; how fast they come back is assumed from the others. */
const NETWORK_LIMITS: Readonly<Record<Kind, BucketSize>> = {
  reads: { capacity: 16_500, perSecond: 1_650 },
  writes: { capacity: 12_000, perSecond: 600 },
  deletes: { capacity: 12_000, perSecond: 600 },
};

function globalLimit(kind: Kind, path: string): BucketSize {
  if (providerOf(path)?.toLowerCase() === 'microsoft.network') return NETWORK_LIMITS[kind];
  const { capacity, perSecond } = BUDGETS[kind];
  return { capacity: capacity * GLOBAL_TIMES, perSecond: perSecond * GLOBAL_TIMES };
}

function kindOf(method: string): Kind {
  if (method === 'GET') return 'reads';
  return method === 'DELETE' ? 'deletes' : 'writes';
}

function toFault({ fault }: OrderedFault, request: { readonly method: string; readonly path: string }): Fault {
  if (fault.kind === 'throttle') {
    const code = fault.code ?? throttlingCodeOf(request);
    return refuse(throttled(code, request, fault.retryAfterSeconds), request.path);
  }
  if (fault.kind === 'refuse') {
    const { status, code, message, retryAfterSeconds } = fault;
    const error = new ArmError(status, { code, message }, retryAfterSeconds === null ? {} : { retryAfterSeconds });
    return refuse(error, request.path);
  }
  if (fault.kind === 'slow') return { ...NOTHING, slowMs: fault.ms };
  if (fault.kind === 'failedOperation') return { ...NOTHING, ending: { code: fault.code, message: fault.message } };
  return { ...NOTHING, after: fault.kind === 'garbage' ? 'garbage' : 'reset' };
}

function refuse(error: ArmError, path: string): Fault {
  return { ...NOTHING, before: renderRefusal(error, path) };
}
