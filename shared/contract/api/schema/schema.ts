import {
  Array as ListOf,
  Boolean as Bool,
  Integer,
  Object as ObjectOf,
  Optional,
  String as Text,
  Unsafe,
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnsafe,
} from 'typebox';

/** A value of a schema, read-only all the way down: what parsers give and everyone else reads. */
export type Frozen<T> =
  T extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Frozen<Item>>
    : T extends object
      ? { readonly [Key in keyof T]: Frozen<T[Key]> }
      : T;

/**
 * One rule that a single field's type cannot say, twice: as CEL for the API server and as code for offline checks. The
 * contract tests run both on the same objects. `rule`, `message` go into the CRD; `fix` and `holds` do not.
 */
export interface Rule {
  /** CEL with `self` (and, for transitions, `oldSelf`). */
  readonly rule: string;
  readonly message: string;
  /** What the author of the manifest should do, of a value that does not obey. */
  readonly fix: (self: unknown) => string;
  /** Whether `self` obeys. Called only with values whose own types are right. */
  readonly holds: (self: unknown) => boolean;
  /** Whether a change from `oldSelf` to `self` is allowed. Transition rules only. */
  readonly keeps: ((self: unknown, oldSelf: unknown) => boolean) | null;
}

/**
 * A rule on a value by itself. `T` is the type of `self`: rules are asked only of values that their schema has passed.
 */
// It types the rule's argument.
export function rule<T>(
  cel: string,
  message: string,
  fix: string | ((self: T) => string),
  holds: (self: T) => boolean,
): Rule {
  const fixOf = (self: unknown): string => (typeof fix === 'string' ? fix : fix(self as T));
  return { rule: cel, message, fix: fixOf, holds: (self) => holds(self as T), keeps: null };
}

/** A rule on a change of a value; creation always obeys. `T` is the type of `self` and `oldSelf`. */
export function transition<T>(
  cel: string,
  message: string,
  fix: string,
  keeps: (self: T, oldSelf: T) => boolean,
): Rule {
  return { rule: cel, message, fix: () => fix, holds: () => true, keeps: (self, old) => keeps(self as T, old as T) };
}

/** Schema keywords beyond the type, under their CRD names, plus `fix`, which stays with us. */
export interface Keywords {
  readonly fix?: string;
  readonly default?: unknown;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly format?: 'int32' | 'int64' | 'date-time';
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: ReadonlyArray<string>;
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular';
  readonly 'x-kubernetes-validations'?: ReadonlyArray<Rule>;
}

/** A field that may be absent. */
export const optional = Optional;

/** A string. `fix` says in words what `pattern` wants. */
export function text(description: string, keywords: Keywords = {}) {
  return Text({ description, ...keywords });
}

/** A string out of a closed set. */
export function choice<const Value extends string>(
  description: string,
  values: ReadonlyArray<Value>,
  keywords: Keywords = {},
): TUnsafe<Value> {
  return Unsafe<Value>({ type: 'string', enum: values, description, ...keywords });
}

/** A 32-bit integer. */
export function int32(description: string, keywords: Keywords = {}) {
  return Integer({ format: 'int32', description, ...keywords });
}

/** A 64-bit integer; beyond 2^53 JavaScript rounds, which no field here can reach in practice. */
export function int64(description: string, keywords: Keywords = {}) {
  return Integer({ format: 'int64', description, ...keywords });
}

/** An integer without a format, where Karpenter's CRD has none. */
export function integer(description: string, keywords: Keywords = {}) {
  return Integer({ description, ...keywords });
}

/** True or false. */
export function bool(description: string, keywords: Keywords = {}) {
  return Bool({ description, ...keywords });
}

/** A list. */
export function list<Item extends TSchema>(description: string, items: Item, keywords: Keywords = {}) {
  return ListOf(items, { description, ...keywords });
}

/** An object with known fields; others are pruned, as the API server prunes them. */
export function fields<Properties extends TProperties>(
  description: string,
  properties: Properties,
  keywords: Keywords = {},
): TObject<Properties> {
  return ObjectOf(properties, { description, ...keywords });
}

/** A map from any string to a string. */
export function stringMap(
  description: string,
  keywords: Keywords = {},
  value: Keywords = {},
): TUnsafe<Record<string, string>> {
  return Unsafe({ type: 'object', additionalProperties: { type: 'string', ...value }, description, ...keywords });
}

/** What the API machinery accepts as a quantity, such as `100m`, `1.5`, `2Gi` or `1e3`. Source: apimachinery 0.36. */
const QUANTITY =
  '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$';

const oneQuantity = {
  anyOf: [{ type: 'integer' }, { type: 'string' }],
  pattern: QUANTITY,
  'x-kubernetes-int-or-string': true,
  fix: 'write a quantity such as 100m, 4, 1.5 or 16Gi',
};

/** A quantity, a string or an integer. */
export function quantity(description: string): TUnsafe<string | number> {
  return Unsafe({ ...oneQuantity, description });
}

/** A map from resource name to quantity, each a string or an integer. */
export function quantityMap(description: string, keywords: Keywords = {}): TUnsafe<Record<string, string | number>> {
  return Unsafe({ type: 'object', additionalProperties: oneQuantity, description, ...keywords });
}

/** A map from any string to values of one schema. */
export function mapOf<Value extends TSchema>(
  description: string,
  value: Value,
): TUnsafe<Record<string, Static<Value>>> {
  return Unsafe({ type: 'object', additionalProperties: value, description });
}
