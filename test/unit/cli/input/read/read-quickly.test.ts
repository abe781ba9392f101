import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { readDocuments } from '../../../../../cli/input/read/read-documents.ts';
import { readQuickly } from '../../../../../cli/input/read/read-quickly.ts';

/** What the thorough parser reads. Null where anything is wrong. */
function thoroughly(text: string): ReadonlyArray<unknown> | null {
  const parsed = parseAllDocuments(text, { merge: true, logLevel: 'silent' });
  const documents = Array.isArray(parsed) ? parsed : [];
  return documents.some(({ errors }) => errors.length > 0) ? null : documents.map((one): unknown => one.toJS());
}

/** Scalars that YAML 1.1 and 1.2, or two readers of one, may take for different things. */
const SCALARS = [
  ...'0777 0o17 0x1F 0b11 1_000 +12 -0 08 1e3 1. .5 .inf -.Inf .nan 1:20:30 12345678901234567890 500m 1Gi'.split(' '),
  ...'True yes on y ~ null NULL nULL 2001-01-01 "a" \'a\' "\\u00e9\\n" a:b a#b ?a -a'.split(' '),
  '',
  'a #b',
  '!!str 1',
  '&x a',
  '|\n   a\n\n   b',
  '>-\n   a\n   b',
];

const TEXTS: ReadonlyArray<readonly [string, string]> = [
  ['one document', 'a: 1'],
  ['documents with and without marks', 'a: 1\n---\nb: 2\n--- # and\nc: 3\n'],
  ['a mark at the beginning, and at the end', '---\na: 1\n---\n'],
  ['comments before the first mark', '# what it is\n\n---\na: 1'],
  ['empty documents', 'a: 1\n---\n---\n# nothing\n---\nb: 2'],
  ['a document on the line of its mark', '--- {a: 1}\n--- text\n'],
  ['lines of Windows', 'a: 1\r\n---\r\nb: |\r\n  c\r\n'],
  ['what looks like a mark in a block', 'a: |\n  ---\n  b\nc: ----\n'],
  ['anchors, aliases and merge keys', 'a: &x { b: 1 }\nc: *x\nd: { <<: *x, e: 2 }\n---\na: 1\n'],
  ['stars and ands that are no aliases', 'a: "*/5 * * * *"\nb: [sh, -c, "x && y"]\n---\nc: "0 */2 * * *"\n'],
  ['a merge key without an alias', 'a: { <<: { b: 1 }, c: 2 }\n'],
  ['an end before a mark', 'a: 1\n...\n---\nb: 2\n...\n%YAML 1.2\n---\nc: 3\n'],
  ['directives and ends of documents', '%YAML 1.2\n---\na: 1\n...\n---\nb: 2\n'],
  ['a key of each kind', '1: a\ntrue: b\n1.5: c\n__proto__: d\n"": e\n'],
];

describe('YAML that is read quickly', () => {
  test.each(TEXTS)('is what the thorough reader reads: %s', async (_, text) => {
    const read = await readQuickly(text);
    if (read !== null) expect(read).toEqual(thoroughly(text));
    const documents = (await readDocuments({ origin: 'f', text })).documents.map(({ value }) => value);
    expect(documents).toEqual(thoroughly(text)?.filter((value) => value !== null));
  });

  test('is what the thorough reader reads: scalars as values, in lists and in flow', async () => {
    for (const scalar of SCALARS) {
      for (const text of [`k: ${scalar}`, `- ${scalar}`, ...(scalar.includes('\n') ? [] : [`{k: ${scalar}}`])]) {
        const read = await readQuickly(text);
        if (read !== null) expect(read, text).toEqual(thoroughly(text));
      }
    }
  });

  test('is what the thorough reader reads: whatever can be written', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue(), { minLength: 1 }), async (values) => {
        const text = values.map((value) => stringify(value)).join('---\n');
        const read = await readQuickly(text);
        if (read !== null) expect(read).toEqual(thoroughly(text));
      }),
    );
  });

  test('are the examples, all of them, and their text is read quickly', async () => {
    for (const name of readdirSync('examples').filter((file) => file.endsWith('.yaml'))) {
      const text = readFileSync(join('examples', name), 'utf8');
      expect(await readQuickly(text)).toEqual(thoroughly(text));
    }
  });

  test('holds an alias of aliases to its bound, and what is wrong is told with its place', async () => {
    const levels = Array.from(
      { length: 12 },
      (_, level) => `a${level + 1}: &a${level + 1} [*a${level}, *a${level}, *a${level}]`,
    );
    const bomb = ['a0: &a0 [x, x]', ...levels].join('\n');
    const { problems } = await readDocuments({ origin: 'f', text: `a: 1\n---\n${bomb}\n---\nb: [1\n` });
    expect(problems.map(({ origin, message }) => `${origin} ${message.slice(0, 12)}`)).toEqual([
      'f, document 2 has an alias',
      'f, document 3 is not YAML:',
    ]);
    expect(problems[1]?.message).toContain('line 18');
  });

  test('is not taken where it holds more than js-yaml reads alike', async () => {
    for (const text of ['a: {{ .Values.b }}', '%YAML 1.2\n---\na: 1', 'a: 1\n...\nb: 2', 'a: 1\na: 2', 'a: [1']) {
      expect(await readQuickly(text)).toBeNull();
    }
  });
});
