import { isObject, type JsonObject } from '../arm/json.ts';
import type { Limits, TypeNode, TypeTree } from './type-tree.ts';

/** Something in a body that its tree does not allow. */
export interface Misfit {
  readonly kind: 'unknown' | 'type' | 'value' | 'limit' | 'missing';
  /** `properties.ipConfigurations[0].name`; empty for the body itself. */
  readonly path: string;
  /** What is wrong there, after the path: `is no boolean but "yes"`. */
  readonly words: string;
}

/**
 * Which way a body goes. `put`: all that is required must be there; what is read-only is ignored, and null is the same
 * as nothing. `patch`: the same, and nothing is required. `answer`: what comes back, where nothing is forgiven.
 */
export type Direction = 'put' | 'patch' | 'answer';

/** Carried by the URL of a request, and therefore never missing in its body. */
const FROM_URL = new Set(['id', 'name', 'type', 'apiVersion']);

/**
 * Everything in a body that its tree does not allow, in the order of the body, what is missing at the end of its
 * object. Names of members count with their case; values of enumerations do not, as in ARM.
 */
export function findMisfits(tree: TypeTree, body: unknown, direction: Direction): ReadonlyArray<Misfit> {
  const found: Array<Misfit> = [];
  examine(tree.body, body, { direction, path: '', found });
  return found;
}

/** As `findMisfits`, of one object of the tree that ARM also serves as a resource of its own. */
export function findMisfitsOfShape(tree: TypeTree, shape: string, body: unknown): ReadonlyArray<Misfit> {
  const node = tree.shapes.get(shape);
  if (node === undefined) throw new Error(`${tree.resource} has no shape '${shape}'.`);
  const found: Array<Misfit> = [];
  examine(node, body, { direction: 'answer', path: '', found });
  return found;
}

/** What ARM keeps of a body that fits: nothing read-only, and no nulls. */
export function keepWritable(tree: TypeTree, body: JsonObject): JsonObject {
  return writable(tree.body, body) as JsonObject;
}

interface Place {
  readonly direction: Direction;
  readonly path: string;
  readonly found: Array<Misfit>;
}

function examine(node: TypeNode, value: unknown, place: Place): void {
  if (node.kind === 'any') return;
  if (!isOfKind(node.kind, value)) return report(place, 'type', `is no ${node.kind} but ${shown(value)}`);
  if (node.values !== null && !node.values.has(String(value).toLowerCase()))
    return report(place, 'value', `is ${shown(value)}, and can be ${[...node.values].join(', ')}`);
  const limit = exceeded(node.limits, value);
  if (limit !== null) report(place, 'limit', limit);
  if (Array.isArray(value) && node.items !== null)
    for (const [index, item] of value.entries())
      examine(node.items, item, { ...place, path: `${place.path}[${index}]` });
  if (isObject(value)) examineMembers(node, value, place);
}

function examineMembers(node: TypeNode, object: JsonObject, place: Place): void {
  const answered = place.direction === 'answer';
  for (const [name, value] of Object.entries(object)) {
    const member = node.members.get(name);
    const inner = member?.node ?? node.others;
    const isIgnored = !answered && (member?.readOnly === true || value === null);
    if (inner === null) report(inside(place, name), 'unknown', 'is unknown');
    else if (!isIgnored) examine(inner, value, inside(place, name));
  }
  if (place.direction !== 'patch') findMissing(node, object, place);
}

function findMissing(node: TypeNode, object: JsonObject, place: Place): void {
  const answered = place.direction === 'answer';
  for (const [name, { required, readOnly }] of node.members) {
    const isExcused = !answered && (readOnly || (place.path === '' && FROM_URL.has(name)));
    const value = object[name] ?? null;
    if (required && !isExcused && value === null) report(inside(place, name), 'missing', 'is missing');
  }
}

function inside(place: Place, name: string): Place {
  return { ...place, path: place.path === '' ? name : `${place.path}.${name}` };
}

function report({ path, found }: Place, kind: Misfit['kind'], words: string): void {
  found.push({ kind, path, words });
}

/** `integer` also stands for numbers with decimals: the source of the trees knows no others. */
function isOfKind(kind: TypeNode['kind'], value: unknown): boolean {
  if (kind === 'object') return isObject(value);
  if (kind === 'array') return Array.isArray(value);
  return typeof value === (kind === 'integer' ? 'number' : kind);
}

function exceeded(limits: Limits, value: unknown): string | null {
  if (typeof value === 'number') {
    const { minValue, maxValue } = limits;
    return value < minValue || value > maxValue ? `is ${value}, and can be ${minValue} to ${maxValue}` : null;
  }
  if (typeof value !== 'string' && !Array.isArray(value)) return null;
  const { minLength, maxLength, pattern } = limits;
  if (value.length < minLength || value.length > maxLength)
    return `has a length of ${value.length}, and can have ${minLength} to ${maxLength}`;
  if (typeof value === 'string' && pattern !== null && !pattern.test(value)) return `does not match ${pattern.source}`;
  return null;
}

function writable(node: TypeNode, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => (node.items === null ? item : writable(node.items, item)));
  if (!isObject(value) || node.kind !== 'object') return value;
  const kept = Object.entries(value).flatMap(([name, inner]) => {
    const member = node.members.get(name);
    if (inner === null || member?.readOnly === true) return [];
    const known = member?.node ?? node.others;
    return [[name, known === null ? inner : writable(known, inner)] as const];
  });
  return Object.fromEntries(kept);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
