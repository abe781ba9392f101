import { isObject, type Json, type JsonObject } from '../json.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import { type FieldSet, isMergedList, isMergedObject, keyedItems, memberNode } from '../fields/field-set.ts';

function mergeLists(live: ReadonlyArray<Json>, applied: ReadonlyArray<Json>, node: SchemaNode): Array<Json> {
  const wanted = new Map(keyedItems(applied, node).map(({ element, item }) => [element, item]));
  const merged = keyedItems(live, node).map(({ element, item }) => {
    const mine = wanted.get(element);
    wanted.delete(element);
    return mine === undefined ? item : mergeApplied(item, mine, node.items());
  });
  return [...merged, ...wanted.values()];
}

/** The live value with what was applied written over it, field by field and item by item where the schema merges. */
export function mergeApplied(live: Json | undefined, applied: Json, node: SchemaNode | null): Json {
  if (node === null || live === undefined || live === null) return applied;
  if (isObject(applied) && isObject(live) && isMergedObject(node)) {
    const merged: JsonObject = { ...live };
    for (const [key, value] of Object.entries(applied))
      merged[key] = mergeApplied(live[key], value, memberNode(node, key));
    return merged;
  }
  if (Array.isArray(applied) && Array.isArray(live) && isMergedList(node)) return mergeLists(live, applied, node);
  return applied;
}

function isWhole(set: FieldSet): boolean {
  return Object.keys(set).length === 0 || set['.'] !== undefined;
}

function removeFromList(list: ReadonlyArray<Json>, gone: FieldSet, node: SchemaNode): Json | undefined {
  const left = keyedItems(list, node).flatMap(({ element, item }) => {
    const paths = gone[element];
    if (!isObject(paths)) return [item];
    const rest = isWhole(paths) ? undefined : removePaths(item, paths, node.items());
    return rest === undefined ? [] : [rest];
  });
  return left.length === 0 ? undefined : left;
}

/** The value without the given paths; undefined when nothing is left of it. */
export function removePaths(value: Json, gone: FieldSet, node: SchemaNode | null): Json | undefined {
  if (node === null) return value;
  if (Array.isArray(value) && isMergedList(node)) return removeFromList(value, gone, node);
  if (!isObject(value) || !isMergedObject(node)) return value;
  const left: JsonObject = {};
  for (const [key, child] of Object.entries(value)) {
    const paths = gone[`f:${key}`];
    const isLeaf = isObject(paths) && Object.keys(paths).length === 0;
    const rest = isObject(paths) ? (isLeaf ? undefined : removePaths(child, paths, memberNode(node, key))) : child;
    if (rest !== undefined) left[key] = rest;
  }
  return Object.keys(left).length === 0 ? undefined : left;
}
