import { posix } from 'node:path';
import type { Node } from 'web-tree-sitter';
import { type BicepFile, type BicepFiles, childrenOf, namedOf, textOf } from './parse.ts';

/** What is known of an expression without deploying it. */
export type Value =
  | { readonly kind: 'literal'; readonly value: string | number | boolean | null }
  | { readonly kind: 'array'; readonly items: ReadonlyArray<Value> }
  /** `open`: it may have further properties. */
  | { readonly kind: 'object'; readonly entries: ReadonlyMap<string, Value>; readonly open: boolean }
  | { readonly kind: 'either'; readonly values: ReadonlyArray<Value> }
  /** `type` null: of any. */
  | { readonly kind: 'unknown'; readonly type: string | null };

const ANY: Value = { kind: 'unknown', type: null };

const RETURNS: Readonly<Record<string, string>> = {
  base64ToString: 'string',
  concat: 'array',
  empty: 'bool',
  guid: 'string',
  items: 'array',
  join: 'string',
  length: 'int',
  map: 'array',
  max: 'int',
  replace: 'string',
  resourceId: 'string',
  split: 'array',
  subscriptionResourceId: 'string',
  take: 'string',
  toLower: 'string',
  uniqueString: 'string',
  utcNow: 'string',
};

/** Nested deeper than anything here is nested, and a circle ends. */
const DEPTH_MAX = 40;

/** One kind of expression: its parts, and how to work out a part. */
type Rule = (parts: ReadonlyArray<Node>, on: (node: Node) => Value, node: Node) => Value;

const lastOf: Rule = (parts, on) => parts.slice(-1).map(on)[0] ?? ANY;

const RULES: Readonly<Record<string, Rule>> = {
  string: (_, __, node) => {
    const text = textOf(node);
    return text === null ? { kind: 'unknown', type: 'string' } : { kind: 'literal', value: text };
  },
  number: (_, __, node) => ({ kind: 'literal', value: Number(node.text) }),
  boolean: (_, __, node) => ({ kind: 'literal', value: node.text === 'true' }),
  null: () => ({ kind: 'literal', value: null }),
  array: (parts, on) => ({ kind: 'array', items: parts.map(on) }),
  object: objectOf,
  parenthesized_expression: lastOf,
  if_statement: lastOf,
  for_statement: (parts, on) => ({ kind: 'array', items: parts.slice(-1).map(on) }),
  ternary_expression: (parts, on) => ({ kind: 'either', values: parts.slice(1).map(on) }),
  unary_expression: () => ({ kind: 'unknown', type: 'bool' }),
  binary_expression: (parts, on, node) =>
    childrenOf(node).some(({ type }) => type === '??')
      ? { kind: 'either', values: parts.map(on) }
      : { kind: 'unknown', type: 'bool' },
  call_expression: callOf,
};

/** Works out an expression of a file. Modules' outputs are known by their types only. */
export function evaluate(files: BicepFiles, file: BicepFile, node: Node, depth = 0): Value {
  if (depth > DEPTH_MAX) return ANY;
  const on = (next: Node): Value => evaluate(files, file, next, depth + 1);
  if (node.type === 'identifier') return namedValue(files, file, node.text, depth);
  if (node.type === 'member_expression') return memberOf(files, file, node, on);
  return RULES[node.type]?.(namedOf(node), on, node) ?? ANY;
}

function objectOf(properties: ReadonlyArray<Node>, on: (node: Node) => Value): Value {
  const entries = new Map<string, Value>();
  let open = false;
  for (const property of properties) {
    const [name, value] = namedOf(property);
    const key = name === undefined ? null : name.type === 'string' ? textOf(name) : name.text;
    if (key === null || value === undefined) open = true;
    else entries.set(key, on(value));
  }
  return { kind: 'object', entries, open };
}

function callOf([name, given]: ReadonlyArray<Node>, on: (node: Node) => Value): Value {
  if (name?.text !== 'union' || given === undefined)
    return { kind: 'unknown', type: RETURNS[name?.text ?? ''] ?? null };
  const objects = namedOf(given).map(on);
  // Of lists it is a list, whose elements are those of all.
  if (objects.some((one) => one.kind === 'array')) return { kind: 'unknown', type: 'array' };
  const entries = new Map(objects.flatMap((one) => (one.kind === 'object' ? [...one.entries] : [])));
  return { kind: 'object', entries, open: objects.some((one) => one.kind !== 'object' || one.open) };
}

/** What a variable or parameter of a file may be. */
export function namedValue(files: BicepFiles, file: BicepFile, name: string, depth = 0): Value {
  const variable = file.variables.get(name);
  if (variable !== undefined) return evaluate(files, file, variable, depth + 1);
  const parameter = file.parameters.get(name);
  if (parameter === undefined) return ANY;
  const allowed = parameter.decorators.get('allowed');
  const choices = allowed === undefined ? undefined : namedOf(allowed)[0];
  if (choices === undefined) return { kind: 'unknown', type: parameter.type };
  return { kind: 'either', values: namedOf(choices).map((one) => evaluate(files, file, one, depth + 1)) };
}

function memberOf(files: BicepFiles, file: BicepFile, node: Node, on: (node: Node) => Value): Value {
  const [object, property] = namedOf(node);
  if (object === undefined || property === undefined) return ANY;
  const output = outputOf(files, file, node);
  if (output !== null) return { kind: 'unknown', type: output };
  if (property.text === 'id' || property.text === 'name') return { kind: 'unknown', type: 'string' };
  const known = on(object);
  if (known.kind !== 'object') return ANY;
  return known.entries.get(property.text) ?? ANY;
}

/** The type of `module.outputs.name`; null where the node is not that, or the output does not exist. */
export function outputOf(files: BicepFiles, file: BicepFile, node: Node): string | null {
  const [outputs, name] = namedOf(node);
  const [symbol, word] = outputs?.type === 'member_expression' ? namedOf(outputs) : [];
  if (word?.text !== 'outputs' || symbol === undefined || name === undefined) return null;
  const module = file.declarations.find((one) => one.kind === 'module' && one.symbol === symbol.text);
  if (module === undefined) return null;
  return files.get(pathOf(file, module.target))?.outputs.get(name.text)?.type ?? null;
}

/** A module's path from `infra`, from the file that names it. */
export function pathOf(file: BicepFile, target: string): string {
  return posix.join(posix.dirname(file.path), target);
}

/** The literals that a value may be; null for one that is not known. */
export function literalsOf(value: Value): ReadonlyArray<string | number | boolean | null | undefined> {
  if (value.kind === 'either') return value.values.flatMap(literalsOf);
  return [value.kind === 'literal' ? value.value : undefined];
}

/** A value as plain data. Throws where a part is not known. */
export function plain(value: Value): unknown {
  switch (value.kind) {
    case 'literal':
      return value.value;
    case 'array':
      return value.items.map(plain);
    case 'object':
      return Object.fromEntries([...value.entries].map(([name, one]) => [name, plain(one)]));
    case 'either':
    case 'unknown':
      throw new Error(`not known without deploying: ${JSON.stringify(value)}`);
    default:
      return value satisfies never;
  }
}
