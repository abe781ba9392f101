import { equalJson, isObject, type Json, type JsonObject } from '../json.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import { asRoot, type FieldSet, fieldsOf, isMergedList, isMergedObject, keyedItems, memberNode } from './field-set.ts';

/** What differs between two versions of an object. */
export interface FieldChanges {
  /** Paths that are new or have another value; null for none. */
  readonly written: FieldSet | null;
  /** Paths that are gone; null for none. */
  readonly removed: FieldSet | null;
}

interface Member {
  readonly element: string;
  readonly before: Json | undefined;
  readonly after: Json | undefined;
  readonly node: SchemaNode | null;
  readonly isItem: boolean;
}

function objectMembers(before: JsonObject, after: JsonObject, node: SchemaNode): ReadonlyArray<Member> {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].map((key) => ({
    element: `f:${key}`,
    before: before[key],
    after: after[key],
    node: memberNode(node, key),
    isItem: false,
  }));
}

function listMembers(before: ReadonlyArray<Json>, after: ReadonlyArray<Json>, node: SchemaNode): ReadonlyArray<Member> {
  const olds = new Map(keyedItems(before, node).map(({ element, item }) => [element, item]));
  const news = new Map(keyedItems(after, node).map(({ element, item }) => [element, item]));
  const elements = new Set([...olds.keys(), ...news.keys()]);
  return [...elements].map((element) => ({
    element,
    before: olds.get(element),
    after: news.get(element),
    node: node.items(),
    isItem: true,
  }));
}

function membersOf(before: Json, after: Json, node: SchemaNode): ReadonlyArray<Member> | null {
  if (isObject(before) && isObject(after) && isMergedObject(node)) return objectMembers(before, after, node);
  if (Array.isArray(before) && Array.isArray(after) && isMergedList(node)) return listMembers(before, after, node);
  return null;
}

function fullSet({ isItem, node }: Member, value: Json): FieldSet {
  const below = fieldsOf(value, node);
  return isItem && Object.keys(below).length > 0 ? { '.': {}, ...below } : below;
}

function compareMember(member: Member): FieldChanges {
  const { before, after, node } = member;
  if (before === undefined && after !== undefined) return { written: fullSet(member, after), removed: null };
  if (after === undefined && before !== undefined) return { written: null, removed: fullSet(member, before) };
  if (before === undefined || after === undefined || equalJson(before, after)) return { written: null, removed: null };
  const members = node === null ? null : membersOf(before, after, node);
  return members === null ? { written: {}, removed: null } : combine(members);
}

function combine(members: ReadonlyArray<Member>): FieldChanges {
  const written: FieldSet = {};
  const removed: FieldSet = {};
  for (const member of members) {
    const changes = compareMember(member);
    if (changes.written !== null) written[member.element] = changes.written;
    if (changes.removed !== null) removed[member.element] = changes.removed;
  }
  return { written: asRoot(written), removed: asRoot(removed) };
}

/** Compares two versions of an object by its schema. */
export function compareFields(before: JsonObject, after: JsonObject, node: SchemaNode): FieldChanges {
  return combine(objectMembers(before, after, node));
}
