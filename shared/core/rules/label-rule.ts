import type { SelectorRequirement } from '../../kubernetes/manifest.ts';
import { normalizeKey, normalizeValue } from '../../kubernetes/labels.ts';

/**
 * The states of one label that are acceptable: absent or not, and which values. Unlike Karpenter's requirement it keeps
 * absence apart, so `NotIn` and `Exists` on one key do not blur, and a contradiction is empty instead of
 * `DoesNotExist`.
 */
export interface LabelRule {
  readonly absent: boolean;
  /** True: every value but `values`. False: only `values`. */
  readonly complement: boolean;
  readonly values: ReadonlySet<string>;
  /** Inclusive bounds on the value read as an integer; ±Infinity when unbounded. Any bound rules out non-integers. */
  readonly least: number;
  readonly most: number;
}

export type LabelRules = ReadonlyMap<string, LabelRule>;

const NONE: ReadonlySet<string> = new Set();

export const ANYTHING: LabelRule = { absent: true, complement: true, values: NONE, least: -Infinity, most: Infinity };
export const NOTHING: LabelRule = { absent: false, complement: false, values: NONE, least: -Infinity, most: Infinity };
export const ABSENT: LabelRule = { ...NOTHING, absent: true };
export const PRESENT: LabelRule = { ...ANYTHING, absent: false };

/** The rule that the label is there and has one of `values`. */
export function oneOf(values: Iterable<string>): LabelRule {
  return { ...NOTHING, values: new Set(values) };
}

/** An unknown operator or a bound that is no integer accepts nothing, so that it can never place a pod wrongly. */
export function toRule(expression: SelectorRequirement): LabelRule {
  const values = (expression.values ?? []).map((value) => normalizeValue(expression.key, value));
  switch (expression.operator) {
    case 'In':
      return oneOf(values);
    case 'NotIn':
      return { ...ANYTHING, values: new Set(values) };
    case 'Exists':
      return PRESENT;
    case 'DoesNotExist':
      return ABSENT;
    default:
      return toBound(expression.operator, values[0]);
  }
}

/** A label's value begins with a letter or a digit, so an upper bound is a lower bound of 0 as well. */
function toBound(operator: string, text: string | undefined): LabelRule {
  const bound = text === undefined ? null : toInteger(text);
  if (bound === null) return NOTHING;
  switch (operator) {
    case 'Gt':
      return Number.isSafeInteger(bound + 1) ? { ...PRESENT, least: bound + 1 } : NOTHING;
    case 'Gte':
      return { ...PRESENT, least: bound };
    case 'Lt':
      return { ...PRESENT, least: 0, most: bound - 1 };
    case 'Lte':
      return { ...PRESENT, least: 0, most: bound };
    default:
      return NOTHING;
  }
}

/** All of `expressions` together, by normalised key. */
export function toRules(expressions: Iterable<SelectorRequirement>): Map<string, LabelRule> {
  const rules = new Map<string, LabelRule>();
  for (const expression of expressions) addRule(rules, normalizeKey(expression.key), toRule(expression));
  return rules;
}

/** Narrows `rules` in place. */
export function addRule(rules: Map<string, LabelRule>, key: string, rule: LabelRule): void {
  const present = rules.get(key);
  rules.set(key, present === undefined ? rule : intersect(present, rule));
}

/** What both accept. */
export function intersect(a: LabelRule, b: LabelRule): LabelRule {
  const [least, most] = [Math.max(a.least, b.least), Math.min(a.most, b.most)];
  const absent = a.absent && b.absent;
  if (a.complement && b.complement) {
    return { absent, complement: true, values: new Set([...a.values, ...b.values]), least, most };
  }
  const [concrete, other] = a.complement ? [b, a] : [a, b];
  const values = new Set([...concrete.values].filter((value) => admits(concrete, value) && admits(other, value)));
  return { absent, complement: false, values, least: -Infinity, most: Infinity };
}

/** Does the rule accept a label with this value? `undefined`: no such label. */
export function admits(rule: LabelRule, value: string | undefined): boolean {
  if (value === undefined) return rule.absent;
  if (rule.values.has(value) === rule.complement) return false;
  if (rule.least === -Infinity && rule.most === Infinity) return true;
  const number = toInteger(value);
  return number !== null && number >= rule.least && number <= rule.most;
}

/** Is there no state at all that the rule accepts? */
export function isEmpty(rule: LabelRule): boolean {
  if (rule.absent) return false;
  if (!rule.complement) return rule.values.size === 0;
  if (rule.most - rule.least >= rule.values.size) return false;
  for (let number = rule.least; number <= rule.most; number++) {
    if (!rule.values.has(String(number))) return false;
  }
  return true;
}

/** Is there a state that both accept? */
export function overlaps(a: LabelRule, b: LabelRule): boolean {
  if (a.absent && b.absent) return true;
  if (a.complement && b.complement) return !isEmpty(intersect(a, b));
  const concrete = a.complement ? b : a;
  const other = a.complement ? a : b;
  for (const value of concrete.values) if (admits(concrete, value) && admits(other, value)) return true;
  return false;
}

/**
 * Does `outer` accept all that `inner` accepts? May say no where the answer needs more than looking at listed values.
 */
export function isWithin(inner: LabelRule, outer: LabelRule): boolean {
  if (inner.absent && !outer.absent) return false;
  if (!inner.complement) return [...inner.values].every((value) => admits(outer, value));
  if (!outer.complement || outer.least > inner.least || outer.most < inner.most) return false;
  return [...outer.values].every((value) => !admits(inner, value));
}

/** The one value the rule leaves, or null when it leaves none, several, or absence. */
export function onlyValue(rule: LabelRule): string | null {
  const [value] = rule.values;
  return !rule.absent && !rule.complement && rule.values.size === 1 && value !== undefined ? value : null;
}

/** A value to give a label that the rule leaves open: the smallest; null when absence will do or there is none. */
export function chooseValue(rule: LabelRule): string | null {
  if (rule.absent) return null;
  if (!rule.complement) return [...rule.values].toSorted(byCodeUnit)[0] ?? null;
  const start = Math.max(0, rule.least);
  for (let number = start; number <= Math.min(rule.most, start + rule.values.size); number++) {
    if (!rule.values.has(String(number))) return String(number);
  }
  return null;
}

/** The rule as requirements of a NodeClaim: bounds become Gte and Lte, as Karpenter writes them. */
export function toExpressions(key: string, rule: LabelRule): ReadonlyArray<SelectorRequirement> {
  const values = [...rule.values].toSorted(byCodeUnit);
  if (!rule.complement) {
    return values.length === 0 ? [{ key, operator: 'DoesNotExist' }] : [{ key, operator: 'In', values }];
  }
  const expressions: Array<SelectorRequirement> = [];
  const fromZero = rule.least === 0 && rule.most !== Infinity;
  if (rule.least !== -Infinity && !fromZero) expressions.push({ key, operator: 'Gte', values: [String(rule.least)] });
  if (rule.most !== Infinity) expressions.push({ key, operator: 'Lte', values: [String(rule.most)] });
  if (values.length > 0) expressions.push({ key, operator: 'NotIn', values });
  return expressions.length === 0 && !rule.absent ? [{ key, operator: 'Exists' }] : expressions;
}

/** Do labels that are known satisfy every rule? */
export function admitsLabels(rules: LabelRules, labels: Readonly<Record<string, string>>): boolean {
  for (const [key, rule] of rules) if (!admits(rule, labels[key])) return false;
  return true;
}

/** Do labels that are known satisfy all rules of some alternative? Asked for every node and kind of pod. */
export function isMetByAny(alternatives: ReadonlyArray<LabelRules>, labels: Readonly<Record<string, string>>): boolean {
  for (let index = 0; index < alternatives.length; index++) {
    const rules = alternatives[index];
    if (rules !== undefined && (rules.size === 0 || admitsLabels(rules, labels))) return true;
  }
  return false;
}

/** Code-unit order. Never `localeCompare`: its answer depends on the host's locale. */
export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function toInteger(text: string): number | null {
  const number = /^[+-]?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(number) ? number : null;
}
