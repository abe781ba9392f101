import { isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.ts';

/** Field numbers of gnostic's OpenAPIv2.proto, the only form in which client-go takes /openapi/v2. */
const document = { swagger: 1, info: 2, paths: 8, definitions: 9 };
const operationNumbers = { get: 2, put: 3, post: 4, delete: 5, patch: 8 };
const schema = {
  ref: 1,
  format: 2,
  description: 4,
  required: 19,
  additional: 21,
  type: 22,
  items: 23,
  properties: 25,
  extension: 31,
};

function varint(value: number): Buffer {
  const bytes: Array<number> = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest & 127) | 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** A length-delimited field: text, bytes or an embedded message. */
function field(number: number, value: string | Buffer): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

function flag(number: number): Buffer {
  return Buffer.from([...varint(number * 8), 1]);
}

function named(name: string, value: Buffer): Buffer {
  return Buffer.concat([field(1, name), field(2, value)]);
}

/** A vendor extension; its value travels as YAML, of which JSON is a part. */
function extension(name: string, value: Json): Buffer {
  return named(name, field(2, JSON.stringify(value)));
}

function extensions(of: JsonObject, number: number): Array<Buffer> {
  return Object.entries(of)
    .filter(([key]) => key.startsWith('x-'))
    .map(([key, value]) => field(number, extension(key, value)));
}

function encodeProperties(properties: JsonObject): Buffer {
  const parts = Object.entries(properties).map(([name, value]) => field(1, named(name, encodeSchema(value))));
  return Buffer.concat(parts);
}

function encodeSchema(value: Json): Buffer {
  const parts: Array<Buffer> = [];
  const ref = textAt(value, '$ref');
  if (ref !== '') parts.push(field(schema.ref, ref));
  const format = textAt(value, 'format');
  if (format !== '') parts.push(field(schema.format, format));
  const description = textAt(value, 'description');
  if (description !== '') parts.push(field(schema.description, description));
  for (const name of listAt(value, 'required')) parts.push(field(schema.required, String(name)));
  const additional = isObject(value) ? value['additionalProperties'] : undefined;
  if (isObject(additional)) parts.push(field(schema.additional, field(1, encodeSchema(additional))));
  else if (additional === true) parts.push(field(schema.additional, flag(2)));
  const type = textAt(value, 'type');
  if (type !== '') parts.push(field(schema.type, field(1, type)));
  const items = isObject(value) ? value['items'] : undefined;
  if (isObject(items)) parts.push(field(schema.items, field(1, encodeSchema(items))));
  const properties = objectAt(value, 'properties');
  if (Object.keys(properties).length > 0) parts.push(field(schema.properties, encodeProperties(properties)));
  if (isObject(value)) parts.push(...extensions(value, schema.extension));
  return Buffer.concat(parts);
}

/** A query parameter: required 1, in 2, name 4 of the query variant (3) of a non-body parameter (2). */
function encodeParameter(name: string): Buffer {
  const query = Buffer.concat([field(2, 'query'), field(4, name), field(6, 'string')]);
  return field(1, field(2, field(3, query)));
}

function encodeOperation(operation: JsonObject): Buffer {
  const parameters = listAt(operation, 'parameters').map((parameter) =>
    field(8, encodeParameter(textAt(parameter, 'name'))),
  );
  return Buffer.concat([...parameters, ...extensions(operation, 13)]);
}

function encodePath(path: JsonObject): Buffer {
  const parts = Object.entries(operationNumbers).flatMap(([method, number]) => {
    const operation = path[method];
    return isObject(operation) ? [field(number, encodeOperation(operation))] : [];
  });
  return Buffer.concat(parts);
}

/** The Swagger 2 document as gnostic's protobuf message, as far as kubectl reads it. */
export function encodeOpenApiV2(swagger: JsonObject): Buffer {
  const paths = Object.entries(objectAt(swagger, 'paths')).map(([name, path]) =>
    field(2, named(name, encodePath(isObject(path) ? path : {}))),
  );
  const info = objectAt(swagger, 'info');
  return Buffer.concat([
    field(document.swagger, textAt(swagger, 'swagger')),
    field(document.info, Buffer.concat([field(1, textAt(info, 'title')), field(2, textAt(info, 'version'))])),
    field(document.paths, Buffer.concat(paths)),
    field(document.definitions, encodeProperties(objectAt(swagger, 'definitions'))),
  ]);
}
