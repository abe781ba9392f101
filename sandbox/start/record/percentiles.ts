/** Where half and nearly all of the values lie; by nearest rank, so both are values that occurred. */
export interface Percentiles {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
}

/** The percentiles of `values`; null when there are none. */
export function percentilesOf(values: ReadonlyArray<number>): Percentiles | null {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return sorted.length === 0 ? null : { count: sorted.length, p50: at(0.5), p99: at(0.99) };
}
