import { equalJson, isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.ts';
import { type Cause, duplicate, forbiddenField, quoteValue, required } from '../status-error.ts';
import { celEnvironment } from './cel-environment.ts';

/** The compiled x-kubernetes-validations of a schema. */
export interface RuleSet {
  /** Runs the rules; transition rules only where `old` has the same place. */
  check(object: JsonObject, old: JsonObject | null): ReadonlyArray<Cause>;
}

/** One evaluated expression. */
type Evaluate = (context: { self: unknown; oldSelf: unknown }) => unknown;

interface Rule {
  readonly text: string;
  readonly run: Evaluate;
  readonly isTransition: boolean;
  readonly optionalOld: boolean;
  readonly message: string;
  readonly runMessage: Evaluate | null;
  readonly reason: string;
  readonly fieldPath: string;
}

interface RuleNode {
  readonly schema: JsonObject;
  readonly rules: ReadonlyArray<Rule>;
  readonly properties: ReadonlyMap<string, RuleNode>;
  readonly additional: RuleNode | null;
  readonly items: RuleNode | null;
}

/** The value as CEL has it: integers as 64-bit integers, by the schema where there is one. */
function toCel(value: Json, schema: Json | undefined): unknown {
  if (typeof value === 'number') {
    const isWhole = textAt(schema, 'type') !== 'number' && Number.isInteger(value);
    return isWhole ? BigInt(value) : value;
  }
  if (Array.isArray(value)) return value.map((item) => toCel(item, objectAt(schema, 'items')));
  if (!isObject(value)) return value;
  const properties = objectAt(schema, 'properties');
  const additional = objectAt(schema, 'additionalProperties');
  return new Map(Object.entries(value).map(([key, child]) => [key, toCel(child, properties[key] ?? additional)]));
}

const environment = celEnvironment();

function compileExpression(text: string): Evaluate {
  const program = environment.parse(text);
  return (context) => program(context) as unknown;
}

function compileRule(rule: Json): Rule {
  const text = textAt(rule, 'rule');
  const messageExpression = textAt(rule, 'messageExpression');
  return {
    text,
    run: compileExpression(text),
    isTransition: /\boldSelf\b/.test(text),
    optionalOld: objectAt([rule], 0)['optionalOldSelf'] === true,
    message: textAt(rule, 'message'),
    runMessage: messageExpression === '' ? null : compileExpression(messageExpression),
    reason: textAt(rule, 'reason') || 'FieldValueInvalid',
    fieldPath: textAt(rule, 'fieldPath'),
  };
}

/** A node with its rules, or null where nothing below has any. */
function compileNode(schema: Json | undefined): RuleNode | null {
  if (!isObject(schema)) return null;
  const properties = new Map<string, RuleNode>();
  for (const [key, child] of Object.entries(objectAt(schema, 'properties'))) {
    const node = compileNode(child);
    if (node !== null) properties.set(key, node);
  }
  const rules = listAt(schema, 'x-kubernetes-validations').map(compileRule);
  const additional = compileNode(schema['additionalProperties']);
  const items = compileNode(schema['items']);
  const isEmpty = rules.length === 0 && properties.size === 0 && additional === null && items === null;
  return isEmpty ? null : { schema, rules, properties, additional, items };
}

function causeOf(rule: Rule, path: string, value: Json, detail: string): Cause {
  const field = rule.fieldPath === '' ? path : `${path}${rule.fieldPath}`;
  if (rule.reason === 'FieldValueRequired') return required(field, detail);
  if (rule.reason === 'FieldValueForbidden') return forbiddenField(field, detail);
  if (rule.reason === 'FieldValueDuplicate') return duplicate(field, value);
  // Lists and objects are not printed.
  const shown = typeof value === 'object' && value !== null ? '' : `${quoteValue(value)}: `;
  return { reason: 'FieldValueInvalid', field, message: `Invalid value: ${shown}${detail}` };
}

function messageOf(rule: Rule, context: { self: unknown; oldSelf: unknown }): string {
  if (rule.runMessage !== null) {
    try {
      const text = rule.runMessage(context);
      if (typeof text === 'string' && text.trim() !== '') return text;
    } catch {
      // A message that fails falls back to the fixed one, as in the API server.
    }
  }
  return rule.message === '' ? `failed rule: ${rule.text}` : rule.message;
}

interface Place {
  readonly path: string;
  readonly value: Json;
  readonly old: Json | undefined;
}

/** An evaluation error in the words of the API server's CEL, as far as they are known. */
function evaluationProblem(error: unknown): string {
  const text = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  const conversion = /^(\w+)\(\) type error: cannot convert/.exec(text);
  if (conversion !== null) return `type conversion error from 'string' to '${conversion[1]}'`;
  return text.replace(/^No such key/, 'no such key');
}

function checkRule(rule: Rule, node: RuleNode, { path, value, old }: Place): ReadonlyArray<Cause> {
  if (rule.isTransition && old === undefined && !rule.optionalOld) return [];
  const oldSelf = old === undefined ? null : toCel(old, node.schema);
  const context = { self: toCel(value, node.schema), oldSelf };
  try {
    return rule.run(context) === true ? [] : [causeOf(rule, path, value, messageOf(rule, context))];
  } catch (error) {
    const type = textAt(node.schema, 'type');
    const detail = `${evaluationProblem(error)} evaluating rule: ${rule.message === '' ? rule.text : rule.message}`;
    return [{ reason: 'FieldValueInvalid', field: path, message: `Invalid value: ${JSON.stringify(type)}: ${detail}` }];
  }
}

/** The old item that a list's item is about: only lists of type map tell. */
function oldItem(item: Json, old: Json | undefined, schema: JsonObject): Json | undefined {
  if (textAt(schema, 'x-kubernetes-list-type') !== 'map' || !Array.isArray(old)) return undefined;
  const keys = listAt(schema, 'x-kubernetes-list-map-keys').map(String);
  return old.find((other) => keys.every((key) => equalJson(objectAt([other], 0)[key], objectAt([item], 0)[key])));
}

function checkNode(node: RuleNode, place: Place): ReadonlyArray<Cause> {
  const { value, old } = place;
  // Unchanged parts were accepted before and stay accepted.
  const isUnchanged = old !== undefined && equalJson(value, old);
  const causes: Array<Cause> = [];
  for (const rule of node.rules) {
    if (!isUnchanged || rule.isTransition) causes.push(...checkRule(rule, node, place));
  }
  if (Array.isArray(value)) causes.push(...checkItems(node, value, place));
  if (isObject(value)) causes.push(...checkMembers(node, value, place));
  return causes;
}

function checkItems(node: RuleNode, list: ReadonlyArray<Json>, { path, old }: Place): ReadonlyArray<Cause> {
  const { items } = node;
  if (items === null) return [];
  return list.flatMap((value, index) =>
    checkNode(items, { path: `${path}[${index}]`, value, old: oldItem(value, old, node.schema) }),
  );
}

function checkMembers(node: RuleNode, value: JsonObject, { path, old }: Place): ReadonlyArray<Cause> {
  const causes: Array<Cause> = [];
  for (const [key, child] of Object.entries(value)) {
    const inner =
      node.properties.get(key) ?? (objectAt(node.schema, 'properties')[key] === undefined ? node.additional : null);
    if (inner === null) continue;
    const before = isObject(old ?? null) ? objectAt(old)[key] : undefined;
    causes.push(...checkNode(inner, { path: path === '' ? key : `${path}.${key}`, value: child, old: before }));
  }
  return causes;
}

/** Compiles every rule of a schema; a rule that cannot be compiled throws with its text. */
export function compileRules(schema: JsonObject): RuleSet {
  const root = compileNode(schema);
  return {
    check: (object, old) => (root === null ? [] : checkNode(root, { path: '', value: object, old: old ?? undefined })),
  };
}
