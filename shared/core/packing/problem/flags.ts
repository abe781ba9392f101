/** One byte per entry, 1 where the answer is yes: what `Uint8Array.from` does, in a fraction of its time. */
export function flagsOf<T>(entries: ReadonlyArray<T>, isSet: (entry: T) => boolean): Uint8Array {
  const flags = new Uint8Array(entries.length);
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index];
    if (entry !== undefined && isSet(entry)) flags[index] = 1;
  }
  return flags;
}
