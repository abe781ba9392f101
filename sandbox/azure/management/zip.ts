/** Marks an entry of the list at the end of a zip. */
const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;

/** Names of the files in a zip; none where it is no zip. What is in them stays unread. */
export function namesInZip(bytes: Buffer): ReadonlyArray<string> {
  const names: Array<string> = [];
  for (let at = 0; at + ENTRY_BYTES <= bytes.length; at++) {
    if (bytes.readUInt32LE(at) !== ENTRY) continue;
    const length = bytes.readUInt16LE(at + 28);
    names.push(bytes.toString('utf8', at + ENTRY_BYTES, at + ENTRY_BYTES + length).replace(/^\.\//, ''));
  }
  return names;
}
