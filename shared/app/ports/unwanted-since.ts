/**
 * For how long a pool whose claim was withdrawn keeps those that are made after it: pods that somebody gives up before
 * a machine can boot, and makes again, would never get one. Longer than nearly every machine takes to join: pods that
 * come later than that would not have found it either.
 */
const KEPT_MS = 3 * 60_000;

/**
 * Since when this process has seen nobody wait for claims on their way, and what it has withdrawn. Lost with the
 * process, which costs a few seconds more of a machine that boots, or one more that is withdrawn.
 */
export interface UnwantedSince {
  /**
   * Tells of every claim that nobody waits for now, by uid, and returns since when without a break, in milliseconds
   * since the epoch. Those that are not named are wanted: their time begins again.
   */
  note(uids: ReadonlyArray<string>, nowMs: number): ReadonlyMap<string, number>;
  /** Tells that claims of the pool are withdrawn now. */
  noteWithdrawn(pool: string, nowMs: number): void;
  /** Is the claim to stay, as it was made after one of its pool was withdrawn? In milliseconds since the epoch. */
  isKept(claim: { readonly pool: string; readonly madeMs: number }, nowMs: number): boolean;
}

/** Makes one that has seen nothing. */
export function createUnwantedSince(): UnwantedSince {
  let sinceMs: ReadonlyMap<string, number> = new Map();
  const withdrawnMs = new Map<string, number>();
  const recentMs = (pool: string, nowMs: number): number | null => {
    const atMs = withdrawnMs.get(pool);
    return atMs !== undefined && nowMs - atMs < KEPT_MS ? atMs : null;
  };
  return {
    note(uids, nowMs) {
      sinceMs = new Map(uids.map((uid) => [uid, sinceMs.get(uid) ?? nowMs]));
      return sinceMs;
    },
    // The first of them counts: of many that go one after the other all are older.
    noteWithdrawn: (pool, nowMs) => void withdrawnMs.set(pool, recentMs(pool, nowMs) ?? nowMs),
    isKept: ({ pool, madeMs }, nowMs) => madeMs > (recentMs(pool, nowMs) ?? Infinity),
  };
}
