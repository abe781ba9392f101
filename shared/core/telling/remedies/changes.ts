import { labelKey, NODE_NAME_FIELD, normalizeKey } from '../../../kubernetes/labels.ts';
import type { Requirement } from '../../../kubernetes/manifest.ts';
import { mayBeOfPool } from '../../../kubernetes/pool-labels.ts';
import type { Edit, Remedy } from '../../model/remedy.ts';
import { allowedBy, isNone } from '../../offerings/compile-pool.ts';
import type { PoolState } from '../../offerings/pool-state.ts';
import { admits, chooseValue, oneOf, toExpressions, toRules, type LabelRule } from '../../rules/label-rule.ts';
import { classEdits, isOfClass } from './class-labels.ts';
import { isOfCatalog } from './conditions.ts';
import type { Condition } from './condition.ts';
import { labelValues } from './label-values.ts';
import type { PoolFacts } from './facts-of-pool.ts';
import { valueMeant } from './value-meant.ts';
import { widened, type LabelValues } from './widen.ts';

/** A change of what a condition asks for, and the offerings that meet it. */
export interface Change {
  readonly edits: Remedy;
  readonly left: Int32Array;
}

/** A condition on a label. */
export type LabelCondition = Exclude<Condition, { readonly of: 'size' }>;

/**
 * The ways to change what is asked of a label so that some of `offered`, which meets all else, meets it: first those of
 * the NodePool and its class, then the pod's. None for what no manifest can change.
 */
export function changesOfLabel(
  facts: PoolFacts,
  { of, key, rule }: LabelCondition,
  offered: Int32Array,
): ReadonlyArray<Change> {
  if (NEVER.has(key) && of === 'pod') return [];
  if (of === 'pool') return widerPool(facts, key, offered);
  const ofPool = isOfClass(key)
    ? otherClass(facts, key, rule, offered)
    : isOfCatalog(facts.state, key)
      ? []
      : poolWithLabel(facts, key, rule, offered);
  return [...ofPool, otherPod(facts, key, rule, offered)];
}

/** A pod that asks for these means it: without them it would come to a node that it cannot run on. */
const NEVER: ReadonlySet<string> = new Set(['kubernetes.io/os', 'node.kubernetes.io/windows-build']);

function widerPool(facts: PoolFacts, key: string, offered: Int32Array): ReadonlyArray<Change> {
  const { state } = facts;
  const values: LabelValues = { left: labelValues(facts, key, offered), known: facts.knownValues(key) };
  const { requirements, labels } = saidOf(state, key);
  const mended = labels.map(([name, value]) => [name, valueMeant(value, values.left)] as const);
  const meant = mended.flatMap(([, value]) => value ?? []).map((value) => ({ key, operator: 'In', values: [value] }));
  const changed = requirements.flatMap((one) => widened(one, values) ?? []);
  const left = meeting(state, [...changed, ...meant], offered);
  // Where several things that are said of one label are still in each other's way, all go.
  const isDone = !isNone(left);
  const edits = [
    ...mended.map(([name, value]) => labelEdit(name, isDone ? value : null)),
    ...(requirements.length === 0 ? [] : [requirementEdit(key, isDone ? changed : [])]),
  ];
  return [{ edits, left: isDone ? left : offered }];
}

/** What the pool says of a label that sizes and offerings do not decide is changed to what the pod asks for. */
function poolWithLabel(facts: PoolFacts, key: string, rule: LabelRule, offered: Int32Array): ReadonlyArray<Change> {
  if (key === NODE_NAME_FIELD || !mayBeOfPool(key)) return [];
  const { requirements, labels } = saidOf(facts.state, key);
  const value = rule.complement && requirements.length + labels.length === 0 ? null : chooseValue(rule);
  const known = new Set(requirements.flatMap(({ values = [] }) => values));
  const changed = requirements.flatMap((one) => widened(one, { left: value === null ? [] : [value], known }) ?? []);
  const kept = changed.every((one) => value === null || admits(toRules([one]).get(key) ?? rule, value)) ? changed : [];
  const edits: Array<Edit> = labels.map(([name]) => labelEdit(name, value));
  // Nodes of a pool that says nothing of the label have none: where no requirement can be kept, the value is asked for.
  const asked = value === null || kept.length > 0 ? kept : [{ key, operator: 'In', values: [value] }];
  if (requirements.length > 0) edits.push(requirementEdit(key, asked));
  if (edits.length === 0) {
    edits.push(value === null ? requirementEdit(key, toExpressions(key, rule)) : labelEdit(key, value));
  }
  return [{ edits, left: offered }];
}

function otherClass(facts: PoolFacts, key: string, rule: LabelRule, offered: Int32Array): ReadonlyArray<Change> {
  const own = facts.state.pool.rules.get(key);
  const families = labelValues(facts, 'kubernetes.azure.com/os-sku', offered);
  return [...rule.values].flatMap((value) => {
    if (!admits(rule, value) || (own !== undefined && !admits(own, value))) return [];
    const edits = classEdits(key, value, families[0] ?? null);
    return edits === null ? [] : [{ edits, left: offered }];
  });
}

function otherPod(facts: PoolFacts, key: string, rule: LabelRule, offered: Int32Array): Change {
  const { state, knownValues } = facts;
  const { pool } = state;
  const mistyped = rule.complement ? [] : [...rule.values].filter((one) => !knownValues(key).has(one));
  const known = key === labelKey.nodePool ? [pool.name] : mistyped.length === 0 ? [] : labelValues(facts, key, offered);
  const [value = null] = mistyped.flatMap((one) => valueMeant(one, known) ?? []);
  const edits: Remedy = [{ object: 'Pod', field: 'spec.nodeSelector', key, value }];
  if (value === null || !isOfCatalog(state, key)) return { edits, left: offered };
  return { edits, left: allowedBy(new Map([[key, oneOf([value])]]), pool.catalog, offered) };
}

function saidOf({ pool: { manifest } }: PoolState, key: string) {
  const { metadata, spec } = manifest.spec.template;
  return {
    requirements: spec.requirements.filter((one) => normalizeKey(one.key) === key),
    labels: Object.entries(metadata?.labels ?? {}).filter(([name]) => normalizeKey(name) === key),
  };
}

function meeting({ pool }: PoolState, requirements: ReadonlyArray<Requirement>, offered: Int32Array): Int32Array {
  return allowedBy(toRules(requirements), pool.catalog, offered);
}

function requirementEdit(key: string, value: ReadonlyArray<Requirement>): Edit {
  return { object: 'NodePool', field: 'spec.template.spec.requirements', key, value };
}

function labelEdit(key: string, value: string | null): Edit {
  return { object: 'NodePool', field: 'spec.template.metadata.labels', key, value };
}
