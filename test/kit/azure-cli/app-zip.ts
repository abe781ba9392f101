import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

/**
 * A zip with an empty `host.json`, as a build of the app has it at its root, and a `package.json` that names the
 * version; the double looks for no more. Answers its path.
 */
export function writeAppZip(folder: string, version = '1.0.0'): string {
  const files = [
    { name: Buffer.from('host.json'), bytes: Buffer.alloc(0) },
    { name: Buffer.from('package.json'), bytes: Buffer.from(JSON.stringify({ version })) },
  ];
  const parts: Array<Buffer> = [];
  const entries: Array<Buffer> = [];
  for (const { name, bytes } of files) {
    const at = parts.reduce((sum, { length }) => sum + length, 0);
    parts.push(head(name, bytes), name, bytes);
    entries.push(entry(name, bytes, at), name);
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  const [list, before] = [Buffer.concat(entries), Buffer.concat(parts)];
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(before.length, 16);
  const file = join(folder, `app-${version}.zip`);
  writeFileSync(file, Buffer.concat([before, list, end]));
  return file;
}

/** Stored as it is. */
function head(name: Buffer, bytes: Buffer): Buffer {
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  describe(local, 14, { name, bytes });
  return local;
}

function entry(name: Buffer, bytes: Buffer, at: number): Buffer {
  const listed = Buffer.alloc(46);
  listed.writeUInt32LE(0x02014b50, 0);
  describe(listed, 16, { name, bytes });
  listed.writeUInt32LE(at, 42);
  return listed;
}

function describe(into: Buffer, at: number, { name, bytes }: { readonly name: Buffer; readonly bytes: Buffer }): void {
  into.writeUInt32LE(crc32(bytes), at);
  into.writeUInt32LE(bytes.length, at + 4);
  into.writeUInt32LE(bytes.length, at + 8);
  into.writeUInt16LE(name.length, at + 12);
}
