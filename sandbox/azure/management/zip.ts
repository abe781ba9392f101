import { inflateRawSync } from 'node:zlib';

/** Marks an entry of the list at the end of a zip. */
const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;
/** Before the bytes of a file: its own head, of which two lengths are of what follows. */
const HEAD_BYTES = 30;
const DEFLATED = 8;

/** The files of a zip by name; none where it is no zip. A file is inflated where it is read. */
export function filesInZip(bytes: Buffer): ReadonlyMap<string, () => string> {
  const files = new Map<string, () => string>();
  for (let at = 0; at + ENTRY_BYTES <= bytes.length; at++) {
    if (bytes.readUInt32LE(at) !== ENTRY) continue;
    const entry = at;
    const length = bytes.readUInt16LE(entry + 28);
    const name = bytes.toString('utf8', entry + ENTRY_BYTES, entry + ENTRY_BYTES + length).replace(/^\.\//, '');
    files.set(name, () => textOf(bytes, entry));
  }
  return files;
}

function textOf(bytes: Buffer, entry: number): string {
  const head = bytes.readUInt32LE(entry + 42);
  const from = head + HEAD_BYTES + bytes.readUInt16LE(head + 26) + bytes.readUInt16LE(head + 28);
  const packed = bytes.subarray(from, from + bytes.readUInt32LE(entry + 20));
  return (bytes.readUInt16LE(entry + 10) === DEFLATED ? inflateRawSync(packed) : packed).toString('utf8');
}
