import { crc32, inflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { zip } from '../../../scripts/zip.ts';

/** Reads an archive by its directory, as those who unpack do. */
function unzip(archive: Buffer): Readonly<Record<string, string>> {
  const end = archive.length - 22;
  let at = archive.readUInt32LE(end + 16);
  const count = archive.readUInt16LE(end + 10);
  return Object.fromEntries(
    Array.from({ length: count }, () => {
      const [sum, packedLength, length, nameLength] = [16, 20, 24]
        .map((field) => archive.readUInt32LE(at + field))
        .concat(archive.readUInt16LE(at + 28));
      const local = archive.readUInt32LE(at + 42);
      const name = archive.toString('utf8', at + 46, at + 46 + (nameLength ?? 0));
      const from = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
      const bytes = inflateRawSync(archive.subarray(from, from + (packedLength ?? 0)));
      expect([crc32(bytes), bytes.length]).toEqual([sum, length]);
      at += 46 + (nameLength ?? 0);
      return [name, bytes.toString()];
    }),
  );
}

test('what is packed comes out again, under its name', () => {
  const files = { 'host.json': '{}', 'dist/functions/main.js': 'x'.repeat(100_000), 'Größe.txt': 'ä', empty: '' };
  const entries = Object.entries(files).map(([name, text]) => ({ name, bytes: Buffer.from(text) }));
  expect(unzip(zip(entries))).toEqual(files);
});

test('the same files give the same archive', () => {
  const entries = [{ name: 'a', bytes: Buffer.from('a') }];
  expect(zip(entries).equals(zip(entries))).toBe(true);
});
