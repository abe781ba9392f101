import type { Document as YamlDocument, YAMLParseError } from 'yaml';
import { fileProblem, type InputProblem } from '../../wrong-input.ts';
import type { Origin } from './origin.ts';
import { parseWithCare, readQuickly } from './read-quickly.ts';
import type { Source } from './read-sources.ts';

/** One value that a file holds. */
export interface SourceDocument {
  readonly origin: Origin;
  readonly value: unknown;
}

/** What a file holds, and what of it could not be read. */
export interface ReadDocuments {
  readonly documents: ReadonlyArray<SourceDocument>;
  readonly problems: ReadonlyArray<InputProblem>;
}

/** Reads JSON, or YAML with any number of documents. Empty documents are left out. Never throws. */
export async function readDocuments({ origin, text }: Source): Promise<ReadDocuments> {
  if (text.trim() === '') return { documents: [], problems: [] };
  const json = parseJson(text);
  if (json.kind === 'value') return { documents: [{ origin, value: json.value }], problems: [] };
  // YAML's grammar includes JSON's; for a file that says it is JSON, YAML's words about it would puzzle.
  if (json.kind === 'wrong' && /\.json$/i.test(origin))
    return { documents: [], problems: [notJson(origin, json.message)] };
  const read = await readYaml({ origin, text });
  // What begins like JSON and is not YAML either was meant as JSON.
  return json.kind === 'wrong' && read.problems.length > 0 && /^\s*\{\s*"/.test(text)
    ? { documents: [], problems: [notJson(origin, json.message)] }
    : read;
}

type Json =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'wrong'; readonly message: string }
  | { readonly kind: 'other' };

function parseJson(text: string): Json {
  if (!/^\s*[[{]/.test(text)) return { kind: 'other' };
  try {
    return { kind: 'value', value: JSON.parse(text) };
  } catch (error) {
    return { kind: 'wrong', message: error instanceof Error ? error.message : String(error) };
  }
}

function notJson(origin: Origin, message: string): InputProblem {
  return fileProblem(origin, `is not JSON: ${message}`, 'correct it there');
}

/**
 * Parsers are loaded only where they are needed: lists that kubectl writes are JSON, and a tenth of a second counts.
 */
async function readYaml({ origin, text }: Source): Promise<ReadDocuments> {
  const values = await readQuickly(text);
  if (values === null) return readThoroughly({ origin, text });
  const documents = values.map((value, index) => ({ origin: placeOf(origin, index, values.length), value }));
  return { documents: documents.filter(({ value }) => value !== null), problems: [] };
}

function placeOf(origin: Origin, index: number, count: number): Origin {
  return count > 1 ? `${origin}, document ${index + 1}` : origin;
}

async function readThoroughly({ origin, text }: Source): Promise<ReadDocuments> {
  const all = await parseWithCare(text);
  const documents: Array<SourceDocument> = [];
  const problems: Array<InputProblem> = [];
  for (const [index, document] of all.entries()) {
    const place = placeOf(origin, index, all.length);
    const [error] = document.errors;
    if (error !== undefined) problems.push(notYaml(place, error, text.includes('{{')));
    else addValue(document, place, documents, problems);
  }
  return { documents, problems };
}

function addValue(
  document: YamlDocument,
  origin: Origin,
  documents: Array<SourceDocument>,
  problems: Array<InputProblem>,
): void {
  try {
    const value: unknown = document.toJS();
    if (value !== null && value !== undefined) documents.push({ origin, value });
  } catch {
    // An alias that names nothing, or aliases of aliases that would fill the memory.
    problems.push(fileProblem(origin, 'has an alias (*name) that cannot be followed', 'write the value out'));
  }
}

function notYaml(origin: Origin, error: YAMLParseError, isTemplate: boolean): InputProblem {
  const [message = ''] = error.message.split('\n', 1);
  const fix = isTemplate ? 'it holds {{ }}: render the template first, as with helm template' : 'correct it there';
  return fileProblem(origin, `is not YAML: ${message.replace(/:$/, '')}`, fix);
}
