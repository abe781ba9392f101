import { readFileSync } from 'node:fs';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { parseAllDocuments } from 'yaml';
import type { Assignment } from './assignment.ts';
import { nearNames } from './near-names.ts';

const Scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);
const Scalars = Type.Record(Type.String(), Scalar);
/** Lists and maps stand for what is written with commas and colons on the command line. */
const Structured = Type.Record(Type.String(), Type.Union([Scalar, Type.Array(Scalar), Scalars]));

/** What a file of orders may have. */
const Config = Type.Object({
  settings: Type.Optional(Scalars),
  azure: Type.Optional(Structured),
  quota: Type.Optional(Scalars),
});
type Config = Static<typeof Config>;

const SECTIONS = Object.keys(Config.properties);

/** What a file orders, as if it had come from the command line. */
export interface GivenConfig {
  readonly settings: ReadonlyArray<Assignment>;
  readonly azure: ReadonlyArray<Assignment>;
  readonly quota: ReadonlyArray<Assignment>;
}

/** Reads a YAML or JSON file. Throws an Error that names the file, the field and the fix. */
export function readConfig(path: string): GivenConfig {
  const { settings = {}, azure = {}, quota = {} } = parseConfig(path, parseDocument(path));
  const assignments = (section: string, values: Config['azure'] = {}): ReadonlyArray<Assignment> =>
    Object.entries(values).map(([name, value]) => ({
      field: `${path}: ${section}.${name}`,
      name,
      value: renderValue(value),
    }));
  return {
    settings: assignments('settings', settings),
    azure: assignments('azure', azure),
    quota: assignments('quota', quota),
  };
}

function parseDocument(path: string): unknown {
  const documents = parseAllDocuments(readText(path));
  const [document, ...more] = Array.isArray(documents) ? documents : [];
  if (more.length > 0) throw new Error(`${path}: holds ${more.length + 1} documents: give one`);
  const [error] = document?.errors ?? [];
  // The parser shows the place in the lines after its first.
  if (error !== undefined) throw new Error(`${path}: ${error.message.split('\n', 1)[0]?.replace(/:$/, '') ?? ''}`);
  return document?.toJS() ?? {};
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : 'it cannot be read';
    throw new Error(`${path}: ${why}: give a YAML or JSON file with --config`, { cause });
  }
}

function parseConfig(path: string, value: unknown): Config {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${path}: is no map: write ${SECTIONS.join(', ')} in it`);
  }
  const unknown = Object.keys(value).find((name) => !SECTIONS.includes(name));
  if (unknown !== undefined) {
    const [near] = nearNames(unknown, SECTIONS);
    throw new Error(
      `${path}: ${unknown}: ${near === undefined ? `write ${SECTIONS.join(', ')}` : `did you mean ${near}?`}`,
    );
  }
  if (Value.Check(Config, value)) return value;
  const wrong = SECTIONS.flatMap((name) => wrongField(name, Reflect.get(value, name)));
  throw new Error(wrong.map((problem) => `${path}: ${problem}`).join('\n'));
}

/** The schema says that a section is wrong; this says where. */
function wrongField(section: string, value: unknown): ReadonlyArray<string> {
  const schema = section === 'azure' ? Structured : Scalars;
  if (value === undefined || Value.Check(schema, value)) return [];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [`${section}: write a map of names and values in it`];
  }
  return Object.entries(value).flatMap(([name, one]) => {
    if (Value.Check(schema, { [name]: one })) return [];
    const fix = one === null ? 'it has no value: write one, or leave it out' : 'write a text, a number, true or false';
    return [`${section}.${name}: ${fix}`];
  });
}

/** `[a, b]` as `a,b`; `{a: b}` as `a:b`. */
function renderValue(value: Static<typeof Structured>[string]): string {
  if (Array.isArray(value)) return value.join(',');
  if (typeof value !== 'object') return String(value);
  return Object.entries(value)
    .map(([name, one]) => `${name}:${String(one)}`)
    .join(',');
}
