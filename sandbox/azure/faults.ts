import { ArmError } from './arm-error.ts';
import type { Cloud } from './cloud.ts';
import { renderRefusal } from './refusal.ts';
import type { ArmResponse } from './router.ts';

/** A fault that was ordered: it hits the next `times` requests that match, before any drawn fault. */
export interface OrderedFault {
  /** Null matches every method. */
  readonly method: string | null;
  /** Part of the path, in any case; empty matches every path. */
  readonly pathContains: string;
  readonly times: number;
  readonly fault:
    | {
        readonly kind: 'refuse';
        readonly status: number;
        readonly code: string;
        readonly message: string;
        readonly retryAfterSeconds: number | null;
      }
    | { readonly kind: 'slow'; readonly ms: number }
    /** The work is done, the answer is lost. */
    | { readonly kind: 'lostResponse' }
    | { readonly kind: 'garbage' };
}

/** What happens to one request. */
export interface Fault {
  /** Sent in place of the work, null when the work is done. */
  readonly before: ArmResponse | null;
  readonly slowMs: number;
  readonly after: 'answer' | 'reset' | 'garbage';
}

/** Decides, request by request, what goes wrong: ordered faults first, then ARM's budget, then those drawn from the seed. */
export class FaultPlan {
  readonly #cloud: Cloud;
  #ordered: ReadonlyArray<OrderedFault>;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(cloud: Cloud) {
    this.#cloud = cloud;
    this.#ordered = cloud.options.orderedFaults;
  }

  order(fault: OrderedFault): void {
    this.#ordered = [...this.#ordered, fault];
  }

  /** Forgets what was ordered and is still due. */
  clear(): void {
    this.#ordered = [];
  }

  /** The header that tells how much of ARM's budget is left. */
  remaining(method: string): { readonly [name: string]: string } {
    const { kind, tokens } = this.#bucketOf(method);
    return { [`x-ms-ratelimit-remaining-subscription-${kind}`]: String(Math.floor(tokens)) };
  }

  draw(method: string, path: string): Fault | null {
    const ordered = this.#takeOrdered(method, path);
    if (ordered !== null) {
      this.#cloud.ledger.count('faults', ordered.fault.kind);
      return toFault(ordered);
    }
    if (this.#cloud.options.throttle && !this.#takeToken(method)) return refuse(tooMany(this.#cloud));
    return this.#drawRates();
  }

  #takeOrdered(method: string, path: string): OrderedFault | null {
    const found = this.#ordered.find(
      (entry) =>
        (entry.method === null || entry.method === method) &&
        path.toLowerCase().includes(entry.pathContains.toLowerCase()),
    );
    if (found === undefined) return null;
    this.#ordered = this.#ordered.flatMap((entry) => {
      if (entry !== found) return [entry];
      return entry.times > 1 ? [{ ...entry, times: entry.times - 1 }] : [];
    });
    return found;
  }

  #takeToken(method: string): boolean {
    const { kind, tokens } = this.#bucketOf(method);
    this.#buckets.set(kind, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: this.#cloud.clock.now() });
    return tokens >= 1;
  }

  /** Learn "Understand how Azure Resource Manager throttles requests": a bucket per kind of operation. */
  #bucketOf(method: string): { readonly kind: string; readonly tokens: number } {
    const kind = kindOf(method);
    const { size, perSecond } = BUDGETS[kind];
    const now = this.#cloud.clock.now();
    const bucket = this.#buckets.get(kind) ?? { tokens: size, at: now };
    return { kind, tokens: Math.min(size, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond) };
  }

  #drawRates(): Fault | null {
    const { faults, ledger } = this.#cloud;
    const rng = this.#cloud.rng('faults');
    const hit = (kind: string, percent: number): boolean => {
      if (!rng.chance(percent)) return false;
      ledger.count('faults', kind);
      return true;
    };
    if (hit('throttle', faults.throttlePercent)) return refuse(tooMany(this.#cloud));
    if (hit('serverError', faults.serverErrorPercent))
      return refuse(new ArmError(500, { code: 'InternalServerError', message: 'An internal error occurred.' }));
    if (hit('unavailable', faults.unavailablePercent))
      return refuse(new ArmError(503, { code: 'ServerUnavailable', message: 'The service is busy: try again later.' }));
    const slowMs = hit('slow', faults.slowPercent) ? faults.slowMs : 0;
    if (hit('lostResponse', faults.lostResponsePercent)) return { before: null, slowMs, after: 'reset' };
    if (hit('garbage', faults.garbagePercent)) return { before: null, slowMs, after: 'garbage' };
    return slowMs === 0 ? null : { before: null, slowMs, after: 'answer' };
  }
}

const BUDGETS = {
  reads: { size: 250, perSecond: 25 },
  writes: { size: 200, perSecond: 10 },
  deletes: { size: 200, perSecond: 10 },
} as const;

function kindOf(method: string): keyof typeof BUDGETS {
  if (method === 'GET') return 'reads';
  return method === 'DELETE' ? 'deletes' : 'writes';
}

function toFault({ fault }: OrderedFault): Fault {
  if (fault.kind === 'refuse') {
    const { status, code, message, retryAfterSeconds } = fault;
    return refuse(new ArmError(status, { code, message }, retryAfterSeconds === null ? {} : { retryAfterSeconds }));
  }
  if (fault.kind === 'slow') return { before: null, slowMs: fault.ms, after: 'answer' };
  return { before: null, slowMs: 0, after: fault.kind === 'garbage' ? 'garbage' : 'reset' };
}

function refuse(error: ArmError): Fault {
  return { before: renderRefusal(error), slowMs: 0, after: 'answer' };
}

function tooMany(cloud: Cloud): ArmError {
  return new ArmError(
    429,
    { code: 'TooManyRequests', message: 'The request is being throttled: the limit of requests has been reached.' },
    { retryAfterSeconds: cloud.faults.retryAfterSeconds },
  );
}
