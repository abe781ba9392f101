/** A watch that cannot go on as it was: the place is gone, or the stream broke. */
export class WatchExpired extends Error {
  /** The last place seen; a watch may go on from there unless it is gone. */
  readonly lastSeen: string;
  /** The server no longer knows our place: a list is needed. */
  readonly isGone: boolean;
  readonly retryAfterMs: number | null;

  constructor(lastSeen: string, isGone: boolean, retryAfterMs: number | null, message: string) {
    super(message);
    this.lastSeen = lastSeen;
    this.isGone = isGone;
    this.retryAfterMs = retryAfterMs;
  }
}

interface WatchSink {
  readonly upsert: (raw: unknown) => void;
  readonly remove: (raw: unknown) => void;
  /** Everything up to this place has been given on. */
  readonly seen: (resourceVersion: string) => void;
  readonly malformed: () => void;
}

/** Largest event, in bytes: an object of Kubernetes is at most 1.5 MiB in etcd. */
const LARGEST_LINE = 16 * 1024 * 1024;

const newline = 0x0a;

/**
 * Gives on the events of a watch until the stream ends. Returns the last place seen. Throws WatchExpired when the
 * server says ERROR, when the stream breaks, or when a line is no event: what it said is unknown, so we list again.
 */
export async function readWatch(chunks: AsyncIterable<Buffer>, from: string, sink: WatchSink): Promise<string> {
  let position = from;
  try {
    for await (const line of linesOf(chunks)) position = readEvent(line, position, sink);
  } catch (error) {
    if (error instanceof WatchExpired) throw error;
    throw new WatchExpired(position, false, null, error instanceof Error ? error.message : String(error));
  }
  return position;
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncIterable<string> {
  let held: Array<Buffer> = [];
  let heldLength = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = Buffer.concat([...held, chunk.subarray(start, end)]).toString('utf8');
      held = [];
      heldLength = 0;
      start = end + 1;
      if (line.trim() !== '') yield line;
    }
    const rest = Buffer.from(chunk.subarray(start));
    heldLength += rest.length;
    if (heldLength > LARGEST_LINE) throw new Error(`an event is larger than ${LARGEST_LINE} bytes`);
    if (rest.length > 0) held.push(rest);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readEvent(line: string, position: string, sink: WatchSink): string {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch {
    event = null;
  }
  const object = isObject(event) ? event['object'] : undefined;
  if (!isObject(event) || !isObject(object)) {
    sink.malformed();
    throw new WatchExpired(position, true, null, 'the watch sent a line that is no event');
  }
  const type = event['type'];
  if (type === 'ERROR') throw expiredBy(object, position);
  if (type === 'ADDED' || type === 'MODIFIED') sink.upsert(object);
  else if (type === 'DELETED') sink.remove(object);
  else if (type !== 'BOOKMARK') sink.malformed();
  const metadata = object['metadata'];
  const resourceVersion = isObject(metadata) ? metadata['resourceVersion'] : undefined;
  if (typeof resourceVersion !== 'string' || resourceVersion === '') return position;
  sink.seen(resourceVersion);
  return resourceVersion;
}

function expiredBy(status: Readonly<Record<string, unknown>>, position: string): WatchExpired {
  const { code, message } = status;
  const details = isObject(status['details']) ? status['details'] : {};
  const seconds = details['retryAfterSeconds'];
  return new WatchExpired(
    position,
    code === 410,
    typeof seconds === 'number' ? Math.min(60, seconds) * 1_000 : null,
    typeof message === 'string' ? message : `the watch ended with status ${String(code)}`,
  );
}
