import { isObject, type Json, type JsonObject } from '../json.ts';
import { badRequest } from '../status-error.ts';
import { canonicalQuantity } from './quantity.ts';
import type { SchemaNode, ValueType } from './schema-node.ts';

/** A decoded object and the fields that its schema does not know, as `spec.containers[0].foo`. */
export interface Decoded {
  readonly object: JsonObject;
  readonly unknownFields: ReadonlyArray<string>;
}

interface Walk {
  readonly unknownFields: Array<string>;
  /** Built-ins reject a value of the wrong type here; custom resources do so in validation, with better words. */
  readonly typed: boolean;
}

/** Nothing in a real object nests deeper; stops hostile input before the stack ends. */
const MAX_DEPTH = 100;

const goNames: Readonly<Partial<Record<ValueType, string>>> = {
  text: 'string',
  integer: 'int32',
  number: 'float64',
  boolean: 'bool',
  list: 'slice',
  object: 'struct',
};

function nameOfType(value: Json): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
}

const accepts: Readonly<Record<ValueType, (value: Json) => boolean>> = {
  object: isObject,
  list: (value) => Array.isArray(value),
  text: (value) => typeof value === 'string',
  integer: (value) => Number.isInteger(value),
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  'text-or-number': (value) => typeof value === 'string' || Number.isInteger(value),
  quantity: (value) => typeof value === 'string' || typeof value === 'number',
  any: () => true,
};

function decodeObject(value: JsonObject, node: SchemaNode, path: string, walk: Walk): JsonObject {
  const made: JsonObject = {};
  const additional = node.additional();
  for (const [key, child] of Object.entries(value)) {
    const schema = node.property(key) ?? additional;
    const childPath = path === '' ? key : `${path}.${key}`;
    if (schema === null || schema === undefined) {
      if (node.keepsUnknown) made[key] = child;
      else walk.unknownFields.push(childPath);
      continue;
    }
    if (child === null && walk.typed) continue;
    made[key] = decodeValue(child, schema, childPath, walk);
  }
  return made;
}

function decodeValue(value: Json, node: SchemaNode, path: string, walk: Walk): Json {
  if (path.length > 4096 || path.split('.').length > MAX_DEPTH) throw badRequest('the object nests too deeply');
  if (!accepts[node.type](value)) {
    if (!walk.typed) return value;
    const want = goNames[node.type] ?? node.type;
    throw badRequest(`json: cannot unmarshal ${nameOfType(value)} into Go struct field .${path} of type ${want}`);
  }
  if (node.type === 'quantity') return walk.typed ? canonicalQuantity(String(value), path) : value;
  if (Array.isArray(value)) {
    const items = node.items();
    if (items === null || node.type === 'any') return value;
    return value.map((item, index) => decodeValue(item, items, `${path}[${index}]`, walk));
  }
  if (isObject(value) && node.type === 'object') return decodeObject(value, node, path, walk);
  return value;
}

/**
 * Reads `object` by its schema: drops fields the schema does not know (and reports them), and for built-ins (`typed`)
 * drops nulls, writes quantities canonically and throws BadRequest for values of the wrong type. Shares untouched
 * parts.
 */
export function decodeObjectBySchema(object: JsonObject, node: SchemaNode, typed: boolean): Decoded {
  const walk: Walk = { unknownFields: [], typed };
  const { metadata, ...rest } = object;
  const decoded = decodeObject(rest, node, '', walk);
  const metadataNode = node.property('metadata');
  if (metadataNode !== undefined && isObject(metadata)) {
    decoded['metadata'] = decodeObject(metadata, metadataNode, 'metadata', { ...walk, typed: true });
  }
  return { object: decoded, unknownFields: walk.unknownFields };
}
