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
const largestItem = 16 * 1024 * 1024;

/**
 * Reads a page of a list as it comes and gives each item to `onItem` at once, so that one item is in memory, not a page.
 * Throws TypeError when the answer is not a list, or ends early.
 */
export async function readListPage(chunks: AsyncIterable<Buffer>, onItem: (item: unknown) => void): Promise<ListPage> {
  const splitter = createSplitter();
  let malformed = 0;
  for await (const chunk of chunks) {
    for (const item of splitter.push(chunk)) {
      try {
        onItem(JSON.parse(item));
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        malformed += 1;
      }
    }
  }
  return { ...envelopeOf(splitter.envelope()), malformed };
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

interface Splitter {
  /** The items that `chunk` completes, as JSON texts. */
  readonly push: (chunk: Buffer) => ReadonlyArray<string>;
  /** The list without its items. */
  readonly envelope: () => string;
}

/**
 * Cuts the elements out of the top-level list `items`. It counts brackets outside of strings and nothing more; whether
 * an item is JSON is for JSON.parse to say.
 */
function createSplitter(): Splitter {
  const envelope: Array<Buffer> = [];
  let item: Array<Buffer> = [];
  let itemLength = 0;
  let depth = 0;
  let isInString = false;
  let isEscaped = false;
  let isInItems = false;
  // The key or value text read last at depth 1, to know the list `items` when it opens.
  let lastText = '';
  let textStart: Array<Buffer> = [];

  function keepItem(part: Buffer): void {
    itemLength += part.length;
    if (itemLength > largestItem) throw new TypeError(`not a list: an item is larger than ${largestItem} bytes`);
    // A copy, since the chunk it is cut from is reused.
    item.push(Buffer.from(part));
  }

  function endOfString(chunk: Buffer, from: number, at: number): void {
    isInString = false;
    if (depth === 1) lastText = Buffer.concat([...textStart, chunk.subarray(from, at)]).toString('utf8');
    textStart = [];
  }

  function push(chunk: Buffer): ReadonlyArray<string> {
    const items: Array<string> = [];
    let start = 0;
    let stringFrom = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (byte === backslash) isEscaped = true;
        else if (byte === quote) endOfString(chunk, stringFrom, at);
      } else if (byte === quote) {
        isInString = true;
        stringFrom = at + 1;
      } else if (byte === openBrace || byte === openBracket) {
        depth += 1;
        if (isInItems && depth === 3) start = at;
        if (depth === 2 && byte === openBracket && lastText === 'items') {
          isInItems = true;
          envelope.push(Buffer.from(chunk.subarray(start, at + 1)));
        }
      } else if (byte === closeBrace || byte === closeBracket) {
        depth -= 1;
        if (isInItems && depth === 2) {
          keepItem(chunk.subarray(start, at + 1));
          items.push(Buffer.concat(item).toString('utf8'));
          item = [];
          itemLength = 0;
        }
        if (isInItems && depth === 1) {
          isInItems = false;
          start = at;
        }
      }
    }
    if (isInString && depth === 1) textStart.push(Buffer.from(chunk.subarray(Math.min(stringFrom, chunk.length))));
    if (isInItems) {
      if (depth > 2) keepItem(chunk.subarray(start));
    } else envelope.push(Buffer.from(chunk.subarray(start)));
    return items;
  }

  return { push, envelope: () => Buffer.concat(envelope).toString('utf8') };
}
