/**
 * What this process has told lately, so that a timer does not tell it again. Lost with the process, which costs a
 * request that the API server refuses; see `publish`.
 */
export interface RecentReports {
  /** True once per key and period; the period begins with the first question. */
  isNews(key: string, nowMs: number, periodMs: number): boolean;
  /** Is such a period on? Begins none. */
  isKnown(key: string, nowMs: number): boolean;
}

/** Makes one that has told nothing. */
export function createRecentReports(): RecentReports {
  const untilMs = new Map<string, number>();
  return {
    isKnown: (key, nowMs) => (untilMs.get(key) ?? 0) > nowMs,
    isNews(key, nowMs, periodMs) {
      if ((untilMs.get(key) ?? 0) > nowMs) return false;
      // What has run out is forgotten here, so that the map holds what was told in one period and no more.
      for (const [other, endMs] of untilMs) {
        if (endMs > nowMs) break;
        untilMs.delete(other);
      }
      untilMs.delete(key);
      untilMs.set(key, nowMs + periodMs);
      return true;
    },
  };
}
