import type { ThrottlingCode } from './throttling.ts';

/** A fault that was ordered: it hits the next `times` requests that match, before any drawn fault. */
export interface OrderedFault {
  /** Null matches every method. */
  readonly method: string | null;
  /** Part of the path, in any case; empty matches every path. */
  readonly pathContains: string;
  /** True: all of the path, and not a part of it. False unless told. */
  readonly isWhole?: boolean;
  readonly times: number;
  readonly fault:
    | {
        readonly kind: 'refuse';
        readonly status: number;
        readonly code: string;
        readonly message: string;
        readonly retryAfterSeconds: number | null;
      }
    /** One of Azure's answers of 429; null: the one of whoever serves the path. */
    | { readonly kind: 'throttle'; readonly code: ThrottlingCode | null; readonly retryAfterSeconds: number }
    | { readonly kind: 'slow'; readonly ms: number }
    /** The work is done, the answer is lost. */
    | { readonly kind: 'lostResponse' }
    | { readonly kind: 'garbage' }
    /** The request is accepted, and the operation that it begins ends so. What begins none is not touched. */
    | { readonly kind: 'failedOperation'; readonly code: string; readonly message: string };
}
