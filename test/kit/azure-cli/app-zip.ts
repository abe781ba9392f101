import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A zip with one empty file `host.json`, as a build of the app has it at its root; the double looks for no more.
 * Answers its path.
 */
export function writeAppZip(folder: string): string {
  const name = Buffer.from('host.json');
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  local.writeUInt16LE(name.length, 26);
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(name.length, 28);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(entry.length + name.length, 12);
  end.writeUInt32LE(local.length + name.length, 16);
  const file = join(folder, 'app.zip');
  writeFileSync(file, Buffer.concat([local, name, entry, name, end]));
  return file;
}
