import { copyJson, equalJson, isObject, type Json, type JsonObject, listAt } from '../json.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import { badRequest } from '../status-error.ts';

const directive = '$patch';
const orderPrefix = '$setElementOrder/';
const deletePrefix = '$deleteFromPrimitiveList/';
const retainKeys = '$retainKeys';

function childNode(node: SchemaNode | null, key: string): SchemaNode | null {
  return node?.property(key) ?? node?.additional() ?? null;
}

function mergesLists(node: SchemaNode | null): node is SchemaNode {
  return node !== null && node.mergeStrategies.has('merge');
}

function withoutDirectives(value: Json): Json {
  if (Array.isArray(value)) {
    return value.filter((item) => !isObject(item) || item[directive] !== 'delete').map(withoutDirectives);
  }
  if (!isObject(value)) return value;
  const made: JsonObject = {};
  for (const [key, child] of Object.entries(value)) {
    const isDirective =
      key === directive || key === retainKeys || key.startsWith(orderPrefix) || key.startsWith(deletePrefix);
    if (!isDirective && child !== null) made[key] = withoutDirectives(child);
  }
  return made;
}

/** Order of a merged list: the patch's wish for the items it names, the others stay where they were, new ones last. */
function ordered(items: ReadonlyArray<Json>, order: ReadonlyArray<Json>, keyOf: (item: Json) => Json): Array<Json> {
  if (order.length === 0) return [...items];
  const rank = (item: Json): number => order.findIndex((wanted) => equalJson(wanted, keyOf(item)));
  const named = items.filter((item) => rank(item) >= 0).toSorted((a, b) => rank(a) - rank(b));
  const result: Array<Json> = [];
  let next = 0;
  for (const item of items) {
    if (rank(item) < 0) result.push(item);
    else result.push(named[next++] ?? item);
  }
  return result;
}

interface ListPatch {
  readonly current: ReadonlyArray<Json>;
  readonly patch: ReadonlyArray<Json>;
  readonly order: ReadonlyArray<Json>;
}

function mergeObjects({ current, patch, order }: ListPatch, node: SchemaNode, mergeKey: string): Array<Json> {
  if (patch.some((item) => isObject(item) && item[directive] === 'replace')) {
    return patch.filter((item) => !isObject(item) || item[directive] !== 'replace').map(withoutDirectives);
  }
  const items = [...current];
  for (const item of patch) {
    if (!isObject(item)) throw badRequest('a strategic merge patch list must hold objects here');
    const key = item[mergeKey];
    if (key === undefined) {
      throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${mergeKey}`);
    }
    const index = items.findIndex((existing) => isObject(existing) && equalJson(existing[mergeKey], key));
    if (item[directive] === 'delete') {
      if (index >= 0) items.splice(index, 1);
    } else if (index < 0) items.push(withoutDirectives(item));
    else items[index] = applyStrategicMergePatch(items[index] ?? {}, item, node.items());
  }
  const keyOf = (item: Json): Json => (isObject(item) ? (item[mergeKey] ?? null) : item);
  return ordered(items, order.map(keyOf), keyOf);
}

function mergePrimitives({ current, patch, order }: ListPatch): Array<Json> {
  const added = patch.filter((item) => !current.some((existing) => equalJson(existing, item)));
  return ordered([...current, ...added], order, (item) => item);
}

function mergeList(lists: ListPatch, node: SchemaNode): Array<Json> {
  return node.mergeKey === null ? mergePrimitives(lists) : mergeObjects(lists, node, node.mergeKey);
}

function applyListDirectives(result: JsonObject, patch: JsonObject, node: SchemaNode | null): void {
  for (const key of Object.keys(patch)) {
    if (key.startsWith(deletePrefix)) {
      const field = key.slice(deletePrefix.length);
      const gone = listAt(patch, key);
      result[field] = listAt(result, field).filter((item) => !gone.some((value) => equalJson(value, item)));
    } else if (key.startsWith(orderPrefix) && patch[key.slice(orderPrefix.length)] === undefined) {
      const field = key.slice(orderPrefix.length);
      const list = childNode(node, field);
      if (mergesLists(list) && result[field] !== undefined) {
        result[field] = mergeList({ current: listAt(result, field), patch: [], order: listAt(patch, key) }, list);
      }
    }
  }
  const kept = patch[retainKeys];
  if (!Array.isArray(kept)) return;
  for (const key of Object.keys(result)) if (!kept.includes(key)) delete result[key];
}

/**
 * Applies a strategic merge patch by the schema's merge keys and strategies, with its directives ($patch, $retainKeys,
 * $setElementOrder, $deleteFromPrimitiveList). The answer is new where it differs and shares the rest.
 */
export function applyStrategicMergePatch(current: Json, patch: Json, node: SchemaNode | null): Json {
  if (!isObject(patch)) return withoutDirectives(patch);
  if (patch[directive] === 'replace') return withoutDirectives(patch);
  if (patch[directive] === 'delete') return {};
  const result: JsonObject = isObject(current) ? { ...current } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$')) continue;
    const child = childNode(node, key);
    if (value === null) delete result[key];
    else if (Array.isArray(value) && mergesLists(child)) {
      const order = listAt(patch, `${orderPrefix}${key}`);
      result[key] = mergeList({ current: listAt(result, key), patch: value, order }, child);
    } else if (isObject(value)) result[key] = applyStrategicMergePatch(result[key] ?? {}, value, child);
    else result[key] = copyJson(value);
  }
  applyListDirectives(result, patch, node);
  return result;
}
