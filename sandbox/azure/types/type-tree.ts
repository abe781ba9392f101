import { isObject, objectAt, textAt, type JsonObject } from '../arm/json.ts';
import { readJson } from '../catalog/sizes.ts';

/** What ARM takes and gives in one place of a body. */
export interface TypeNode {
  readonly kind: 'object' | 'array' | 'string' | 'integer' | 'boolean' | 'any';
  /** The members of an object by name. */
  readonly members: ReadonlyMap<string, Member>;
  /** What members of other names are; null: there may be none. */
  readonly others: TypeNode | null;
  /** What the elements of an array are. */
  readonly items: TypeNode | null;
  /** The values a text may have, in lower case, as ARM compares them; null: any. */
  readonly values: ReadonlySet<string> | null;
  readonly limits: Limits;
}

/** One member of an object. */
export interface Member {
  readonly node: TypeNode;
  readonly required: boolean;
  /** ARM answers with it, and ignores it in what is sent. */
  readonly readOnly: boolean;
}

/** Bounds of a number, or of a text's or a list's length; infinite where there are none. */
export interface Limits {
  readonly minLength: number;
  readonly maxLength: number;
  readonly minValue: number;
  readonly maxValue: number;
  readonly pattern: RegExp | null;
}

/** The property tree of a resource type in one API version. */
export interface TypeTree {
  /** `Microsoft.Compute/virtualMachines`. */
  readonly resource: string;
  readonly apiVersion: string;
  readonly body: TypeNode;
  /** Objects that other trees have as resources of their own: `Subnet` of network interfaces. */
  readonly shapes: ReadonlyMap<string, TypeNode>;
}

/** Reads a tree of the data folder, `Compute.virtualMachines@2026-04-01`; data/arm-types.ts writes them. */
export function readTypeTree(folder: string, file: string): TypeTree {
  const given = readJson(folder, `arm.${file}.json`);
  const shapes = new Map<string, TypeNode>();
  const drafts = objectAt(given, 'shapes');
  // Shapes contain each other and themselves: each gets its node before any is filled.
  for (const name of Object.keys(drafts)) shapes.set(name, blank());
  for (const [name, draft] of Object.entries(drafts)) Object.assign(shapes.get(name) ?? {}, toNode(draft, shapes));
  return {
    resource: textAt(given, 'meta.resource') ?? '',
    apiVersion: textAt(given, 'meta.apiVersion') ?? '',
    body: toNode(objectAt(given, 'body'), shapes),
    shapes,
  };
}

/** The tree with some of the root's members alone: what a PATCH takes that changes no more than those. */
export function onlyMembers(tree: TypeTree, names: ReadonlyArray<string>): TypeTree {
  const members = new Map([...tree.body.members].filter(([name]) => names.includes(name)));
  return { ...tree, body: { ...tree.body, members } };
}

const KINDS = ['object', 'array', 'string', 'integer', 'boolean', 'any'] as const;

function blank(): TypeNode {
  return { kind: 'any', members: new Map(), others: null, items: null, values: null, limits: limitsOf({}) };
}

function toNode(draft: unknown, shapes: ReadonlyMap<string, TypeNode>): TypeNode {
  const given: JsonObject = isObject(draft) ? draft : { type: draft };
  const shape = textAt(given, 'shape');
  if (shape !== null) return shapes.get(shape) ?? unreadable(`there is no shape '${shape}'`);
  const { type, items, additional, enum: values } = given;
  return {
    kind: KINDS.find((kind) => kind === type) ?? unreadable(`there is no type '${String(type)}'`),
    members: new Map(
      Object.entries(objectAt(given, 'properties')).map(([name, member]) => [name, toMember(member, shapes)]),
    ),
    others: additional === undefined ? null : toNode(additional, shapes),
    items: items === undefined ? null : toNode(items, shapes),
    values: Array.isArray(values) ? new Set(values.map((value) => String(value).toLowerCase())) : null,
    limits: limitsOf(given),
  };
}

function toMember(draft: unknown, shapes: ReadonlyMap<string, TypeNode>): Member {
  const has = (flag: string): boolean => isObject(draft) && draft[flag] === true;
  return { node: toNode(draft, shapes), required: has('required'), readOnly: has('readOnly') };
}

function limitsOf(given: JsonObject): Limits {
  const bound = (name: string, none: number): number => (typeof given[name] === 'number' ? given[name] : none);
  const pattern = textAt(given, 'pattern');
  return {
    minLength: bound('minLength', 0),
    maxLength: bound('maxLength', Infinity),
    minValue: bound('minValue', -Infinity),
    maxValue: bound('maxValue', Infinity),
    pattern: pattern === null ? null : new RegExp(pattern, 'u'),
  };
}

function unreadable(why: string): never {
  throw new Error(`A property tree in the data folder cannot be read: ${why}. Run data/arm-types.ts again.`);
}
