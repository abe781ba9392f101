/**
 * Upper bounds of the buckets of all of Karpenter's histograms of durations, in seconds (`pkg/metrics/constants.go`,
 * 1.14).
 */
export const durationBucketsSeconds: ReadonlyArray<number> = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60, 120, 150, 300, 450, 600,
];

/** How many durations fell into each bucket. */
export interface DurationHistogram {
  /** By bucket, each duration in the first that holds it; one more at the end for all that are longer. */
  readonly counts: ReadonlyArray<number>;
  readonly sumMs: number;
}

/** A histogram that has counted nothing. */
export const NO_DURATIONS: DurationHistogram = { counts: [...durationBucketsSeconds, Infinity].map(() => 0), sumMs: 0 };

/** `histogram` with these durations, in milliseconds, counted too. One below 0, of clocks that differ, counts as 0. */
export function withDurations(histogram: DurationHistogram, durationsMs: Iterable<number>): DurationHistogram {
  const counts = [...histogram.counts];
  let { sumMs } = histogram;
  for (const given of durationsMs) {
    const ms = Math.max(0, given);
    const found = durationBucketsSeconds.findIndex((bound) => ms <= bound * 1_000);
    const bucket = found < 0 ? durationBucketsSeconds.length : found;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
    sumMs += ms;
  }
  return { counts, sumMs };
}

/** Null for what is no histogram over these buckets: one of another version starts again, as counters may. */
export function toDurationHistogram(raw: unknown): DurationHistogram | null {
  if (typeof raw !== 'object' || raw === null) return null;
  const { counts, sumMs } = raw as Readonly<Record<string, unknown>>;
  if (typeof sumMs !== 'number' || !Array.isArray(counts)) return null;
  const numbers = counts.filter((count) => typeof count === 'number');
  if (numbers.length !== counts.length || counts.length !== durationBucketsSeconds.length + 1) return null;
  return { counts: numbers, sumMs };
}
