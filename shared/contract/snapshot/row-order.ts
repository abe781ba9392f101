/** Rows in the order of their keys, kept so that a few changes among many rows cost little. */
export interface RowOrder {
  /** Adds a row, with the key it has now. */
  readonly add: (row: number) => void;
  /** Takes a row out; its number may then be used again. */
  readonly remove: (row: number) => void;
  readonly sorted: () => ReadonlyArray<number>;
}

/** Makes an empty order. `keyOf` must give distinct keys, and the same for a row for as long as it is in. */
export function createRowOrder(keyOf: (row: number) => string): RowOrder {
  let sorted: ReadonlyArray<number> = [];
  const added = new Set<number>();
  /** Rows whose place in `sorted` no longer counts. */
  const stale = new Set<number>();

  const isBefore = (a: number, b: number): number => (keyOf(a) < keyOf(b) ? -1 : 1);

  function merge(): ReadonlyArray<number> {
    const kept = stale.size === 0 ? sorted : sorted.filter((row) => !stale.has(row));
    const fresh = [...added].toSorted(isBefore);
    const merged: Array<number> = [];
    let next = 0;
    for (const row of kept) {
      while (next < fresh.length && isBefore(fresh[next] ?? 0, row) < 0) merged.push(fresh[next++] ?? 0);
      merged.push(row);
    }
    return [...merged, ...fresh.slice(next)];
  }

  return {
    add: (row) => void added.add(row),
    remove(row) {
      // Not merged yet: then its place in `sorted`, if any, is another's that was stale before.
      if (!added.delete(row)) stale.add(row);
    },
    sorted() {
      if (added.size === 0 && stale.size === 0) return sorted;
      sorted = merge();
      added.clear();
      stale.clear();
      return sorted;
    },
  };
}
