/** FNV-1a over UTF-16 code units, 64 bits, as 13 characters of base 36: short, safe in names, the same everywhere. */
export function digest(...parts: ReadonlyArray<string>): string {
  let value = 0xcbf29ce484222325n;
  for (const part of parts) {
    for (let index = 0; index <= part.length; index++) {
      // A terminator after each part keeps ('ab','c') apart from ('a','bc').
      const unit = index < part.length ? BigInt(part.charCodeAt(index)) : 0xffffn;
      value = BigInt.asUintN(64, (value ^ unit) * 0x100000001b3n);
    }
  }
  return value.toString(36).padStart(13, '0');
}
