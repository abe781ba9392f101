import { canonicalJson, isObject, type Json, type JsonObject } from '../json.ts';
import type { SchemaNode } from '../schema/schema-node.ts';

/**
 * A set of field paths in the form of FieldsV1: `f:name` for fields, `k:{…}` for items of keyed lists, `v:…` for values
 * of sets; `.` says that the place itself belongs to the set beside what is below it, and {} that nothing is below.
 */
export type FieldSet = JsonObject;

/** A list's item with its path element. */
export interface KeyedItem {
  readonly element: string;
  readonly item: Json;
}

/** True where the set holds the place itself. */
function holdsSelf(set: FieldSet): boolean {
  return Object.keys(set).length === 0 || set['.'] !== undefined;
}

function childrenOf(set: FieldSet): ReadonlyArray<readonly [string, FieldSet]> {
  return Object.entries(set).flatMap(([key, child]) => (key !== '.' && isObject(child) ? [[key, child] as const] : []));
}

function build(self: boolean, children: ReadonlyArray<readonly [string, FieldSet]>): FieldSet | null {
  if (children.length === 0) return self ? {} : null;
  return { ...(self ? { '.': {} } : {}), ...Object.fromEntries(children) };
}

/** Paths in one of the sets. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  const merged = new Map(childrenOf(a));
  for (const [key, child] of childrenOf(b)) {
    const mine = merged.get(key);
    merged.set(key, mine === undefined ? child : union(mine, child));
  }
  return build(holdsSelf(a) || holdsSelf(b), [...merged]) ?? {};
}

/** Paths of `a` that are not in `b`; null when none is left. */
export function difference(a: FieldSet, b: FieldSet): FieldSet | null {
  const children = childrenOf(a).flatMap(([key, child]) => {
    const other = b[key];
    const left = isObject(other) ? difference(child, other) : child;
    return left === null ? [] : [[key, left] as const];
  });
  return build(holdsSelf(a) && !holdsSelf(b), children);
}

/** Paths in both sets; null when there is none. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet | null {
  const children = childrenOf(a).flatMap(([key, child]) => {
    const other = b[key];
    const both = isObject(other) ? intersection(child, other) : null;
    return both === null ? [] : [[key, both] as const];
  });
  return build(holdsSelf(a) && holdsSelf(b), children);
}

/** A set whose root is not a path of its own: what {} means at the top. */
export function asRoot(set: FieldSet | null): FieldSet | null {
  return set === null || Object.keys(set).filter((key) => key !== '.').length === 0 ? null : set;
}

function elementText(element: string): string {
  if (element.startsWith('f:')) return `.${element.slice(2)}`;
  if (element.startsWith('v:')) return `[=${element.slice(2)}]`;
  const keys = Object.entries(JSON.parse(element.slice(2)) as JsonObject);
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
}

/** Every path of a set as conflicts print it: `.spec.containers[name="a"].image`. */
export function pathTexts(set: FieldSet, prefix = ''): ReadonlyArray<string> {
  const self = prefix !== '' && holdsSelf(set) ? [prefix] : [];
  return [...self, ...childrenOf(set).flatMap(([key, child]) => pathTexts(child, prefix + elementText(key)))];
}

/** True for lists that server-side apply merges item by item. */
export function isMergedList(node: SchemaNode): boolean {
  return node.type === 'list' && node.listType !== 'atomic';
}

/** True for objects that server-side apply merges field by field. */
export function isMergedObject(node: SchemaNode): boolean {
  return node.type === 'object' && !node.isAtomic;
}

function keyElement(item: JsonObject, node: SchemaNode): string {
  const keys: JsonObject = {};
  for (const key of node.listKeys) {
    const value = item[key] ?? node.items()?.property(key)?.raw['default'];
    if (value !== undefined) keys[key] = value;
  }
  return `k:${canonicalJson(keys)}`;
}

/** The items of a merged list with their path elements. */
export function keyedItems(list: ReadonlyArray<Json>, node: SchemaNode): ReadonlyArray<KeyedItem> {
  return list.map((item) => ({
    item,
    element: node.listType === 'map' && isObject(item) ? keyElement(item, node) : `v:${JSON.stringify(item)}`,
  }));
}

/** The schema of an object's member. */
export function memberNode(node: SchemaNode, key: string): SchemaNode | null {
  return node.property(key) ?? node.additional();
}

/** All paths of a value: leaves, empty objects, and the items of keyed lists themselves. */
export function fieldsOf(value: Json, node: SchemaNode | null): FieldSet {
  if (node === null) return {};
  if (isObject(value) && isMergedObject(node)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, child]) => [`f:${key}`, fieldsOf(child, memberNode(node, key))]),
    );
  }
  if (Array.isArray(value) && isMergedList(node)) {
    return Object.fromEntries(
      keyedItems(value, node).map(({ element, item }) => {
        const below = fieldsOf(item, node.items());
        return [element, Object.keys(below).length === 0 ? {} : { '.': {}, ...below }];
      }),
    );
  }
  return {};
}
