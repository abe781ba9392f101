import { describe, expect, test } from 'vitest';
import { readWatch, WatchExpired } from '../../../../relay/watch/watch.ts';

interface Seen {
  readonly told: Array<string>;
  readonly read: () => Promise<string>;
}

const nameOf = (raw: unknown): string =>
  (raw as { readonly metadata?: { readonly name?: string } }).metadata?.name ?? '?';

/** A watch from place 10 that says these pieces, and then ends or breaks. */
function watching(pieces: ReadonlyArray<string | Buffer>, end: Error | null = null): Seen {
  const told: Array<string> = [];
  async function* chunks(): AsyncIterable<Buffer> {
    for (const piece of pieces) yield Buffer.from(piece as string);
    if (end !== null) throw end;
  }
  const sink = {
    upsert: (raw: unknown) => void told.push(`put ${nameOf(raw)}`),
    remove: (raw: unknown) => void told.push(`remove ${nameOf(raw)}`),
    seen: (at: string) => void told.push(`at ${at}`),
    malformed: () => void told.push('malformed'),
  };
  return { told, read: () => readWatch(chunks(), '10', sink) };
}

const event = (type: string, name: string, resourceVersion?: unknown): string =>
  `${JSON.stringify({ type, object: { metadata: { name, ...(resourceVersion === undefined ? {} : { resourceVersion }) } } })}\n`;
const expired = (watch: Seen): Promise<unknown> => watch.read().catch((error: unknown) => error);

describe('a watch', () => {
  test('gives on what it says, in its order, each event before its place', async () => {
    const watch = watching([event('ADDED', 'a', '11'), event('MODIFIED', 'a', '12') + event('DELETED', 'a', '13')]);
    expect(await watch.read()).toBe('13');
    expect(watch.told).toEqual(['put a', 'at 11', 'put a', 'at 12', 'remove a', 'at 13']);
  });

  test('is read alike however it is cut, within letters, too', async () => {
    const bytes = Buffer.from(`\n${event('ADDED', 'é', '11')}  \n${event('DELETED', 'é', '12')}`);
    const watch = watching([...bytes].map((byte) => Buffer.from([byte])));
    expect(await watch.read()).toBe('12');
    expect(watch.told).toEqual(['put é', 'at 11', 'remove é', 'at 12']);
  });

  test('moves its place by bookmarks, which change nothing', async () => {
    const watch = watching([event('BOOKMARK', '', '20')]);
    expect([await watch.read(), watch.told]).toEqual(['20', ['at 20']]);
  });

  test('keeps its place where an event names none', async () => {
    const noPlaces = [event('ADDED', 'a'), event('ADDED', 'b', ''), event('ADDED', 'c', 7)];
    const watch = watching([...noPlaces, `${JSON.stringify({ type: 'ADDED', object: {} })}\n`]);
    expect([await watch.read(), watch.told]).toEqual(['10', ['put a', 'put b', 'put c', 'put ?']]);
  });

  test('that says nothing ends where it began', async () => {
    expect(await watching([]).read()).toBe('10');
  });

  test('counts an event of a kind nobody knows, and goes on', async () => {
    const watch = watching([event('RENAMED', 'a', '11'), event('ADDED', 'b', '12')]);
    expect([await watch.read(), watch.told]).toEqual(['12', ['malformed', 'at 11', 'put b', 'at 12']]);
  });

  test('leaves an event that was cut off to the next watch', async () => {
    const watch = watching([event('ADDED', 'a', '11'), event('ADDED', 'b', '12').slice(0, -3)]);
    expect([await watch.read(), watch.told]).toEqual(['11', ['put a', 'at 11']]);
  });
});

describe('a watch that cannot go on', () => {
  test.for([
    'garbage',
    'null',
    '[]',
    '7',
    '{"type":"ADDED"}',
    '{"type":"ADDED","object":[]}',
    '{"type":"ADDED","object":null}',
  ])('after the line %s: what it said is unknown, so a list is needed', async (line) => {
    const watch = watching([event('ADDED', 'a', '11'), `${line}\n`, event('ADDED', 'b', '12')]);
    const error = await expired(watch);
    expect(error).toBeInstanceOf(WatchExpired);
    expect(error).toMatchObject({
      lastSeen: '11',
      isGone: true,
      retryAfterMs: null,
      message: 'the watch sent a line that is no event',
    });
    expect(watch.told).toEqual(['put a', 'at 11', 'malformed']);
  });

  const failing = (object: object): string => `${JSON.stringify({ type: 'ERROR', object })}\n`;

  test('since its place is gone needs a list', async () => {
    const error = await expired(watching([event('ADDED', 'a', '11'), failing({ code: 410, message: 'too old' })]));
    expect(error).toMatchObject({ lastSeen: '11', isGone: true, retryAfterMs: null, message: 'too old' });
  });

  test('since the server is in trouble goes on later from where it was, after the pause that it asks for', async () => {
    const error = await expired(watching([failing({ code: 500, details: { retryAfterSeconds: 5 } })]));
    expect(error).toMatchObject({
      lastSeen: '10',
      isGone: false,
      retryAfterMs: 5_000,
      message: 'the watch ended with status 500',
    });
    const long = await expired(watching([failing({ code: 429, details: { retryAfterSeconds: 3_600 } })]));
    expect(long).toMatchObject({ isGone: false, retryAfterMs: 60_000 });
    const odd = await expired(watching([failing({ details: { retryAfterSeconds: '5' }, message: 7 })]));
    expect(odd).toMatchObject({ retryAfterMs: null, message: 'the watch ended with status undefined' });
  });

  test.for([new Error('reset'), 'reset'])(
    'since its connection broke goes on from the last place it saw',
    async (end) => {
      const error = await expired(watching([event('ADDED', 'a', '11'), '{"type":'], end as Error));
      expect(error).toBeInstanceOf(WatchExpired);
      expect(error).toMatchObject({ lastSeen: '11', isGone: false, retryAfterMs: null, message: 'reset' });
    },
  );

  test('since an event is larger than any object holds no more of it', async () => {
    const piece = Buffer.alloc(4 * 1024 * 1024, 0x78);
    const error = await expired(watching([event('ADDED', 'a', '11'), piece, piece, piece, piece]));
    expect(error).not.toBeInstanceOf(WatchExpired);
    const tooLarge = await expired(watching([event('ADDED', 'a', '11'), piece, piece, piece, piece, 'x']));
    expect(tooLarge).toMatchObject({
      lastSeen: '11',
      isGone: false,
      message: 'an event is larger than 16777216 bytes',
    });
  });
});
