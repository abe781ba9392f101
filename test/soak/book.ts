/** What troubles of Azure's begin with; all others are ours. */
export const OF_AZURE = 'Azure: ';

/** Something broken on purpose for a while. Times are milliseconds since the run began. */
export interface Trouble {
  readonly what: string;
  readonly fromMs: number;
  /** When it is to end. */
  readonly dueMs: number;
  /** Null while it lasts. */
  endedMs: number | null;
  /** Mends it. */
  readonly end: () => Promise<void>;
}

/** What was done to the world, by which laws tell what they may expect. */
export interface Book {
  /** Every action as a sentence, in order. */
  readonly done: Array<{ readonly atMs: number; readonly kind: string; readonly what: string }>;
  readonly troubles: Array<Trouble>;
  /** Deployment or Job → when it was last changed. */
  readonly touched: Map<string, number>;
  /** Node → when Azure took it back, or its kubelet stopped. */
  readonly struck: Map<string, number>;
  /** NodePool → its limit in whole cores, and since when. */
  readonly limits: Map<string, { readonly cpu: number; readonly sinceMs: number }>;
}

export function newBook(): Book {
  return { done: [], troubles: [], touched: new Map(), struck: new Map(), limits: new Map() };
}

/** Ends every trouble that is due by `nowMs`. */
export async function endTroubles({ troubles }: Book, nowMs: number): Promise<void> {
  for (const trouble of troubles) {
    if (trouble.endedMs !== null || trouble.dueMs > nowMs) continue;
    await trouble.end();
    trouble.endedMs = nowMs;
  }
}

/** After a trouble has ended the product hears of it by its own waits: locks, back-offs, Azure's `Retry-After`. */
const RECOVERY_MS = 30_000;

/** How much of the time between two moments nothing was broken, and nothing had been just before: milliseconds. */
export function calmMs(
  troubles: ReadonlyArray<Pick<Trouble, 'fromMs' | 'endedMs'>>,
  span: { readonly fromMs: number; readonly toMs: number },
): number {
  let calm = 0;
  let reachedMs = span.fromMs;
  for (const { fromMs, endedMs } of troubles.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const endMs = endedMs === null ? Number.POSITIVE_INFINITY : endedMs + RECOVERY_MS;
    if (endMs <= reachedMs) continue;
    if (fromMs >= span.toMs) break;
    calm += Math.max(0, fromMs - reachedMs);
    reachedMs = Math.min(endMs, span.toMs);
  }
  return calm + Math.max(0, span.toMs - reachedMs);
}
