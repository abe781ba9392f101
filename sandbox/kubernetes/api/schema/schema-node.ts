import { at, isObject, listAt, type Json, type JsonObject, textAt } from '../json.ts';

/** What a value of a schema is. `any` takes everything; `text-or-number` is IntOrString. */
export type ValueType =
  'object' | 'list' | 'text' | 'integer' | 'number' | 'boolean' | 'text-or-number' | 'quantity' | 'any';

/** One place of a structural schema, read lazily because the built-in definitions are recursive. */
export interface SchemaNode {
  readonly type: ValueType;
  /** The schema as written, with references resolved one level. */
  readonly raw: JsonObject;
  readonly propertyNames: ReadonlyArray<string>;
  property(name: string): SchemaNode | undefined;
  /** Schema of the values of a map; null where only named properties are allowed. */
  additional(): SchemaNode | null;
  items(): SchemaNode | null;
  /** True where fields without a schema are kept. */
  readonly keepsUnknown: boolean;
  readonly listType: 'atomic' | 'set' | 'map';
  /** Keys that identify an item of a list of type map. */
  readonly listKeys: ReadonlyArray<string>;
  /** True where server-side apply takes the object as one value. */
  readonly isAtomic: boolean;
  /** Key of the strategic merge patch, or null where the list is replaced. */
  readonly mergeKey: string | null;
  readonly mergeStrategies: ReadonlySet<string>;
}

/** Finds the schema that a `$ref` names. */
export type ResolveReference = (name: string) => JsonObject | undefined;

const typeNames: Readonly<Record<string, ValueType>> = {
  object: 'object',
  array: 'list',
  string: 'text',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
};

function referenceName(schema: JsonObject): string | null {
  const direct = textAt(schema, '$ref') || textAt(schema, 'allOf', 0, '$ref');
  return direct === '' ? null : direct.slice(direct.lastIndexOf('/') + 1);
}

/** The schema with its reference replaced by what it names; siblings of the reference win. */
function resolved(schema: JsonObject, resolve: ResolveReference): { readonly raw: JsonObject; readonly name: string } {
  const name = referenceName(schema);
  if (name === null) return { raw: schema, name: '' };
  const { $ref: _ref, allOf: _allOf, ...siblings } = schema;
  return { raw: { ...resolve(name), ...siblings }, name };
}

function typeOf(raw: JsonObject, name: string): ValueType {
  if (name.endsWith('.api.resource.Quantity')) return 'quantity';
  if (name.endsWith('.util.intstr.IntOrString') || raw['x-kubernetes-int-or-string'] === true) return 'text-or-number';
  if (/\.(JSON|RawExtension|FieldsV1|JSONSchemaPropsOr\w+)$/.test(name)) return 'any';
  const type = typeNames[textAt(raw, 'type')];
  if (type === undefined) return isObject(raw['properties']) ? 'object' : 'any';
  const isOpen = raw['properties'] === undefined && raw['additionalProperties'] === undefined;
  if (type === 'object' && isOpen && name !== '') return raw['x-kubernetes-group-version-kind'] ? 'object' : 'any';
  return type;
}

function strategiesOf(raw: JsonObject): ReadonlySet<string> {
  const text = textAt(raw, 'x-kubernetes-patch-strategy');
  return new Set(text === '' ? [] : text.split(','));
}

function listTypeOf(raw: JsonObject): 'atomic' | 'set' | 'map' {
  const text = textAt(raw, 'x-kubernetes-list-type');
  return text === 'set' || text === 'map' ? text : 'atomic';
}

/** Reads `schema` as a node; `resolve` answers for references, which custom resources do not have. */
export function toSchemaNode(schema: JsonObject, resolve: ResolveReference): SchemaNode {
  const { raw, name } = resolved(schema, resolve);
  const type = typeOf(raw, name);
  const properties = isObject(raw['properties']) ? raw['properties'] : {};
  const made = new Map<string, SchemaNode>();
  const node = (key: string, from: Json | undefined): SchemaNode | undefined => {
    const found = made.get(key);
    if (found !== undefined || !isObject(from)) return found;
    const child = toSchemaNode(from, resolve);
    made.set(key, child);
    return child;
  };
  const mergeKey = textAt(raw, 'x-kubernetes-patch-merge-key');
  return {
    type,
    raw,
    propertyNames: Object.keys(properties),
    property: (key) => (Object.hasOwn(properties, key) ? node(`.${key}`, properties[key]) : undefined),
    additional: () => node('additional', raw['additionalProperties']) ?? null,
    items: () => node('items', raw['items']) ?? null,
    keepsUnknown: raw['x-kubernetes-preserve-unknown-fields'] === true || raw['additionalProperties'] === true,
    listType: listTypeOf(raw),
    listKeys: listAt(raw, 'x-kubernetes-list-map-keys').map(String),
    isAtomic: at(raw, 'x-kubernetes-map-type') === 'atomic',
    mergeKey: mergeKey === '' ? null : mergeKey,
    mergeStrategies: strategiesOf(raw),
  };
}
