import { describe, expect, test } from 'vitest';
import { readListPage } from '../../../../relay/watch/list-page.ts';

/** What is read of a text that comes in pieces of `size` bytes. */
async function read(text: string, size = Number.MAX_SAFE_INTEGER) {
  const bytes = Buffer.from(text);
  async function* chunks(): AsyncIterable<Buffer> {
    for (let at = 0; at < bytes.length; at += size) yield Buffer.from(bytes.subarray(at, at + size));
  }
  const items: Array<unknown> = [];
  const page = await readListPage(chunks(), (item) => void items.push(item));
  return { page, items };
}

const items = [
  { metadata: { name: 'a', labels: {} }, list: [[1], [{ b: [] }]] },
  { text: 'quotes " and \\" and \\\\', braces: '}]{[', letters: 'é€😀', end: '\\' },
  {},
  { items: [{ items: [] }], '"items': ['}'] },
];
const metadata = { resourceVersion: '12', continue: 'a"}b', note: 'items' };

describe('a page of a list', () => {
  test.for([1, 2, 3, 5, 7, 11, 64, 10_000])('is read alike in pieces of %s bytes', async (size) => {
    for (const text of [
      JSON.stringify({ kind: 'List', metadata, items }),
      JSON.stringify({ items, metadata, kind: 'List' }),
      JSON.stringify({ metadata, items }, null, 2),
    ]) {
      const found = await read(text, size);
      expect(found.items).toEqual(items);
      expect(found.page).toEqual({ resourceVersion: '12', continueToken: 'a"}b', malformed: 0 });
    }
  });

  test('has no items but those of its own list', async () => {
    const text = JSON.stringify({
      other: [{ a: 1 }],
      deep: { items: [{ b: 1 }] },
      items: [{ c: 1 }],
      after: [{ d: 1 }],
      metadata,
    });
    expect((await read(text)).items).toEqual([{ c: 1 }]);
    expect((await read('{"items":{"x":[1]},"metadata":{}}')).items).toEqual([]);
    expect((await read('{"a":"items","b":[{"x":1}],"metadata":{}}')).items).toEqual([]);
  });

  test('of nothing is empty, and may be the last and of no place', async () => {
    expect(await read('{"items":[],"metadata":{}}')).toEqual({
      items: [],
      page: { resourceVersion: '', continueToken: '', malformed: 0 },
    });
    expect((await read('{"metadata":{"resourceVersion":7,"continue":null}}')).page).toEqual({
      resourceVersion: '',
      continueToken: '',
      malformed: 0,
    });
    expect((await read('{"items":null,"metadata":{"resourceVersion":"3"}}')).page.resourceVersion).toBe('3');
  });

  test('counts an item that is not JSON, and gives the others', async () => {
    const found = await read('{"items":[{"a":1},{bad},{"b":2}],"metadata":{"resourceVersion":"1"}}');
    expect([found.items, found.page.malformed]).toEqual([[{ a: 1 }, { b: 2 }], 1]);
  });

  test('is no page when it ends early: what was to follow is unknown', async () => {
    const whole = JSON.stringify({ items, metadata });
    for (let length = 0; length < whole.length; length++) {
      await expect(read(whole.slice(0, length), 9)).rejects.toThrow(
        'not a list: the answer is not JSON, or ended early',
      );
    }
  });

  test.for(['[]', '7', 'null', '{}', '{"items":[],"metadata":[]}', '{"items":[],"metadata":"x"}', '{"metadata":null}'])(
    'is none that says %s',
    async (text) => {
      await expect(read(text)).rejects.toThrow(new TypeError('not a list: it has no metadata'));
    },
  );

  test('may have an item as large as any object and others beside it, and none that is larger', async () => {
    const largest = 16 * 1024 * 1024;
    const pageOf = (bytes: number): string => `{"items":[{"a":"${'x'.repeat(bytes - 8)}"},{}],"metadata":{}}`;
    expect((await read(pageOf(largest), largest / 4)).items).toHaveLength(2);
    await expect(read(pageOf(largest + 1), largest / 4)).rejects.toThrow('an item is larger than 16777216 bytes');
  });
});
