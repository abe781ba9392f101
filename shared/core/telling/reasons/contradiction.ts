import { normalizeKey } from '../../../kubernetes/labels.ts';
import type { NodePool, PodSpec, SelectorRequirement } from '../../../kubernetes/manifest.ts';
import { fixedLabels } from '../../offerings/compile-pool.ts';
import { intersect, isEmpty, toRule } from '../../rules/label-rule.ts';
import { hasExpressions } from '../../rules/pod-rules.ts';

/**
 * Requirements on one key that no label meets together: two, where two are enough, else all of that key. Null where
 * there are none.
 */
export function contradictionIn(
  requirements: Iterable<SelectorRequirement>,
): ReadonlyArray<SelectorRequirement> | null {
  for (const [, own] of Map.groupBy(requirements, ({ key }) => normalizeKey(key))) {
    const rules = own.map(toRule);
    for (const [index, rule] of rules.entries()) {
      const other = rules.slice(0, index).findIndex((before) => isEmpty(intersect(before, rule)));
      if (other >= 0) return own.filter((_, at) => at === other || at === index);
    }
    if (isEmpty(rules.reduce(intersect))) return own;
  }
  return null;
}

/** What a pod requires of nodes and none can have: of the first of its terms, where each contradicts itself. */
export function contradictionOfPod({
  nodeSelector = {},
  affinity,
}: PodSpec): ReadonlyArray<SelectorRequirement> | null {
  const selected = asRequirements(nodeSelector);
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return contradictionIn(selected);
  const found = required.nodeSelectorTerms
    .filter(hasExpressions)
    .map(({ matchExpressions = [] }) => contradictionIn([...selected, ...matchExpressions]));
  return found.includes(null) ? null : (found[0] ?? null);
}

/** What a pool requires of its nodes, its labels among that, and none can have. */
export function contradictionOfPool(pool: NodePool): ReadonlyArray<SelectorRequirement> | null {
  return contradictionIn(requirementsOf(pool));
}

/** What the pool says of a label: its requirements on it, and its own value for it. */
export function saidBy(pool: NodePool, key: string): ReadonlyArray<SelectorRequirement> {
  return requirementsOf(pool).filter((one) => normalizeKey(one.key) === key);
}

function requirementsOf(pool: NodePool): ReadonlyArray<SelectorRequirement> {
  const own = pool.spec.template.spec.requirements.map(({ key, operator, values = [] }) => ({ key, operator, values }));
  return [...own, ...asRequirements(fixedLabels(pool))];
}

function asRequirements(labels: Readonly<Record<string, string>>): ReadonlyArray<SelectorRequirement> {
  return Object.entries(labels).map(([key, value]) => ({ key, operator: 'In', values: [value] }));
}
