import { crc32, deflateRawSync } from 'node:zlib';

/** A file in an archive, with its path in it. */
export interface ZipEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_DIRECTORY = 0x06054b50;
/** What is needed to unpack: deflate. */
const VERSION = 20;
const DEFLATE = 8;
/** Names are UTF-8. */
const FLAGS = 0x0800;
/** 1980-01-01, the earliest there is: the same files give the same archive. */
const DATE = 0x0021;
/** A file that its owner may write and everybody read, as Unix says it, in the upper half. */
const MODE = 0o100_644 * 2 ** 16;

/** A zip archive (PKWARE's application note, 6.3.10), without the parts for more than 4 GiB or 65,535 files. */
export function zip(entries: ReadonlyArray<ZipEntry>): Buffer {
  const local: Array<Buffer> = [];
  const central: Array<Buffer> = [];
  let offset = 0;
  for (const { name, bytes } of entries) {
    const packed = deflateRawSync(bytes);
    const path = Buffer.from(name);
    const facts = factsOf(bytes, packed.length, path.length);
    const header = Buffer.concat([uint32(LOCAL_HEADER), uint16(VERSION), facts, uint16(0), path]);
    local.push(header, packed);
    central.push(
      Buffer.concat([uint32(CENTRAL_HEADER), uint16(0x0300 | VERSION), uint16(VERSION), facts]),
      Buffer.concat([uint16(0), uint16(0), uint16(0), uint16(0), uint32(MODE), uint32(offset), path]),
    );
    offset += header.length + packed.length;
  }
  const directory = Buffer.concat(central);
  const count = uint16(entries.length);
  const end = [uint32(END_OF_DIRECTORY), uint16(0), uint16(0), count, count, uint32(directory.length), uint32(offset)];
  return Buffer.concat([...local, directory, ...end, uint16(0)]);
}

/** What both headers say of a file alike. */
function factsOf(bytes: Uint8Array, packedLength: number, nameLength: number): Buffer {
  return Buffer.concat([
    uint16(FLAGS),
    uint16(DEFLATE),
    uint16(0),
    uint16(DATE),
    uint32(crc32(bytes)),
    uint32(packedLength),
    uint32(bytes.length),
    uint16(nameLength),
  ]);
}

function uint16(value: number): Buffer {
  const buffer = Buffer.alloc(2);
  buffer.writeUInt16LE(value);
  return buffer;
}

function uint32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32LE(value);
  return buffer;
}
