import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Value } from './value.ts';

/** A node of a property tree: see the README beside the data. */
export interface TreeNode {
  readonly type?: string;
  readonly shape?: string;
  readonly properties?: Readonly<Record<string, TreeNode>>;
  readonly additional?: TreeNode;
  readonly items?: TreeNode;
  readonly enum?: ReadonlyArray<string>;
  readonly open?: boolean;
  readonly anyOf?: ReadonlyArray<TreeNode>;
  readonly discriminator?: string;
  readonly variants?: Readonly<Record<string, TreeNode>>;
  readonly required?: boolean;
  readonly readOnly?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minValue?: number;
  readonly maxValue?: number;
}

/** What is known of a resource type in one version. */
export interface TypeTree {
  readonly body: TreeNode;
  readonly shapes?: Readonly<Record<string, TreeNode>>;
  /** Scopes at which it can be deployed. */
  readonly writableScopes: ReadonlyArray<string>;
  readonly functions?: ReadonlyArray<string>;
}

interface Facts {
  /** Every type and version that may be used. */
  readonly allowed: Readonly<Record<string, ReadonlyArray<string>>>;
  /** The trees of those that are used, by `type@version`. */
  readonly trees: Readonly<Record<string, TypeTree>>;
}

export const facts = JSON.parse(readFileSync(join(import.meta.dirname, '../data/arm-types.json'), 'utf8')) as Facts;

/** Properties that belong to the URL of a PUT. */
const OF_THE_URL = new Set(['id', 'name', 'type', 'apiVersion']);

/** What of a body its type does not allow. */
export function misfits({ body, shapes = {} }: TypeTree, value: Value): ReadonlyArray<string> {
  return fit(shapes, body, value, '');
}

type Shapes = Readonly<Record<string, TreeNode>>;

function resolved(shapes: Shapes, node: TreeNode): TreeNode {
  if (node.shape === undefined) return node;
  // The flags beside a shape still count.
  const { required = false, readOnly = false } = node;
  return { ...resolved(shapes, shapes[node.shape] ?? {}), required, readOnly };
}

function fit(shapes: Shapes, unresolved: TreeNode, value: Value, path: string): ReadonlyArray<string> {
  const node = resolved(shapes, unresolved);
  if (value.kind === 'either') return value.values.flatMap((one) => fit(shapes, node, one, path));
  if (node.anyOf !== undefined) {
    const tries = node.anyOf.map((one) => fit(shapes, one, value, path));
    return tries.toSorted((a, b) => a.length - b.length)[0] ?? [];
  }
  switch (value.kind) {
    case 'literal':
      return fitLiteral(node, value.value, path);
    case 'array':
      if (!isOfType(node, 'array')) return [`${path}: is not of type ${node.type}`];
      return value.items.flatMap((one, index) => fit(shapes, node.items ?? {}, one, `${path}[${index}]`));
    case 'object':
      if (!isOfType(node, 'object')) return [`${path}: is not of type ${node.type}`];
      return fitObject(shapes, node, value, path);
    case 'unknown':
      return value.type === null || isOfType(node, BICEP_TYPES[value.type] ?? 'any')
        ? []
        : [`${path}: is not of type ${node.type}, but ${value.type}`];
    default:
      return value satisfies never;
  }
}

const BICEP_TYPES: Readonly<Record<string, string>> = {
  array: 'array',
  bool: 'boolean',
  int: 'integer',
  object: 'object',
  string: 'string',
};

function isOfType({ type = 'any' }: TreeNode, wanted: string): boolean {
  return type === wanted || type === 'any' || wanted === 'any';
}

function fitLiteral(node: TreeNode, value: string | number | boolean | null, path: string): ReadonlyArray<string> {
  if (value === null) return node.required === true ? [`${path}: is required, and null`] : [];
  const type = typeof value === 'number' ? 'integer' : typeof value;
  if (!isOfType(node, type)) return [`${path}: is not of type ${node.type}`];
  if (typeof value === 'string') return fitText(node, value, path);
  const isInRange = typeof value !== 'number' || isBetween(value, node.minValue, node.maxValue);
  return isInRange ? [] : [`${path}: ${value} is out of range`];
}

function fitText(node: TreeNode, text: string, path: string): ReadonlyArray<string> {
  // Of an open list the service may know more; what is not on it is a slip more likely.
  const isKnown = node.enum?.some((one) => one.toLowerCase() === text.toLowerCase()) ?? true;
  if (!isKnown) return [`${path}: '${text}' is none of ${node.enum?.join(', ')}`];
  return isBetween(text.length, node.minLength, node.maxLength) ? [] : [`${path}: '${text}' is too long or too short`];
}

function isBetween(value: number, least = -Infinity, most = Infinity): boolean {
  return value >= least && value <= most;
}

function fitObject(
  shapes: Shapes,
  node: TreeNode,
  { entries, open }: Extract<Value, { readonly kind: 'object' }>,
  path: string,
): ReadonlyArray<string> {
  const known = propertiesOf(shapes, node, entries);
  const isRoot = path === '';
  const given = [...entries].flatMap(([name, value]) => {
    const rule = known[name] ?? node.additional;
    if (rule === undefined) return [`${path}.${name}: is unknown`];
    if (rule.readOnly === true && !(isRoot && OF_THE_URL.has(name))) return [`${path}.${name}: is read-only`];
    return fit(shapes, rule, value, `${path}.${name}`);
  });
  const missing = Object.entries(known).filter(
    ([name, { required, readOnly }]) => required === true && readOnly !== true && !entries.has(name) && !open,
  );
  return [...given, ...missing.map(([name]) => `${path}.${name}: is missing`)];
}

function propertiesOf(
  shapes: Shapes,
  { properties = {}, discriminator, variants = {} }: TreeNode,
  entries: ReadonlyMap<string, Value>,
): Readonly<Record<string, TreeNode>> {
  if (discriminator === undefined) return properties;
  const chosen = entries.get(discriminator);
  const name = chosen?.kind === 'literal' ? String(chosen.value) : '';
  const variant = resolved(shapes, variants[name] ?? {});
  return { ...properties, ...variant.properties };
}

/** Whether a type has a property at this path; `*` in place of an array's index. */
export function hasPath({ body, shapes = {} }: TypeTree, path: ReadonlyArray<string>): boolean {
  let node: TreeNode = resolved(shapes, body);
  for (const name of path) {
    if (node.type === 'any' || node.anyOf !== undefined) return true;
    const next: TreeNode | undefined = name === '*' ? node.items : (node.properties?.[name] ?? node.additional);
    if (next === undefined) return false;
    node = resolved(shapes, next);
  }
  return true;
}
