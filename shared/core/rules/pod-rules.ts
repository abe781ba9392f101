import type { NodeSelectorTerm, PodSpec } from '../../kubernetes/manifest.ts';
import { NODE_NAME_FIELD, normalizeKey } from '../../kubernetes/labels.ts';
import { addRule, NOTHING, oneOf, toRule, type LabelRule, type LabelRules } from './label-rule.ts';

/**
 * What a pod asks of a node's labels, as alternatives of which one must hold: its node selector with each required
 * term. Empty: nothing can hold. A term without expressions holds nowhere, as in kube-scheduler.
 */
export function requiredAlternatives(spec: PodSpec): ReadonlyArray<LabelRules> {
  const selector = new Map<string, LabelRule>();
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) {
    addRule(selector, normalizeKey(key), oneOf([value]));
  }
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return [selector];
  return required.nodeSelectorTerms.filter(hasExpressions).map((term) => withTerm(selector, term));
}

/** `rules` narrowed by one term more. */
export function withTerm(rules: LabelRules, term: NodeSelectorTerm): LabelRules {
  const narrowed = new Map(rules);
  for (const expression of term.matchExpressions ?? []) {
    addRule(narrowed, normalizeKey(expression.key), toRule(expression));
  }
  for (const field of term.matchFields ?? []) {
    addRule(narrowed, NODE_NAME_FIELD, field.key === NODE_NAME_FIELD ? toRule(field) : NOTHING);
  }
  return narrowed;
}

export function hasExpressions(term: NodeSelectorTerm): boolean {
  return (term.matchExpressions ?? []).length + (term.matchFields ?? []).length > 0;
}
