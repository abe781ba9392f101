/**
 * Since when this process has seen nobody wait for claims on their way. Lost with the process, which costs a few
 * seconds more of a machine that boots.
 */
export interface UnwantedSince {
  /**
   * Tells of every claim that nobody waits for now, by uid, and returns since when without a break, in milliseconds
   * since the epoch. Those that are not named are wanted: their time begins again.
   */
  note(uids: ReadonlyArray<string>, nowMs: number): ReadonlyMap<string, number>;
}

/** Makes one that has seen nothing. */
export function createUnwantedSince(): UnwantedSince {
  let sinceMs: ReadonlyMap<string, number> = new Map();
  return {
    note(uids, nowMs) {
      sinceMs = new Map(uids.map((uid) => [uid, sinceMs.get(uid) ?? nowMs]));
      return sinceMs;
    },
  };
}
