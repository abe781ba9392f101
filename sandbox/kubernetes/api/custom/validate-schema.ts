import { canonicalJson, isObject, type Json, type JsonObject, listAt, numberAt, objectAt, textAt } from '../json.ts';
import { type Cause, duplicate, invalidValue, notSupported, required } from '../status-error.ts';
import { formatProblem } from './formats.ts';

function typeName(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function hasType(value: Json, schema: JsonObject): boolean {
  if (value === null) return schema['nullable'] === true;
  if (schema['x-kubernetes-int-or-string'] === true) return typeof value === 'string' || Number.isInteger(value);
  const wanted = textAt(schema, 'type');
  const actual = typeName(value);
  return wanted === '' || wanted === actual || (wanted === 'number' && actual === 'integer');
}

function typeCause(value: Json, schema: JsonObject, path: string): Cause {
  const wanted = schema['x-kubernetes-int-or-string'] === true ? 'integer,string' : textAt(schema, 'type');
  const name = path.slice(path.lastIndexOf('.') + 1) === '' ? path : path;
  const actual = typeName(value);
  return {
    reason: 'FieldValueTypeInvalid',
    field: path,
    message: `Invalid value: ${JSON.stringify(actual === 'null' ? 'null' : actual)}: ${name} in body must be of type ${wanted}: ${JSON.stringify(actual)}`,
  };
}

/** Characters, not UTF-16 units, as Go's rune count. */
function runeLength(text: string): number {
  let length = 0;
  for (const _rune of text) length += 1;
  return length;
}

const patterns = new Map<string, RegExp | null>();

/** Go's RE2 patterns that JavaScript cannot read are taken as matching. */
function patternOf(text: string): RegExp | null {
  const known = patterns.get(text);
  if (known !== undefined) return known;
  let made: RegExp | null = null;
  try {
    made = new RegExp(text.replace(/^\(\?i\)/, ''), text.startsWith('(?i)') ? 'iu' : 'u');
  } catch {
    try {
      made = new RegExp(text);
    } catch {
      made = null;
    }
  }
  patterns.set(text, made);
  return made;
}

function textCauses(value: string, schema: JsonObject, path: string): ReadonlyArray<Cause> {
  const causes: Array<Cause> = [];
  const max = schema['maxLength'];
  const min = schema['minLength'];
  const length = runeLength(value);
  if (typeof max === 'number' && length > max) {
    causes.push({ reason: 'FieldValueTooLong', field: path, message: `Too long: may not be more than ${max} bytes` });
  }
  if (typeof min === 'number' && length < min) {
    causes.push(invalidValue(path, value, `${path} in body should be at least ${min} chars long`));
  }
  const pattern = textAt(schema, 'pattern');
  if (pattern !== '' && patternOf(pattern)?.test(value) === false) {
    causes.push(invalidValue(path, value, `${path} in body should match '${pattern}'`));
  }
  const format = textAt(schema, 'format');
  if (formatProblem(format, value)) {
    causes.push(invalidValue(path, value, `${path} in body must be of type ${format}: ${JSON.stringify(value)}`));
  }
  return causes;
}

function numberCauses(value: number, schema: JsonObject, path: string): ReadonlyArray<Cause> {
  const causes: Array<Cause> = [];
  const { minimum, maximum, multipleOf } = schema;
  if (typeof maximum === 'number') {
    const isExclusive = schema['exclusiveMaximum'] === true;
    if (isExclusive ? value >= maximum : value > maximum) {
      const relation = isExclusive ? 'less than' : 'less than or equal to';
      causes.push(invalidValue(path, value, `${path} in body should be ${relation} ${maximum}`));
    }
  }
  if (typeof minimum === 'number') {
    const isExclusive = schema['exclusiveMinimum'] === true;
    if (isExclusive ? value <= minimum : value < minimum) {
      const relation = isExclusive ? 'greater than' : 'greater than or equal to';
      causes.push(invalidValue(path, value, `${path} in body should be ${relation} ${minimum}`));
    }
  }
  if (typeof multipleOf === 'number' && value % multipleOf !== 0) {
    causes.push(invalidValue(path, value, `${path} in body should be a multiple of ${multipleOf}`));
  }
  return causes;
}

function itemKey(item: Json, schema: JsonObject): string {
  if (textAt(schema, 'x-kubernetes-list-type') !== 'map' || !isObject(item)) return canonicalJson(item);
  const keys = listAt(schema, 'x-kubernetes-list-map-keys').map(String);
  const defaults = objectAt(schema, 'items', 'properties');
  return canonicalJson(
    Object.fromEntries(keys.map((key) => [key, item[key] ?? objectAt(defaults, key)['default'] ?? null])),
  );
}

function duplicateCauses(value: ReadonlyArray<Json>, schema: JsonObject, path: string): ReadonlyArray<Cause> {
  const listType = textAt(schema, 'x-kubernetes-list-type');
  if (listType !== 'set' && listType !== 'map') return [];
  const seen = new Set<string>();
  const causes: Array<Cause> = [];
  for (const [index, item] of value.entries()) {
    const key = itemKey(item, schema);
    if (seen.has(key))
      causes.push(duplicate(`${path}[${index}]`, listType === 'map' ? (JSON.parse(key) as Json) : item));
    seen.add(key);
  }
  return causes;
}

function listCauses(value: ReadonlyArray<Json>, schema: JsonObject, path: string): ReadonlyArray<Cause> {
  const causes: Array<Cause> = [];
  const max = schema['maxItems'];
  const min = schema['minItems'];
  if (typeof max === 'number' && value.length > max) {
    const message = `Too many: ${value.length}: must have at most ${max} items`;
    causes.push({ reason: 'FieldValueTooMany', field: path, message });
  }
  if (typeof min === 'number' && value.length < min) {
    causes.push(invalidValue(path, value.length, `${path} in body should have at least ${min} items`));
  }
  const items = schema['items'];
  if (isObject(items)) causes.push(...value.flatMap((item, index) => valueCauses(item, items, `${path}[${index}]`)));
  causes.push(...duplicateCauses(value, schema, path));
  return causes;
}

function objectCauses(value: JsonObject, schema: JsonObject, path: string): ReadonlyArray<Cause> {
  const causes: Array<Cause> = [];
  const inside = (key: string): string => (path === '' ? key : `${path}.${key}`);
  for (const name of listAt(schema, 'required').map(String)) {
    if (!Object.hasOwn(value, name)) causes.push(required(inside(name)));
  }
  const properties = objectAt(schema, 'properties');
  const additional = schema['additionalProperties'];
  for (const [key, child] of Object.entries(value)) {
    const childSchema = Object.hasOwn(properties, key) ? properties[key] : additional;
    if (isObject(childSchema)) causes.push(...valueCauses(child, childSchema, inside(key)));
  }
  const count = Object.keys(value).length;
  const max = numberAt(schema, Number.POSITIVE_INFINITY, 'maxProperties');
  const min = numberAt(schema, 0, 'minProperties');
  if (count > max) {
    const message = `Too many: ${count}: must have at most ${max} items`;
    causes.push({ reason: 'FieldValueTooMany', field: path, message });
  }
  if (count < min) causes.push(invalidValue(path, count, `${path} in body should have at least ${min} properties`));
  return causes;
}

function enumCauses(value: Json, schema: JsonObject, path: string): ReadonlyArray<Cause> {
  const allowed = listAt(schema, 'enum');
  if (allowed.length === 0 || allowed.some((item) => canonicalJson(item) === canonicalJson(value))) return [];
  return [notSupported(path, value, allowed.map(String))];
}

function accepts(value: Json, schema: JsonObject, path: string): boolean {
  return valueCauses(value, { type: '', ...schema }, path).length === 0;
}

function branchCauses(value: Json, schema: JsonObject, path: string): ReadonlyArray<Cause> {
  const causes: Array<Cause> = [];
  const passing = (name: string): number =>
    listAt(schema, name).filter((branch) => isObject(branch) && accepts(value, branch, path)).length;
  if (listAt(schema, 'anyOf').length > 0 && passing('anyOf') === 0) {
    causes.push(invalidValue(path, '', `${path} in body must validate at least one schema (anyOf)`));
  }
  if (listAt(schema, 'oneOf').length > 0 && passing('oneOf') !== 1) {
    causes.push(
      invalidValue(
        path,
        '',
        `${path} in body must validate one and only one schema (oneOf). Found ${passing('oneOf') === 0 ? 'none valid' : `${passing('oneOf')} valid alternatives`}`,
      ),
    );
  }
  for (const branch of listAt(schema, 'allOf')) if (isObject(branch)) causes.push(...valueCauses(value, branch, path));
  const not = schema['not'];
  if (isObject(not) && accepts(value, not, path)) {
    causes.push(invalidValue(path, '', `${path} in body must not validate the schema (not)`));
  }
  return causes;
}

function valueCauses(value: Json, schema: JsonObject, path: string): ReadonlyArray<Cause> {
  if (!hasType(value, schema)) return [typeCause(value, schema, path)];
  if (value === null) return [];
  const causes: Array<Cause> = [...enumCauses(value, schema, path), ...branchCauses(value, schema, path)];
  if (typeof value === 'string') causes.push(...textCauses(value, schema, path));
  else if (typeof value === 'number') causes.push(...numberCauses(value, schema, path));
  else if (Array.isArray(value)) causes.push(...listCauses(value, schema, path));
  else if (isObject(value)) causes.push(...objectCauses(value, schema, path));
  return causes;
}

/** What a structural schema (OpenAPI v3, as CustomResourceDefinitions have it) finds wrong with an object. */
export function validateBySchema(object: JsonObject, schema: JsonObject): ReadonlyArray<Cause> {
  const { metadata: _metadata, ...rest } = object;
  const properties = { ...objectAt(schema, 'properties') };
  delete properties['metadata'];
  return valueCauses(rest, { ...schema, properties }, '');
}
