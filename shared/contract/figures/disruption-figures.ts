/** Karpenter's counters of disruption that only who decides or drains can count, by the end of their names. */
export const disruptionCounters = {
  decisions_total: 'Decisions to remove nodes, by what is done, reason and consolidation type.',
  decisions_by_nodepool_total: 'The same, once for each NodePool that has nodes among them.',
  failed_validations_total: 'Nodes that were marked to go and stay, as something had changed.',
  queue_failures_total: 'Replacements that failed or took too long, so that nodes stay.',
  pods_drained_total: 'Pods that were evicted from nodes that go, by reason.',
  pods_eviction_requests_total: 'Evictions asked for, by the answer of the API server.',
} as const;

export type DisruptionCounter = keyof typeof disruptionCounters;

/** What is added to a counter. */
export interface DisruptionCount {
  readonly counter: DisruptionCounter;
  readonly labels: Readonly<Record<string, string>>;
  readonly by: number;
}

/** How many nodes may go, as one look found it. */
export interface DisruptionState {
  /** Nodes that may go for a reason, budgets of pools heeded, by reason. */
  readonly eligible: Readonly<Record<string, number>>;
  readonly budgets: ReadonlyArray<PoolBudget>;
}

export interface PoolBudget {
  readonly nodepool: string;
  readonly reason: string;
  /** How many more may go now; null without a limit. */
  readonly allowed: number | null;
  /** How many are in disruption. */
  readonly consuming: number;
}

/** What one look has to say of itself. */
export interface DisruptionLook {
  /** Different for every look that counts something. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly counts: ReadonlyArray<DisruptionCount>;
  /** Null where the look did not ask: what was found before stays. */
  readonly state: DisruptionState | null;
}

/** The figures of all looks of a cluster, as the blob has them that the functions write and the relay reads. */
export interface DisruptionRecord {
  readonly version: 1;
  /** The latest looks that counted something, newest last: none is counted twice. */
  readonly recent: ReadonlyArray<string>;
  readonly totals: ReadonlyArray<DisruptionCount>;
  readonly state: (DisruptionState & { readonly atMs: number }) | null;
}

/** The blob's name beside `FIGURES_BLOB`. */
export const DISRUPTION_BLOB = 'disruption-figures';

/** What a record begins with. */
export const NO_DISRUPTION: DisruptionRecord = { version: 1, recent: [], totals: [], state: null };

/**
 * A write that is tried again comes within seconds: no more looks, and passes over nodes that drain, than this are in
 * between.
 */
const RECENT_MAX = 64;

/** What is as it was is written again after so long, to say that it still is. */
export const STATE_AGAIN_MS = 10 * 60_000;

/** The record with one look more. The same record when it says nothing new. */
export function withLook(record: DisruptionRecord, { id, atMs, counts, state }: DisruptionLook): DisruptionRecord {
  const isCounted = counts.length === 0 || record.recent.includes(id);
  const isTold = state === null || isCurrent(record, state, atMs);
  if (isCounted && isTold) return record;
  return {
    version: 1,
    recent: isCounted ? record.recent : [...record.recent, id].slice(-RECENT_MAX),
    totals: isCounted ? record.totals : added(record.totals, counts),
    state: isTold ? record.state : { ...state, atMs },
  };
}

function isCurrent({ state: known }: DisruptionRecord, state: DisruptionState, atMs: number): boolean {
  if (known === null || atMs - known.atMs >= STATE_AGAIN_MS) return false;
  const { eligible, budgets } = known;
  return JSON.stringify({ eligible, budgets }) === JSON.stringify({ eligible: state.eligible, budgets: state.budgets });
}

function added(
  totals: ReadonlyArray<DisruptionCount>,
  counts: ReadonlyArray<DisruptionCount>,
): ReadonlyArray<DisruptionCount> {
  const byKey = new Map(totals.map((one) => [keyOf(one), one]));
  for (const one of counts) {
    const key = keyOf(one);
    byKey.set(key, { ...one, by: (byKey.get(key)?.by ?? 0) + one.by });
  }
  return [...byKey.values()];
}

function keyOf({ counter, labels }: DisruptionCount): string {
  return JSON.stringify([counter, Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}

/** Null for what is no record, or one of another version. */
export function parseDisruptionFigures(text: string): DisruptionRecord | null {
  try {
    const raw = JSON.parse(text) as Partial<DisruptionRecord> | null;
    if (raw?.version !== 1 || !Array.isArray(raw.recent) || !Array.isArray(raw.totals)) return null;
    const totals = raw.totals.filter((one) => one.counter in disruptionCounters && Number.isFinite(one.by));
    const state = raw.state ?? null;
    const isWhole = state === null || (Array.isArray(state.budgets) && Number.isFinite(state.atMs));
    return { version: 1, recent: raw.recent, totals, state: isWhole ? state : null };
  } catch {
    return null;
  }
}
