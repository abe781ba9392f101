import { decodeText as decode, NOT_TEXT } from '../../../shared/contract/decode-text.ts';
import { fileProblem, WrongInputError } from '../../wrong-input.ts';
import type { Origin } from './origin.ts';

/** The text of a source. Throws WrongInputError where it is none. */
export function decodeText(origin: Origin, bytes: Uint8Array): string {
  const text = decode(bytes);
  if (text === null) throw new WrongInputError([fileProblem(origin, NOT_TEXT.message, NOT_TEXT.fix)]);
  return text;
}
