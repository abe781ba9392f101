import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readListPage } from '../../../relay/watch/list-page.ts';
import { readWatch } from '../../../relay/watch/watch.ts';

async function* cut(text: string, sizes: ReadonlyArray<number>): AsyncIterable<Buffer> {
  const bytes = Buffer.from(text);
  let start = 0;
  for (let turn = 0; start < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.subarray(start, start + size);
    start += size;
  }
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
/** Texts full of what may fool one that counts brackets. */
const tricky = fc.string({ unit: fc.constantFrom('\\', '"', '{', '}', '[', ']', ',', 'a', '\u00e9'), maxLength: 12 });
/**
 * Any character but half a surrogate pair. fast-check's own `binary` first maps all million of them back, for seconds.
 */
const character = fc
  .nat(0x10_ff_ff - 0x8_00)
  .map((code) => String.fromCodePoint(code < 0xd8_00 ? code : code + 0x8_00));
const value = fc.oneof(tricky, fc.jsonValue({ maxDepth: 3, stringUnit: character }));
const object = fc.dictionary(fc.oneof(tricky, fc.string({ unit: character, maxLength: 5 })), value);

test('a page gives the items that JSON.parse would give, wherever the network cuts it and in whatever order its fields come', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(object, { maxLength: 6 }),
      sizes,
      fc.boolean(),
      object,
      async (items, at, itemsFirst, other) => {
        const metadata = { resourceVersion: '7', continue: 'more', other };
        const text = JSON.stringify(
          itemsFirst ? { items, kind: 'items', metadata } : { kind: 'items', metadata, items },
        );
        const read: Array<unknown> = [];
        const page = await readListPage(cut(text, at), (item) => read.push(item));
        expect(read).toEqual(JSON.parse(JSON.stringify(items)));
        expect(page).toEqual({ resourceVersion: '7', continueToken: 'more', malformed: 0 });
      },
    ),
  );
});

test('any bytes at all are a page or a TypeError', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string(), sizes, async (text, at) => {
      await readListPage(cut(text, at), () => {}).catch((error: unknown) => expect(error).toBeInstanceOf(TypeError));
    }),
  );
});

test('a watch gives its events in order, wherever the network cuts it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(object, { maxLength: 8 }), sizes, async (objects, at) => {
      const events = objects.map((one, index) => ({ ...one, metadata: { resourceVersion: String(index + 1) } }));
      const text = events.map((one) => `${JSON.stringify({ type: 'MODIFIED', object: one })}\n`).join('');
      const read: Array<unknown> = [];
      const sink = { upsert: (raw: unknown) => void read.push(raw), remove() {}, seen() {}, malformed() {} };
      expect(await readWatch(cut(text, at), '0', sink)).toBe(String(events.length));
      expect(read).toEqual(JSON.parse(JSON.stringify(events)));
    }),
  );
});
