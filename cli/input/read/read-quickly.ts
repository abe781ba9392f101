import type { Document as YamlDocument } from 'yaml';

/**
 * Reads plain YAML by js-yaml, in a tenth of the time of `yaml`: one value for each document, null for an empty one.
 * Null where js-yaml refuses something, or documents are not merely parted by `---`: `yaml` says then what is wrong,
 * and where. The two differ in keys that are null and in numbers larger than doubles are, neither of which Kubernetes
 * takes.
 */
export async function readQuickly(text: string): Promise<ReadonlyArray<unknown> | null> {
  const { loadAll } = await import('js-yaml');
  const values: Array<unknown> = [];
  for (const part of partsOf(text)) {
    // Aliases of aliases fill the memory, and merge keys are no part of YAML: `yaml` bounds the ones and knows the
    // others.
    const found = NEEDS_CARE.test(part) ? await readWithCare(part) : readPlain(loadAll, part);
    if (found === null || found.length > 1) return null;
    values.push(found[0] ?? null);
  }
  return values;
}

function readPlain(loadAll: (text: string) => ReadonlyArray<unknown>, part: string): ReadonlyArray<unknown> | null {
  try {
    return loadAll(part);
  } catch {
    return null;
  }
}

/**
 * What looks like an alias or a tag, and merge keys. It may be found where none is, which costs time and nothing else.
 */
const NEEDS_CARE = /(?:^|[\s[{,:-])[*!]\S|<</m;

/** Begins a document, also in the middle of a text in quotes or of a block. */
const DOCUMENT = /^(?=---(?:\s|$))/m;

/** Documents as text. What comes before the first mark is none where it is empty but for comments. */
function partsOf(text: string): ReadonlyArray<string> {
  const [first = '', ...rest] = text.split(DOCUMENT);
  return first.startsWith('---') || /^\s*[^\s#]/m.test(first) ? [first, ...rest] : rest;
}

/** Null where anything is wrong. */
async function readWithCare(part: string): Promise<ReadonlyArray<unknown> | null> {
  const parsed = await parseWithCare(part);
  if (parsed.length === 0 || parsed.some(({ errors }) => errors.length > 0)) return null;
  try {
    return parsed.map((document): unknown => document.toJS());
  } catch {
    return null;
  }
}

/** By `yaml`: documents with what is wrong in them, and where. None for text without any. */
export async function parseWithCare(text: string): Promise<ReadonlyArray<YamlDocument>> {
  const { parseAllDocuments } = await import('../../yaml.ts');
  const parsed = parseAllDocuments(text, { merge: true, logLevel: 'silent' });
  return Array.isArray(parsed) ? parsed : [];
}
