/** What a page of a list says of itself: where it was taken and how to get the next page. */
export interface ListPage {
  readonly resourceVersion: string;
  /** Empty on the last page. */
  readonly continueToken: string;
  /** Items that were not JSON. */
  readonly malformed: number;
}

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** Largest item, in bytes. An object of Kubernetes is at most 1.5 MiB in etcd, and little more as JSON. */
const LARGEST_ITEM = 16 * 1024 * 1024;

/**
 * Reads a page of a list as it comes and gives each item to `onItem` at once, so that one item is in memory, not a
 * page. Throws TypeError when the answer is not a list, or ends early.
 */
export async function readListPage(chunks: AsyncIterable<Buffer>, onItem: (item: unknown) => void): Promise<ListPage> {
  const splitter = new Splitter();
  let malformed = 0;
  for await (const chunk of chunks) {
    for (const text of splitter.push(chunk)) {
      const item = jsonOf(text);
      if (item === undefined) malformed += 1;
      else onItem(item);
    }
  }
  return { ...envelopeOf(splitter.envelope()), malformed };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function envelopeOf(text: string): Omit<ListPage, 'malformed'> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new TypeError('not a list: the answer is not JSON, or ended early');
  }
  const metadata = isObject(parsed) ? parsed['metadata'] : undefined;
  if (!isObject(metadata)) throw new TypeError('not a list: it has no metadata');
  const { resourceVersion, continue: continueToken } = metadata;
  return {
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : '',
    continueToken: typeof continueToken === 'string' ? continueToken : '',
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Cuts the elements out of the top-level list `items`. It counts brackets outside of strings and nothing more; whether
 * an item is JSON is for JSON.parse to say.
 */
class Splitter {
  readonly #envelope: Array<Buffer> = [];
  #item: Array<Buffer> = [];
  #itemLength = 0;
  #depth = 0;
  #isInString = false;
  /** The chunk before ended in a string, on a backslash that escapes what comes now. */
  #isEscaped = false;
  #isInItems = false;
  /** The string read last at depth 1: the key, when a list opens there. */
  #text = '';
  #textParts: Array<Buffer> = [];
  /** Where in the current chunk what is not kept yet begins. */
  #from = 0;

  /** The items that `chunk` completes, as JSON texts. */
  push(chunk: Buffer): ReadonlyArray<string> {
    const items: Array<string> = [];
    this.#from = 0;
    for (let at = 0; at < chunk.length; at++) {
      if (this.#isInString) at = this.#skipString(chunk, at);
      else this.#token(chunk, at, items);
    }
    if (!this.#isInItems) this.#envelope.push(Buffer.from(chunk.subarray(this.#from)));
    else if (this.#depth > 2) this.#keepItem(chunk.subarray(this.#from));
    return items;
  }

  /** The list without its items. */
  envelope(): string {
    return Buffer.concat(this.#envelope).toString('utf8');
  }

  #token(chunk: Buffer, at: number, items: Array<string>): void {
    const byte = chunk[at];
    if (byte === quote) this.#isInString = true;
    else if (byte === openBrace || byte === openBracket) this.#open(chunk, at);
    else if (byte === closeBrace || byte === closeBracket) this.#close(chunk, at, items);
  }

  #open(chunk: Buffer, at: number): void {
    this.#depth += 1;
    if (this.#isInItems && this.#depth === 3) this.#from = at;
    if (this.#depth !== 2 || chunk[at] !== openBracket || this.#text !== 'items') return;
    this.#isInItems = true;
    this.#envelope.push(Buffer.from(chunk.subarray(this.#from, at + 1)));
  }

  #close(chunk: Buffer, at: number, items: Array<string>): void {
    this.#depth -= 1;
    if (!this.#isInItems) return;
    if (this.#depth === 2) {
      this.#keepItem(chunk.subarray(this.#from, at + 1));
      items.push(Buffer.concat(this.#item).toString('utf8'));
      this.#item = [];
      this.#itemLength = 0;
    }
    if (this.#depth === 1) {
      this.#isInItems = false;
      this.#from = at;
    }
  }

  /** Goes to the end of the string, or of the chunk. Returns the last place it has looked at. */
  #skipString(chunk: Buffer, start: number): number {
    const end = this.#endOfString(chunk, start);
    if (this.#depth === 1) this.#textParts.push(Buffer.from(chunk.subarray(start, end)));
    if (end === chunk.length) return end;
    this.#isInString = false;
    if (this.#depth === 1) {
      this.#text = Buffer.concat(this.#textParts).toString('utf8');
      this.#textParts = [];
    }
    return end;
  }

  /** The place of the quote that ends the string; the chunk's length when it continues in the next. */
  #endOfString(chunk: Buffer, start: number): number {
    let from = this.#isEscaped ? start + 1 : start;
    this.#isEscaped = false;
    for (let found = chunk.indexOf(quote, from); found >= 0; found = chunk.indexOf(quote, from)) {
      if (!isEscapedAt(chunk, found, from)) return found;
      from = found + 1;
    }
    this.#isEscaped = isEscapedAt(chunk, chunk.length, from);
    return chunk.length;
  }

  #keepItem(part: Buffer): void {
    this.#itemLength += part.length;
    if (this.#itemLength > LARGEST_ITEM)
      throw new TypeError(`not a list: an item is larger than ${LARGEST_ITEM} bytes`);
    // A copy, since the chunk it is cut from is reused.
    this.#item.push(Buffer.from(part));
  }
}

/** True when the byte at `at` follows an odd number of backslashes, none of them before `from`. */
function isEscapedAt(chunk: Buffer, at: number, from: number): boolean {
  let slashes = 0;
  while (at - 1 - slashes >= from && chunk[at - 1 - slashes] === backslash) slashes += 1;
  return slashes % 2 === 1;
}
