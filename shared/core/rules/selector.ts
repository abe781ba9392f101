import type { LabelSelector, Labels } from '../../kubernetes/manifest.ts';
import { admits, toRule, type LabelRule } from './label-rule.ts';

/** A label selector read once: null selects nothing, an empty one everything. */
export type CompiledSelector = ReadonlyArray<readonly [string, LabelRule]> | null;

/** A selector in the API's sense, where numeric operators do not exist and select nothing. */
export function compileSelector(selector: LabelSelector | undefined | null): CompiledSelector {
  if (selector === undefined || selector === null) return null;
  const rules: Array<readonly [string, LabelRule]> = [];
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    rules.push([key, toRule({ key, operator: 'In', values: [value] })]);
  }
  for (const expression of selector.matchExpressions ?? []) rules.push([expression.key, toRule(expression)]);
  return rules;
}

export function selects(selector: CompiledSelector, labels: Labels): boolean {
  return selector !== null && selector.every(([key, rule]) => admits(rule, labels[key]));
}
