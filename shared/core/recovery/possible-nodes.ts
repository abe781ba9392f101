import type { AuditedInput } from '../audit/seen/audited-sizes.ts';
import { plannedNode, type FinalNode } from '../audit/seen/final-state.ts';
import { meets } from '../audit/seen/matching.ts';
import { toPlanned } from '../launch/launch-candidates.ts';
import type { PodShape } from '../model/cluster.ts';
import type { PlannedClaim, PlannedOffering } from '../model/plan.ts';
import { weighedPriceOf } from '../model/weighed-cost.ts';
import { fixedLabels } from '../offerings/compile-pool.ts';
import { isShunned } from '../offerings/shunned-sizes.ts';
import { DEFAULT_EVICTION_COST_MS } from '../offerings/weighed-price.ts';
import { byCodeUnit, chooseValue, intersect, oneOf, overlaps, toRules, type LabelRule } from '../rules/label-rule.ts';
import { requiredAlternatives } from '../rules/pod-rules.ts';
import { isTypeLevelKey, labelKey, normalizeKey, restrictedDomainOf } from '../../kubernetes/labels.ts';
import type { NodePool } from '../../kubernetes/manifest.ts';

/** One offering of a pool, as the audit reads it. */
export interface PossibleOffering {
  readonly planned: PlannedOffering;
  readonly shunned: boolean;
}

/** The pools that may get nodes for pods, heaviest first. */
export function poolsForPods({ cluster }: AuditedInput): ReadonlyArray<NodePool> {
  return cluster.nodePools
    .filter(({ metadata, spec }) => metadata.deletionTimestamp === undefined && spec.replicas === undefined)
    .toSorted((a, b) => (b.spec.weight ?? 0) - (a.spec.weight ?? 0) || byCodeUnit(a.metadata.name, b.metadata.name));
}

/**
 * What the pool can have now but for reservations, which are held one by one: those not shunned first, then by weighed
 * price.
 */
export function possibleOfferings(input: AuditedInput, pool: NodePool): ReadonlyArray<PossibleOffering> {
  const { name } = pool.metadata;
  const rules = toRules(pool.spec.template.spec.requirements);
  const costMs = input.evictionCostMs.get(name) ?? DEFAULT_EVICTION_COST_MS;
  const found: Array<PossibleOffering> = [];
  for (const type of input.catalog.get(name) ?? []) {
    const labelOf = (key: string): LabelRule | undefined => {
      if (key === labelKey.instanceType) return oneOf([type.name]);
      const values = type.labels[key];
      return values === undefined ? undefined : oneOf(values);
    };
    const shunned = isShunned(type.name, labelOf, rules);
    for (const offering of type.offerings) {
      if (!offering.available || offering.reservation !== undefined) continue;
      const planned = toPlanned(type, offering, costMs);
      if (isAllowed(input, pool, planned)) found.push({ planned, shunned });
    }
  }
  return found.toSorted(
    (a, b) =>
      Number(a.shunned) - Number(b.shunned) ||
      weighedPriceOf(a.planned) - weighedPriceOf(b.planned) ||
      byCodeUnit(a.planned.instanceType, b.planned.instanceType) ||
      byCodeUnit(a.planned.zone, b.planned.zone) ||
      byCodeUnit(a.planned.capacityType, b.planned.capacityType),
  );
}

/** Does the pool allow it, as far as size and offering decide? */
function isAllowed(input: AuditedInput, pool: NodePool, planned: PlannedOffering): boolean {
  const { labels, contradictsTemplate } = input.sizes.nodeOf(pool, planned);
  if (contradictsTemplate) return false;
  const decided = pool.spec.template.spec.requirements.filter(
    ({ key }) => labels.has(normalizeKey(key)) || isTypeLevelKey(normalizeKey(key)),
  );
  return decided.every((requirement) => meets(labels, requirement));
}

/**
 * The labels of a claim of the pool for pods of the shape: the pool's own, and of what it leaves open what the pods
 * select.
 */
export function labelsFor(
  input: AuditedInput,
  pool: NodePool,
  planned: PlannedOffering,
  { spec }: PodShape,
): Readonly<Record<string, string>> {
  const labels: Record<string, string> = { ...fixedLabels(pool) };
  const known = input.sizes.nodeOf(pool, planned).labels;
  const rules = toRules(pool.spec.template.spec.requirements);
  // The first of the pod's terms that the pool does not rule out.
  const wanted = requiredAlternatives(spec).find((one) =>
    [...one].every(([key, rule]) => known.has(key) || overlaps(rules.get(key) ?? rule, rule)),
  );
  for (const [key, rule] of rules) {
    if (known.has(key) || restrictedDomainOf(key) !== null) continue;
    const own = wanted?.get(key);
    const value = chooseValue(own === undefined ? rule : intersect(rule, own));
    if (value !== null) labels[key] = value;
  }
  return labels;
}

/** The node that a claim of the pool becomes when it is launched as that offering. */
export function nodeOf(input: AuditedInput, claim: PlannedClaim, index: number, offering: PlannedOffering): FinalNode {
  return plannedNode(input, { ...claim, offering }, index);
}
