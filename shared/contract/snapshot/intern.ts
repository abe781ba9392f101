/** Texts that many rows share, each kept once for as long as a row uses it, under a small number. */
export interface InternTable {
  /** The number of `text`, counting one more use of it. */
  readonly take: (text: string) => number;
  /** Counts one use less; the last use frees the text and its number. */
  readonly release: (id: number) => void;
  /** The text of a number in use. */
  readonly textOf: (id: number) => string;
  /** How many texts are kept. */
  readonly size: () => number;
  /** The numbers in use, in the order of their texts. */
  readonly sorted: () => ReadonlyArray<number>;
}

/** Makes an empty table. */
export function createInternTable(): InternTable {
  const ids = new Map<string, number>();
  const texts: Array<string> = [];
  const uses: Array<number> = [];
  const free: Array<number> = [];
  return {
    take(text) {
      const known = ids.get(text);
      if (known !== undefined) {
        uses[known] = (uses[known] ?? 0) + 1;
        return known;
      }
      const id = free.pop() ?? texts.length;
      ids.set(text, id);
      texts[id] = text;
      uses[id] = 1;
      return id;
    },
    release(id) {
      const left = (uses[id] ?? 0) - 1;
      uses[id] = left;
      if (left > 0) return;
      ids.delete(texts[id] ?? '');
      texts[id] = '';
      free.push(id);
    },
    textOf: (id) => texts[id] ?? '',
    size: () => ids.size,
    sorted: () => [...ids].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, id]) => id),
  };
}
