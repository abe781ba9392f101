/**
 * UTF-8, or UTF-16 with its mark, as Windows PowerShell writes what is sent to a file. Null where it is no text, as of
 * a packed file.
 */
export function decodeText(bytes: Uint8Array): string | null {
  const isBigEndian = bytes[0] === 0xfe && bytes[1] === 0xff;
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : isBigEndian ? 'utf-16be' : 'utf-8';
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}

/** What is said of a file that is no text. */
export const NOT_TEXT = {
  message: 'is not text, so neither YAML nor JSON',
  fix: 'give a manifest; unpack it first if it is packed',
} as const;
