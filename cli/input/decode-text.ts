import { fileProblem, WrongInputError } from '../wrong-input.ts';
import type { Origin } from './origin.ts';

/** UTF-8, or UTF-16 with its mark, as Windows PowerShell writes what is sent to a file. Throws WrongInputError on anything else. */
export function decodeText(origin: Origin, bytes: Uint8Array): string {
  const text = decode(bytes);
  if (text !== null && !text.includes('\0')) return text;
  throw new WrongInputError([
    fileProblem(origin, 'is not text, so neither YAML nor JSON', 'give a manifest; unpack it first if it is packed'),
  ]);
}

function decode(bytes: Uint8Array): string | null {
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bigEndian(bytes) ? 'utf-16be' : 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function bigEndian(bytes: Uint8Array): boolean {
  return bytes[0] === 0xfe && bytes[1] === 0xff;
}
