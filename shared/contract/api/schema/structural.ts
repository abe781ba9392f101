import { isRecord } from './object-meta.ts';
import type { Keywords } from './schema.ts';
import { didYouMean, wordMeant } from '../../../kubernetes/text/word-meant.ts';
import type { Problem } from './validation-error.ts';

/**
 * The part of JSON Schema that a CRD may use, read the way the API server reads it. Interpreted, not compiled: a cold
 * start pays for one object, not for every kind. Kept honest by the contract tests on a real API server.
 */
export interface StructuralSchema extends Keywords {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly required?: ReadonlyArray<string>;
  readonly additionalProperties?: StructuralSchema;
  readonly items?: StructuralSchema;
  readonly enum?: ReadonlyArray<string>;
  readonly anyOf?: ReadonlyArray<StructuralSchema>;
  readonly 'x-kubernetes-int-or-string'?: boolean;
}

/** What reading a value by a schema gave. */
export interface Reading {
  /** The value with defaults filled in and unknown fields left out; a copy. Of use only when there are no problems. */
  readonly value: unknown;
  readonly problems: ReadonlyArray<Problem>;
  /**
   * Paths of fields that the schema does not know, with the one that was probably meant: dropped by the API server,
   * refused by a strict client.
   */
  readonly unknown: ReadonlyArray<string>;
}

interface Sink {
  readonly problems: Array<Problem>;
  readonly unknown: Array<string>;
}

/** Reads `value` by `schema`. With `previous`, the same field of the stored object, changes are judged too. */
export function readBySchema(schema: StructuralSchema, value: unknown, path: string, previous?: unknown): Reading {
  const sink: Sink = { problems: [], unknown: [] };
  const read = readNode(schema, value, path, sink);
  if (sink.problems.length > 0) return { value: read, ...sink };
  // What is stored has its defaults; a previous object that never was stored gets them here.
  const old = previous === undefined ? undefined : readNode(schema, previous, path, { problems: [], unknown: [] });
  obeyRules(schema, { self: read, old, path }, sink);
  return { value: read, ...sink };
}

function report(sink: Sink, path: string, message: string, fix: string): void {
  sink.problems.push({ path, message, fix, layer: 'schema' });
}

function readNode(schema: StructuralSchema, value: unknown, path: string, sink: Sink): unknown {
  if (schema['x-kubernetes-int-or-string'] === true) return readQuantity(schema, value, path, sink);
  const read = readers[schema.type ?? ''] ?? readFlag;
  return read(schema, value, path, sink);
}

type Reader = (schema: StructuralSchema, value: unknown, path: string, sink: Sink) => unknown;

const readers: Readonly<Record<string, Reader>> = {
  object: readObject,
  array: readList,
  string: readText,
  integer: readInteger,
};

function readFlag(_schema: StructuralSchema, value: unknown, path: string, sink: Sink): unknown {
  if (typeof value !== 'boolean') report(sink, path, `is ${nameOf(value)}`, 'write true or false, without quotes');
  return value;
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`;
}

function readObject(schema: StructuralSchema, value: unknown, path: string, sink: Sink): unknown {
  if (!isRecord(value)) {
    report(sink, path, `is ${nameOf(value)}`, 'write a map of fields');
    return value;
  }
  const result: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(value)) readField({ schema, path, result }, key, field, sink);
  fillDefaults({ schema, path, result }, sink);
  for (const key of schema.required ?? []) {
    if (Object.hasOwn(result, key)) continue;
    report(sink, join(path, key), 'is missing', schema.properties?.[key]?.fix ?? 'set it');
  }
  if (Object.keys(result).length > (schema.maxProperties ?? Infinity)) {
    report(sink, path, `has more than ${schema.maxProperties} entries`, 'remove some');
  }
  return result;
}

/** An object while it is read. */
interface Target {
  readonly schema: StructuralSchema;
  readonly path: string;
  readonly result: Record<string, unknown>;
}

function readField({ schema, path, result }: Target, key: string, field: unknown, sink: Sink): void {
  const known = schema.properties ?? {};
  const fieldSchema = Object.hasOwn(known, key) ? known[key] : schema.additionalProperties;
  const fieldPath = schema.additionalProperties === undefined ? join(path, key) : `${path}[${key}]`;
  if (fieldSchema === undefined) sink.unknown.push(`${fieldPath}${didYouMean(key, Object.keys(known))}`);
  // The API server drops a null where the field may not be null, and a default then fills the gap.
  else if (field !== null && field !== undefined) put(result, key, readNode(fieldSchema, field, fieldPath, sink));
}

function fillDefaults({ schema, path, result }: Target, sink: Sink): void {
  for (const [key, fieldSchema] of Object.entries(schema.properties ?? {})) {
    if (fieldSchema.default === undefined || Object.hasOwn(result, key)) continue;
    put(result, key, readNode(fieldSchema, fieldSchema.default, join(path, key), sink));
  }
}

/** Sets an own property, also where the key is `__proto__`. */
function put(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function readList(schema: StructuralSchema, value: unknown, path: string, sink: Sink): unknown {
  if (!Array.isArray(value)) {
    report(sink, path, `is ${nameOf(value)}`, 'write a list');
    return value;
  }
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    report(sink, path, `has more than ${schema.maxItems} items`, 'remove some');
    return value;
  }
  const items = schema.items ?? {};
  const result = value.map((item: unknown, index) => readNode(items, item, `${path}[${index}]`, sink));
  const seen = new Set<string>();
  for (const [index, item] of result.entries()) {
    const identity = identityOf(schema, item);
    if (identity === null) continue;
    if (seen.has(identity)) report(sink, `${path}[${index}]`, `repeats ${identity}`, 'keep one of them');
    seen.add(identity);
  }
  return result;
}

function identityOf(schema: StructuralSchema, item: unknown): string | null {
  const listType = schema['x-kubernetes-list-type'];
  if (listType === 'set') return JSON.stringify(item);
  if (listType !== 'map' || !isRecord(item)) return null;
  return JSON.stringify((schema['x-kubernetes-list-map-keys'] ?? []).map((key) => item[key]));
}

function readText(schema: StructuralSchema, value: unknown, path: string, sink: Sink): unknown {
  if (typeof value !== 'string') {
    report(sink, path, `is ${nameOf(value)}`, 'write a string, in quotes where it looks like a number');
    return value;
  }
  if (schema.enum?.includes(value) === false) {
    report(sink, path, `${JSON.stringify(value)} is not a choice here`, choiceFix(value, schema.enum));
  }
  matchLength(schema, value, path, sink);
  matchPattern(schema, value, path, sink);
  if (schema.format === 'date-time' && !DATE_TIME.test(value)) {
    report(sink, path, `${JSON.stringify(value)} is not a time`, 'write it as 2006-01-02T15:04:05Z');
  }
  return value;
}

/** Values of earlier versions, and what says the same now. Source: Karpenter's guide of the migration to v1. */
const FORMER_CHOICES: Readonly<Record<string, string>> = { WhenUnderutilized: 'WhenEmptyOrUnderutilized' };

/** The value that was meant, where it can be told, and all that there are. */
export function choiceFix(value: string, choices: ReadonlyArray<string>): string {
  const former = Object.hasOwn(FORMER_CHOICES, value) ? FORMER_CHOICES[value] : undefined;
  const now = former !== undefined && choices.includes(former) ? former : wordMeant(value, choices);
  const all = `use one of ${choices.join(', ')}`;
  return now === null ? all : `did you mean ${now}? ${all}`;
}

function matchLength(schema: StructuralSchema, value: string, path: string, sink: Sink): void {
  if (schema.minLength === undefined && schema.maxLength === undefined) return;
  const length = countCodePoints(value);
  if (length < (schema.minLength ?? 0)) report(sink, path, 'is empty', 'write something');
  if (length > (schema.maxLength ?? Infinity)) {
    report(sink, path, `is longer than ${schema.maxLength} characters`, 'shorten it');
  }
}

/** The length of a text as the API server counts it, in patterns' bounds and in CEL. */
export function countCodePoints(text: string): number {
  return Array.from(text).length;
}

const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/u;
const compiledPatterns = new Map<string, RegExp>();

function matchPattern(schema: StructuralSchema, value: string, path: string, sink: Sink): void {
  if (schema.pattern === undefined || compile(schema.pattern).test(value)) return;
  report(sink, path, `${JSON.stringify(value)} does not have the right form`, schema.fix ?? `match ${schema.pattern}`);
}

/** Patterns are RE2's; the one thing here that JavaScript spells differently is the leading flag. */
function compile(pattern: string): RegExp {
  const known = compiledPatterns.get(pattern);
  if (known !== undefined) return known;
  const insensitive = pattern.startsWith('(?i)');
  const compiled = insensitive ? new RegExp(pattern.slice(4), 'i') : new RegExp(pattern);
  compiledPatterns.set(pattern, compiled);
  return compiled;
}

/** Largest absolute values of integer formats, by their names in schemas; both are exact in JavaScript's numbers. */
const formatBounds: Readonly<Record<string, number>> = { int32: 2 ** 31, int64: 2 ** 63 };

function readInteger(schema: StructuralSchema, value: unknown, path: string, sink: Sink): unknown {
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    report(sink, path, `is ${Number.isFinite(value) ? 'not a whole number' : nameOf(value)}`, 'write a whole number');
    return value;
  }
  const bound = formatBounds[schema.format ?? ''] ?? Infinity;
  const minimum = schema.minimum ?? -bound;
  const maximum = schema.maximum ?? bound - 1;
  if (value < minimum) report(sink, path, `is less than ${minimum}`, 'raise it');
  // Above 2^53 a bound less one rounds to the bound itself, which is out.
  if (value > maximum || value >= bound) report(sink, path, `is more than ${maximum}`, 'lower it');
  return value;
}

function readQuantity(schema: StructuralSchema, value: unknown, path: string, sink: Sink): unknown {
  if (typeof value === 'string') matchPattern(schema, value, path, sink);
  else if (!Number.isInteger(value)) report(sink, path, `is ${nameOf(value)}`, schema.fix ?? 'write a quantity');
  return value;
}

interface Change {
  readonly self: unknown;
  readonly old: unknown;
  readonly path: string;
}

interface FieldsChange extends Change {
  readonly self: Readonly<Record<string, unknown>>;
}

/** Runs the rules of `schema` and of everything below it. The API server too asks them only of well-typed values. */
function obeyRules(schema: StructuralSchema, change: Change, sink: Sink): void {
  const { self, old, path } = change;
  for (const each of schema['x-kubernetes-validations'] ?? []) {
    const obeys = each.keeps === null || old === undefined ? each.holds(self) : each.keeps(self, old);
    if (!obeys) report(sink, path, each.message, each.fix(self));
  }
  if (Array.isArray(self)) {
    // Only items of list-maps are correlated with older ones, and no rule below one here looks back.
    for (const [index, item] of self.entries()) {
      obeyRules(schema.items ?? {}, { self: item, old: undefined, path: `${path}[${index}]` }, sink);
    }
  } else if (isRecord(self)) obeyFieldRules(schema, { self, old, path }, sink);
}

function obeyFieldRules(schema: StructuralSchema, { self, old, path }: FieldsChange, sink: Sink): void {
  for (const [key, fieldSchema] of Object.entries(schema.properties ?? {})) {
    if (!Object.hasOwn(self, key)) continue;
    const previous = isRecord(old) ? old[key] : undefined;
    obeyRules(fieldSchema, { self: self[key], old: previous, path: join(path, key) }, sink);
  }
}
